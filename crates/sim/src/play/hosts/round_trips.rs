//! The round-trip times of flows, if a run keeps them.
//!
//! # Where we differ, and why
//! 1. Of each acknowledgement, the time since the latest segment that it acknowledges was sent. Linux takes
//!    the earliest for its RTO, which adds the time for which the peer delays its acknowledgement.
//!
//! # Checked by
//! `tests/single_radio.rs`.

use super::others::Openers;
use super::relay;
use super::world::World;
use crate::play::run::RoundTrip;

impl World<'_> {
    /// The round-trip times of a flow, link by link.
    pub(super) fn round_trips(&self, index: usize) -> Vec<RoundTrip> {
        let openers = Openers::new(&self.client, &self.plugs, self.first_route(), &self.others);
        let (flow, through) = (&self.flows.all[index], self.others.through());
        let mut all = Vec::new();
        for conn in flow.lanes.iter().filter_map(|lane| lane.latest) {
            let sender = match flow.goes_up() {
                true => openers.host(flow.host),
                false => relay::far_end(&self.behind, &self.server, conn),
            };
            let connection = sender.connection(conn);
            for (path, samples) in connection.iter().flat_map(|of| of.round_trips()) {
                let link = through[usize::from(path.link.0)];
                all.extend(samples.iter().map(|&(at, took)| RoundTrip { link, at, took }));
            }
        }
        all
    }
}
