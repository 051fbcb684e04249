//! Follows each association from its beginning to its end: events, leases, deadlines.

use super::Worker;
use super::associate::in_words;
use super::channels::in_use;
use crate::rtnl::{Address, Route, Table};
use crate::wifi::dhcp::{Client, Want};
use crate::wifi::event::{Event, What};
use crate::wifi::lease::{self, Port};
use crate::wifi::memory::Memory;
use crate::wifi::network::Best;
use crate::wifi::point::{Failure, Point, Station, announced};
use crate::wifi::supplicant::Supplicant;
use crate::wifi::view::Stage;
use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant, SystemTime};
use units::MacAddr;
use wire::dhcp::Message;

/// How long an access point that has given an IPv6 address may take to give one of IPv4, too.
const SECOND_FAMILY: Duration = Duration::from_secs(3);

impl Worker {
    /// Takes in the pending events of `wpa_supplicant`.
    pub(super) fn read_events(&mut self, now: Instant) {
        while let Some(message) = self.means.as_ref().and_then(|means| means.supplicant.event()) {
            if let Some(event) = Event::parse(&message) {
                self.take_event(now, &event);
            }
        }
    }

    pub(super) fn take_event(&mut self, now: Instant, event: &Event) {
        match event.what {
            What::Scanned => return self.scanned(now, &event.interface),
            What::ScanFailed => return self.scan_failed(now, &event.interface),
            _ => {}
        }
        let is_it = |point: &&mut Point| {
            let station = point.station.as_ref();
            station.is_some_and(|station| station.name.as_str() == event.interface)
        };
        let Some(point) = self.points.values_mut().find(is_it) else {
            return;
        };
        let (bssid, network) = (point.bss.bssid, point.network);
        let outcome = match event.what {
            What::Connected => {
                self.proven.insert(network);
                let network = &self.plan.setup.networks[network];
                if let Some(means) = &self.means
                    && let Some(best) = reached(&means.supplicant, &event.interface)
                {
                    remembered(self.memory.reached(&network.ssid, best));
                }
                connected(now, point, &self.memory)
            }
            What::Disconnected { reason } => {
                let means = self.means.as_ref();
                disconnected(now, point, reason, means.map(|means| &means.supplicant));
                // Its radio may have been turned off.
                return self.check_radio(now);
            }
            What::Refused { status } => {
                point.why = Some(format!("it refuses the association (status {status})"));
                Ok(())
            }
            What::Switched { mhz } => {
                switched(point, mhz);
                Ok(())
            }
            What::WrongKey => {
                let (failure, why) = self.why_wrong_key(bssid, network);
                return self.fail(now, bssid, failure, why);
            }
            What::Untrusted => {
                let why = "the certificate of the login server does not pass the check that the file of `login_file` \
                           demands; it may be an impostor, or the clock is wrong";
                return self.fail(now, bssid, Failure::WrongKey, why.to_owned());
            }
            What::LoginRefused => {
                let why = "the network refuses the login; check the file that `login_file` names".to_owned();
                return self.fail(now, bssid, Failure::WrongKey, why);
            }
            What::Scanned | What::ScanFailed => Ok(()),
        };
        if let Err(error) = outcome {
            self.fail(now, bssid, Failure::Other, in_words(error.as_ref()));
        }
    }

    /// Why the handshake with the key has failed. If the key has been right in this network, a frame may have
    /// been lost, as happens at the edge of the range. The long pause after a wrong key would be wrong then.
    fn why_wrong_key(&self, bssid: MacAddr, network: usize) -> (Failure, String) {
        let was_changed = self.points.get(&bssid).is_some_and(Point::fails_again_and_again);
        if self.proven.contains(&network) && !was_changed {
            let why = "the handshake failed with a key that has been right in this network";
            return (Failure::Other, why.to_owned());
        }
        let why = "the key is wrong, or it is another network of this name";
        (Failure::WrongKey, why.to_owned())
    }

