//! Takes the only place of a driver from the user's own interface, and gives it back.
//!
//! It is taken only while an access point of a named network is heard. The kernel's list of access points
//! tells: it has all that any interface of the radio has heard within 30 s. If it has none of them, the
//! user's interface scans once a minute.
//!
//! # Sources
//! - `net/wireless/scan.c` (Linux 6.18), `IEEE80211_SCAN_RESULT_EXPIRE`: the age after which an access point
//!   leaves the list.
//!
//! # Where we differ, and why
//! 1. The host must not be left without WiFi because slowhand cannot join. So the place goes back after
//!    [`IDLE`] with nothing joined, once no attempt is in progress. It is taken again after a pause that
//!    doubles, or after the shortest one for an access point that was not heard for [`FORGOTTEN`].
//! 2. Only an interface that NetworkManager manages is taken: it alone can be told to come back.
//! 3. Whoever sets the interface up meanwhile has it back, and the same pause follows.
//!
//! # Checked by
//! `tests`; the trial `joins-takeover` of `guest`.

use super::Worker;
use super::associate::in_words;
use crate::place;
use crate::rtnl::IfName;
use crate::wifi::view::Stage;
use policy::Role;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::{Duration, Instant};
use units::MacAddr;

/// How long the place is kept while nothing is joined.
const IDLE: Duration = Duration::from_secs(30);
/// The shortest and the longest pause before the place is taken again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3_600));
/// An access point that was not heard for this long is a new one.
const FORGOTTEN: Duration = Duration::from_secs(300);
/// Pause between two scans over the user's interface.
const SCANS: Duration = Duration::from_secs(60);
/// How long the daemon may take to put the change on record.
const RECORDS: Duration = Duration::from_secs(2);

/// The place of the user's interface.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The interface whose place is taken, and since when nothing has been joined.
    taken: Option<(IfName, Instant)>,
    /// When it was given back last.
    returned: Option<Instant>,
    /// How often, since something was joined.
    returns: u32,
    /// Access points that were heard then, and when they were heard last.
    known: BTreeMap<MacAddr, Instant>,
    /// When the user's interface was last asked to scan.
    scanned: Option<Instant>,
}

impl Place {
    /// The interface whose place is taken.
    pub(super) fn taken(&self) -> Option<IfName> {
        self.taken.map(|(name, _)| name)
    }

    /// Something is joined.
    fn joined(&mut self, now: Instant) {
        if let Some((_, idle)) = &mut self.taken {
            (*idle, self.returns) = (now, 0);
        }
    }

    /// Whether nothing was joined for too long.
    fn is_idle(&self, now: Instant) -> bool {
        self.taken.is_some_and(|(_, idle)| now >= idle + IDLE)
    }

    /// It goes back. These access points could not be joined.
    fn give_back(&mut self, now: Instant, heard: impl Iterator<Item = MacAddr>) {
        (self.taken, self.returned) = (None, Some(now));
        self.returns = self.returns.saturating_add(1);
        self.known.extend(heard.map(|bssid| (bssid, now)));
    }

    /// What could not be joined may be possible now.
    pub(super) fn begin_anew(&mut self) {
        (self.returned, self.returns) = (None, 0);
    }

    fn pause(&self) -> Duration {
        let (first, longest) = PAUSES;
        (first * (1 << self.returns.saturating_sub(1).min(10))).min(longest)
    }

    /// Whether it may be taken now for these access points.
    fn may_take(&mut self, now: Instant, heard: &BTreeSet<MacAddr>) -> bool {
        self.known.retain(|bssid, last| {
            let is_known = now < *last + FORGOTTEN;
            if heard.contains(bssid) {
                *last = now;
            }
            is_known
        });
        let Some(returned) = self.returned else {
            return true;
        };
        let is_new = heard.iter().any(|bssid| !self.known.contains_key(bssid));
        now >= returned + if is_new { PAUSES.0 } else { self.pause() }
    }
}

/// Why the place is not taken.
pub(super) fn nothing_heard(name: IfName) -> String {
    format!(
        "your own interface {name} has the only place of the driver, and no access point of your networks is heard"
    )
}

/// The same after it was given back.
pub(super) fn given_back(name: IfName, pause: Duration) -> String {
    let seconds = pause.as_secs();
    format!(
        "your own interface {name} has the only place of the driver again, since nothing could be joined; \
         slowhand takes it again after {seconds} s"
    )
}

/// The same of an interface that NetworkManager does not have.
pub(super) fn not_managed(name: IfName) -> String {
    format!(
        "{name} has the only place of the driver, and NetworkManager does not manage it, so `take_over` leaves it \
         alone; `ip link set {name} down` frees the place"
    )
}

