//! Routes, in any table.

use super::error::{AddRouteError, DelRouteError, ListError};
use super::prefix::Prefix;
use super::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, Rtnl};
use crate::netlink::{Attr, Builder, Message};
use libc::{
    RTA_DST, RTA_GATEWAY, RTA_METRICS, RTA_MULTIPATH, RTA_OIF, RTA_PREFSRC, RTA_PRIORITY, RTA_TABLE, RTA_VIA,
    RTM_DELROUTE, RTM_GETROUTE, RTM_NEWROUTE,
};
use std::fmt;
use std::net::IpAddr;

pub(super) const HEADER_LEN: usize = 12;
const RTNEXTHOP_LEN: usize = 8;
const RTAX_FEATURES: u16 = 12;
const RTAX_FEATURE_ECN: u32 = 1;
const RT_SCOPE_NOWHERE: u8 = 255;

/// A routing table's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table(pub u32);

impl Table {
    /// Where routes go when nobody says otherwise.
    pub const MAIN: Self = Self(254);
    /// The host's own addresses; the kernel's.
    pub const LOCAL: Self = Self(255);
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MAIN => f.write_str("main"),
            Self::LOCAL => f.write_str("local"),
            Self(number) => write!(f, "{number}"),
        }
    }
}

/// Who made a route or rule (`RTPROT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// The kernel, when an address was added.
    pub const KERNEL: Self = Self(libc::RTPROT_KERNEL);
    /// An administrator, during boot.
    pub const BOOT: Self = Self(libc::RTPROT_BOOT);
    /// slowhand. Numbers over 4 are the user's to give; no routing daemon of iproute2's list uses this one.
    pub const SLOWHAND: Self = Self(183);
}

/// What happens to a packet that a route matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// It is sent on.
    Unicast,
    /// It is for this host.
    Local,
    /// It is dropped without a word.
    Blackhole,
    /// It is dropped and the sender is told.
    Unreachable,
    /// The search goes on in the next table.
    Throw,
    /// Any other `RTN_*`.
    Other(u8),
}

impl RouteKind {
    const fn from_code(code: u8) -> Self {
        match code {
            libc::RTN_UNICAST => Self::Unicast,
            libc::RTN_LOCAL => Self::Local,
            libc::RTN_BLACKHOLE => Self::Blackhole,
            libc::RTN_UNREACHABLE => Self::Unreachable,
            libc::RTN_THROW => Self::Throw,
            other => Self::Other(other),
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Unicast => libc::RTN_UNICAST,
            Self::Local => libc::RTN_LOCAL,
            Self::Blackhole => libc::RTN_BLACKHOLE,
            Self::Unreachable => libc::RTN_UNREACHABLE,
            Self::Throw => libc::RTN_THROW,
            Self::Other(code) => code,
        }
    }
}

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// The table it is in.
    pub table: Table,
    /// Where it leads.
    pub dst: Prefix,
    /// Through which link; of several next hops the first.
    pub oif: Option<u32>,
    /// Through which neighbour; of several next hops the first. It may be of the other family.
    pub gateway: Option<IpAddr>,
    /// The source address for connections that have none yet.
    pub src: Option<IpAddr>,
    /// Lower wins. IPv6 turns 0 into 1024.
    pub metric: u32,
    /// What it does.
    pub kind: RouteKind,
    /// Who made it.
    pub protocol: Protocol,
    /// TCP connections over it ask for ECN, whatever `tcp_ecn` says.
    pub ecn: bool,
}

impl Route {
    /// A unicast route of ours to `dst` in `table`.
    pub const fn new(table: Table, dst: Prefix) -> Self {
        Self {
            table,
            dst,
            oif: None,
            gateway: None,
            src: None,
            metric: 0,
            kind: RouteKind::Unicast,
            protocol: Protocol::SLOWHAND,
            ecn: false,
        }
    }

    /// Everything goes this way.
    pub const fn is_default(&self) -> bool {
        self.dst.len() == 0
    }

    /// Reads `RTM_NEWROUTE` and `RTM_DELROUTE`; entries of the route cache are not routes.
    pub(super) fn parse(message: &Message<'_>) -> Option<Self> {
        let header = message.payload.get(..HEADER_LEN)?;
        let flags = u32::from_ne_bytes(*header[8..].first_chunk()?);
        if flags & libc::RTM_F_CLONED != 0 {
            return None;
        }
        let any = match i32::from(header[0]) {
            libc::AF_INET => Prefix::ANY_V4,
            libc::AF_INET6 => Prefix::ANY_V6,
            _ => return None,
        };
        let mut route = Self::new(Table(u32::from(header[4])), any);
        route.protocol = Protocol(header[5]);
        route.kind = RouteKind::from_code(header[7]);
        for attr in message.attrs(HEADER_LEN) {
            route.read(&attr, header[1])?;
        }
        Some(route)
    }

