//! Takes the only place of a driver from the user's own interface, and gives it back.
//!
//! It is taken only while an access point of a primary network is heard. The kernel's list of access points
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
//!    doubles, or after the shortest one for a network that was not heard for [`FORGOTTEN`]. Networks count,
//!    not access points: a campus has hundreds that refuse the same password.
//! 2. Only an interface that NetworkManager manages is taken: it alone can be told to come back.
//! 3. Whoever lets NetworkManager manage the interface meanwhile has it back, and the same pause follows.
//! 4. An interface of NetworkManager that is down has the place, too: NetworkManager sets it up. After a boot
//!    it may come later than slowhand, so a free place is left free for [`STARTS`]. If slowhand has the place
//!    when it comes, that counts as taken.
//! 5. What is not given back whole is owed. Nothing is joined until it is.
//!
//! # Checked by
//! `tests`; the trial `joins-takeover` of `guest`.

use super::associate::in_words;
use super::{AGAIN, Worker};
use crate::journal::TakenOver;
use crate::place;
use crate::rtnl::IfName;
use crate::wifi::radio::Holder;
use crate::wifi::station;
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
/// A network that was not heard for this long is a new one.
const FORGOTTEN: Duration = Duration::from_secs(300);
/// Pause between two scans over the user's interface.
const SCANS: Duration = Duration::from_secs(60);
/// How long the daemon may take to put the change on record.
const RECORDS: Duration = Duration::from_secs(2);
/// How long NetworkManager may take to start.
const STARTS: Duration = Duration::from_secs(10);

/// The place of the user's interface.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Whose place is taken.
    taken: Option<Taken>,
    /// What is not given back whole: when that is tried again, and why it is not.
    owed: Option<(TakenOver, Instant, String)>,
    /// When it was given back last, and why.
    returned: Option<(Instant, Reason)>,
    /// How often, since something was joined.
    returns: u32,
    /// Networks that were heard then, and when they were heard last.
    known: BTreeMap<String, Instant>,
    /// When the user's interface was last asked to scan.
    scanned: Option<Instant>,
    /// When it was last checked whether NetworkManager wants the place.
    checked: Option<Instant>,
}

/// A place that is taken.
#[derive(Debug)]
struct Taken {
    from: TakenOver,
    /// Since when nothing has been joined.
    idle: Instant,
    /// The networks for which it was taken.
    heard: BTreeSet<String>,
}

/// Why the place went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Nothing could be joined.
    Idle,
    /// Somebody else wants it.
    Wanted,
    /// It could not be taken whole.
    Refused,
}

impl Place {
    /// The interface whose place is taken.
    pub(super) fn taken(&self) -> Option<IfName> {
        self.taken.as_ref().map(|taken| taken.from.name)
    }

    /// When it has work of its own.
    pub(super) fn due(&self) -> Option<Instant> {
        self.owed.as_ref().map(|(_, again, _)| *again)
    }

    fn take(&mut self, now: Instant, from: TakenOver, heard: BTreeSet<String>) {
        let idle = now;
        self.taken = Some(Taken { from, idle, heard });
    }

    /// Something is joined.
    fn joined(&mut self, now: Instant) {
        if let Some(taken) = &mut self.taken {
            (taken.idle, self.returns) = (now, 0);
        }
    }

    /// Whether nothing was joined for too long.
    fn is_idle(&self, now: Instant) -> bool {
        self.taken.as_ref().is_some_and(|taken| now >= taken.idle + IDLE)
    }

    /// It goes back. These networks were heard, and not joined. Returns whose place it is.
    fn give_back(
        &mut self,
        now: Instant,
        why: Reason,
        heard: impl Iterator<Item = String>,
    ) -> Option<TakenOver> {
        let taken = self.taken.take()?;
        self.returned = Some((now, why));
        self.returns = self.returns.saturating_add(1);
        let all = taken.heard.into_iter().chain(heard);
        self.known.extend(all.map(|network| (network, now)));
        Some(taken.from)
    }

    /// What could not be joined may be possible now.
    pub(super) fn begin_anew(&mut self) {
        (self.returned, self.returns) = (None, 0);
    }

    fn pause(&self) -> Duration {
        let (first, longest) = PAUSES;
        (first * (1 << self.returns.saturating_sub(1).min(10))).min(longest)
    }

    /// Whether it may be taken now for these networks. If not: why it went back.
    fn may_take(&mut self, now: Instant, heard: &BTreeSet<String>) -> Result<(), Reason> {
        self.known.retain(|network, last| {
            let is_known = now < *last + FORGOTTEN;
            if heard.contains(network) {
                *last = now;
            }
            is_known
        });
        let Some((returned, why)) = self.returned else {
            return Ok(());
        };
        let is_new = heard.iter().any(|network| !self.known.contains_key(network));
        let pause = if is_new { PAUSES.0 } else { self.pause() };
        if now < returned + pause { Err(why) } else { Ok(()) }
    }

    /// Whether to check now who wants the place.
    fn must_check(&mut self, now: Instant) -> bool {
        let is_due = self.checked.is_none_or(|last| now >= last + AGAIN);
        if is_due {
            self.checked = Some(now);
        }
        is_due
    }
}

