//! One radio's view of the medium, and its countdown.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.4.3 (backoff: the countdown runs in slots after DIFS or EIFS of idle medium,
//!   freezes while the medium is busy, and never counts a slot with activity), §10.3.2.3.7 (EIFS after a
//!   frame that began but could not be received), §10.3.2.4 (NAV), §17.3.12 (the PHY is busy with a frame
//!   until its end).
//! - Bianchi 2000, §III: the busy period counts as one slot. Only if [`Countdown::BusyCountsAsSlot`] is set.
//!
//! # Where we differ, and why
//! 1. A radio that has synchronised to a preamble is busy until the end of that frame, whether or not it
//!    could read the header: it follows the signal it has found. A frame whose preamble it missed is sensed
//!    only by energy.
//!
//! # Checked by
//! `radio_tests`.

use crate::air::phy::timing::Timing;
use crate::air::transmission::flight::NONE;
use crate::config::Countdown;

/// What a radio is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) enum Phase {
    /// It listens, and counts down if it has something to send.
    Listening,
    /// It has a frame on the air.
    Transmitting,
    /// It waits for an answer to its frame.
    Awaiting,
    /// It will answer a frame after SIFS.
    Responding,
}

/// The part of a station that every frame in its reach touches. It is kept small because accessing it
/// dominates the run time.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Radio {
    /// Start of the countdown, past or future: the end of DIFS or EIFS.
    pub(in crate::air) from: u64,
    /// End of the reservation by the frames heard.
    pub(in crate::air) nav: u64,
    /// Slots left to count.
    pub(in crate::air) slots: u16,
    /// Number of frames on the air whose energy alone makes the medium busy here.
    pub(in crate::air) loud: u16,
    /// The frame to which the receiver is synchronised.
    pub(in crate::air) lock: u16,
    pub(in crate::air) phase: Phase,
    /// It has a frame to send and counts down for it.
    pub(in crate::air) wants: bool,
    /// The medium is idle, physically, and the countdown runs from `from`.
    pub(in crate::air) counting: bool,
    /// Something else was on the air while it was synchronised.
    pub(in crate::air) disturbed: bool,
    /// The last frame received was broken: EIFS comes next.
    pub(in crate::air) broken: bool,
    /// It waits for its first access without a backoff. A backoff becomes due if the medium gets busy first.
    pub(in crate::air) fresh: bool,
    /// Index of its timing in the air's list.
    pub(in crate::air) timing: u8,
    /// Index of its channel in the air's list.
    pub(in crate::air) channel: u8,
    /// It reports every frame that it decodes to the world.
    pub(in crate::air) monitor: bool,
    /// Its clique keeps its countdown and its view of the medium. Here, only phase, `wants`, timing and
    /// channel are valid.
    pub(in crate::air) in_step: bool,
}

impl Radio {
    pub(in crate::air) const fn new(timing: u8, channel: u8) -> Self {
        Self {
            from: 0,
            nav: 0,
            slots: 0,
            loud: 0,
            lock: NONE,
            phase: Phase::Listening,
            wants: false,
            counting: true,
            disturbed: false,
            broken: false,
            fresh: false,
            timing,
            channel,
            monitor: false,
            in_step: false,
        }
    }

    /// When its countdown ends if the medium stays idle.
    pub(in crate::air) fn access(&self, timing: &Timing) -> u64 {
        self.from + u64::from(self.slots) * u64::from(timing.slot)
    }

    /// Whether it is sure to transmit at its deadline: it does not notice a frame that began just before.
    pub(super) fn is_committed(&self, now: u64, timing: &Timing) -> bool {
        self.wants && self.phase == Phase::Listening && self.access(timing) < now + timing.blind
    }

    /// Whether the medium is idle, as far as this radio can tell.
    pub(in crate::air) const fn is_idle(&self) -> bool {
        self.loud == 0 && self.lock == NONE && !matches!(self.phase, Phase::Transmitting)
    }

    /// The medium becomes busy: subtracts the slots that have passed.
    #[inline]
    pub(in crate::air) fn freeze(&mut self, now: u64, timing: &Timing, countdown: Countdown) {
        self.counting = false;
        if now < self.from {
            return;
        }
        let passed = (now - self.from).min(u64::from(u32::MAX)) as u32 / timing.slot;
        let passed = passed.min(u32::from(u16::MAX) - 1) as u16;
        let busy = u16::from(countdown == Countdown::BusyCountsAsSlot);
        self.slots = self.slots.saturating_sub(passed + busy);
    }

    /// The medium becomes idle: the countdown continues after DIFS, or after EIFS if the last frame was
    /// broken.
    #[inline]
    pub(in crate::air) fn resume(&mut self, now: u64, timing: &Timing) {
        let space = if self.broken { timing.eifs } else { timing.difs };
        self.from = now.max(self.nav) + space;
        self.broken = false;
        self.counting = true;
    }

    /// Begins a backoff of `slots` at `now`. On an idle medium it begins at the next slot boundary
    /// (802.11-2020 figure 10-26).
    pub(in crate::air) fn begin_backoff(&mut self, now: u64, slots: u16, timing: &Timing) {
        if self.counting && now > self.from {
            let slot = u64::from(timing.slot);
            self.from += (now - self.from).div_ceil(slot) * slot;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
#[path = "radio_tests.rs"]
mod tests;