/// The same beside iwd.
pub(super) fn beside_iwd(name: IfName) -> String {
    format!(
        "{name} has the only place of the driver, and `take_over` works only without iwd; \
         `iwctl device {name} set-property Powered off` frees the place"
    )
}

/// The remedy for a user who has not chosen.
pub(super) const CHOICE: &str = "; or let slowhand take it from NetworkManager while it joins: \
                                 `take_over = true` in [wifi]";

impl Worker {
    /// Takes the only place of the driver if the user wants that, and another interface has it. After an
    /// error there is no place, and the user is told why.
    pub(super) fn make_room(&mut self, now: Instant) -> Result<(), Box<dyn Error>> {
        let Some(means) = self.means.as_mut().filter(|_| self.plan.setup.take_over) else {
            return Ok(());
        };
        let of = (&mut means.kernel, &mut means.rtnl);
        let Some(holder) = means.radio.holder(of.0, of.1, &self.plan.names)? else {
            return Ok(());
        };
        self.forget(now);
        // Somebody has set it up meanwhile.
        self.give_back(now);
        let taken = self.take_place(now, holder);
        if let Err(why) = &taken {
            self.complain(why.clone());
        }
        Ok(taken?)
    }

    fn take_place(&mut self, now: Instant, (name, ifindex): (IfName, u32)) -> Result<(), String> {
        let Some(means) = &mut self.means else {
            return Err("the radio has gone".to_owned());
        };
        if means.bus.has_iwd() {
            return Err(beside_iwd(name));
        }
        let managed = means.bus.manages(name).map_err(|error| in_words(&error))?;
        if managed != Some(true) {
            return Err(not_managed(name));
        }
        let all = means.kernel.heard(ifindex).map_err(|error| in_words(&error))?;
        let heard = self.worth_joining(all);
        let may_take = self.place.may_take(now, &heard);
        if heard.is_empty() {
            self.ask_to_scan(now, ifindex);
        }
        let is_paused = |bssid| self.points.get(bssid).is_some_and(|point| point.is_paused(now));
        match heard.iter().all(is_paused) {
            _ if !may_take => return Err(given_back(name, self.place.pause())),
            true if heard.is_empty() => return Err(nothing_heard(name)),
            true => return Err(given_back(name, self.place.pause())),
            false => {}
        }
        let recorded = self.plan.inlet.taken_over(name, RECORDS);
        recorded.map_err(|error| in_words(&error))?;
        let Some(means) = &mut self.means else {
            return Ok(());
        };
        let taken = place::take((&mut means.bus, &mut means.rtnl), (name, ifindex));
        if let Err(error) = taken {
            // Each attempt costs the user's connection.
            self.place.give_back(now, heard.into_iter());
            return Err(in_words(&error));
        }
        self.place.taken = Some((name, now));
        tracing::info!(interface = %name, "its place is taken from NetworkManager, to join access points");
        Ok(())
    }

    /// Those of the access points whose networks may be joined.
    fn worth_joining(&self, all: Vec<(MacAddr, Vec<u8>)>) -> BTreeSet<MacAddr> {
        let is_named = |ssid: &[u8]| {
            let mut networks = self.plan.setup.networks.iter();
            networks.any(|network| network.ssid.as_bytes() == ssid && network.role != Role::Never)
        };
        let named = all.into_iter().filter(|(_, ssid)| is_named(ssid));
        named.map(|(bssid, _)| bssid).collect()
    }

    /// Lets the user's interface scan, if that was not requested for long.
    fn ask_to_scan(&mut self, now: Instant, ifindex: u32) {
        let is_due = self.place.scanned.is_none_or(|last| now >= last + SCANS);
        if let Some(means) = self.means.as_mut().filter(|_| is_due) {
            self.place.scanned = Some(now);
            if let Err(error) = means.kernel.scan(ifindex) {
                tracing::debug!("no scan over the user's interface: {error}");
            }
        }
    }

    /// Gives the place back if nothing has been joined for too long.
    pub(super) fn mind_place(&mut self, now: Instant) {
        let stations = || self.points.values().filter_map(|point| point.station.as_ref());
        if stations().any(|station| station.stage == Stage::Joined) {
            self.place.joined(now);
        } else if stations().next().is_none() && self.place.is_idle(now) {
            self.give_back(now);
        }
    }