    /// Does what is due at each access point.
    pub(super) fn tend(&mut self, now: Instant) {
        for bssid in Vec::from_iter(self.points.keys().copied()) {
            if let Err(error) = self.talk(now, bssid) {
                self.fail(now, bssid, Failure::Other, in_words(error.as_ref()));
            }
            self.join_by_ipv6(now, bssid);
            let is_overdue =
                |point: &Point, alone| point.deadline(alone).is_some_and(|deadline| deadline <= now);
            let alone = self.is_nothing_joined();
            if is_overdue(&self.points[&bssid], alone)
                && (is_overdue(&self.points[&bssid], false) || !self.returns(bssid))
            {
                let (failure, why) = self.points[&bssid].overdue();
                self.fail(now, bssid, failure, why);
                if alone && failure == Failure::Lost {
                    self.scan.search(now);
                }
            }
        }
    }

    /// Whether no access point is joined.
    pub(super) fn is_nothing_joined(&self) -> bool {
        in_use(self.points.values()).is_none()
    }

    /// Whether `wpa_supplicant` has heard a lost access point again, and associates with it.
    fn returns(&mut self, bssid: MacAddr) -> bool {
        let station = self
            .points
            .get_mut(&bssid)
            .and_then(|point| point.station.as_mut());
        let (Some(station), Some(means)) = (station, &self.means) else {
            return false;
        };
        // A program that does not answer is started again.
        station.returns = means.supplicant.is_at_it(station.name.as_str()).unwrap_or(false);
        station.returns
    }

    /// Takes an access point as joined that gives addresses by router advertisements alone. Its address of
    /// IPv4 is sought all the same.
    fn join_by_ipv6(&mut self, now: Instant, bssid: MacAddr) {
        let (Some(means), Some(point)) = (&mut self.means, self.points.get_mut(&bssid)) else {
            return;
        };
        let waits = |station: &&mut Station| {
            station.stage == Stage::Addressing && now >= station.since + SECOND_FAMILY
        };
        let Some(station) = point.station.as_mut().filter(waits) else {
            return;
        };
        let routes = means.rtnl.routes_in(Table::MAIN).unwrap_or_default();
        let leads_out = |route: &Route| {
            route.oif == Some(station.ifindex) && route.dst.len() == 0 && route.dst.addr().is_ipv6()
        };
        if !routes.iter().any(leads_out) {
            return;
        }
        let all = means.rtnl.addresses().unwrap_or_default();
        let is_own =
            |one: &&Address| one.ifindex == station.ifindex && one.usable() && one.prefix.addr().is_ipv6();
        let Some(address) = all.iter().find(is_own).map(|one| one.prefix.addr()) else {
            return;
        };
        let (ssid, interface) = (&self.plan.setup.networks[point.network].ssid, station.name);
        tracing::info!(ssid, %bssid, %interface, %address, "joined");
        station.enter(now, Stage::Joined);
        point.succeeded();
        point.why = Some("it gives no IPv4 address (DHCP), only IPv6".to_owned());
    }

    /// Sends and receives the messages of a lease.
    fn talk(&mut self, now: Instant, bssid: MacAddr) -> Result<(), Box<dyn Error>> {
        while let Some(want) = self.next_want(now, bssid)? {
            match want {
                Want::Send(message) => {
                    let station = self.points.get(&bssid).and_then(|point| point.station.as_ref());
                    let client = station.and_then(|station| station.client.as_ref());
                    if let Some((_, port)) = client {
                        // A packet that could not be sent is like one that was lost.
                        let _ = port.send(message.has, &message);
                    }
                }
                Want::Probe(message) => {
                    let point = self.points.get_mut(&bssid);
                    let station = point.and_then(|point| point.station.as_mut());
                    if let Some((_, port)) = station.and_then(|station| station.client.as_mut()) {
                        port.send_arp(&message)?;
                    }
                }
                Want::Decline(message) => self.decline(bssid, &message),
                Want::Use(_) | Want::Drop => {
                    // The daemon checks the link as soon as it has an address.
                    self.take_name_servers(bssid, &want);
                    self.take_portal(bssid);
                    self.change_lease(now, bssid, &want)?;
                }
            }
        }
        Ok(())
    }

