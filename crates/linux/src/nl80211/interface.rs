//! WiFi interfaces: type, radio, channel, network.

use super::attr;
use crate::netlink::{Attr, Attrs};
use units::MacAddr;

/// Type of an interface (`NL80211_IFTYPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum IfType {
    /// Member of a network without access points.
    AdHoc = 1,
    /// Client of an access point.
    Station = 2,
    /// Access point.
    AccessPoint = 3,
    /// Hears everything.
    Monitor = 6,
    /// Member of a mesh.
    Mesh = 7,
    /// Client of another device (Wi-Fi Direct).
    P2pClient = 8,
    /// Access point for another device (Wi-Fi Direct).
    P2pOwner = 9,
    /// Finds other devices (Wi-Fi Direct). It has no netdev.
    P2pDevice = 10,
}

impl IfType {
    /// All types that matter here.
    pub const ALL: [Self; 8] = [
        Self::AdHoc,
        Self::Station,
        Self::AccessPoint,
        Self::Monitor,
        Self::Mesh,
        Self::P2pClient,
        Self::P2pOwner,
        Self::P2pDevice,
    ];

    pub(super) fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Types(u32);

impl Types {
    /// The set of these types.
    pub fn of(types: &[IfType]) -> Self {
        Self(types.iter().fold(0, |set, kind| set | 1 << *kind as u32))
    }

    /// Whether it has this type.
    pub const fn has(self, kind: IfType) -> bool {
        self.0 >> kind as u32 & 1 == 1
    }

    /// Parses a nest of flags, whose attribute types are the numbers of interface types.
    pub(super) fn parse(nest: &Attr<'_>) -> Self {
        let known = nest.attrs().filter_map(|flag| IfType::of(flag.kind.into()));
        Self(known.fold(0, |set, kind| set | 1 << kind as u32))
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A WiFi interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its radio.
    pub wiphy: u32,
    /// Its index. `None`: it has no netdev.
    pub ifindex: Option<u32>,
    /// Its name. Empty without a netdev.
    pub name: String,
    /// Its type. `None`: another one than those of [`IfType`].
    pub kind: Option<IfType>,
    /// Its own address.
    pub mac: Option<MacAddr>,
    /// Centre frequency of its channel, in MHz.
    pub mhz: Option<u32>,
    /// Name of the network that it is connected with.
    pub ssid: Option<Vec<u8>>,
}

impl Interface {
    /// Parses the attributes of `NL80211_CMD_NEW_INTERFACE`. `None` if they name no radio.
    pub fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let mut wiphy = None;
        let mut found = Self {
            wiphy: 0,
            ifindex: None,
            name: String::new(),
            kind: None,
            mac: None,
            mhz: None,
            ssid: None,
        };
        for attr in attrs {
            match attr.kind {
                attr::WIPHY => wiphy = attr.u32(),
                attr::IFINDEX => found.ifindex = attr.u32(),
                attr::IFNAME => found.name = attr.str().unwrap_or_default().to_owned(),
                attr::IFTYPE => found.kind = attr.u32().and_then(IfType::of),
                attr::MAC => found.mac = mac(&attr),
                attr::WIPHY_FREQ => found.mhz = attr.u32(),
                attr::SSID => found.ssid = Some(attr.value.to_vec()),
                _ => {}
            }
        }
        Some(Self {
            wiphy: wiphy?,
            ..found
        })
    }
}

pub(super) fn mac(attr: &Attr<'_>) -> Option<MacAddr> {
    attr.value.try_into().ok().map(MacAddr::new)
}
