//! Scans, and decides which access points become links.

use super::associate::{create_scanner, in_words, is_scanner, remove};
use super::channels::in_use;
use super::newcomers;
use super::schedule;
use super::{AGAIN, Means, Worker};
use crate::daemon::DeclaredLink;
use crate::nl80211::{SET_DOWN, channel_number};
use crate::rtnl::IfName;
use crate::wifi::bss::{self, Bss};
use crate::wifi::point::Point;
use crate::wifi::radio::Refused;
use crate::wifi::station;
use crate::wifi::supplicant::{Supplicant, SupplicantError};
use crate::wifi::view::{PointReport, Stage};
use policy::reach::{self, Audible, Capacity, LeftOut};
use policy::{Input, LinkEvent, LinkId, LinkKind, LinkSpec, Role};
use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};
use units::{Bitrate, Dbm, MacAddr};

/// Beacons that are reported for an access point in a scan.
const SIGHTINGS: usize = 3;
/// Pause after a scan of all channels while nothing is joined.
pub(super) const SEARCHES: Duration = Duration::from_secs(2);
/// The same on the channels in use.
pub(super) const REFRESHES: Duration = Duration::from_secs(5);
/// The same if that is a single channel, which the radio does not leave for it.
const REFRESHES_ONE: Duration = Duration::from_secs(2);
/// Longest duration of a scan.
const LASTS: Duration = Duration::from_secs(20);
/// An access point in a list is as good as heard now if it is not older than this.
const FRESH: Duration = Duration::from_secs(5);
/// How long an access point that is not joined is remembered.
const REMEMBERED: Duration = Duration::from_secs(30);
/// How long the user's own connection over the radio may take after the start. It chooses the channel.
const OWN_FIRST: Duration = Duration::from_secs(5);
const WAITS: &str =
    "it waits up to 5 s: your own connection over this radio comes first, and chooses the channel";
/// Most lists read after one scan.
const MOST_LISTS: usize = 64;

impl Worker {
    /// Begins a scan if it is time, and takes in what the last one found.
    pub(super) fn look(&mut self, now: Instant) {
        if self.means.is_none() {
            return;
        }
        if let Some((name, until)) = self.scan.running {
            let is_down = self.is_down(name);
            if now < until && !is_down {
                return;
            }
            let pause = if is_down { Duration::ZERO } else { REFRESHES };
            (self.scan.running, self.scan.next) = (None, Some(now + pause));
            return self.check_radio(now);
        }
        if self.scan.next.is_some_and(|next| now < next) {
            return;
        }
        if !std::mem::take(&mut self.scan.visits.awaited)
            && let Some(answers) = self.visit(now)
        {
            (self.scan.next, self.scan.visits.awaited) = (Some(answers), true);
            return;
        }
        if let Err(error) = self.begin_scan(now) {
            tracing::debug!("no scan: {}", in_words(error.as_ref()));
            self.scan.next = Some(now + AGAIN);
            self.check_radio(now);
        }
    }

    /// Gives up a radio that has gone or is turned off.
    pub(super) fn check_radio(&mut self, now: Instant) {
        let Some(means) = &mut self.means else { return };
        if let Err(error) = means.radio.is_usable(&mut means.kernel) {
            self.break_off(now, in_words(&error));
        }
    }

