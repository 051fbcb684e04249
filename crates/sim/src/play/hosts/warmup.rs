//! The end of the warm-up: what was counted until then does not count.
//!
//! # Checked by
//! `tests/warmup.rs`.

use super::world::World;
use links::air;
use units::{Duration, Instant};

/// Counters of the links and of the air at the end of the warm-up.
#[derive(Debug)]
pub(super) struct Warm {
    links: Vec<links::Counters>,
    stations: Vec<air::Counters>,
    channels: Vec<Duration>,
}

impl World<'_> {
    /// When the warm-up ends, if it has not.
    pub(super) fn warms_at(&self) -> Option<Instant> {
        self.warm.is_none().then(|| Instant::ZERO + self.what.plan.warmup)
    }

    /// Forgets what was counted, if the warm-up ends now.
    pub(super) fn warm_up(&mut self) {
        if self.warms_at().is_some_and(|at| at <= self.now) {
            self.count_from_now();
        }
    }

    /// Forgets what was counted until now.
    pub(super) fn count_from_now(&mut self) {
        for index in 0..self.flows.all.len() {
            self.look_at_flow(index);
        }
        self.paths.count_from_now(self.flows.all.len());
        self.accounts.count_from_now(&self.carrier);
        self.levels.restart(self.now);
        self.warm = Some(Warm {
            links: (0..self.what.plan.links.len())
                .map(|link| self.carrier.counters(link))
                .collect(),
            stations: self.carrier.stations().map(|(_, counters)| counters).collect(),
            channels: self.carrier.channels().map(|(_, time)| time).collect(),
        });
    }

    /// Counters of a link since the warm-up.
    pub(super) fn counters(&self, link: usize) -> links::Counters {
        let then = self
            .warm
            .as_ref()
            .map(|warm| warm.links[link])
            .unwrap_or_default();
        self.carrier.counters(link).since(&then)
    }

    /// Counters of the stations since the warm-up, each with its name.
    pub(super) fn stations(&self) -> impl Iterator<Item = (&str, air::Counters)> {
        let then = self.warm.iter().flat_map(|warm| &warm.stations);
        let stations = self.carrier.stations().zip(then);
        stations.map(|((name, now), then)| (name, now.since(then)))
    }

    /// For how long each channel had frames since the warm-up.
    pub(super) fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        let then = self.warm.iter().flat_map(|warm| &warm.channels);
        let channels = self.carrier.channels().zip(then);
        channels.map(|((channel, now), then)| (channel, now.saturating_sub(*then)))
    }
}
