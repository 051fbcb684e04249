//! WiFi radios and interfaces over generic netlink, family `nl80211`.
//!
//! | file | what it reads |
//! |---|---|
//! | `wiphy` | radios: bands, channels, interface types and their combinations |
//! | `interface` | interfaces: type, radio, channel, network |
//! | `station` | counters of an association, and of its channel |
//! | `bss` | names of networks |
//! | `probe` | nothing: it makes the frame that asks for access points |
//! | `event` | radios and interfaces that come and go, associations, channel switches |
//! | `rfkill` | switches that turn a radio off |
//! | `able` | what a radio can do at once, and what limits it |
//!
//! Parsers are total: an attribute that is missing, too short or unknown is left out.
//!
//! # Sources
//! - `include/uapi/linux/nl80211.h` (Linux 6.18); `net/wireless/nl80211.c`: a dump of radios is split over
//!   many messages (`NL80211_ATTR_SPLIT_WIPHY_DUMP`), `nl80211_send_station` for the types of counters.
//! - `Documentation/ABI/stable/sysfs-class-rfkill`.
//!
//! # Where we differ, and why
//! 1. The number of a 6 GHz channel is its centre frequency in MHz: its own number also exists in other
//!    bands.
//!
//! # Checked by
//! `tests`, with messages made by hand, and the fuzz target `nl80211`.

pub mod able;
pub mod bss;
mod error;
mod event;
mod interface;
mod probe;
pub mod rfkill;
mod station;
#[cfg(test)]
mod tests;
mod wiphy;

pub(crate) use able::SET_DOWN;
pub use error::{MonitorError, OpenError, ReadError, StationError, SubscribeError, VisitError};
pub use event::{Event, Events, Quality};
pub use interface::{IfType, Interface, Types};
pub use station::{LinkRate, Station, Survey};
pub use wiphy::{Combination, Frequency, Limit, Wiphy, channel_number, wiphys_of};

use crate::netlink::{Builder, Family, Message, Protocol, RequestError, Socket};
use crate::rtnl::IfName;
use std::time::Duration;
use units::MacAddr;

const FAMILY: &str = "nl80211";
const GENL_HEADER_LEN: usize = 4;

/// `NL80211_CMD_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Command {
    GetWiphy = 1,
    GetInterface = 5,
    NewInterface = 7,
    DelInterface = 8,
    GetStation = 17,
    GetReg = 31,
    GetScan = 32,
    TriggerScan = 33,
    GetSurvey = 50,
    Frame = 59,
}

/// `NL80211_ATTR_*`.
mod attr {
    pub const WIPHY: u16 = 1;
    pub const WIPHY_NAME: u16 = 2;
    pub const IFINDEX: u16 = 3;
    pub const IFNAME: u16 = 4;
    pub const IFTYPE: u16 = 5;
    pub const MAC: u16 = 6;
    pub const STA_INFO: u16 = 21;
    pub const WIPHY_BANDS: u16 = 22;
    pub const MNTR_FLAGS: u16 = 23;
    pub const SUPPORTED_IFTYPES: u16 = 32;
    pub const REG_ALPHA2: u16 = 33;
    pub const WIPHY_FREQ: u16 = 38;
    pub const SCAN_SSIDS: u16 = 45;
    pub const BSS: u16 = 47;
    pub const FRAME: u16 = 51;
    pub const SSID: u16 = 52;
    pub const REASON_CODE: u16 = 54;
    pub const DISCONNECTED_BY_AP: u16 = 71;
    pub const STATUS_CODE: u16 = 72;
    pub const SURVEY_INFO: u16 = 84;
    pub const DURATION: u16 = 87;
    pub const CQM: u16 = 94;
    pub const OFFCHANNEL_TX_OK: u16 = 108;
    pub const INTERFACE_COMBINATIONS: u16 = 120;
    pub const SOFTWARE_IFTYPES: u16 = 121;
    pub const DONT_WAIT_FOR_ACK: u16 = 142;
    pub const SPLIT_WIPHY_DUMP: u16 = 174;
    pub const SOCKET_OWNER: u16 = 204;
}

/// `NL80211_MNTR_FLAG_OTHER_BSS`: pass frames of other networks.
const OTHER_BSS: u16 = 4;

