//! Takes over other networks to join while some are joined. Access points of networks that have not changed
//! stay joined.
//!
//! # Where we differ, and why
//! 1. A network of which anything has changed is left and joined again, even if only its role has. Links keep
//!    what they are declared with.
//! 2. What failed before is tried again at once: the user may have fixed it.
//!
//! # Checked by
//! `tests`; the trial `joins` of `guest`.

use super::Worker;
use crate::wifi::network::Network;
use std::time::Instant;

impl Worker {
    /// These are the networks to join from now on.
    pub(super) fn take_networks(&mut self, now: Instant, networks: Vec<Network>) {
        let old = std::mem::replace(&mut self.plan.setup.networks, networks);
        let moved = |at: usize| {
            let mut new = self.plan.setup.networks.iter();
            new.position(|network| *network == old[at])
        };
        let moves = Vec::from_iter((0..old.len()).map(moved));
        let left = self
            .points
            .values()
            .filter(|point| moves[point.network].is_none());
        for bssid in Vec::from_iter(left.map(|point| point.bss.bssid)) {
            self.dismiss(bssid);
        }
        for point in self.points.values_mut() {
            point.network = moves[point.network].unwrap_or(point.network);
            point.begin_anew();
        }
        self.place.begin_anew();
        self.proven = self.proven.iter().filter_map(|&at| moves[at]).collect();
        self.refused.clear();
        self.warned.clear();
        self.again = None;
        self.scan.hasten(now);
        let (stay, all) = (moves.iter().flatten().count(), self.plan.setup.networks.len());
        tracing::info!("the configuration names {all} networks now; {stay} of them have not changed");
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::worker;
    use crate::wifi::network::Network;
    use crate::wifi::view::Stage;
    use std::time::Instant;
    use units::MacAddr;

    /// Whether the access point of the first network stays joined, and where its network is then.
    fn after(change: impl Fn(Vec<Network>) -> Vec<Network>) -> Option<usize> {
        let now = Instant::now();
        let (mut worker, _inlet) = worker(now, Stage::Joined);
        worker.proven.insert(0);
        let networks = change(worker.plan.setup.networks.clone());
        worker.take_networks(now, networks.clone());
        assert_eq!(worker.plan.setup.networks, networks);
        let point = worker.points.get(&MacAddr::local(1))?;
        assert!(point.station.is_some());
        assert_eq!(Vec::from_iter(worker.proven), [point.network]);
        Some(point.network)
    }

    #[test]
    fn what_has_not_changed_stays_joined() {
        assert_eq!(after(|all| all), Some(0));
        let without_second = |mut all: Vec<Network>| {
            all.truncate(1);
            all
        };
        assert_eq!(after(without_second), Some(0));
        let reversed = |mut all: Vec<Network>| {
            all.reverse();
            all
        };
        assert_eq!(after(reversed), Some(1), "its network is in another place");
    }

    #[test]
    fn what_has_changed_or_gone_is_left() {
        assert_eq!(after(|_| Vec::new()), None);
        let with = |set: fn(&mut Network)| {
            move |mut all: Vec<Network>| {
                set(&mut all[0]);
                all
            }
        };
        assert_eq!(after(with(|network| network.hidden = true)), None);
        assert_eq!(after(with(|network| network.role = policy::Role::Backup)), None);
    }
}
