//! Links: properties, state, MTU, and virtual links.

use super::error::{LinkError, ListError, NewLinkError};
use super::{IfName, NLM_F_CREATE, NLM_F_EXCL, Rtnl};
use crate::netlink::{Attr, Attrs};
use crate::netlink::{Builder, Message, RequestError};
use crate::netns::Netns;
use libc::{
    IFLA_ADDRESS, IFLA_ALT_IFNAME, IFLA_CARRIER, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO,
    IFLA_MTU, IFLA_NET_NS_FD, IFLA_OPERSTATE, IFLA_PROP_LIST, RTM_DELLINK, RTM_GETLINK, RTM_NEWLINK,
};
use std::os::fd::AsRawFd;
use units::MacAddr;

const IFF_UP: u32 = libc::IFF_UP as u32;
const IFF_LOOPBACK: u32 = libc::IFF_LOOPBACK as u32;
const IFF_LOWER_UP: u32 = 1 << 16;
const VETH_INFO_PEER: u16 = 1;
pub(super) const HEADER_LEN: usize = 16;

/// Whether a link can carry packets, as far as the link itself knows (RFC 2863).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperState {
    /// The driver does not report it. TUN and loopback never do.
    Unknown,
    /// The hardware is missing.
    NotPresent,
    /// No carrier or administratively down.
    Down,
    /// A lower link of this one is down.
    LowerLayerDown,
    /// In a test mode.
    Testing,
    /// Waiting for an external event, such as 802.1X.
    Dormant,
    /// Ready to carry packets.
    Up,
}

impl OperState {
    const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::NotPresent,
            2 => Self::Down,
            3 => Self::LowerLayerDown,
            4 => Self::Testing,
            5 => Self::Dormant,
            6 => Self::Up,
            _ => Self::Unknown,
        }
    }
}

/// A link as reported by rtnetlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Interface index, never zero. The kernel may reuse it after the link is gone.
    pub ifindex: u32,
    /// Its name.
    pub name: IfName,
    /// Alternative names (`ip link property add altname`).
    pub altnames: Vec<String>,
    /// Largest packet (MTU), in bytes.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
    /// It has a carrier.
    pub carrier: bool,
    /// Operational state that the driver reports.
    pub operstate: OperState,
    /// It is a loopback link.
    pub loopback: bool,
    /// `ARPHRD_*`: 1 Ethernet and WiFi, 772 loopback, 65534 TUN, 519 raw IP.
    pub arphrd: u16,
    /// Hardware address, if it has six bytes.
    pub mac: Option<MacAddr>,
    /// Type of a virtual link (`tun`, `veth`, `dummy`, …), or `None` for hardware.
    pub kind: Option<String>,
}

impl Link {
    /// Whether it is up with carrier and not known to be unable to carry packets. A dormant link counts
    /// because the kernel routes over it. It is dormant while 802.1X is incomplete or not reported as
    /// complete.
    pub const fn running(&self) -> bool {
        let ready = matches!(
            self.operstate,
            OperState::Up | OperState::Unknown | OperState::Dormant
        );
        self.up && self.carrier && ready
    }

    /// Name and alternative names of the interface.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.altnames.iter().map(String::as_str))
    }

    /// Whether two reports under one index describe different interfaces. A rename changes only the names.
    pub(super) fn is_another(&self, other: &Self) -> bool {
        self.name != other.name
            && (self.kind != other.kind || self.arphrd != other.arphrd || self.mac != other.mac)
    }

    /// Parses `RTM_NEWLINK` and `RTM_DELLINK`.
    pub(super) fn parse(message: &Message<'_>) -> Option<Self> {
        let header = message.payload.get(..HEADER_LEN)?;
        let flags = u32::from_ne_bytes(*header[8..].first_chunk()?);
        let mut link = Self {
            ifindex: u32::from_ne_bytes(*header[4..].first_chunk()?),
            name: message.attrs(HEADER_LEN).find(IFLA_IFNAME)?.str()?.parse().ok()?,
            altnames: Vec::new(),
            mtu: 0,
            up: flags & IFF_UP != 0,
            carrier: flags & IFF_LOWER_UP != 0,
            operstate: OperState::Unknown,
            loopback: flags & IFF_LOOPBACK != 0,
            arphrd: u16::from_ne_bytes(*header[2..].first_chunk()?),
            mac: None,
            kind: None,
        };
        link.read_attrs(message.attrs(HEADER_LEN));
        Some(link)
    }

    fn read_attrs(&mut self, attrs: Attrs<'_>) {
        for attr in attrs {
            match attr.kind {
                IFLA_MTU => self.mtu = attr.u32().unwrap_or(0),
                IFLA_CARRIER => self.carrier = attr.u8() == Some(1),
                IFLA_OPERSTATE => self.operstate = OperState::from_code(attr.u8().unwrap_or(0)),
                IFLA_ADDRESS => self.mac = mac(&attr),
                IFLA_LINKINFO => self.kind = kind(&attr),
                IFLA_PROP_LIST => self.altnames = altnames(&attr),
                _ => {}
            }
        }
    }
}

