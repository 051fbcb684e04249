//! Access points whose beacons a monitor interface hears: one that may be new leads to a scan at once.
//!
//! # Where we differ, and why
//! 1. A beacon does not lead to a join by itself. Only a scan lets `wpa_supplicant` judge how the access
//!    point is protected.
//! 2. Access points of other networks lead to no scan for [`FOREIGN`] after a scan has listed them, or was
//!    made for them. At the edge of the range, beacons come and go.
//!
//! # Checked by
//! `tests`.

use super::Worker;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use units::MacAddr;

/// Shortest pause between two scans.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How long an access point that is not to be joined leads to no further scan.
const FOREIGN: Duration = Duration::from_secs(30);

/// Access points that lead to no scan.
#[derive(Debug, Default)]
pub(super) struct Newcomers {
    /// Those that were listed, or led to a scan, and when.
    seen: BTreeMap<MacAddr, Instant>,
    /// When the last scan ended.
    scanned: Option<Instant>,
}

impl Newcomers {
    /// A scan has listed these access points.
    pub(super) fn scanned(&mut self, now: Instant, listed: impl Iterator<Item = MacAddr>) {
        self.scanned = Some(now);
        self.seen.retain(|_, seen| now < *seen + FOREIGN);
        self.seen.extend(listed.map(|bssid| (bssid, now)));
    }

    /// When to scan for an access point that was heard. `awaited`: it is known to be one to join. `None`: no
    /// scan is needed.
    fn scan_at(&mut self, now: Instant, bssid: MacAddr, awaited: bool) -> Option<Instant> {
        let before = self.seen.insert(bssid, now);
        let is_known = before.is_some_and(|before| now < before + FOREIGN);
        if is_known && !awaited {
            return None;
        }
        Some(self.scanned.map_or(now, |ended| (ended + PAUSE).max(now)))
    }
}

impl Worker {
    /// A monitor interface has heard this access point after a silence. If it may be one to join, the
    /// channels in use are scanned at once.
    pub(super) fn hear_newcomer(&mut self, now: Instant, bssid: MacAddr) {
        let point = self.points.get(&bssid);
        let is_joined = point.is_some_and(|point| point.station.is_some() || point.is_paused(now));
        if is_joined || self.refused.contains_key(&bssid) {
            return;
        }
        let is_awaited = point.is_some_and(|point| point.silent);
        if let Some(at) = self.scan.newcomers.scan_at(now, bssid, is_awaited) {
            self.scan.hasten(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::worker;
    use super::*;
    use crate::wifi::view::Stage;

    #[test]
    fn a_beacon_of_an_access_point_that_is_not_joined_brings_the_next_scan_forward() {
        let now = Instant::now();
        let (mut worker, _inlet) = worker(now, Stage::Joined);
        let joined = *worker.points.keys().next().unwrap();
        let later = now + Duration::from_secs(4);
        worker.scan.after(later);
        worker.hear_newcomer(now, joined);
        assert_eq!(worker.scan.due(), Some(later));
        worker.hear_newcomer(now, MacAddr::local(99));
        assert_eq!(worker.scan.due(), Some(now));
    }

    #[test]
    fn a_new_access_point_leads_to_a_scan_and_a_foreign_one_only_now_and_then() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let [ours, foreign] = [1, 2].map(MacAddr::local);
        let mut newcomers = Newcomers::default();
        assert_eq!(newcomers.scan_at(at(0), foreign, false), Some(at(0)));
        newcomers.scanned(at(100), std::iter::once(foreign));
        assert_eq!(
            newcomers.scan_at(at(5_000), foreign, false),
            None,
            "it was listed"
        );
        assert_eq!(newcomers.scan_at(at(5_000), ours, false), Some(at(5_000)));
        newcomers.scanned(at(5_100), [foreign, ours].into_iter());
        assert_eq!(newcomers.scan_at(at(5_200), ours, false), None);
        let soonest = at(5_100) + PAUSE;
        assert_eq!(
            newcomers.scan_at(at(5_300), ours, true),
            Some(soonest),
            "it is back"
        );
        assert_eq!(newcomers.scan_at(at(36_000), foreign, false), Some(at(36_000)));
    }
}
