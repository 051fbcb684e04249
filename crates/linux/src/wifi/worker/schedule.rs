//! When the next scan begins, and of which channels and names.
//!
//! # Checked by
//! `tests`; the trial `joins-elsewhere` of `guest`.

use super::AGAIN;
use super::associate::{hex, is_scanner};
use super::channels::Wide;
use super::newcomers::Newcomers;
use super::scan::SEARCHES;
use super::visits::Visits;
use crate::rtnl::IfName;
use crate::wifi::network::Network;
use std::collections::BTreeSet;
use std::time::Instant;

/// Most hidden networks in one scan. Every driver takes as many names.
const MOST_NAMES: usize = 4;

/// Where scanning is.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// When the next one begins. `None`: at once.
    pub(super) next: Option<Instant>,
    /// The interface that scans, and when it should have ended.
    pub(super) running: Option<(IfName, Instant)>,
    /// An access point that began to send beacons may have come too late for the running one.
    pub(super) hastened: bool,
    /// Number of scans so far, of all channels and of some. Every second one asks for hidden networks by
    /// their names.
    pub(super) counts: [usize; 2],
    /// Nothing is joined, and the last one was of the channels on which named networks were heard.
    pub(super) was_narrow: bool,
    pub(super) newcomers: Newcomers,
    pub(super) wide: Wide,
    pub(super) visits: Visits,
}

impl Scan {
    /// When it has work.
    pub(super) fn due(&self) -> Option<Instant> {
        self.running.map(|(_, until)| until).or(self.next)
    }

    /// When to check whether the scanner is still up, as long as it scans.
    pub(super) fn check_at(&self, now: Instant) -> Option<Instant> {
        self.running
            .filter(|(name, _)| is_scanner(name))
            .map(|_| now + SEARCHES)
    }

    /// Begins the next one at this time, or earlier. If one runs, or another channel is visited, it begins
    /// after that.
    pub(super) fn hasten(&mut self, at: Instant) {
        match self.running {
            Some(_) => self.hastened = true,
            None if self.visits.awaited => self.hastened = true,
            None => self.next = self.next.map(|next| next.min(at)),
        }
    }

    /// Nothing is joined any more: begins one at once, of the channels on which named networks were heard. It
    /// asks for all of them, not only for hidden ones.
    pub(super) fn search(&mut self, now: Instant) {
        self.was_narrow = false;
        self.counts[1] = self.counts[1].next_multiple_of(2);
        self.hasten(now);
    }

    /// The frequencies in MHz of a scan while nothing is joined. None of them: all. `bound`: those to which
    /// others bind the radio. Without such, every second scan is of the few on which named networks were
    /// heard, because it is much shorter.
    pub(super) fn scope(&mut self, bound: BTreeSet<u32>) -> BTreeSet<u32> {
        let known = self.visits.known();
        self.was_narrow = bound.is_empty() && !self.was_narrow && !known.is_empty();
        if self.was_narrow { known.clone() } else { bound }
    }

    /// Nothing scans for now.
    pub(super) fn rest(&mut self, now: Instant) {
        (self.running, self.next) = (None, Some(now + AGAIN));
    }

    #[cfg(test)]
    pub(super) const fn after(&mut self, next: Instant) {
        self.next = Some(next);
    }

    /// Ends the running scan if it is of this interface. Returns whether it was.
    pub(super) fn end(&mut self, interface: &str) -> bool {
        let running = self.running.take_if(|(name, _)| name.as_str() == interface);
        running.is_some()
    }
}

/// The names of hidden networks that a scan asks for. A scan for names does not ask all others, so every
/// second one has none.
pub(super) fn names(networks: &[Network], count: usize) -> String {
    let hidden = Vec::from_iter(networks.iter().filter(|network| network.hidden));
    if count.is_multiple_of(2) || hidden.is_empty() {
        return String::new();
    }
    let first = count / 2 * MOST_NAMES;
    let some = hidden.iter().cycle().skip(first % hidden.len());
    let names = some.take(hidden.len().min(MOST_NAMES));
    names
        .map(|network| format!(" ssid {}", hex(network.ssid.as_bytes())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::network::Security;
    use policy::{Role, Tariff};
    use std::time::Duration;

    #[test]
    fn after_a_loss_every_second_scan_is_of_the_channels_that_are_known() {
        let mut scan = Scan::default();
        assert_eq!(scan.scope(BTreeSet::new()), BTreeSet::new(), "none is known yet");
        assert_eq!(scan.scope(BTreeSet::new()), BTreeSet::new());
        scan.visits.hear(2_437);
        scan.visits.hear(5_180);
        let known = BTreeSet::from([2_437, 5_180]);
        let now = Instant::now();
        scan.after(now + Duration::from_secs(2));
        scan.search(now);
        assert_eq!(scan.due(), Some(now));
        let scopes = [(); 3].map(|()| scan.scope(BTreeSet::new()));
        assert_eq!(scopes, [known.clone(), BTreeSet::new(), known]);
        let bound = BTreeSet::from([2_412]);
        assert_eq!(scan.scope(bound.clone()), bound, "the user's own channel");
        assert_eq!(scan.scope(bound.clone()), bound);
        assert!(!scan.was_narrow);
    }

    #[test]
    fn hidden_networks_are_asked_for_in_turn_by_every_second_scan() {
        let network = |number: usize| Network {
            ssid: format!("n{number}"),
            hidden: number > 0,
            security: Security::Open,
            fixed: false,
            role: Role::Primary,
            tariff: Tariff::Flat,
        };
        let all = Vec::from_iter((0..=6).map(network));
        let asked = |count| names(&all, count);
        assert_eq!([asked(0), asked(2)], ["", ""]);
        assert_eq!(asked(1), " ssid 6e31 ssid 6e32 ssid 6e33 ssid 6e34");
        assert_eq!(asked(3), " ssid 6e35 ssid 6e36 ssid 6e31 ssid 6e32");
        assert_eq!(names(&all[..2], 1), " ssid 6e31");
        assert_eq!(names(&all[..1], 1), "");
    }
}