/// Why the place is not taken.
pub(super) fn nothing_heard(name: IfName) -> String {
    format!(
        "your own interface {name} has the only place of the driver, and no access point of a primary network is heard"
    )
}

/// The same if that interface cannot hear anything.
pub(super) fn is_down(name: IfName) -> String {
    format!(
        "{name} is down, but NetworkManager manages it, so it keeps the only place of the driver and hears nothing; \
         `ip link set {name} up` lets it listen, and `nmcli device set {name} managed no` leaves the place to slowhand"
    )
}

/// The same while NetworkManager may be about to start.
pub(super) fn not_started(name: IfName) -> String {
    let seconds = STARTS.as_secs();
    format!("slowhand waits up to {seconds} s for NetworkManager to start, which may manage {name}")
}

/// The same after it was given back.
pub(super) fn given_back(name: IfName, why: Reason, pause: Duration) -> String {
    let seconds = pause.as_secs();
    let why = match why {
        Reason::Idle => "since nothing could be joined",
        Reason::Wanted => "since it was set up, or NetworkManager was told to manage it",
        Reason::Refused => "since it could not be taken whole",
    };
    format!(
        "your own interface {name} has the only place of the driver again, {why}; slowhand takes it again at most \
         {seconds} s after that, if it hears one of your networks then"
    )
}

