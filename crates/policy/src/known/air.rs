//! State of a WiFi link's air, from its access point's frames and the channel's counters.
//!
//! # Sources
//! - nsdi15 §5.1, §5.2: the loss of first attempts and the rate give the airtime of a delivered packet. The
//!   access points of a channel are compared by it.
//!
//! # Where we differ, and why
//! 1. A figure from fewer than [`LEAST_FRAMES`] frames is not used: with 50 frames, the loss is known to
//!    about 7 % (one σ). The last valid one is kept for [`KEPT_FOR`].
//! 2. Where nothing was measured, because an access point that is kept silent sends nothing, the rate is
//!    estimated from the signal.
//!
//! # Checked by
//! `tests/engine_air.rs`.

use crate::estimate::airtime::Form;
use crate::estimate::bandwidth::{Bandwidth, Limit, Sight};
use crate::estimate::delivery::{Delivery, Estimate, Frame};
use crate::estimate::phy::Phy;
use crate::estimate::signal;
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio};

/// The fewest frames in the window for a valid figure.
pub(crate) const LEAST_FRAMES: u32 = 50;
/// How long a measured packet time stays valid after the last frames.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// Access points are compared by packets of this size, in bytes.
const PACKET: u32 = 1_500;

/// The estimators of one WiFi link.
#[derive(Debug)]
pub(crate) struct Air {
    phy: Phy,
    delivery: Delivery,
    bandwidth: Bandwidth,
    measured: Option<Measured>,
    pub(crate) view: View,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    at: Instant,
    packet_time: Duration,
}

/// The state as of the last update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// Delivery ratio over the frames of the last half second.
    pub(crate) delivery: Estimate,
    /// Mean rate of those frames.
    pub(crate) rate: Bitrate,
    /// Airtime of one delivered packet, if enough frames were heard.
    pub(crate) packet_time: Option<Duration>,
    /// What limits the link.
    pub(crate) limit: Option<Limit>,
    /// Share of the channel's airtime that is busy. `None` where nobody counts it.
    pub(crate) taken: Option<Ratio>,
    /// What the link could carry in the remaining airtime.
    pub(crate) room: Bitrate,
}

impl Air {
    pub(crate) fn new(phy: Phy) -> Self {
        Self {
            phy,
            delivery: Delivery::new(phy.watched()),
            bandwidth: Bandwidth::new(&phy.contention()),
            measured: None,
            view: View {
                delivery: Estimate::Silent,
                rate: Bitrate::ZERO,
                packet_time: None,
                limit: None,
                taken: None,
                room: Bitrate::ZERO,
            },
        }
    }

    /// Records a frame. Runs for every frame.
    #[inline]
    pub(crate) fn hear(&mut self, now: Instant, frame: &Frame) {
        self.delivery.hear(now, frame);
    }

    /// Records that the radio was elsewhere: what was sent meanwhile is not lost.
    pub(crate) fn away(&mut self) {
        self.delivery.away();
    }

    pub(crate) fn survey(&mut self, now: Instant, sight: Sight) {
        let airtime = self.measured.map(|measured| measured.packet_time);
        let packet = Bytes::new(PACKET.into());
        self.bandwidth.read(now, sight, packet, airtime);
        self.view.limit = self.bandwidth.limit();
        self.view.taken = Some(self.bandwidth.taken());
        self.view.room = self.bandwidth.room(packet, airtime);
    }

    /// Updates the view.
    pub(crate) fn look(&mut self, now: Instant) {
        self.view.delivery = self.delivery.estimate(now);
        let fresh = self.packet_time(now);
        if let Some(packet_time) = fresh {
            self.measured = Some(Measured { at: now, packet_time });
        }
        self.measured = self.measured.filter(|measured| now - measured.at <= KEPT_FOR);
        self.view.packet_time = self.measured.map(|measured| measured.packet_time);
    }

    fn packet_time(&mut self, now: Instant) -> Option<Duration> {
        let Estimate::Known { delivered, .. } = self.view.delivery else {
            return None;
        };
        let traffic = self.delivery.traffic(now)?;
        self.view.rate = traffic.rate;
        let loss = self.view.delivery.loss(LEAST_FRAMES)?;
        let frames_milli = traffic.sent_per_aggregate_milli(delivered);
        let exchange = self.phy.exchange(traffic.rate, PACKET, frames_milli);
        exchange.airtime(Form::PerDelivered, loss)
    }
}

/// The packet time to expect at this signal, where none was measured.
pub(crate) fn expected_packet_time(phy: Phy, signal: Dbm) -> Option<Duration> {
    let rate = signal::sure_rate(signal)?;
    phy.exchange(rate, PACKET, 1_000)
        .airtime(Form::PerDelivered, Ratio::ZERO)
}