    fn next_want(&mut self, now: Instant, bssid: MacAddr) -> Result<Option<Want>, Box<dyn Error>> {
        let station = self
            .points
            .get_mut(&bssid)
            .and_then(|point| point.station.as_mut());
        let Some(station) = station.filter(|station| station.stage != Stage::Lost) else {
            return Ok(None);
        };
        let Some((client, port)) = &mut station.client else {
            return Ok(None);
        };
        while let Some(message) = port.receive() {
            if let Some(want) = client.hear(now, &message) {
                return Ok(Some(want));
            }
        }
        while let Some(message) = port.receive_arp() {
            if let Some(want) = client.hear_arp(now, &message) {
                return Ok(Some(want));
            }
        }
        if !client.probes() {
            port.close_arp();
        }
        Ok(client.tick(now))
    }

    /// Another host has the address that the server gives.
    pub(super) fn decline(&mut self, bssid: MacAddr, message: &Message) {
        let Some(point) = self.points.get_mut(&bssid) else {
            return;
        };
        let address = message.options.requested.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let why = format!("another host has the address {address}, which it gave; another one is sought");
        tracing::warn!(%bssid, "{why}");
        (point.known, point.why) = (None, Some(why));
        let Some(station) = &point.station else { return };
        if let Some((_, port)) = &station.client {
            // A server that does not hear it may offer the address again, and it is declined again.
            let _ = port.send(Ipv4Addr::UNSPECIFIED, message);
        }
        remembered(self.memory.forget(station.mac));
    }

    /// Tells the daemon which captive portal to ask, before the link has an address.
    fn take_portal(&self, bssid: MacAddr) {
        let Some(point) = self.points.get(&bssid) else {
            return;
        };
        if let (Some((link, _)), Some(station)) = (point.link, &point.station) {
            // A daemon that has ended stops this thread, too.
            let _ = self.plan.inlet.portal(link, station.portal_api());
        }
    }

    fn change_lease(&mut self, now: Instant, bssid: MacAddr, want: &Want) -> Result<(), Box<dyn Error>> {
        let (Some(means), Some(point)) = (&mut self.means, self.points.get_mut(&bssid)) else {
            return Ok(());
        };
        let ssid = &self.plan.setup.networks[point.network].ssid;
        let Some(station) = &mut point.station else {
            return Ok(());
        };
        let granted = match want {
            Want::Use(lease) => Some(*lease),
            Want::Send(_) | Want::Probe(_) | Want::Decline(_) | Want::Drop => None,
        };
        let is_same = matches!((&station.lease, &granted), (Some(old), Some(new)) if old.is_like(new));
        if !is_same {
            if let Some(old) = station.lease.take() {
                lease::remove(&mut means.rtnl, station.ifindex, &old);
            }
            if let Some(new) = &granted {
                lease::apply(&mut means.rtnl, (&station.name, station.ifindex), new)?;
            }
        }
        station.lease = granted;
        match granted {
            Some(lease) => {
                let asks = self.plan.setup.asks && station.portal_api().is_some();
                let portal = station.portal().filter(|_| !self.plan.setup.checks);
                let portal = portal.map(|url| announced(&station.name, url, asks));
                if station.stage != Stage::Joined {
                    let (address, interface) = (lease.address, station.name);
                    tracing::info!(ssid, %bssid, %interface, %address, "joined");
                    if let Some(portal) = portal.as_ref().filter(|_| !asks) {
                        tracing::warn!(ssid, %bssid, "{portal}");
                    }
                }
                station.enter(now, Stage::Joined);
                point.known = Some(lease.address);
                // No other start has a random address of an interface.
                if self.plan.setup.drawn.is_none() {
                    let until = unix_s() + lease.until.saturating_duration_since(now).as_secs();
                    remembered(self.memory.keep(station.mac, lease.address, until));
                }
                point.succeeded();
                let no_router = "it gives an address without a router, so nothing behind it is reached";
                point.why = match lease.router {
                    Some(_) => portal,
                    None => Some(no_router.to_owned()),
                };
            }
            None => station.enter(now, Stage::Addressing),
        }
        Ok(())
    }
}

