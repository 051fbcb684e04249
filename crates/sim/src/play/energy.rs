//! Traffic of the client's links, and the energy that its radios spend on it.
//!
//! # Sources
//! - [`policy::estimate::energy::Radios`], as in the lab.
//!
//! # Where we differ, and why
//! 1. A datagram counts when and where it arrives, with its UDP and IPv4 headers, as in the lab. Lost
//!    datagrams do not count.
//! 2. Broadcast datagrams belong to no client and count neither here nor in the lab.
//!
//! # Checked by
//! `tests/energy.rs`.

use policy::estimate::energy::{Carried, Radios};
use scenario::{Plan, Transport, Way, Work};
use units::{Bytes, Instant};

use crate::traffic::{HEADERS, Tally};

/// Radios of the client, and its flows.
#[derive(Debug)]
pub(super) struct Spending {
    radios: Radios,
    links: usize,
    /// Per flow of the client: its link and direction.
    flows: Vec<Option<(usize, Way)>>,
}

impl Spending {
    /// The radios of a plan that have spent nothing yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let links = plan.links.iter();
        Self {
            radios: Radios::of(
                links.map(|link| (link.kind.word().into(), link.kind.channel())),
                plan.walkers.first().is_some_and(|client| client.power_save),
            ),
            links: plan.links.len(),
            flows: plan.flows.iter().map(of_client).collect(),
        }
    }

    /// Updates the energy from the results of all flows since the start.
    pub(super) fn carried(&mut self, at: Instant, tallies: &[Tally]) {
        let mut carried = vec![Carried::default(); self.links];
        for (tally, flow) in tallies.iter().zip(&self.flows) {
            let Some((link, way)) = *flow else { continue };
            let bytes = Bytes::new(tally.payload_bytes + tally.received * u64::from(HEADERS));
            match way {
                Way::Up => carried[link].up += bytes,
                Way::Down | Way::Everyone => carried[link].down += bytes,
            }
        }
        self.radios.carried(at, &carried);
    }

    /// Energy so far in J, tails included.
    pub(super) fn joules(&self) -> f64 {
        self.radios.settled().as_joules_f64()
    }
}

fn of_client(flow: &scenario::Flow) -> Option<(usize, Way)> {
    match (flow.transport, flow.work) {
        (Transport::Udp { over }, Work::Datagrams { way, .. }) if flow.by == 0 && way != Way::Everyone => {
            Some((over, way))
        }
        _ => None,
    }
}
