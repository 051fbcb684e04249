//! The interface of every medium, whatever its level of detail: the contract of [`Air`] and of
//! [`Wfq`](super::Wfq).
//!
//! A world that runs on another model of the air needs only an implementation of [`Medium`].

pub(super) mod wfq;

use units::Instant;

use super::engine::Air;
use super::io::{Counters, Input, Output, StationId};
use super::schedule::Schedule;

/// A medium that stations share. It is told the time and does no I/O.
pub trait Medium {
    /// Processes one input that happens at `now`, after everything that was due until then.
    fn handle(&mut self, now: Instant, input: Input);

    /// Advances time to `limit` or to the first output, whichever comes first, and returns that time.
    fn advance(&mut self, limit: Instant) -> Instant;

    /// Next output, with its time.
    fn poll_due(&mut self) -> Option<(Instant, Output)>;

    /// When something is due next, and what. `None`: nothing happens without a new input.
    fn wake_at(&mut self) -> Option<(Instant, &'static str)>;

    /// Counters of a station since the start.
    fn counters(&self, station: StationId) -> Counters;
}

impl<S: Schedule> Medium for Air<S> {
    fn handle(&mut self, now: Instant, input: Input) {
        Self::handle(self, now, input);
    }

    fn advance(&mut self, limit: Instant) -> Instant {
        Self::advance(self, limit)
    }

    fn poll_due(&mut self) -> Option<(Instant, Output)> {
        Self::poll_due(self)
    }

    fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        Self::wake_at(self)
    }

    fn counters(&self, station: StationId) -> Counters {
        Self::counters(self, station)
    }
}
