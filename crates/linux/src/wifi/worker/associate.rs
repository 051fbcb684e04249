//! Begins and ends associations.

use super::{Means, Worker};
use crate::rtnl::IfName;
use crate::wifi::bss::Bss;
use crate::wifi::lease;
use crate::wifi::network::{Best, Network};
use crate::wifi::point::{Failure, Point, Station};
use crate::wifi::view::Stage;
use crate::wifi::{radio, station};
use policy::LinkId;
use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;
use units::MacAddr;

impl Worker {
    /// Joins the access point of a link, unless that is in progress, or has just failed.
    pub(super) fn join(&mut self, now: Instant, link: LinkId) {
        let Some(bssid) = self.bssid_of(link) else { return };
        let (points, networks) = (&mut self.points, &self.plan.setup.networks);
        let (Some(means), Some(point)) = (&mut self.means, points.get_mut(&bssid)) else {
            return;
        };
        let Some((_, name)) = point.link.filter(|_| point.may_begin(now)) else {
            return;
        };
        let network = &networks[point.network];
        let best = self.memory.best(&network.ssid);
        // It may have been heard with less than its network has had since.
        if network.judge(&point.bss, best).is_err() {
            return;
        }
        if let Some(scanner) = super::scan::remove_scanner(means) {
            // Its scan ends without a word.
            self.scan.end(scanner.as_str());
        }
        let what = (&point.bss, network, best);
        let begun = begin(now, (means, &self.plan.names), name, what);
        point.station = match begun {
            Ok(station) => Some(station),
            Err(error) => {
                remove(means, name);
                end(
                    now,
                    point,
                    &networks[point.network].ssid,
                    (Failure::Other, in_words(error.as_ref())),
                );
                None
            }
        };
    }

    /// Leaves the access point of a link.
    pub(super) fn leave(&mut self, _now: Instant, link: LinkId) {
        if let Some(bssid) = self.bssid_of(link) {
            self.close(bssid);
        }
    }

    /// Ends an association, and removes its interface.
    pub(super) fn close(&mut self, bssid: MacAddr) {
        let point = self.points.get_mut(&bssid);
        let Some(station) = point.and_then(|point| point.station.take()) else {
            return;
        };
        // Its scan ends without a word.
        self.scan.end(station.name.as_str());
        let Some(means) = &mut self.means else { return };
        if let Some(lease) = &station.lease {
            lease::remove(&mut means.rtnl, station.ifindex, lease);
        }
        remove(means, station.name);
    }

    /// Leaves an access point for good.
    pub(super) fn dismiss(&mut self, bssid: MacAddr) {
        self.close(bssid);
        if let Some(point) = self.points.remove(&bssid)
            && let Some((link, _)) = point.link
        {
            // A daemon that has ended stops this thread, too.
            let _ = self.plan.inlet.retire(link);
        }
    }

    /// Lets NetworkManager leave all interfaces alone, the scanner's too, if it has started meanwhile or has
    /// kept one. It is given time to let go of each, so one that is kept again ends the round.
    pub(super) fn keep_claims(&mut self) {
        let Some(means) = &mut self.means else { return };
        let links = means.rtnl.links().unwrap_or_default();
        let exists = |name: &&IfName| links.iter().any(|link| link.name == **name);
        let ours = Vec::from_iter(self.plan.names.iter().filter(exists).copied());
        for name in means.bus.unclaimed(&ours) {
            if !claim(means, name) {
                return;
            }
        }
    }

    /// Ends an attempt that has failed, and says so once.
    pub(super) fn fail(&mut self, now: Instant, bssid: MacAddr, failure: Failure, why: String) {
        self.close(bssid);
        if let Some(point) = self.points.get_mut(&bssid) {
            let ssid = &self.plan.setup.networks[point.network].ssid;
            end(now, point, ssid, (failure, why));
        }
    }
}

/// Takes in that an attempt has failed. A wrong key fails again at each attempt, and one warning is enough.
fn end(now: Instant, point: &mut Point, ssid: &str, (failure, why): (Failure, String)) {
    let warns = point.failed(now, failure, why);
    let (bssid, why) = (point.bss.bssid, point.why.as_deref().unwrap_or_default());
    if warns {
        tracing::warn!(ssid, %bssid, "not joined: {why}");
    } else {
        tracing::debug!(ssid, %bssid, "not joined again: {why}");
    }
}

