//! Effects of a cellular radio besides its rate: promotion delay and local retransmissions.
//!
//! # Sources
//! - Huang et al. 2012 ("A close examination of performance and power characteristics of 4G LTE networks",
//!   tables 2 and 3): promotion 260 ms and tail 11.6 s in LTE, 582 ms and 8.1 s in 3G.
//! - 3GPP TS 36.321 §5.4.2 (HARQ: a retransmission after 8 ms, four transmissions by default), TS 25.214
//!   §6A.1 (HSDPA: after 12 ms).
//! - Chen et al. 2013 (imc13, §4.1): local retransmissions keep the loss that TCP sees below 0.1 %, at the
//!   price of delay.
//!
//! # Where we differ, and why
//! 1. If the radio sleeps, a packet passes the bottleneck at once and waits behind it. Later packets keep
//!    their order and spacing.
//! 2. Whole packets are retransmitted. Real radios retransmit transport blocks, which hold several packets.
//!
//! # Checked by
//! `tests/cellular.rs`.

use units::{Duration, Instant, Rng};

use crate::config::{RadioStates, Repeats};

impl Repeats {
    /// Extra delay of a packet. `None`: it is lost.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<Duration> {
        let lost = (0..self.most).take_while(|_| rng.chance(self.loss)).count() as u32;
        (lost < self.most).then(|| self.after * lost)
    }
}

/// A radio and its state.
#[derive(Debug)]
pub(crate) struct Radio {
    states: RadioStates,
    last: Option<Instant>,
    ready: Instant,
}

impl Radio {
    pub(crate) const fn new(states: RadioStates) -> Self {
        Self {
            states,
            last: None,
            ready: Instant::ZERO,
        }
    }

    /// Handles a packet in either direction. It wakes a sleeping radio.
    pub(crate) fn touch(&mut self, now: Instant) {
        let asleep = self.last.is_none_or(|last| now.since(last) > self.states.tail);
        if asleep {
            self.ready = now + self.states.promotion;
        }
        self.last = Some(now.max(self.ready));
    }

    /// Time from which packets pass.
    pub(crate) const fn ready(&self) -> Instant {
        self.ready
    }
}
