//! State of a WiFi link's air, from its access point's frames and the channel's counters.
//!
//! # Sources
//! - nsdi15 §5.1, §5.2: the loss of first attempts and the rate give the airtime of a delivered packet. The
//!   access points of a channel are compared by it.
//!
//! # Where we differ, and why
//! 1. A figure from fewer than [`LEAST_FRAMES`] frames is not used: with 50 frames, the loss is known to
//!    about 7 % (one σ). The last valid one is kept for [`KEPT_FOR`]. If a window has fewer frames, it is
//!    added to the next ones until there are enough ([`Few`]): a link behind a slow wire never has 50 in one.
//! 2. Where nothing was measured, because an access point that is kept silent sends nothing, the rate is
//!    estimated from the signal.
//!
//! # Checked by
//! `tests/engine_air.rs`.

use super::tuning::{AIR_PACKET, AIR_WINDOW, KEPT_FOR, LEAST_FRAMES};
use crate::estimate::airtime::Form;
use crate::estimate::bandwidth::{Bandwidth, Limit, Sight};
use crate::estimate::delivery::{Delivery, Estimate, Frame};
use crate::estimate::phy::Phy;
use crate::estimate::signal;
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio};

/// The estimators of one WiFi link.
#[derive(Debug)]
pub(crate) struct Air {
    phy: Phy,
    delivery: Delivery,
    bandwidth: Bandwidth,
    measured: Option<Measured>,
    few: Few,
    pub(crate) view: View,
}

/// Windows that had too few frames, added up.
#[derive(Debug, Clone, Copy, Default)]
struct Few {
    /// When the first of them began, and when the last one ended. `None`: there are none.
    span: Option<(Instant, Instant)>,
    frames: u32,
    /// Delivery ratios, each times its frames.
    delivered: u64,
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
            few: Few::default(),
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
        let packet = Bytes::new(AIR_PACKET.into());
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
        let traffic = self
            .delivery
            .traffic(now)
            .filter(|traffic| traffic.rate > Bitrate::ZERO)?;
        self.view.rate = traffic.rate;
        let loss = match self.view.delivery.loss(LEAST_FRAMES) {
            Some(loss) => {
                self.few = Few::default();
                loss
            }
            None => self.few.add(now, self.view.delivery)?,
        };
        let frames_milli = traffic.sent_per_aggregate_milli(delivered);
        let exchange = self.phy.exchange(traffic.rate, AIR_PACKET, frames_milli);
        exchange.airtime(Form::PerDelivered, loss)
    }
}

impl Few {
    /// Adds the window that ends now, unless it overlaps the last one. Returns the loss of a first attempt
    /// once there are enough frames.
    fn add(&mut self, now: Instant, window: Estimate) -> Option<Ratio> {
        let Estimate::Known { delivered, frames } = window else {
            return None;
        };
        let begun = match self.span {
            Some((_, ended)) if now - ended < AIR_WINDOW => return None,
            Some((begun, _)) if now - begun <= KEPT_FOR => begun,
            _ => {
                *self = Self::default();
                now - AIR_WINDOW
            }
        };
        self.span = Some((begun, now));
        self.frames += frames;
        self.delivered += delivered.as_raw() * u64::from(frames);
        if self.frames < LEAST_FRAMES {
            return None;
        }
        let all = core::mem::take(self);
        let whole = Ratio::ONE.as_raw() * u64::from(all.frames);
        Some(Ratio::from_fraction(all.delivered, whole).complement())
    }
}

/// The packet time to expect at this signal, where none was measured.
pub(crate) fn expected_packet_time(phy: Phy, signal: Dbm) -> Option<Duration> {
    let rate = signal::sure_rate(signal)?;
    phy.exchange(rate, AIR_PACKET, 1_000)
        .airtime(Form::PerDelivered, Ratio::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn window(frames: u32, percent: u64) -> Estimate {
        Estimate::Known {
            delivered: Ratio::from_fraction(percent, 100),
            frames,
        }
    }

    #[test]
    fn windows_with_few_frames_add_up_and_do_not_overlap() {
        let at = |ms| Instant::from_secs(10) + Duration::from_millis(ms);
        let mut few = Few::default();
        assert_eq!(few.add(at(0), window(20, 90)), None);
        assert_eq!(
            few.add(at(450), window(40, 90)),
            None,
            "it overlaps the first one"
        );
        assert_eq!(few.add(at(500), window(20, 60)), None);
        let loss = few.add(at(1_000), window(20, 90)).unwrap();
        assert_eq!(loss.to_string(), "20.00 %");
        assert_eq!(few.add(at(1_500), window(20, 90)), None, "they are used once");
    }

    #[test]
    fn windows_that_are_too_far_apart_are_not_added() {
        let at = |s| Instant::from_secs(10) + Duration::from_secs(s);
        let mut few = Few::default();
        assert_eq!(few.add(at(0), window(30, 10)), None);
        assert_eq!(few.add(at(6), window(30, 90)), None);
        let loss = few.add(at(7), window(30, 90)).unwrap();
        assert_eq!(loss.to_string(), "10.00 %");
    }
}
