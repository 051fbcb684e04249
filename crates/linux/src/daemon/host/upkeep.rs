//! Restores what other programs change under a running daemon: the path manager and its endpoints.
//!
//! The kernel reports neither a changed parameter nor a flushed endpoint, so both are read every [`EVERY`].
//! After a change of routes, [`Upkeep::peers_are_due`] says when to check whether connections are led
//! elsewhere, for example into a new tunnel.
//!
//! # Checked by
//! `daemon::tests::upkeep`; `crates/cli/tests/hosts`: beside a full tunnel nothing leaves in clear.

use crate::daemon::api::observe::Observation;
use crate::daemon::flows::address_ids::AddressIds;
use crate::daemon::host::Host;
use crate::daemon::host::endpoints::Endpoints;
use crate::daemon::links::book::Links;
use std::collections::BTreeSet;
use std::time::Duration;
use units::Instant;

/// Interval at which parameters are read.
const EVERY: Duration = Duration::from_secs(5);
/// Wait after a change of rules or routes. By then the other changes that belong to it are there.
const SETTLE: Duration = Duration::from_millis(200);

/// When to check.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    settings: Option<Instant>,
    peers: Option<Instant>,
    /// What was reported as restored. Each is reported once.
    told: BTreeSet<&'static str>,
}

impl Upkeep {
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        [self.settings, self.peers].into_iter().flatten().min()
    }

    /// Makes the next check due now.
    #[cfg(test)]
    pub(crate) fn look_now(&mut self) {
        self.settings = None;
    }

    /// Schedules a check after a change of the user's routes or rules.
    pub(crate) fn routes_changed(&mut self, now: Instant) {
        self.peers.get_or_insert(now + SETTLE);
    }

    /// Whether it is time to check where the user's routes lead.
    pub(crate) fn peers_are_due(&mut self, now: Instant) -> bool {
        self.peers.take_if(|at| *at <= now).is_some()
    }

    /// If a check is due, restores what another program has changed.
    pub(crate) fn keep_up(
        &mut self,
        now: Instant,
        host: &mut Host,
        endpoints: &mut Endpoints,
        (links, ids): (&Links, &mut AddressIds),
    ) {
        if self.settings.is_some_and(|at| at > now) {
            return;
        }
        self.settings = Some(now + EVERY);
        self.restore_path_manager(host);
        for link in endpoints.missing(host) {
            match endpoints.set(host, links, ids, (link, true)) {
                Ok(()) => self.restored(host, "endpoints of the kernel's path manager"),
                Err(error) => host.outlet.trouble("restoring an endpoint", &error),
            }
        }
    }

    fn restore_path_manager(&mut self, host: &mut Host) {
        match host.settings.keep_path_manager(&mut host.commands) {
            Ok(false) => {}
            Ok(true) => self.restored(host, "net.mptcp.path_manager and its limits"),
            Err(error) => {
                let doing = "restoring the path manager's setting";
                host.outlet.trouble(doing, &error);
            }
        }
    }

    fn restored(&mut self, host: &mut Host, what: &'static str) {
        if self.told.insert(what) {
            host.outlet.observe(Observation::Trouble {
                what,
                why: "another program changed it; restored",
            });
        }
    }
}
