//! What other programs change under a running daemon: the path manager and its endpoints are restored, and connections that the user's routes
//! now lead elsewhere, as into a tunnel that came up, leave our links.
//!
//! The kernel tells nobody of a changed parameter or a flushed endpoint, so these are read every [`EVERY`].
//!
//! # Checked by
//! `daemon::tests::upkeep`; `crates/cli/tests/hosts`: beside a full tunnel nothing leaves in clear.

use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::api::observe::Observation;
use crate::daemon::drive::world::World;
use crate::daemon::flows::book::Phase;
use policy::{ConnId, LinkId};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;
use units::Instant;

/// How often parameters are read.
const EVERY: Duration = Duration::from_secs(5);
/// After rules or routes changed: until then the other ones that belong to the change are there, too.
const SETTLE: Duration = Duration::from_millis(200);

/// When to look.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    settings: Option<Instant>,
    peers: Option<Instant>,
    /// What was reported to have been restored: once each.
    told: BTreeSet<&'static str>,
}

impl Upkeep {
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        [self.settings, self.peers].into_iter().flatten().min()
    }

    /// As if the time to read parameters had come.
    #[cfg(test)]
    pub(crate) fn look_now(&mut self) {
        self.settings = None;
    }

    /// The user's routes or rules changed.
    pub(crate) fn routes_changed(&mut self, now: Instant) {
        self.peers.get_or_insert(now + SETTLE);
    }
}

impl World {
    /// Does what is due.
    pub(crate) fn keep_up(&mut self, now: Instant) {
        if self.upkeep.peers.take_if(|at| *at <= now).is_some() {
            self.leave_what_leads_elsewhere(now);
        }
        if self.upkeep.settings.is_none_or(|at| at <= now) {
            self.upkeep.settings = Some(now + EVERY);
            self.restore_path_manager();
            self.restore_endpoints();
        }
    }

    fn restore_path_manager(&mut self) {
        match self.settings.keep_path_manager(&mut self.commands) {
            Ok(false) => {}
            Ok(true) => self.restored("net.mptcp.path_manager and its limits"),
            Err(error) => self
                .outlet
                .trouble("restoring the choice of the path manager", &error),
        }
    }

    /// Endpoints that were made for links and are gone.
    fn restore_endpoints(&mut self) {
        if self.endpoints.is_empty() {
            return;
        }
        let Ok(present) = self.commands.endpoints() else {
            return;
        };
        let missing = |ids: &Vec<_>| ids.iter().any(|id| present.iter().all(|known| known.id != *id));
        let links = self.endpoints.iter().filter(|(_, ids)| missing(ids));
        let links: Vec<LinkId> = links.map(|(&link, _)| link).collect();
        for link in links {
            match self.endpoint(link, true) {
                Ok(()) => self.restored("endpoints of the kernel's path manager"),
                Err(error) => self.outlet.trouble("restoring an endpoint", &error),
            }
        }
    }

    fn restored(&mut self, what: &'static str) {
        if self.upkeep.told.insert(what) {
            self.outlet.observe(Observation::Trouble {
                what,
                why: "another program changed it; restored",
            });
        }
    }

    /// Leaves connections alone whose peers the user's routes lead to by a network of its own now, and ends the subflows that were added to them.
    fn leave_what_leads_elsewhere(&mut self, now: Instant) {
        let open = self.flows.conns().filter(|conn| conn.phase == Phase::Open);
        let open: Vec<(ConnId, IpAddr)> = open.map(|conn| (conn.id, conn.remote.ip())).collect();
        for (conn, peer) in open {
            if !self.is_led_elsewhere(peer) {
                continue;
            }
            let added = self.flows.subflows_of(conn).filter(|subflow| !subflow.initial);
            for id in Vec::from_iter(added.map(|subflow| subflow.id)) {
                if let Err(error) = self.withdraw(now, id) {
                    self.outlet.trouble(
                        "withdrawing the address of a subflow that leaves its link",
                        &error,
                    );
                }
                self.destroy_quietly(id);
            }
            self.leave_alone(conn, LeftAlone::Elsewhere);
        }
    }
}