    fn begin_scan(&mut self, now: Instant) -> Result<(), Box<dyn Error>> {
        let (name, only) = match self.scan_beside(now)? {
            Some(scope) => scope,
            // A scan would disturb an association in progress.
            None if self.points.values().any(|point| point.station.is_some()) => {
                self.scan.next = Some(now + SEARCHES);
                return Ok(());
            }
            None => {
                // On a radio that is turned off, `wpa_supplicant` may forget a scan without a word.
                if let Some(means) = &mut self.means {
                    means.radio.is_usable(&mut means.kernel)?;
                }
                let name = self.scanner(now)?;
                let bound = self.bound_to()?;
                (name, self.scan.scope(bound))
            }
        };
        let Some(means) = &self.means else { return Ok(()) };
        let count = &mut self.scan.counts[usize::from(!only.is_empty())];
        let names = schedule::names(&self.plan.setup.networks, *count);
        let only = Vec::from_iter(only.iter().map(u32::to_string)).join(",");
        let frequency = if only.is_empty() {
            only
        } else {
            format!(" freq={only}")
        };
        means
            .supplicant
            .demand(&format!("IFNAME={name} SCAN TYPE=ONLY{frequency}{names}"))?;
        *count += 1;
        self.scan.running = Some((name, now + LASTS));
        self.scan.hastened = false;
        Ok(())
    }

    /// Frequencies to which others bind the radio. Empty: they leave it other channels.
    fn bound_to(&mut self) -> Result<BTreeSet<u32>, Box<dyn Error>> {
        let Some(means) = &mut self.means else {
            return Ok(BTreeSet::new());
        };
        let bound = means
            .radio
            .bound_to((&mut means.kernel, &mut means.rtnl), &self.plan.names)?;
        Ok(bound.unwrap_or_default())
    }

    /// The interface that scans while nothing is joined, made if necessary.
    fn scanner(&mut self, now: Instant) -> Result<IfName, Box<dyn Error>> {
        let name = station::scanner().filter(|name| self.plan.names.contains(name));
        let name =
            name.ok_or("another program has an interface slow-w0; rename it, and start slowhand again")?;
        let Some(means) = &mut self.means else {
            return Ok(name);
        };
        let link = means.rtnl.link_named(name)?;
        if link.as_ref().is_none_or(|link| !link.up) {
            if link.is_some() {
                remove(means, name);
            }
            self.make_room(now)?;
            let Some(means) = &mut self.means else {
                return Ok(name);
            };
            let made = create_scanner(means, &self.plan.names, name);
            if let Err(error) = &made {
                remove(means, name);
                let has_no_place = error.is::<Refused>();
                let remedy = if has_no_place { self.choice() } else { "" };
                self.complain(in_words(error.as_ref()) + remedy);
            }
            made?;
            self.trouble = None;
        }
        Ok(name)
    }

    /// Whether this is the scanner, and another program has set it down. Its scan never ends then. The
    /// `wpa_supplicant` of NetworkManager sets it down when it lets go of it.
    fn is_down(&mut self, name: IfName) -> bool {
        let Some(means) = self.means.as_mut().filter(|_| is_scanner(&name)) else {
            return false;
        };
        matches!(means.rtnl.link_named(name), Ok(Some(link)) if !link.up)
    }

    /// A scan of this interface has ended.
    pub(super) fn scanned(&mut self, now: Instant, interface: &str) {
        let Some((name, _)) = self.scan.running.filter(|_| self.scan.end(interface)) else {
            return;
        };
        self.keep_claims();
        self.settle_names();
        let pause = match is_scanner(&name) {
            true if self.scan.was_narrow => newcomers::PAUSE,
            true => SEARCHES,
            false if std::mem::take(&mut self.scan.hastened) => newcomers::PAUSE,
            false if self.is_weak() => self.scan.visits.rest(now).min(self.refreshes()),
            false => self.refreshes(),
        };
        self.scan.next = Some(now + pause);
        let Some(means) = &mut self.means else { return };
        match list(&means.supplicant, &name) {
            Ok(found) => self.take(now, found),
            Err(error) => tracing::debug!("no list of access points: {error}"),
        }
        self.choose(now);
    }

    /// Pause between two scans of the channels in use.
    fn refreshes(&self) -> Duration {
        match in_use(self.points.values()) {
            Some((_, used)) if used.len() > 1 => REFRESHES,
            _ => REFRESHES_ONE,
        }
    }