fn mac(attr: &Attr<'_>) -> Option<MacAddr> {
    <[u8; 6]>::try_from(attr.value).ok().map(MacAddr::new)
}

fn altnames(attr: &Attr<'_>) -> Vec<String> {
    let names = attr.attrs().filter(|name| name.kind == IFLA_ALT_IFNAME);
    names.filter_map(|name| Some(name.str()?.to_owned())).collect()
}

fn kind(attr: &Attr<'_>) -> Option<String> {
    Some(attr.attrs().find(IFLA_INFO_KIND)?.str()?.to_owned())
}

/// Encodes a `struct ifinfomsg`.
pub(super) fn ifinfo(ifindex: u32, flags: u32, change: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&change.to_ne_bytes());
    header
}

/// The far end of a veth pair: its name, and its namespace if it is not the caller's.
#[derive(Debug, Clone, Copy)]
pub struct VethPeer<'a> {
    /// Name of the far end.
    pub name: IfName,
    /// Namespace of the far end.
    pub netns: Option<&'a Netns>,
}

impl VethPeer<'_> {
    fn write(&self, data: &mut Builder) {
        data.nested(VETH_INFO_PEER, |far| {
            far.header(&ifinfo(0, 0, 0)).str0(IFLA_IFNAME, self.name.as_str());
            if let Some(netns) = self.netns {
                far.u32(IFLA_NET_NS_FD, netns.as_raw_fd().cast_unsigned());
            }
        });
    }
}

impl Rtnl {
    /// Lists all links.
    pub fn links(&mut self) -> Result<Vec<Link>, ListError> {
        self.request.start(RTM_GETLINK, 0).header(&ifinfo(0, 0, 0));
        self.socket
            .dump_whole(&mut self.request, |m| Link::parse(&m))
            .map_err(ListError)
    }

    /// Finds the link called `name`. `None` if there is none.
    pub fn link_named(&mut self, name: IfName) -> Result<Option<Link>, ListError> {
        self.request
            .start(RTM_GETLINK, 0)
            .header(&ifinfo(0, 0, 0))
            .str0(IFLA_IFNAME, name.as_str());
        self.one_link()
    }

    /// Finds the link with index `ifindex`. `None` if there is none.
    pub fn link(&mut self, ifindex: u32) -> Result<Option<Link>, ListError> {
        self.request.start(RTM_GETLINK, 0).header(&ifinfo(ifindex, 0, 0));
        self.one_link()
    }

    /// Sets a link up or down.
    pub fn set_up(&mut self, ifindex: u32, up: bool) -> Result<(), LinkError> {
        let flags = if up { IFF_UP } else { 0 };
        self.request
            .start(RTM_NEWLINK, 0)
            .header(&ifinfo(ifindex, flags, IFF_UP));
        self.change_link(ifindex)
    }

    /// Sets the MTU of a link, in bytes.
    pub fn set_mtu(&mut self, ifindex: u32, mtu: u32) -> Result<(), LinkError> {
        self.request
            .start(RTM_NEWLINK, 0)
            .header(&ifinfo(ifindex, 0, 0))
            .u32(IFLA_MTU, mtu);
        self.change_link(ifindex)
    }

    /// Removes a virtual link.
    pub fn delete_link(&mut self, ifindex: u32) -> Result<(), LinkError> {
        self.request.start(RTM_DELLINK, 0).header(&ifinfo(ifindex, 0, 0));
        self.change_link(ifindex)
    }

    /// Creates a veth pair.
    pub fn add_veth(&mut self, name: IfName, peer: VethPeer<'_>) -> Result<(), NewLinkError> {
        self.request
            .start(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
            .header(&ifinfo(0, 0, 0))
            .str0(IFLA_IFNAME, name.as_str())
            .nested(IFLA_LINKINFO, |info| {
                info.str0(IFLA_INFO_KIND, "veth")
                    .nested(IFLA_INFO_DATA, |data| peer.write(data));
            });
        self.socket
            .request(&mut self.request)
            .map_err(|error| NewLinkError::new(name, error))
    }

    fn one_link(&mut self) -> Result<Option<Link>, ListError> {
        let mut link = None;
        let asked = self.socket.ask(&mut self.request, |message| {
            link = Some(Link::parse(&message).ok_or(RequestError::Malformed { what: "link" })?);
            Ok(())
        });
        match asked {
            Ok(()) => Ok(link),
            Err(error) if error.errno() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(ListError(error)),
        }
    }

    fn change_link(&mut self, ifindex: u32) -> Result<(), LinkError> {
        self.socket
            .request(&mut self.request)
            .map_err(|error| LinkError::new(ifindex, error))
    }
}
