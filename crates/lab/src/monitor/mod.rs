//! Monitor interfaces of the lab's radios: what a radio hears stands on a device in the client's namespace, as bytes, for whoever listens there.
//!
//! One device for each channel (`mon6`). Its type says radiotap, and so `linux::capture`, tcpdump and tshark read it as they read a real one
//! (without asking for monitor mode: it is one already). A device goes when its descriptor is closed, and with its namespace.
//!
//! # Sources
//! - Linux 6.18, `drivers/net/tun.c`: TUNSETLINK gives a device a link type while it is down; with packet information (no `IFF_NO_PI`) a write
//!   may be of any protocol.
//! - `include/uapi/linux/if_arp.h`: ARPHRD_IEEE80211_RADIOTAP is 803; `if_ether.h`: ETH_P_802_2 is 4.
//!
//! # Where we differ, and why
//! 1. On the exact medium an interface shows what a real one does: all frames that the radio makes sense of, whoever they are for, and those
//!    that it sends. The coarse one (`links::wifi`) tells of beacons and of what access points send to the client: what the estimators ask for.
//! 2. A TAP would run Ethernet's reading of types over the middle of the radiotap header: the device is a TUN.
//! 3. Frames stand on the device up to some 5 ms late, in their order; radiotap has the time of the air.
//!
//! # Checked by
//! `tests`: read by `linux::capture` and by tshark; `tests/ecn.rs`: the engine hears nothing else.

mod bytes;
mod feed;
#[cfg(test)]
mod tests;

use crate::hosts::BuildError;
use crate::tun::Tun;
use bytes::{LLC, Transmitter};
use links::air::{Addresses, Overheard, StationId};
use links::{Heard, LinkConfig, LinkId, NetworkConfig, Stations};
use linux::rtnl::Rtnl;
use policy::LinkId as PolicyLink;
use std::collections::BTreeMap;
use std::io::IoSlice;
use units::{Dbm, Instant, MacAddr};

pub use bytes::CLIENT;
pub use feed::Feed;

/// Packet information: no flags, protocol 4 (802.2 frames).
const PACKET_INFORMATION: [u8; 4] = [0, 0, 0, 4];
/// What payloads are shown as; longer than any.
const PAYLOAD: [u8; 4_096] = [0; 4_096];
/// Enough for the headers and for a beacon.
const ROOM: usize = 512;

/// The monitor interfaces of all radios.
#[derive(Debug)]
pub struct Monitor {
    radios: Vec<Radio>,
    /// The access point of each link, if it has one, and the radio that hears it; empty on the exact medium, where beacons are frames.
    heard: Vec<Option<(Transmitter, usize)>>,
    /// On the exact medium: who is who.
    stations: Option<Stations>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Radio {
    channel: u8,
    /// The client's address there.
    own: MacAddr,
    /// What it is on the exact medium.
    station: Option<StationId>,
    device: Tun,
}

impl Monitor {
    /// Makes the devices, in the calling thread's namespace; `stations` is who is who where every frame is modelled.
    pub fn plug(config: &NetworkConfig, stations: Option<Stations>) -> Result<Self, BuildError> {
        let mut monitor = Self {
            radios: Vec::new(),
            heard: Vec::with_capacity(config.links.len()),
            stations,
            bytes: Vec::with_capacity(ROOM),
        };
        let radios = monitor.stations.iter().flat_map(|known| known.radios.clone());
        for (channel, station) in radios.collect::<Vec<_>>() {
            monitor.add(channel, Some(station))?;
        }
        if monitor.stations.is_some() {
            return Ok(monitor);
        }
        for (index, link) in config.links.iter().enumerate() {
            let heard = match link {
                LinkConfig::Wifi(wifi) => {
                    let transmitter = Transmitter::new(LinkId(index as u16), wifi);
                    Some((transmitter, monitor.radio(wifi.channel)?))
                }
                LinkConfig::Cell(_) | LinkConfig::Cable(_) => None,
            };
            monitor.heard.push(heard);
        }
        Ok(monitor)
    }

    fn radio(&mut self, channel: u8) -> Result<usize, BuildError> {
        if let Some(known) = self.radios.iter().position(|radio| radio.channel == channel) {
            return Ok(known);
        }
        self.add(channel, None)?;
        Ok(self.radios.len() - 1)
    }

    fn add(&mut self, channel: u8, station: Option<StationId>) -> Result<(), BuildError> {
        let name = format!("mon{channel}");
        let device = Tun::monitor(&name)?;
        up(&name)?;
        self.radios.push(Radio {
            channel,
            own: station.map_or(CLIENT, Addresses::mac),
            station,
            device,
        });
        Ok(())
    }

    /// The names of the devices, and the client's address on each.
    pub fn devices(&self) -> impl Iterator<Item = (&str, MacAddr)> {
        self.radios.iter().map(|radio| (radio.device.name(), radio.own))
    }

    /// Whose frames the listener will hear.
    pub fn transmitters(&self) -> BTreeMap<MacAddr, PolicyLink> {
        let heard = self.heard.iter().enumerate();
        let coarse =
            heard.filter_map(|(link, heard)| Some((heard.as_ref()?.0.address(), PolicyLink(link as u16))));
        let known = self.stations.iter().flat_map(|known| &known.access_points);
        let exact = known.map(|&(link, station)| (Addresses::mac(station), PolicyLink(link.0)));
        coarse.chain(exact).collect()
    }

    /// One of the client's radios has heard this frame, or sent it.
    fn overhear(&mut self, frame: &Overheard) {
        let radio = self
            .radios
            .iter()
            .find(|radio| radio.station == Some(frame.monitor));
        if let (Some(radio), Some(known)) = (radio, &self.stations) {
            self.bytes.clear();
            let payload = write_down(known, frame, &mut self.bytes);
            radio.write(&self.bytes, payload.min(PAYLOAD.len()));
        }
    }

    /// The client's radio has heard this frame; the exchange was over at `at`.
    fn show(&mut self, at: Instant, link: LinkId, frame: &Heard) {
        if let Some(Some((transmitter, radio))) = self.heard.get(usize::from(link.0)) {
            self.bytes.clear();
            let payload = transmitter.data(at, frame, &mut self.bytes);
            self.radios[*radio].write(&self.bytes, payload.min(PAYLOAD.len()));
        }
    }

    /// The client's radio has heard a beacon, which was over at `at`.
    fn show_beacon(&mut self, at: Instant, link: LinkId, signal: Dbm) {
        if let Some(Some((transmitter, radio))) = self.heard.get_mut(usize::from(link.0)) {
            self.bytes.clear();
            transmitter.beacon(at, signal, &mut self.bytes);
            self.radios[*radio].write(&self.bytes, 0);
        }
    }
}

/// Appends the beginning of a frame; returns how long the payload behind it is.
fn write_down(known: &Stations, frame: &Overheard, out: &mut Vec<u8>) -> usize {
    let rest = known.addresses.write(frame, out);
    if rest > LLC.len() {
        out.extend_from_slice(&LLC);
    }
    rest.saturating_sub(LLC.len())
}

impl Radio {
    fn write(&self, bytes: &[u8], payload: usize) {
        let parts = [&PACKET_INFORMATION, bytes, &PAYLOAD[..payload]].map(IoSlice::new);
        // A device that takes nothing, because somebody has taken it down, shows nothing.
        let _ = self.device.write(&parts);
    }
}

fn up(name: &str) -> Result<(), BuildError> {
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link_named(name.parse()?)?;
    let link = link.ok_or_else(|| BuildError::Vanished(name.to_owned()))?;
    Ok(rtnl.set_up(link.ifindex, true)?)
}