    /// A scan of this interface has failed. It does so on a radio that is blocked.
    pub(super) fn scan_failed(&mut self, now: Instant, interface: &str) {
        if self.scan.end(interface) {
            self.scan.was_narrow = false;
            self.scan.next = Some(now + SEARCHES);
            self.check_radio(now);
        }
    }

    /// Takes in the access points that were heard.
    fn take(&mut self, now: Instant, found: Vec<Bss>) {
        self.refused.clear();
        self.scan
            .newcomers
            .scanned(now, found.iter().map(|bss| bss.bssid));
        for bss in found.into_iter().filter(|bss| bss.age <= FRESH) {
            let networks = &self.plan.setup.networks;
            let of = networks
                .iter()
                .position(|network| network.ssid.as_bytes() == bss.ssid);
            let Some(at) = of else { continue };
            let bssid = bss.bssid;
            let is_joined = self
                .points
                .get(&bssid)
                .is_some_and(|point| point.station.is_some());
            let judged = networks[at].judge(&bss, self.memory.best(&networks[at].ssid));
            // What was joined before its network had more is kept.
            if let Err(weaker) = judged
                && !(is_joined && weaker.is_a_loss())
            {
                if weaker.is_a_loss() && self.warned.insert(networks[at].ssid.clone()) {
                    tracing::warn!(ssid = networks[at].ssid, %bssid, "refused: {weaker}");
                }
                let report = PointReport {
                    ssid: networks[at].ssid.clone(),
                    bssid: Some(bssid),
                    mhz: Some(bss.mhz),
                    signal: Some(bss.signal),
                    interface: None,
                    portal: None,
                    resolvers: Vec::new(),
                    relay: None,
                    stage: Stage::Refused,
                    why: Some(weaker.to_string()),
                };
                self.refused.insert(bssid, report);
                // It was good enough when it was heard before.
                if !is_joined {
                    self.dismiss(bssid);
                }
                continue;
            }
            self.scan.visits.hear(bss.mhz);
            let point = self.points.entry(bssid);
            let point = point.or_insert_with(|| Point::new(bss.clone(), at, now));
            point.network = at;
            if networks[at].role == Role::Never {
                point.why = Some("its network has the role `never`".to_owned());
            }
            point.hear(now, bss);
        }
    }

    /// Makes links of the access points that should be joined, and reports their beacons.
    fn choose(&mut self, now: Instant) {
        let Some(means) = &mut self.means else { return };
        let ours = &self.plan.names;
        if now < self.started + OWN_FIRST && is_awaited(means, ours) {
            let waits = self.points.values_mut().filter(|point| point.station.is_none());
            for point in waits {
                point.why.get_or_insert_with(|| WAITS.to_owned());
            }
            return;
        }
        let of = (&mut means.kernel, &mut means.rtnl);
        let (capacity, held) = match means.radio.left(of, ours) {
            Ok(left) => left,
            Err(error) => return self.break_off(now, in_words(error.as_ref())),
        };
        let candidates = self.points.values().filter(|point| {
            let is_allowed = self.network(point).role != Role::Never;
            let is_free = !point.silent && !point.is_paused(now) && is_allowed;
            point.station.is_some() || is_free
        });
        let (bssids, audible): (Vec<MacAddr>, Vec<Audible>) = candidates
            .filter_map(|point| {
                let offer = point.offer(now).filter(|_| self.is_worth_a_move(point));
                Some((point.bss.bssid, audible(point, offer)?))
            })
            .unzip();
        let chosen = reach::choose(&audible, &held, capacity);
        let chosen = Vec::from_iter(bssids.into_iter().zip(chosen));
        // Those to leave come first: the radio has to be free for the others.
        for &(bssid, chosen) in &chosen {
            if let Err(left) = chosen {
                self.pass_over(bssid, left, capacity);
            }
        }
        for &(bssid, _) in chosen.iter().filter(|(_, chosen)| chosen.is_ok()) {
            self.show(now, bssid);
        }
        self.forget(now);
    }

