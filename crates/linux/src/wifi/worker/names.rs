//! Which name servers the daemon and systemd-resolved use for each interface.
//!
//! A captive portal answers for every name. So systemd-resolved sends no queries to the servers of a link
//! that does not reach the Internet, while another one does.
//!
//! # Checked by
//! The trials `joins-beside` and `joins-closed` of `guest`.

use super::Worker;
use super::associate::in_words;
use crate::bus::{Bus, BusError};
use crate::wifi::dhcp::Want;
use crate::wifi::point::Station;
use policy::LinkId;
use std::net::{IpAddr, Ipv4Addr};
use units::MacAddr;

impl Worker {
    /// Takes the name servers of a new lease, or of none. Without systemd-resolved, the host keeps those that
    /// it has, and only the daemon's own checks use the new ones.
    pub(super) fn take_name_servers(&mut self, bssid: MacAddr, want: &Want) {
        let servers = match want {
            // Servers of a network that leads nowhere know only its own names.
            Want::Use(lease) if lease.router.is_some() => lease.resolvers(),
            _ => Vec::new(),
        };
        let (Some(means), Some(point)) = (&mut self.means, self.points.get_mut(&bssid)) else {
            return;
        };
        let (Some((link, _)), Some(station)) = (point.link, &mut point.station) else {
            return;
        };
        let all = servers.iter().copied().map(IpAddr::V4);
        // A daemon that has ended stops this thread, too.
        let _ = self.plan.inlet.resolvers(link, all.collect());
        let given = give(
            &mut means.bus,
            station,
            &servers,
            self.leading_out.contains(&link),
        );
        if let Err(error) = given {
            let (interface, why) = (station.name, in_words(&error));
            tracing::warn!(%interface, "systemd-resolved does not take the name servers: {why}");
        }
    }

    /// Names may be resolved over these links, and over no others.
    pub(super) fn lead_out(&mut self, links: Vec<LinkId>) {
        self.leading_out = links;
        self.settle_names();
    }

    /// Tells systemd-resolved over which interfaces it may send queries, as far as it does not know.
    pub(super) fn settle_names(&mut self) {
        let Some(means) = &mut self.means else { return };
        for point in self.points.values_mut() {
            let (Some((link, _)), Some(station)) = (point.link, &mut point.station) else {
                continue;
            };
            let leads_out = self.leading_out.contains(&link);
            if station.resolves.is_none_or(|before| before == leads_out) {
                continue;
            }
            match means.bus.resolve_over(station.ifindex, leads_out) {
                Ok(true) => station.resolves = Some(leads_out),
                // It is tried again after the next scan.
                Ok(false) => {}
                Err(error) => {
                    let (interface, why) = (station.name, in_words(&error));
                    tracing::debug!(%interface, "systemd-resolved does not change its choice: {why}");
                }
            }
        }
    }
}

fn give(bus: &mut Bus, station: &mut Station, servers: &[Ipv4Addr], leads_out: bool) -> Result<(), BusError> {
    let interface = station.name;
    if servers.is_empty() {
        if station.resolves.take().is_some() {
            bus.give_servers(station.ifindex, servers)?;
        }
        return Ok(());
    }
    let runs = bus.resolve_over(station.ifindex, leads_out)? && bus.give_servers(station.ifindex, servers)?;
    if runs {
        station.resolves = Some(leads_out);
        tracing::debug!(%interface, ?servers, "systemd-resolved has the name servers");
    } else {
        tracing::debug!(%interface, "name servers not used: systemd-resolved does not run");
    }
    Ok(())
}
