//! The media of a scenario: its air, with the level of detail that it asks for, and its wires.

use links::LinkState;
use links::air::{Counters, Input, Medium, Output, Overheard, StationId, Wfq};
use units::{Duration, Instant};

use super::associations::Associations;
use super::joins::Change;
use super::wires::Wires;

/// The air and the wires.
#[derive(Debug)]
pub(super) struct Media {
    pub(super) air: AnyMedium,
    /// Cells and cables, if any.
    pub(super) wires: Option<Box<Wires>>,
}

impl Media {
    /// Counters of a wire.
    pub(super) fn wire(&self, wire: usize) -> Option<links::Counters> {
        self.wires.as_ref().map(|wires| wires.counters(wire))
    }
}

impl Medium for Media {
    fn handle(&mut self, now: Instant, input: Input) {
        match (&mut self.wires, input) {
            (Some(wires), Input::Send(from, packet)) if wires.own(from) => wires.send(now, from, packet),
            (_, input) => self.air.handle(now, input),
        }
    }

    fn advance(&mut self, limit: Instant) -> Instant {
        let Some(wires) = &mut self.wires else {
            return self.air.advance(limit);
        };
        loop {
            let due = wires.wake_at().map_or(limit, |(at, _)| at.min(limit));
            // The air may have an output before that.
            let now = self.air.advance(due);
            wires.tick(now);
            if now < due || now == limit || wires.has_output() {
                return now;
            }
        }
    }

    fn poll_due(&mut self) -> Option<(Instant, Output)> {
        let wires = self.wires.as_mut();
        self.air
            .poll_due()
            .or_else(|| wires.and_then(|wires| wires.poll_due()))
    }

    fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        let wires = self.wires.as_ref().and_then(|wires| wires.wake_at());
        [self.air.wake_at(), wires].into_iter().flatten().min()
    }

    fn counters(&self, station: StationId) -> Counters {
        self.air.counters(station)
    }
}

/// One of the models of the air.
#[derive(Debug)]
pub(super) enum AnyMedium {
    /// There are no access points.
    Nothing,
    /// Every frame, with all associations. Boxed because it is large.
    Exact(Box<Associations>),
    /// A weighted fair queue of packets. Monitors hear nothing.
    Coarse(Wfq),
}

impl AnyMedium {
    /// Makes [`AnyMedium::overheard`] return what a monitor interface of this station would show from now on.
    pub(super) fn monitor(&mut self, station: StationId) {
        match self {
            Self::Exact(air) => air.monitor(station),
            Self::Coarse(_) | Self::Nothing => {}
        }
    }

    /// Next frame that a monitor has heard.
    pub(super) fn overheard(&mut self) -> Option<Overheard> {
        match self {
            Self::Exact(air) => air.overheard(),
            Self::Coarse(_) | Self::Nothing => None,
        }
    }

    /// State of an association. On the coarse medium all are up throughout the run.
    pub(super) fn state(&self, association: usize) -> LinkState {
        match self {
            Self::Exact(air) => air.state(association),
            Self::Coarse(_) | Self::Nothing => LinkState::Up,
        }
    }

    /// Next change of an association.
    pub(super) fn poll_change(&mut self) -> Option<Change> {
        match self {
            Self::Exact(air) => air.poll_change(),
            Self::Coarse(_) | Self::Nothing => None,
        }
    }

    /// Beacons that an access point has sent since the start.
    pub(super) fn beacons(&self, station: StationId) -> u64 {
        match self {
            Self::Exact(air) => air.beacons(station),
            Self::Coarse(_) | Self::Nothing => 0,
        }
    }

    /// Each channel, and for how long there were frames on it. The coarse medium has no frames.
    pub(super) fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        let exact = match self {
            Self::Exact(air) => Some(air),
            Self::Coarse(_) | Self::Nothing => None,
        };
        exact.into_iter().flat_map(|air| air.channels())
    }

    /// Frames transmitted since the start. `stations` is the number of stations.
    pub(super) fn transmissions(&self, stations: usize) -> u64 {
        match self {
            Self::Exact(air) => air.transmissions(),
            Self::Coarse(queue) => (0..stations as u32)
                .map(|number| queue.counters(StationId(number)).attempts)
                .sum(),
            Self::Nothing => 0,
        }
    }
}

impl Medium for AnyMedium {
    fn handle(&mut self, now: Instant, input: Input) {
        match self {
            Self::Exact(air) => air.handle(now, input),
            Self::Coarse(queue) => queue.handle(now, input),
            Self::Nothing => {}
        }
    }

    fn advance(&mut self, limit: Instant) -> Instant {
        match self {
            Self::Exact(air) => air.advance(limit),
            Self::Coarse(queue) => queue.advance(limit),
            Self::Nothing => limit,
        }
    }

    fn poll_due(&mut self) -> Option<(Instant, Output)> {
        match self {
            Self::Exact(air) => air.poll_due(),
            Self::Coarse(queue) => queue.poll_due(),
            Self::Nothing => None,
        }
    }

    fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        match self {
            Self::Exact(air) => air.wake_at(),
            Self::Coarse(queue) => queue.wake_at(),
            Self::Nothing => None,
        }
    }

    fn counters(&self, station: StationId) -> Counters {
        match self {
            Self::Exact(air) => air.counters(station),
            Self::Coarse(queue) => queue.counters(station),
            Self::Nothing => Counters::default(),
        }
    }
}