fn begin(
    now: Instant,
    (means, ours): (&mut Means, &[IfName]),
    name: IfName,
    (bss, network, best): (&Bss, &Network, Option<Best>),
) -> Result<Station, Box<dyn Error>> {
    let mac = radio::create(&mut means.kernel, &means.radio, name, (&bss.ssid, bss.bssid))?;
    claim(means, name);
    let link = means.rtnl.link_named(name)?.ok_or("the new interface is gone")?;
    if link.mac != Some(mac) {
        return Err("another program has changed the address of the new interface".into());
    }
    set_options(name);
    set_up(means, ours, (name, link.ifindex))?;
    means.supplicant.add_interface(name.as_str())?;
    let mut settings = vec![("ssid", hex(&bss.ssid)), ("bssid", bss.bssid.to_string())];
    settings.extend(network.settings(bss.offers.owe, best));
    let block = means.supplicant.join(name.as_str(), bss.mhz, &settings)?;
    Ok(Station {
        name,
        block,
        mhz: bss.mhz,
        sought: bss.mhz,
        ifindex: link.ifindex,
        mac,
        stage: Stage::Joining,
        since: now,
        returns: false,
        client: None,
        lease: None,
        resolves: None,
    })
}

/// Metric of default routes from router advertisements, behind those of other programs, as in IPv4.
const IPV6_METRIC: &str = "1000000";

/// Lets an interface answer ARP requests for its own addresses only. Two interfaces of this host may be in
/// one network: the access points of a building, or the user's own connection. Its default route of IPv6
/// comes behind those of the user. The settings end with the interface.
fn set_options(name: IfName) {
    let settings = [
        ("ipv4", "arp_ignore", "1"),
        ("ipv4", "arp_announce", "2"),
        ("ipv6", "ra_defrtr_metric", IPV6_METRIC),
    ];
    for (family, setting, value) in settings {
        let path = format!("/proc/sys/net/{family}/conf/{name}/{setting}");
        if let Err(error) = std::fs::write(&path, value) {
            tracing::debug!("{path} is not set: {error}");
        }
    }
    hear_routers(name);
}

/// Lets an interface take router advertisements also on a host that forwards IPv6. A user who has turned them
/// off for new interfaces (0) gets none.
fn hear_routers(name: IfName) {
    let path = format!("/proc/sys/net/ipv6/conf/{name}/accept_ra");
    let is_on = std::fs::read_to_string(&path).is_ok_and(|value| value.trim() == "1");
    if is_on && let Err(error) = std::fs::write(&path, "2") {
        tracing::debug!("{path} is not set: {error}");
    }
}

/// Creates the interface that scans while nothing is joined.
pub(super) fn create_scanner(means: &mut Means, ours: &[IfName], name: IfName) -> Result<(), Box<dyn Error>> {
    let nowhere = (&b""[..], means.radio.mac);
    radio::create(&mut means.kernel, &means.radio, name, nowhere)?;
    claim(means, name);
    let link = means.rtnl.link_named(name)?.ok_or("the new interface is gone")?;
    set_up(means, ours, (name, link.ifindex))?;
    means.supplicant.add_interface(name.as_str())?;
    Ok(())
}

fn set_up(means: &mut Means, ours: &[IfName], interface: (IfName, u32)) -> Result<(), radio::Refused> {
    let of = (&mut means.kernel, &mut means.rtnl);
    radio::set_up(of, &means.radio, interface, ours)
}

/// Lets NetworkManager leave an interface alone. Returns whether it does. Warns once.
fn claim(means: &mut Means, name: IfName) -> bool {
    let was_kept = means.bus.is_kept(name);
    let Err(error) = means.bus.claim(name) else {
        return true;
    };
    let why = in_words(&error);
    if was_kept {
        tracing::debug!(interface = %name, "NetworkManager keeps it: {why}");
    } else {
        tracing::warn!(interface = %name, "NetworkManager may disturb an interface of slowhand: {why}");
    }
    false
}

/// Removes an interface, if there is one of this name.
pub(super) fn remove(means: &mut Means, name: IfName) {
    // Both may be gone already, with the radio or with `wpa_supplicant`.
    let _ = means.supplicant.remove_interface(name.as_str());
    if let Ok(Some(link)) = means.rtnl.link_named(name) {
        let _ = means.kernel.del_interface(link.ifindex);
    }
}

/// Whether a name is the scanner's.
pub(super) fn is_scanner(name: &IfName) -> bool {
    station::scanner().as_ref() == Some(name)
}

pub(in crate::wifi) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An error with its causes.
pub(super) fn in_words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}
