//! Monitor interfaces of the lab's radios: what a radio hears appears on a device in the client's namespace,
//! as bytes, for any listener there.
//!
//! There is one device for each channel (`mon6`), also where a single radio takes turns on them. Its link
//! type is radiotap, so `linux::capture`, tcpdump and tshark read it as a real one. They must not request
//! monitor mode, which it already is in. A device disappears when its descriptor is closed, and with its
//! namespace.
//!
//! # Sources
//! - Linux 6.18, `drivers/net/tun.c`: TUNSETLINK sets the link type of a device while it is down. With packet
//!   information (no `IFF_NO_PI`), a write may carry any protocol.
//! - `include/uapi/linux/if_arp.h`: ARPHRD_IEEE80211_RADIOTAP is 803; `if_ether.h`: ETH_P_802_2 is 4.
//!
//! # Where we differ, and why
//! 1. On the exact medium, an interface shows what a real one does: all frames that the radio decodes,
//!    whoever their receiver, and those that it sends. The coarse medium (`links::wifi`) reports only beacons
//!    and what access points send to the client: what the estimators need.
//! 2. The device is a TUN: a TAP would parse the middle of the radiotap header as an Ethernet type.
//! 3. Frames appear on the device up to some 5 ms late, in their order. The radiotap header has the time on
//!    the air.
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
use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSlice;
use units::{Dbm, Instant, MacAddr};

pub use bytes::CLIENT;
pub use feed::Feed;

/// Packet information: no flags, protocol 4 (802.2 frames).
const PACKET_INFORMATION: [u8; 4] = [0, 0, 0, 4];
/// Bytes shown in place of payloads; longer than any payload.
const PAYLOAD: [u8; 4_096] = [0; 4_096];
/// Enough for the headers and for a beacon.
const ROOM: usize = 512;

/// The monitor interfaces of all radios.
#[derive(Debug)]
pub struct Monitor {
    radios: Vec<Radio>,
    /// The access point of each link, if it has one, and the radio that hears it. Empty on the exact medium,
    /// where beacons are frames.
    heard: Vec<Option<(Transmitter, usize)>>,
    /// The stations of the exact medium.
    stations: Option<Stations>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Radio {
    channel: u8,
    /// The client's address on this channel.
    own: MacAddr,
    /// Its station on the exact medium.
    station: Option<StationId>,
    device: Tun,
}

impl Monitor {
    /// Creates the devices in the calling thread's namespace. `stations` are the stations of the exact
    /// medium, where every frame is modelled.
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

    /// The names of the devices on these channels, and the client's address on each.
    pub fn devices_on(&self, channels: &BTreeSet<u8>) -> impl Iterator<Item = (&str, MacAddr)> {
        let heard = self
            .radios
            .iter()
            .filter(|radio| channels.contains(&radio.channel));
        heard.map(|radio| (radio.device.name(), radio.own))
    }

    /// Addresses of the transmitters that the listener hears, with their links.
    pub fn transmitters(&self) -> BTreeMap<MacAddr, PolicyLink> {
        let heard = self.heard.iter().enumerate();
        let coarse =
            heard.filter_map(|(link, heard)| Some((heard.as_ref()?.0.address(), PolicyLink(link as u16))));
        let known = self.stations.iter().flat_map(|known| &known.access_points);
        let exact = known.map(|&(link, station)| (Addresses::mac(station), PolicyLink(link.0)));
        coarse.chain(exact).collect()
    }

    /// Shows a frame that one of the client's radios has heard or sent.
    fn overhear(&mut self, frame: &Overheard) {
        let Some(known) = &self.stations else { return };
        let channel = known.addresses.channel_of(frame);
        let of = |radio: &&Radio| radio.station == Some(frame.monitor) && radio.channel == channel;
        if let Some(radio) = self.radios.iter().find(of) {
            self.bytes.clear();
            let payload = write_down(known, frame, &mut self.bytes);
            radio.write(&self.bytes, payload.min(PAYLOAD.len()));
        }
    }

    /// Shows a frame that the client's radio has heard; the exchange ended at `at`.
    fn show(&mut self, at: Instant, link: LinkId, frame: &Heard) {
        if let Some(Some((transmitter, radio))) = self.heard.get(usize::from(link.0)) {
            self.bytes.clear();
            let payload = transmitter.data(at, frame, &mut self.bytes);
            self.radios[*radio].write(&self.bytes, payload.min(PAYLOAD.len()));
        }
    }

    /// Shows a beacon that the client's radio has heard; it ended at `at`.
    fn show_beacon(&mut self, at: Instant, link: LinkId, signal: Dbm) {
        if let Some(Some((transmitter, radio))) = self.heard.get_mut(usize::from(link.0)) {
            self.bytes.clear();
            transmitter.beacon(at, signal, &mut self.bytes);
            self.radios[*radio].write(&self.bytes, 0);
        }
    }
}

/// Appends the headers of a frame. Returns the length of the payload behind them.
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
        // A write fails if somebody has set the device down; then it shows nothing.
        let _ = self.device.write(&parts);
    }
}

fn up(name: &str) -> Result<(), BuildError> {
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link_named(name.parse()?)?;
    let link = link.ok_or_else(|| BuildError::Vanished(name.to_owned()))?;
    Ok(rtnl.set_up(link.ifindex, true)?)
}
