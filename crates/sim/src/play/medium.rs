//! The air of a scenario, as finely as it asks for.

use links::air::{Air, Counters, Input, Medium, Output, Overheard, StationId, Wfq};
use units::Instant;

use super::asleep::Dormitory;

/// One of the media.
#[derive(Debug)]
pub(super) enum AnyMedium {
    /// Every frame; boxed because it is large.
    Exact(Box<Air>),
    /// The same, with access points that hold packets for those who sleep.
    Asleep(Box<Dormitory>),
    /// A weighted fair queue of packets: nobody overhears anything.
    Coarse(Wfq),
}

impl AnyMedium {
    /// From now on [`AnyMedium::overheard`] tells what a monitor interface of this station would show.
    pub(super) fn monitor(&mut self, station: StationId) {
        match self {
            Self::Exact(air) => air.monitor(station),
            Self::Asleep(air) => air.monitor(station),
            Self::Coarse(_) => {}
        }
    }

    /// The next frame that a monitor has heard.
    pub(super) fn overheard(&mut self) -> Option<Overheard> {
        match self {
            Self::Exact(air) => air.poll_overheard(),
            Self::Asleep(air) => air.overheard(),
            Self::Coarse(_) => None,
        }
    }

    /// Frames put on the air since the start, by so many stations.
    pub(super) fn transmissions(&self, stations: usize) -> u64 {
        match self {
            Self::Exact(air) => air.transmissions(),
            Self::Asleep(air) => air.transmissions(),
            Self::Coarse(queue) => (0..stations as u32)
                .map(|number| queue.counters(StationId(number)).attempts)
                .sum(),
        }
    }
}

impl Medium for AnyMedium {
    fn handle(&mut self, now: Instant, input: Input) {
        match self {
            Self::Exact(air) => air.handle(now, input),
            Self::Asleep(air) => air.handle(now, input),
            Self::Coarse(queue) => queue.handle(now, input),
        }
    }

    fn advance(&mut self, limit: Instant) -> Instant {
        match self {
            Self::Exact(air) => air.advance(limit),
            Self::Asleep(air) => air.advance(limit),
            Self::Coarse(queue) => queue.advance(limit),
        }
    }

    fn poll_due(&mut self) -> Option<(Instant, Output)> {
        match self {
            Self::Exact(air) => air.poll_due(),
            Self::Asleep(air) => air.poll_due(),
            Self::Coarse(queue) => queue.poll_due(),
        }
    }

    fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        match self {
            Self::Exact(air) => air.wake_at(),
            Self::Asleep(air) => air.wake_at(),
            Self::Coarse(queue) => queue.wake_at(),
        }
    }

    fn counters(&self, station: StationId) -> Counters {
        match self {
            Self::Exact(air) => air.counters(station),
            Self::Asleep(air) => air.counters(station),
            Self::Coarse(queue) => queue.counters(station),
        }
    }
}
