//! One radio's view of the medium, and its countdown.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.4.3 (backoff: the countdown runs in slots after DIFS or EIFS of idle medium, freezes while the medium is
//!   busy, and never counts a slot with activity), §10.3.2.3.7 (EIFS after a frame that began but could not be received), §10.3.2.4
//!   (NAV), §17.3.12 (the PHY is busy with a frame until its end).
//! - Bianchi 2000, §III: the busy period counts as one slot. Only where [`Countdown::BusyCountsAsSlot`] asks for it.
//!
//! # Where we differ, and why
//! 1. A radio that has synchronised to a preamble is busy until the end of that frame, whether or not its header could be read: it
//!    follows the signal it has found. What it missed the preamble of is sensed only by energy.
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

/// The part of a station that every frame in its reach touches: kept small, because that is where the time goes.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Radio {
    /// When the countdown began, or will: the end of DIFS or EIFS.
    pub(in crate::air) from: u64,
    /// Until when frames that were heard have reserved the medium.
    pub(in crate::air) nav: u64,
    /// Slots that are left to count.
    pub(in crate::air) slots: u16,
    /// Frames on the air whose energy alone makes the medium busy here.
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
    /// The last frame that it received was broken: EIFS comes next.
    pub(in crate::air) broken: bool,
    /// It waits for its first access without a backoff: one becomes due if the medium gets busy before.
    pub(in crate::air) fresh: bool,
    /// Which of the air's timings it keeps.
    pub(in crate::air) timing: u8,
    /// The channel that it is on, as its place in the air's list.
    pub(in crate::air) channel: u8,
    /// The world is told of every frame that it makes sense of.
    pub(in crate::air) monitor: bool,
    /// Its clique keeps its countdown and its view of the medium: here, only phase, `wants`, timing and channel are true.
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

    /// Whether it transmits at its deadline come what may: what began just before goes unnoticed.
    pub(super) fn is_committed(&self, now: u64, timing: &Timing) -> bool {
        self.wants && self.phase == Phase::Listening && self.access(timing) < now + timing.blind
    }

    /// The medium is idle, as far as this radio can tell.
    pub(in crate::air) const fn is_idle(&self) -> bool {
        self.loud == 0 && self.lock == NONE && !matches!(self.phase, Phase::Transmitting)
    }

    /// The medium becomes busy: takes off the slots that have passed.
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

    /// The medium becomes idle: the countdown goes on after DIFS, or EIFS after a broken frame.
    #[inline]
    pub(in crate::air) fn resume(&mut self, now: u64, timing: &Timing) {
        let space = if self.broken { timing.eifs } else { timing.difs };
        self.from = now.max(self.nav) + space;
        self.broken = false;
        self.counting = true;
    }

    /// Begins a backoff of `slots` at `now`: on an idle medium at the next boundary of a slot (802.11-2020 figure 10-26).
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
