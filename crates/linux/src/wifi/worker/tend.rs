//! Follows each association from its beginning to its end: events, leases, deadlines.

use super::Worker;
use super::associate::in_words;
use crate::wifi::dhcp::{Client, Want};
use crate::wifi::event::{Event, What};
use crate::wifi::lease::{self, Port};
use crate::wifi::point::{Failure, Point};
use crate::wifi::view::Stage;
use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Instant;
use units::MacAddr;

impl Worker {
    /// Takes in the pending events of `wpa_supplicant`.
    pub(super) fn read_events(&mut self, now: Instant) {
        while let Some(message) = self.means.as_ref().and_then(|means| means.supplicant.event()) {
            if let Some(event) = Event::parse(&message) {
                self.take_event(now, &event);
            }
        }
    }

    fn take_event(&mut self, now: Instant, event: &Event) {
        if event.what == What::Scanned {
            return self.scanned(now, &event.interface);
        }
        let is_it = |point: &&mut Point| {
            let station = point.station.as_ref();
            station.is_some_and(|station| station.name.as_str() == event.interface)
        };
        let Some(point) = self.points.values_mut().find(is_it) else {
            return;
        };
        let bssid = point.bss.bssid;
        let outcome = match event.what {
            What::Connected => connected(now, point),
            What::Disconnected { reason } => {
                disconnected(now, point, reason);
                Ok(())
            }
            What::Refused { status } => {
                point.why = Some(format!("it refuses the association (status {status})"));
                Ok(())
            }
            What::WrongKey => {
                let why = "the key is wrong, or it is another network of this name".to_owned();
                return self.fail(now, bssid, Failure::WrongKey, why);
            }
            What::Scanned => Ok(()),
        };
        if let Err(error) = outcome {
            self.fail(now, bssid, Failure::Other, in_words(error.as_ref()));
        }
    }

    /// Does what is due at each access point.
    pub(super) fn tend(&mut self, now: Instant) {
        for bssid in Vec::from_iter(self.points.keys().copied()) {
            if let Err(error) = self.talk(now, bssid) {
                self.fail(now, bssid, Failure::Other, in_words(error.as_ref()));
            }
            let point = &self.points[&bssid];
            if point.deadline().is_some_and(|deadline| deadline <= now) {
                let why = point.overdue();
                self.fail(now, bssid, Failure::Other, why);
            }
        }
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
                Want::Use(_) | Want::Drop => self.change_lease(now, bssid, &want)?,
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
        Ok(client.tick(now))
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
            Want::Send(_) | Want::Drop => None,
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
                if station.stage != Stage::Joined {
                    let (address, interface) = (lease.address, station.name);
                    tracing::info!(ssid, %bssid, %interface, %address, "joined");
                }
                station.enter(now, Stage::Joined);
                point.known = Some(lease.address);
                point.succeeded();
                point.why = (lease.router.is_none()).then(|| {
                    "it gives an address without a router, so nothing behind it is reached".to_owned()
                });
            }
            None => station.enter(now, Stage::Addressing),
        }
        Ok(())
    }
}

/// The association stands: asks for an address, first for the one of the last visit.
fn connected(now: Instant, point: &mut Point) -> Result<(), Box<dyn Error>> {
    let known = point.known;
    let Some(station) = &mut point.station else {
        return Ok(());
    };
    let transaction = RandomState::new().build_hasher().finish() as u32;
    let client = Client::new(now, station.mac, transaction, known);
    station.client = Some((client, Port::open(station.ifindex)?));
    station.enter(now, Stage::Addressing);
    point.why = None;
    Ok(())
}

/// The association has ended. `wpa_supplicant` tries to get it back.
fn disconnected(now: Instant, point: &mut Point, reason: u16) {
    let Some(station) = &mut point.station else { return };
    if matches!(station.stage, Stage::Addressing | Stage::Joined) {
        station.enter(now, Stage::Lost);
        let why = format!("the association has ended (reason {reason})");
        tracing::info!(bssid = %point.bss.bssid, interface = %station.name, "{why}");
        point.why = Some(why);
    }
}