/// The association stands: asks for an address, first for the one of the last visit.
fn connected(now: Instant, point: &mut Point, memory: &Memory) -> Result<(), Box<dyn Error>> {
    let Some(station) = &mut point.station else {
        return Ok(());
    };
    let known = point.known.or_else(|| memory.address(station.mac, unix_s()));
    let transaction = RandomState::new().build_hasher().finish() as u32;
    let client = Client::new(now, station.mac, transaction, known);
    station.client = Some((client, Port::open(station.ifindex)?));
    station.enter(now, Stage::Addressing);
    point.why = None;
    Ok(())
}

/// The security with which an interface is joined, if there is a weaker one. What the access point offers
/// does not say it: not every driver can do WPA3.
fn reached(program: &Supplicant, interface: &str) -> Option<Best> {
    match program.management(interface) {
        Ok(management) => Best::of_management(&management?),
        Err(error) => {
            tracing::debug!(interface, "its key management is not known: {error}");
            None
        }
    }
}

/// What cannot be written is known until the daemon ends.
fn remembered(outcome: io::Result<()>) {
    if let Err(error) = outcome {
        tracing::debug!("the visit is not remembered: {error}");
    }
}

/// Seconds since 1970.
fn unix_s() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The access point has changed its channel, and the interface with it. If the association ends later, it is
/// sought there.
fn switched(point: &mut Point, mhz: u32) {
    let bssid = point.bss.bssid;
    tracing::info!(%bssid, mhz, "the access point has changed its channel");
    point.bss.mhz = mhz;
    if let Some(station) = &mut point.station {
        station.mhz = mhz;
    }
}

/// The association has ended. `wpa_supplicant` tries to get it back, on the channel to which it has moved.
fn disconnected(now: Instant, point: &mut Point, reason: u16, supplicant: Option<&Supplicant>) {
    let Some(station) = &mut point.station else { return };
    if matches!(station.stage, Stage::Addressing | Stage::Joined) {
        station.enter(now, Stage::Lost);
        let why = format!("the association has ended (reason {reason})");
        tracing::info!(bssid = %point.bss.bssid, interface = %station.name, "{why}");
        point.why = Some(why);
    }
    if let Some(supplicant) = supplicant.filter(|_| station.sought != station.mhz) {
        seek(station, supplicant);
    }
}

/// Seeks the access point of a station on its present channel. Not while it is associated: `wpa_supplicant`
/// would forget the master key, and with WPA3 or a login end the association (hostap 2.10,
/// `pmksa_cache_flush`).
fn seek(station: &mut Station, supplicant: &Supplicant) {
    match supplicant.stay_on(station.name.as_str(), station.block, station.mhz) {
        Ok(()) => station.sought = station.mhz,
        Err(error) => {
            let why = in_words(&error);
            tracing::warn!(interface = %station.name, "its access point is sought on its old channel: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::worker;
    use super::*;

    #[test]
    fn a_lost_access_point_is_waited_for_shortly_while_nothing_else_is_joined() {
        let now = Instant::now();
        let (mut worker, _inlet) = worker(now, Stage::Lost);
        assert!(worker.is_nothing_joined());
        let point = worker.points.values_mut().next().unwrap();
        let mut waits = |alone, returns| {
            point.station.as_mut().unwrap().returns = returns;
            point.deadline(alone).unwrap().duration_since(now).as_secs()
        };
        assert_eq!(waits(false, false), 5);
        assert_eq!(waits(true, false), 1);
        assert_eq!(waits(true, true), 5, "it was heard again");
        let station = point.station.as_mut().unwrap();
        station.enter(now, Stage::Lost);
        assert!(!station.returns, "it is lost once more");
    }

    #[test]
    fn after_a_loss_with_nothing_else_joined_the_search_begins_at_once() {
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        for (stage, left) in [
            (Stage::Lost, true),
            (Stage::Joined, false),
            (Stage::Joining, false),
        ] {
            let (mut worker, _inlet) = worker(start, stage);
            worker.scan.after(start + Duration::from_secs(9));
            worker.tend(later);
            let point = worker.points.values().next().unwrap();
            assert_eq!(point.station.is_none(), left, "{stage:?}");
            assert_eq!(worker.scan.due() == Some(later), left, "{stage:?}");
        }
    }
}