/// The same if all that is heard has failed before.
pub(super) fn all_paused(name: IfName) -> String {
    format!(
        "your own interface {name} has the only place of the driver, and each access point of yours that is heard has \
         just failed; slowhand tries it again later"
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
pub(super) const CHOICE: &str = "; or let slowhand take the place from NetworkManager while it joins: \
                                 `take_over = true` in [wifi]";

impl Worker {
    /// Takes the only place of the driver if the user wants that, and another interface has it. After an
    /// error there is no place, and `status` and the log say why.
    pub(super) fn make_room(&mut self, now: Instant) -> Result<(), Box<dyn Error>> {
        if let Some((_, _, why)) = &self.place.owed {
            return Err(why.clone().into());
        }
        let holder = match self.holder(now) {
            Ok(Some(holder)) => holder,
            Ok(None) => return Ok(()),
            Err(why) => {
                self.complain(why.clone());
                return Err(why.into());
            }
        };
        self.forget(now);
        // Somebody has set it up meanwhile.
        self.give_back(now, Reason::Wanted);
        let taken = self.take_place(now, holder);
        if let Err(why) = &taken {
            self.complain(why.clone());
        }
        Ok(taken?)
    }

    /// The interface that has the only place of the driver, or will get it, because NetworkManager manages
    /// it. `None`: the place is free.
    fn holder(&mut self, now: Instant) -> Result<Option<Holder>, String> {
        let Some(means) = self.means.as_mut().filter(|_| self.plan.setup.take_over) else {
            return Ok(None);
        };
        let of = (&mut means.kernel, &mut means.rtnl);
        let holders = means.radio.holders(of.0, of.1, &self.plan.names);
        for holder in holders.map_err(|error| in_words(error.as_ref()))? {
            let name = holder.name;
            if claims_place(
                holder.up,
                || means.bus.manages(name).ok().flatten(),
                now < self.started + STARTS,
            )
            .ok_or_else(|| not_started(name))?
            {
                return Ok(Some(holder));
            }
        }
        Ok(None)
    }

    fn take_place(&mut self, now: Instant, holder: Holder) -> Result<(), String> {
        let Holder { name, ifindex, up } = holder;
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
        let networks: BTreeSet<String> = heard.values().cloned().collect();
        let may_take = self.place.may_take(now, &networks);
        if heard.is_empty() && up {
            self.ask_to_scan(now, ifindex);
        }
        if let Err(why) = may_take {
            return Err(given_back(name, why, self.place.pause()));
        }
        let is_paused = |bssid| self.points.get(bssid).is_some_and(|point| point.is_paused(now));
        match heard.keys().all(is_paused) {
            true if heard.is_empty() && up => Err(nothing_heard(name)),
            true if heard.is_empty() => Err(is_down(name)),
            true => Err(all_paused(name)),
            false => self.take_from(now, TakenOver { name, ifindex }, networks),
        }
    }

    /// Puts the change on record, and takes the place.
    fn take_from(&mut self, now: Instant, from: TakenOver, heard: BTreeSet<String>) -> Result<(), String> {
        if let Err(error) = self.plan.inlet.record_taken_over(from, RECORDS) {
            // It may be put on record late.
            let _ = self.plan.inlet.record_given_back(from);
            return Err(in_words(&error));
        }
        let Some(means) = &mut self.means else {
            return Ok(());
        };
        let taken = place::take((&mut means.bus, &mut means.rtnl), from);
        self.place.take(now, from, heard);
        if let Err(error) = taken {
            // Each attempt costs the user's connection.
            self.give_back(now, Reason::Refused);
            return Err(in_words(&error));
        }
        let interface = from.name;
        tracing::info!(%interface, "its place is taken from NetworkManager, to join access points");
        Ok(())
    }

    /// Those of the access points, each with its network, that are worth the user's own connection.
    fn worth_joining(&self, all: Vec<(MacAddr, Vec<u8>)>) -> BTreeMap<MacAddr, String> {
        let named = |ssid: &[u8]| {
            let mut networks = self.plan.setup.networks.iter();
            let it = networks.find(|network| network.ssid.as_bytes() == ssid);
            it.filter(|network| network.role == Role::Primary)
        };
        let worth = all
            .into_iter()
            .filter_map(|(bssid, ssid)| Some((bssid, named(&ssid)?)));
        worth
            .map(|(bssid, network)| (bssid, network.ssid.clone()))
            .collect()
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

    /// Gives the place back if nothing has been joined for too long, or if somebody wants it.
    pub(super) fn mind_place(&mut self, now: Instant) {
        if self.place.due().is_some_and(|again| now >= again) {
            self.repay(now);
        }
        let stations = || self.points.values().filter_map(|point| point.station.as_ref());
        if stations().any(|station| station.stage == Stage::Joined) {
            self.place.joined(now);
        } else if stations().next().is_none() && self.place.is_idle(now) {
            self.give_back(now, Reason::Idle);
        }
        if self.plan.setup.take_over && self.place.must_check(now) && self.has_place() {
            self.heed_manager(now);
        }
    }

    /// Whether an interface of ours has the place.
    fn has_place(&mut self) -> bool {
        let is_joining = self.points.values().any(|point| point.station.is_some());
        let Some(means) = self.means.as_mut().filter(|_| !is_joining) else {
            return is_joining;
        };
        let scanner = station::scanner().and_then(|name| means.rtnl.link_named(name).ok()?);
        scanner.is_some_and(|link| link.up)
    }

    /// NetworkManager may manage an interface that finds no place, because ours has it: NetworkManager has
    /// started late, or the user has told it to. The user has the place back, unless NetworkManager has come
    /// after something was joined.
    fn heed_manager(&mut self, now: Instant) {
        let Ok(Some(holder)) = self.holder(now) else {
            return;
        };
        let Holder { name, ifindex, up } = holder;
        if let Some(taken) = &self.place.taken {
            // Another one that is down has found no place before either.
            if up || taken.from.ifindex == ifindex {
                self.give_back(now, Reason::Wanted);
            }
            return;
        }
        let joined = self.points.values().filter(|point| {
            let station = point.station.as_ref();
            station.is_some_and(|station| station.stage == Stage::Joined)
        });
        let joined = BTreeSet::from_iter(joined.map(|point| self.network(point).ssid.clone()));
        if joined.is_empty() {
            self.place.take(now, TakenOver { name, ifindex }, joined);
            return self.give_back(now, Reason::Wanted);
        }
        if let Err(why) = self.take_from(now, TakenOver { name, ifindex }, joined) {
            tracing::warn!(interface = %name, "it finds no place, since slowhand has it: {why}");
        }
    }

    fn give_back(&mut self, now: Instant, why: Reason) {
        if self.place.taken.is_none() {
            return;
        }
        let points = self.points.values().map(|point| self.network(point).ssid.clone());
        let refused = self.refused.values().map(|point| point.ssid.clone());
        let heard = Vec::from_iter(points.chain(refused));
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
        let Some(from) = self.place.give_back(now, why, heard.into_iter()) else {
            return;
        };
        self.complain(given_back(from.name, why, self.place.pause()));
        self.place.owed = Some((from, now, String::new()));
        self.repay(now);
    }

    /// Gives back what is owed, or says why it still is.
    fn repay(&mut self, now: Instant) {
        let Some((from, ..)) = self.place.owed.take() else {
            return;
        };
        match place::give_back(from, place::SHORT) {
            // What the user changes from now on is not undone.
            Ok(()) => drop(self.plan.inlet.record_given_back(from)),
            Err(error) => {
                let why = in_words(&error);
                self.complain(why.clone());
                self.place.owed = Some((from, now + AGAIN, why));
            }
        }
    }

    /// The remedy, if an interface of NetworkManager has the only place and the user has not chosen.
    pub(super) fn choice(&mut self) -> &'static str {
        let Some(means) = self.means.as_mut().filter(|_| !self.plan.setup.take_over) else {
            return "";
        };
        let of = (&mut means.kernel, &mut means.rtnl);
        let holders = means.radio.holders(of.0, of.1, &self.plan.names);
        let holder = holders.unwrap_or_default().into_iter().find(|holder| holder.up);
        let Some(Holder { name, .. }) = holder else {
            return "";
        };
        let is_managed = matches!(means.bus.manages(name), Ok(Some(true)));
        if is_managed && !means.bus.has_iwd() {
            CHOICE
        } else {
            ""
        }
    }
}

/// Whether an interface of others has the only place, or will get it. `manages`: whether NetworkManager
/// manages it, if that is known. `None`: NetworkManager may be about to start.
fn claims_place(up: bool, manages: impl FnOnce() -> Option<bool>, early: bool) -> Option<bool> {
    match up {
        true => Some(true),
        false => manages().or((!early).then_some(false)),
    }
}

#[cfg(test)]
mod tests;