    fn give_back(&mut self, now: Instant) {
        let Some(name) = self.place.taken() else { return };
        for bssid in Vec::from_iter(self.points.keys().copied()) {
            self.close(bssid);
        }
        for point in self.points.values_mut() {
            if let Some((link, _)) = point.link.take() {
                // A daemon that has ended stops this thread, too.
                let _ = self.plan.inlet.retire(link);
            }
        }
        if let Some(means) = &mut self.means {
            super::scan::remove_scanner(means);
        }
        self.scan.rest(now);
        self.place.give_back(now, self.points.keys().copied());
        if let Err(error) = place::give_back(name) {
            tracing::warn!(interface = %name, "its place is not given back whole: {}", in_words(&error));
        }
        self.complain(given_back(name, self.place.pause()));
    }

    /// The remedy, if an interface of NetworkManager has the only place and the user has not chosen.
    pub(super) fn choice(&mut self) -> &'static str {
        let Some(means) = self.means.as_mut().filter(|_| !self.plan.setup.take_over) else {
            return "";
        };
        let of = (&mut means.kernel, &mut means.rtnl);
        let holder = means.radio.holder(of.0, of.1, &self.plan.names);
        let Ok(Some((name, _))) = holder else { return "" };
        let is_managed = matches!(means.bus.manages(name), Ok(Some(true)));
        if is_managed { CHOICE } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::worker;
    use super::*;

    const AT: [MacAddr; 3] = [MacAddr::local(1), MacAddr::local(2), MacAddr::local(3)];

    fn taken(now: Instant) -> Place {
        Place {
            taken: Some(("gone0".parse().unwrap(), now)),
            ..Place::default()
        }
    }

    #[test]
    fn the_place_goes_back_after_a_while_with_nothing_joined() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut place = taken(start);
        assert!(!place.is_idle(at(29)) && place.is_idle(at(30)));
        place.joined(at(29));
        assert!(!place.is_idle(at(58)) && place.is_idle(at(59)));
        assert!(!Place::default().is_idle(at(1_000)), "it is not taken");
    }

    #[test]
    fn the_pause_before_it_is_taken_again_grows_until_something_is_joined() {
        let start = Instant::now();
        let mut place = taken(start);
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let name = place.taken().unwrap();
            place.give_back(now, AT.into_iter());
            let heard = BTreeSet::from(AT);
            let returned = now;
            while !place.may_take(now, &heard) {
                now += Duration::from_secs(10);
            }
            pauses.push(now.duration_since(returned).as_secs());
            place.taken = Some((name, now));
        }
        assert_eq!(pauses, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
        place.joined(now);
        place.give_back(now, AT.into_iter());
        assert_eq!(place.pause(), PAUSES.0);
        assert!(!place.may_take(now, &BTreeSet::from(AT)));
        place.begin_anew();
        assert!(
            place.may_take(now, &BTreeSet::from(AT)),
            "the user may have fixed it"
        );
    }

    #[test]
    fn an_access_point_that_is_heard_anew_ends_a_long_pause() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut place = taken(start);
        for _ in 0..5 {
            place.give_back(start, AT[..2].iter().copied());
        }
        let [known, silent, new] = AT;
        assert!(!place.may_take(at(200), &BTreeSet::from([known, silent])));
        assert!(place.may_take(at(200), &BTreeSet::from([known, new])));
        assert!(!place.may_take(at(400), &BTreeSet::from([known])));
        assert!(
            place.may_take(at(510), &BTreeSet::from([silent])),
            "it was away for long"
        );
        assert!(!place.may_take(at(59), &BTreeSet::from([new])), "not at once");
    }

    #[test]
    fn only_networks_that_may_be_joined_are_worth_the_place() {
        let (mut worker, _inlet) = worker(Instant::now(), Stage::Joined);
        worker.plan.setup.networks[1].role = Role::Never;
        let heard = ["first", "second", "other"].map(|ssid| ssid.as_bytes().to_vec());
        let worth = worker.worth_joining(AT.into_iter().zip(heard).collect());
        assert_eq!(worth, BTreeSet::from([AT[0]]));
    }

    #[test]
    fn the_place_is_kept_while_something_is_joined_or_tried() {
        let start = Instant::now();
        let later = start + IDLE;
        for stage in [Stage::Joined, Stage::Joining, Stage::Addressing, Stage::Lost] {
            let (mut worker, _inlet) = worker(start, stage);
            worker.place = taken(start);
            worker.mind_place(later);
            assert!(worker.place.taken().is_some(), "{stage:?}");
            assert_eq!(worker.view().taken_over.as_deref(), Some("gone0"));
        }
        let (mut worker, _inlet) = worker(start, Stage::Joining);
        worker.place = taken(start);
        worker.close(AT[0]);
        worker.mind_place(later);
        assert!(worker.place.taken().is_none());
        assert!(worker.trouble.unwrap().contains("takes it again after 60 s"));
    }
}
