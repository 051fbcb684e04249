//! What is known of a WiFi link's air: what its access point's frames and the channel's counters say, put
//! together.
//!
//! # Sources
//! - nsdi15 §5.1, §5.2: loss of a first attempt and rate give the air that a delivered packet takes; that is
//!   what access points of a channel are compared by.
//!
//! # Where we differ, and why
//! 1. A number that rests on fewer than [`LEAST_FRAMES`] frames is not believed: at 50 the loss is known to
//!    about 7 % (one σ). The last one that was is kept for [`KEPT_FOR`].
//! 2. Where nothing was measured (an access point that is kept silent sends nothing), the signal says which
//!    rate it would have.
//!
//! # Checked by
//! `tests/engine_air.rs`.

use crate::estimate::airtime::Form;
use crate::estimate::bandwidth::{Bandwidth, Limit, Sight};
use crate::estimate::delivery::{Delivery, Estimate, Frame};
use crate::estimate::phy::Phy;
use crate::estimate::signal;
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio};

/// Fewer frames in the window say too little.
pub(crate) const LEAST_FRAMES: u32 = 50;
/// How long a packet time that was measured is believed after the frames have ceased.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// Access points are compared by packets of this size.
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

/// What they said at the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// Of the frames of the last half second.
    pub(crate) delivery: Estimate,
    /// Mean rate of those frames.
    pub(crate) rate: Bitrate,
    /// Air that one delivered packet takes, if enough frames say so.
    pub(crate) packet_time: Option<Duration>,
    /// What holds the link back.
    pub(crate) limit: Option<Limit>,
    /// Share of the channel's air that is taken; `None` where nobody counts.
    pub(crate) taken: Option<Ratio>,
    /// What the link could carry in the air that is left.
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

    /// Runs for every frame.
    #[inline]
    pub(crate) fn hear(&mut self, now: Instant, frame: &Frame) {
        self.delivery.hear(now, frame);
    }

    /// The radio has been elsewhere: what was sent meanwhile is not lost.
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

    /// Brings the view up to date.
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

/// The packet time to expect at this signal where none was measured.
pub(crate) fn expected_packet_time(phy: Phy, signal: Dbm) -> Option<Duration> {
    let rate = signal::sure_rate(signal)?;
    phy.exchange(rate, PACKET, 1_000)
        .airtime(Form::PerDelivered, Ratio::ZERO)
}