/// Asks the kernel about the radios of one namespace.
#[derive(Debug)]
pub struct Nl80211 {
    socket: Socket,
    family: Family,
    request: Builder,
}

impl Nl80211 {
    /// Opens the family for the calling thread's namespace.
    ///
    /// # Errors
    /// If the kernel has no WiFi stack, or no socket can be opened.
    pub fn open() -> Result<Self, OpenError> {
        let mut socket = Socket::open(Protocol::Generic)?;
        let family = Family::resolve(&mut socket, FAMILY)?;
        Ok(Self {
            socket,
            family,
            request: Builder::new(),
        })
    }

    /// Lists the radios.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wiphys(&mut self) -> Result<Vec<Wiphy>, ReadError> {
        self.start(Command::GetWiphy).attr(attr::SPLIT_WIPHY_DUMP, &[]);
        let parts = self.dump("radios", |message| Wiphy::parse(message.attrs(GENL_HEADER_LEN)))?;
        Ok(wiphys_of(parts))
    }

    /// Lists the interfaces of all radios.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn interfaces(&mut self) -> Result<Vec<Interface>, ReadError> {
        self.start(Command::GetInterface);
        self.dump("interfaces", |message| {
            Interface::parse(message.attrs(GENL_HEADER_LEN))
        })
    }

    /// Lists the stations that an interface is connected with: for a station interface, its access point.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the interface is gone.
    pub fn stations(&mut self, ifindex: u32) -> Result<Vec<Station>, ReadError> {
        self.start(Command::GetStation).u32(attr::IFINDEX, ifindex);
        self.dump("stations", |message| {
            Station::parse(message.attrs(GENL_HEADER_LEN))
        })
    }

    /// The name of an access point's network, as the radio of an interface has heard it. `None`: it has heard
    /// no name of it.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the interface is gone.
    pub fn network_of(&mut self, ifindex: u32, bssid: MacAddr) -> Result<Option<Vec<u8>>, ReadError> {
        let all = self.heard(ifindex)?;
        Ok(all
            .into_iter()
            .find_map(|(of, ssid)| (of == bssid).then_some(ssid)))
    }

    /// The access points that the radio of an interface has heard within 30 s, each with the name of its
    /// network. Those of which it has heard no name are left out.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the interface is gone.
    pub fn heard(&mut self, ifindex: u32) -> Result<Vec<(MacAddr, Vec<u8>)>, ReadError> {
        self.start(Command::GetScan).u32(attr::IFINDEX, ifindex);
        self.dump("access points", |message| {
            bss::named(message.attrs(GENL_HEADER_LEN))
        })
    }

    /// Lets an interface that is up ask for access points on all channels. Returns at once. Answers appear
    /// in the kernel's list of access points.
    ///
    /// # Errors
    /// If the driver refuses, for example because a scan runs.
    pub fn scan(&mut self, ifindex: u32) -> Result<(), RequestError> {
        // An empty name: every access point answers.
        self.start(Command::TriggerScan)
            .u32(attr::IFINDEX, ifindex)
            .nested(attr::SCAN_SSIDS, |names| {
                names.attr(1, &[]);
            });
        self.socket.request(&mut self.request)
    }

    /// Lists what the radio of an interface has measured on each channel.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the driver has no such counters.
    pub fn survey(&mut self, ifindex: u32) -> Result<Vec<Survey>, ReadError> {
        self.start(Command::GetSurvey).u32(attr::IFINDEX, ifindex);
        self.dump("survey", |message| Survey::parse(message.attrs(GENL_HEADER_LEN)))
    }

    /// The country whose rules hold for a radio, as two letters. `00` is the world: what all countries allow.
    /// Where a radio has no rules of its own, those of the host hold.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn country(&mut self, wiphy: u32) -> Result<Option<String>, ReadError> {
        let mut country = None;
        self.start(Command::GetReg).u32(attr::WIPHY, wiphy);
        let asked = self.socket.ask(&mut self.request, |message| {
            let alpha2 = message.attrs(GENL_HEADER_LEN).find(attr::REG_ALPHA2);
            country = alpha2.and_then(|attr| attr.str().map(str::to_owned));
            Ok(())
        });
        asked.map_err(|source| ReadError {
            what: "regulatory domain",
            source,
        })?;
        Ok(country)
    }

    /// Creates a monitor interface beside the others of a radio. It hears all networks of the radio's
    /// channel. With an address of its own, it takes none of those that the radio gives the user's next
    /// interfaces. Drivers that cannot set one ignore it.
    ///
    /// # Errors
    /// If the driver refuses, or the name is taken.
    pub fn add_monitor(&mut self, wiphy: u32, name: IfName) -> Result<(), MonitorError> {
        self.start(Command::NewInterface)
            .u32(attr::WIPHY, wiphy)
            .str0(attr::IFNAME, name.as_str())
            .u32(attr::IFTYPE, IfType::Monitor as u32)
            .attr(attr::MAC, &monitor_mac(wiphy).octets())
            .nested(attr::MNTR_FLAGS, |flags| {
                flags.attr(OTHER_BSS, &[]);
            });
        let refused = |source| MonitorError { name, source };
        self.socket.ask(&mut self.request, |_| Ok(())).map_err(refused)
    }

    /// Creates a station interface beside the others of a radio, with an address of its own. The kernel
    /// removes it when this socket is closed, so it does not outlive a process that was killed.
    ///
    /// # Errors
    /// If the driver refuses, or the name is taken.
    pub fn add_station(&mut self, wiphy: u32, name: IfName, mac: MacAddr) -> Result<(), StationError> {
        self.start(Command::NewInterface)
            .u32(attr::WIPHY, wiphy)
            .str0(attr::IFNAME, name.as_str())
            .u32(attr::IFTYPE, IfType::Station as u32)
            .attr(attr::MAC, &mac.octets())
            .attr(attr::SOCKET_OWNER, &[]);
        let refused = |source| StationError { name, source };
        self.socket.ask(&mut self.request, |_| Ok(())).map_err(refused)
    }

    /// Lets a connected station ask for access points on another channel, and stay there for the answers. It
    /// announces a sleep to its own access point, which keeps frames for it meanwhile. Answers appear in the
    /// kernel's list of access points. `ssid`: only that network answers, even if it is hidden; empty: all
    /// others do. `mhz`: centre frequency of the channel. `duration`: at least 10 ms. Returns at once.
    ///
    /// # Errors
    /// If the driver refuses, for example because it cannot leave its channel.
    pub fn visit(
        &mut self,
        (ifindex, mac): (u32, MacAddr),
        (mhz, duration): (u32, Duration),
        ssid: &[u8],
    ) -> Result<(), VisitError> {
        let frame = probe::request(mac, mhz, ssid);
        self.start(Command::Frame)
            .u32(attr::IFINDEX, ifindex)
            .u32(attr::WIPHY_FREQ, mhz)
            .u32(attr::DURATION, duration.as_millis() as u32)
            .attr(attr::OFFCHANNEL_TX_OK, &[])
            .attr(attr::DONT_WAIT_FOR_ACK, &[])
            .attr(attr::FRAME, &frame);
        let refused = |source| VisitError { mhz, source };
        self.socket.request(&mut self.request).map_err(refused)
    }

    /// Removes an interface.
    ///
    /// # Errors
    /// If the driver refuses, or the interface is gone.
    pub fn del_interface(&mut self, ifindex: u32) -> Result<(), RequestError> {
        self.start(Command::DelInterface).u32(attr::IFINDEX, ifindex);
        self.socket.request(&mut self.request)
    }

    fn start(&mut self, command: Command) -> &mut Builder {
        self.request
            .start(self.family.id, 0)
            .header(&[command as u8, 0, 0, 0])
    }

    fn dump<T>(
        &mut self,
        what: &'static str,
        parse: impl Fn(Message<'_>) -> Option<T>,
    ) -> Result<Vec<T>, ReadError> {
        self.socket
            .dump_whole(&mut self.request, parse)
            .map_err(|source| ReadError { what, source })
    }
}

/// Address of a radio's monitor interface, which never sends: locally administered, with the letters "slow".
const fn monitor_mac(wiphy: u32) -> MacAddr {
    MacAddr::new([0x02, b's', b'l', b'o', b'w', wiphy as u8])
}