    /// The access point is to be joined: declares its link, and reports the beacons of this scan.
    fn show(&mut self, now: Instant, bssid: MacAddr) {
        let free = self.free_name();
        let next = self.next_link;
        let Some(point) = self.points.get_mut(&bssid) else {
            return;
        };
        if point.link.is_none() {
            let Some(name) = free.filter(|_| next < u16::MAX) else {
                point.why = Some("all names slow-w1 to slow-w8 are in use".to_owned());
                return;
            };
            self.next_link += 1;
            point.link = Some((LinkId(next), name));
            let network = &self.plan.setup.networks[point.network];
            let link = DeclaredLink {
                id: LinkId(next),
                interface: name.to_string(),
                spec: LinkSpec {
                    name: name.to_string(),
                    kind: LinkKind::Wifi,
                    role: network.role,
                    channel: channel_number(point.bss.mhz),
                },
                gateway: None,
                tariff: network.tariff,
            };
            // A daemon that has ended stops this thread, too.
            let _ = self.plan.inlet.declare(link);
        }
        let is_new = point.heard == now && point.station.is_none();
        if let Some((link, _)) = point.link.filter(|_| is_new) {
            point.why = None;
            let beacon = Input::Link(link, LinkEvent::Beacon(point.bss.signal));
            let _ = self.plan.inlet.send_all(std::iter::repeat_n(beacon, SIGHTINGS));
        }
    }

    /// The access point is left out. If it is joined, it is left when the radio moves to another channel, or
    /// when a better one takes its interface.
    fn pass_over(&mut self, bssid: MacAddr, left: LeftOut, capacity: Capacity) {
        let Some(point) = self.points.get(&bssid) else {
            return;
        };
        if point.station.is_some() {
            let why = match left {
                LeftOut::OtherChannel => "the radio moves to a better channel",
                LeftOut::Replaced => "its interface is for a better access point",
                LeftOut::Weak | LeftOut::NoInterface => return,
            };
            tracing::info!(%bssid, signal = %point.bss.signal, "left: {why}");
            self.close(bssid);
        }
        if let Some(point) = self.points.get_mut(&bssid) {
            point.why = Some(why_left_out(left, capacity));
            if let Some((link, _)) = point.link.take() {
                let _ = self.plan.inlet.retire(link);
            }
        }
    }

    /// Forgets access points that have not been heard for long.
    pub(super) fn forget(&mut self, now: Instant) {
        let inlet = &self.plan.inlet;
        self.points.retain(|_, point| {
            let stays = point.station.is_some() || now < point.heard + REMEMBERED || point.is_paused(now);
            if let Some((link, _)) = point.link.filter(|_| !stays) {
                let _ = inlet.retire(link);
            }
            stays
        });
    }

    fn free_name(&self) -> Option<IfName> {
        let used = |name: &IfName| {
            let mut links = self.points.values().filter_map(|point| point.link);
            links.any(|(_, of)| of == *name)
        };
        let mut names = self.plan.names.iter().copied();
        names.find(|name| !is_scanner(name) && !used(name))
    }
}

fn why_left_out(left: LeftOut, capacity: Capacity) -> String {
    let Capacity { stations, channels } = capacity;
    match left {
        LeftOut::Weak => "its signal is too weak".to_owned(),
        LeftOut::OtherChannel if channels <= 1 => {
            "the radio is on another channel, and drivers cannot divide a radio's time between channels"
                .to_owned()
        }
        LeftOut::OtherChannel => {
            format!("the radio is on other channels, and its driver allows {channels} at once")
        }
        LeftOut::NoInterface if stations == 0 => {
            format!("interfaces of other programs take all places of the driver; {SET_DOWN}")
        }
        LeftOut::Replaced => {
            "its signal is weak, and the card has no interface left beside that of a much better one"
                .to_owned()
        }
        LeftOut::NoInterface => {
            format!("no interface is left for it: the card can join {stations} now, and those are in use")
        }
    }
}