    fn read(&mut self, attr: &Attr<'_>, dst_len: u8) -> Option<()> {
        match attr.kind {
            RTA_DST => self.dst = Prefix::new(attr.ip()?, dst_len).ok()?,
            RTA_TABLE => self.table = Table(attr.u32()?),
            RTA_OIF => self.oif = attr.u32(),
            RTA_GATEWAY => self.gateway = attr.ip(),
            RTA_VIA => {
                self.gateway = Attr {
                    kind: RTA_VIA,
                    value: attr.value.get(2..)?,
                }
                .ip()
            }
            RTA_PREFSRC => self.src = attr.ip(),
            RTA_PRIORITY => self.metric = attr.u32()?,
            RTA_METRICS => self.ecn = features(attr) & RTAX_FEATURE_ECN != 0,
            RTA_MULTIPATH => self.read_first_hop(attr)?,
            _ => {}
        }
        Some(())
    }

    fn read_first_hop(&mut self, hops: &Attr<'_>) -> Option<()> {
        let len = usize::from(u16::from_ne_bytes(*hops.value.first_chunk()?));
        self.oif = Some(u32::from_ne_bytes(*hops.value.get(4..)?.first_chunk()?));
        let attrs = hops.value.get(RTNEXTHOP_LEN..len)?;
        for attr in (Attr {
            kind: RTA_MULTIPATH,
            value: attrs,
        })
        .attrs()
        {
            if matches!(attr.kind, RTA_GATEWAY | RTA_VIA) {
                self.read(&attr, 0)?;
            }
        }
        Some(())
    }

    /// Writes `RTM_NEWROUTE` or `RTM_DELROUTE`.
    pub(super) fn write(&self, request: &mut Builder, kind: u16, nl_flags: u16) {
        request.start(kind, nl_flags).header(&self.header(kind));
        request
            .ip(RTA_DST, self.dst.network().addr())
            .u32(RTA_TABLE, self.table.0);
        if let Some(oif) = self.oif {
            request.u32(RTA_OIF, oif);
        }
        if let Some(gateway) = self.gateway {
            self.write_gateway(request, gateway);
        }
        if let Some(src) = self.src {
            request.ip(RTA_PREFSRC, src);
        }
        if self.metric != 0 {
            request.u32(RTA_PRIORITY, self.metric);
        }
        if self.ecn {
            request.nested(RTA_METRICS, |metrics| {
                metrics.u32(RTAX_FEATURES, RTAX_FEATURE_ECN);
            });
        }
    }

    fn write_gateway(&self, request: &mut Builder, gateway: IpAddr) {
        match (self.dst.addr(), gateway) {
            (IpAddr::V4(_), IpAddr::V6(via)) => {
                let mut value = [0; 18];
                value[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                value[2..].copy_from_slice(&via.octets());
                request.attr(RTA_VIA, &value);
            }
            _ => {
                request.ip(RTA_GATEWAY, gateway);
            }
        }
    }

    fn header(&self, kind: u16) -> [u8; HEADER_LEN] {
        // A table over 255 has only RTA_TABLE; the header then says "unspecified".
        let table = u8::try_from(self.table.0).unwrap_or(libc::RT_TABLE_UNSPEC);
        let scope = if kind == RTM_DELROUTE {
            RT_SCOPE_NOWHERE
        } else {
            self.scope()
        };
        let mut header = [0; HEADER_LEN];
        header[0] = self.dst.family();
        header[1] = self.dst.len();
        header[4] = table;
        header[5] = self.protocol.0;
        header[6] = scope;
        header[7] = self.kind.code();
        header
    }

    /// IPv4 wants to know how far a route reaches; IPv6 does not look.
    const fn scope(&self) -> u8 {
        match (self.kind, self.gateway) {
            (RouteKind::Local, _) => libc::RT_SCOPE_HOST,
            (RouteKind::Unicast, None) => libc::RT_SCOPE_LINK,
            _ => libc::RT_SCOPE_UNIVERSE,
        }
    }
}

fn features(metrics: &Attr<'_>) -> u32 {
    metrics
        .attrs()
        .find(RTAX_FEATURES)
        .and_then(|a| a.u32())
        .unwrap_or(0)
}

/// A `struct rtmsg` asking for everything of all families.
pub(super) const fn dump_header() -> [u8; HEADER_LEN] {
    [0; HEADER_LEN]
}

impl Rtnl {
    /// All routes of all tables, both families.
    pub fn routes(&mut self) -> Result<Vec<Route>, ListError> {
        self.request.start(RTM_GETROUTE, 0).header(&dump_header());
        self.socket
            .dump_whole(&mut self.request, |m| Route::parse(&m))
            .map_err(ListError)
    }

    /// All routes of one table.
    pub fn routes_in(&mut self, table: Table) -> Result<Vec<Route>, ListError> {
        let mut routes = self.routes()?;
        routes.retain(|route| route.table == table);
        Ok(routes)
    }

    /// Adds a route; one with the same destination and metric in this table is an error.
    pub fn add_route(&mut self, route: &Route) -> Result<(), AddRouteError> {
        route.write(&mut self.request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddRouteError::new(route, error))
    }

    /// Adds a route in place of one with the same destination and metric, or as a new one.
    pub fn replace_route(&mut self, route: &Route) -> Result<(), AddRouteError> {
        route.write(&mut self.request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddRouteError::new(route, error))
    }

    /// Removes the route that agrees in everything that is set here.
    pub fn del_route(&mut self, route: &Route) -> Result<(), DelRouteError> {
        route.write(&mut self.request, RTM_DELROUTE, 0);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DelRouteError::new(route, error))
    }
}
