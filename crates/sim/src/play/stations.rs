//! What stations did on the air, and what became of datagrams, for the result of a run.
//!
//! # Where we differ, and why
//! 1. The collision probability is measured: attempts that were not received while another station was on the
//!    air, over all attempts. Bianchi's is a property of his model.
//!
//! # Checked by
//! `slowhand`'s `tests/sweeps.rs`.

use links::air::{Medium as _, StationId};
use trace::{Datagrams, StationUse};

use super::cast::Cast;
use super::medium::Media;
use crate::traffic::Tally;

/// Every station that put frames on the air within these seconds.
pub(super) fn stations(cast: &Cast, medium: &Media, seconds: f64) -> Vec<StationUse> {
    let stations = (0..).map(StationId).zip(&cast.air.stations);
    let used = stations.filter_map(|(id, station)| {
        let counters = medium.counters(id);
        let attempts = counters.attempts;
        (attempts > 0).then(|| StationUse {
            name: station.name.clone(),
            attempts,
            failures: counters.failures,
            collision_probability: counters.own.collisions as f64 / attempts as f64,
            airtime_share: (counters.airtime.as_secs_f64() / seconds).min(1.0),
        })
    });
    used.collect()
}

/// Counts of a flow's datagrams, in the form of the result.
pub(super) const fn datagrams(tally: Tally) -> Datagrams {
    Datagrams {
        sent: tally.offered,
        received: tally.received,
        lost: tally.lost,
    }
}
