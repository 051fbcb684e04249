//! The engine's state, and the queue of its actions.

mod acts;
mod beginnings;
mod connections;
mod endings;
mod links;
mod rates;

use super::tuning::{MOST_CONNS, MOST_LINKS};
use crate::estimate::tuning::BEACONS_HEARD;
use crate::io::{Action, ConnId, Input, LinkEvent, LinkId, SubflowId};
use crate::known::change::Change;
use crate::known::conn::Conn;
use crate::known::path::Path;
use crate::known::portals::Portals;
use crate::known::watches::Liveness;
use alloc::collections::{BTreeMap, VecDeque};
use units::Instant;

/// Links, connections, and the queue of actions.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) paths: BTreeMap<LinkId, Path>,
    pub(crate) conns: BTreeMap<ConnId, Conn>,
    owners: BTreeMap<SubflowId, ConnId>,
    actions: VecDeque<Action>,
    next_probe: u32,
    probes: VecDeque<(u32, LinkId)>,
    /// Where new connections start, in IPv4 and IPv6. `None`: where the user's routes lead.
    chosen: [Option<LinkId>; 2],
    peer_subflows: usize,
    pub(crate) liveness: Liveness,
    pub(crate) portals: Portals,
    /// Whether a radio that serves several networks hears other access points in a scanning slot alone.
    pub(crate) scans: bool,
}

impl State {
    pub(crate) fn new(peer_subflows: usize) -> Self {
        Self {
            paths: BTreeMap::new(),
            conns: BTreeMap::new(),
            owners: BTreeMap::new(),
            actions: VecDeque::new(),
            next_probe: 0,
            probes: VecDeque::new(),
            chosen: [None; 2],
            peer_subflows,
            liveness: Liveness::default(),
            portals: Portals::default(),
            scans: false,
        }
    }

    /// Whether an access point is heard now. In a scanning slot, one beacon is as much as can be expected:
    /// juggler §3.3 scans three channels for a tenth of the time.
    pub(crate) fn hears(&self, now: Instant, path: &Path) -> bool {
        let least = if self.scans && !path.carrier {
            1
        } else {
            BEACONS_HEARD
        };
        path.beacons.count(now) >= least
    }

    pub(crate) fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Records one input. Inputs about what is gone change nothing.
    pub(crate) fn learn(&mut self, now: Instant, input: Input) -> Change {
        match input {
            Input::Link(link, LinkEvent::Appeared(spec)) => self.appeared(link, spec),
            Input::Link(link, LinkEvent::Gone) => {
                self.paths.remove(&link);
                self.leads_elsewhere(link);
                Change::Shape
            }
            Input::Link(link, event) => self.about_link(now, link, event),
            Input::Conn(conn, event) => self.about_conn(now, conn, event),
            Input::Subflow(subflow, event) => self.about_subflow(now, subflow, event),
            Input::Radio(..) | Input::Flow(..) | Input::Allow(..) | Input::Resumed => Change::Counters,
        }
    }
}