/// `offer`: see [`Audible::offer`].
pub(super) fn audible(point: &Point, offer: Option<Dbm>) -> Option<Audible> {
    Some(Audible {
        channel: channel_number(point.bss.mhz)?,
        signal: point.bss.signal,
        throughput: point.bss.throughput.unwrap_or(Bitrate::ZERO),
        joined: point.station.is_some(),
        offer,
    })
}

/// Whether the user's own connection over the radio is about to come.
fn is_awaited(means: &mut Means, ours: &[IfName]) -> bool {
    let found = means.radio.is_awaited(&mut means.kernel, &mut means.rtnl, ours);
    found.unwrap_or(false)
}

/// All access points that an interface has heard.
fn list(supplicant: &Supplicant, name: &IfName) -> Result<Vec<Bss>, SupplicantError> {
    let (mut all, mut from) = (Vec::new(), 0);
    for _ in 0..MOST_LISTS {
        let reply = supplicant.ask(&format!("IFNAME={name} {}", bss::request(from)))?;
        let (some, last) = bss::parse(&reply);
        all.extend(some);
        match last.and_then(|last: u32| last.checked_add(1)) {
            Some(next) if next > from => from = next,
            _ => break,
        }
    }
    Ok(all)
}

/// Removes the interface that only scans. Returns its name.
pub(super) fn remove_scanner(means: &mut Means) -> Option<IfName> {
    let name = station::scanner()?;
    remove(means, name);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::super::faults::worker;
    use super::*;
    use crate::wifi::network::Best;

    #[test]
    fn each_reason_to_leave_an_access_point_out_has_its_own_sentence() {
        let said = |left, stations, channels| why_left_out(left, Capacity { stations, channels });
        assert_eq!(said(LeftOut::Weak, 4, 1), "its signal is too weak");
        assert_eq!(
            said(LeftOut::OtherChannel, 4, 1),
            "the radio is on another channel, and drivers cannot divide a radio's time between channels"
        );
        assert_eq!(
            said(LeftOut::OtherChannel, 4, 2),
            "the radio is on other channels, and its driver allows 2 at once"
        );
        assert_eq!(
            said(LeftOut::NoInterface, 4, 1),
            "no interface is left for it: the card can join 4 now, and those are in use"
        );
        assert!(said(LeftOut::NoInterface, 0, 1).ends_with(SET_DOWN));
    }

    #[test]
    fn an_access_point_with_less_security_than_before_is_refused_and_forgotten() {
        let now = Instant::now();
        let (mut worker, _inlet) = worker(now, Stage::Joined);
        let (bssid, other) = (MacAddr::local(1), MacAddr::local(3));
        let heard = |worker: &Worker, bssid| Bss {
            bssid,
            ..worker.points[&MacAddr::local(1)].bss.clone()
        };
        let (own, open) = (heard(&worker, bssid), heard(&worker, other));
        worker.take(now, vec![own.clone(), open.clone()]);
        assert!(
            worker.points.contains_key(&other),
            "it is as open as the configuration"
        );
        // A file in no directory cannot be written, but what is remembered holds.
        assert!(worker.memory.reached("first", Best::Owe).is_err());
        worker.take(now, vec![own.clone(), open.clone()]);
        assert!(!worker.points.contains_key(&other));
        assert!(worker.points[&bssid].station.is_some(), "it is joined");
        let why = |worker: &Worker| worker.refused[&other].why.clone().unwrap();
        assert!(why(&worker).starts_with("it does not encrypt, and this network did before"));
        assert_eq!(worker.warned.len(), 1);
        worker.plan.setup.networks[0].fixed = true;
        worker.take(now, vec![own, open]);
        assert!(worker.points.contains_key(&other) && worker.refused.is_empty());
    }
}
