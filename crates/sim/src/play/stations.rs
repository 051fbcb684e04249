//! What stations did on the air, and what became of datagrams, for the result of a run.
//!
//! # Where we differ, and why
//! 1. The collision probability is measured: attempts that were not received while another station was on the
//!    air, over all attempts. Bianchi's is a property of his model.
//!
//! # Checked by
//! `tests/stations.rs`; `slowhand`'s `tests/sweeps.rs`.

use links::air::Counters;
use trace::{ChannelUse, Datagrams, StationUse};
use units::Duration;

use crate::traffic::Tally;

/// Of these stations, those that put frames on the air within these seconds.
pub(super) fn stations<'n>(all: impl Iterator<Item = (&'n str, Counters)>, seconds: f64) -> Vec<StationUse> {
    let used = all.filter(|(_, counters)| counters.attempts > 0);
    used.map(|(name, counters)| StationUse {
        name: name.to_owned(),
        attempts: counters.attempts,
        failures: counters.failures,
        collision_probability: counters.own.collisions as f64 / counters.attempts as f64,
        airtime_share: (counters.airtime.as_secs_f64() / seconds).min(1.0),
    })
    .collect()
}

/// How much of each channel was idle within these seconds, of the time with frames on it.
pub(super) fn channels(all: impl Iterator<Item = (u8, Duration)>, seconds: f64) -> Vec<ChannelUse> {
    all.map(|(channel, with_frames)| ChannelUse {
        channel,
        // A frame may be on the air at the end.
        idle_share: (1.0 - with_frames.as_secs_f64() / seconds).max(0.0),
    })
    .collect()
}

/// Counts of a flow's datagrams, in the form of the result.
pub(super) const fn datagrams(tally: Tally) -> Datagrams {
    Datagrams {
        sent: tally.offered,
        received: tally.received,
        lost: tally.lost,
    }
}
