//! Routes of all tables.

use super::error::{AddRouteError, DelRouteError, ListError};
use super::metrics::Metrics;
use super::prefix::Prefix;
use super::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, Rtnl};
use crate::netlink::{Attr, Builder, Message, RequestError};
use libc::{
    RTA_DST, RTA_GATEWAY, RTA_METRICS, RTA_MULTIPATH, RTA_OIF, RTA_PREFSRC, RTA_PRIORITY, RTA_TABLE, RTA_VIA,
    RTM_DELROUTE, RTM_GETROUTE, RTM_NEWROUTE,
};
use std::fmt;
use std::net::IpAddr;

pub(super) const HEADER_LEN: usize = 12;
const RTNEXTHOP_LEN: usize = 8;
const RT_SCOPE_NOWHERE: u8 = 255;
const RTNH_F_DEAD: u32 = 1;
const RTNH_F_ONLINK: u32 = 4;
const RTA_IP_PROTO: u16 = 27;
const TCP: u8 = 6;
/// Lookups return the matching route.
const RTM_F_FIB_MATCH: u32 = 0x2000;
/// IPv4 lookups also return the table. IPv6 always does, and does not know the flag.
const RTM_F_LOOKUP_TABLE: u32 = 0x1000;

/// A routing table's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table(pub u32);

impl Table {
    /// The default table for routes.
    pub const MAIN: Self = Self(254);
    /// The kernel's table of the host's own addresses.
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

/// Originator of a route or rule (`RTPROT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// Created by the kernel for an address.
    pub const KERNEL: Self = Self(libc::RTPROT_KERNEL);
    /// Created by an administrator during boot.
    pub const BOOT: Self = Self(libc::RTPROT_BOOT);
    /// Created by slowhand. Numbers over 4 are free for users, and no routing daemon in iproute2's list uses
    /// this one.
    pub const SLOWHAND: Self = Self(183);
}

/// What the kernel does with a matching packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// Forwards it.
    Unicast,
    /// Delivers it to this host.
    Local,
    /// Drops it silently.
    Blackhole,
    /// Drops it and notifies the sender.
    Unreachable,
    /// Continues the lookup in the next table.
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

/// A route with one next hop. A multipath route of the kernel is read as several of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// The table it is in.
    pub table: Table,
    /// Destination.
    pub dst: Prefix,
    /// Outgoing link.
    pub oif: Option<u32>,
    /// Gateway. It may be of the other address family.
    pub gateway: Option<IpAddr>,
    /// Treat the gateway as a neighbour on the link regardless of the link's addresses.
    pub onlink: bool,
    /// Preferred source address.
    pub src: Option<IpAddr>,
    /// Metric: the lowest wins. IPv6 turns 0 into 1024.
    pub metric: u32,
    /// What the route does.
    pub kind: RouteKind,
    /// Originator.
    pub protocol: Protocol,
    /// MTU, initial windows and other metrics that are set.
    pub metrics: Metrics,
}

impl Route {
    /// A unicast route by slowhand to `dst` in `table`.
    pub const fn new(table: Table, dst: Prefix) -> Self {
        Self {
            table,
            dst,
            oif: None,
            gateway: None,
            onlink: false,
            src: None,
            metric: 0,
            kind: RouteKind::Unicast,
            protocol: Protocol::SLOWHAND,
            metrics: Metrics::NONE,
        }
    }

    /// Whether this is a default route.
    pub const fn is_default(&self) -> bool {
        self.dst.len() == 0
    }

    /// The next hop: link and gateway.
    pub const fn hop(&self) -> (Option<u32>, Option<IpAddr>) {
        (self.oif, self.gateway)
    }

    /// Parses `RTM_NEWROUTE` and `RTM_DELROUTE` into one route per working next hop. Skips entries of the
    /// route cache.
    pub(super) fn parse(message: &Message<'_>) -> Vec<Self> {
        Self::read_message(message).unwrap_or_default()
    }

    fn read_message(message: &Message<'_>) -> Option<Vec<Self>> {
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
        route.onlink = flags & RTNH_F_ONLINK != 0;
        let mut hops = None;
        for attr in message.attrs(HEADER_LEN) {
            match attr.kind {
                RTA_MULTIPATH => hops = Some(attr),
                _ => route.read(&attr, header[1])?,
            }
        }
        match hops {
            Some(hops) => route.with_hops(hops.value),
            None => Some(vec![route]),
        }
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
            RTA_METRICS => self.metrics = Metrics::parse(attr),
            _ => {}
        }
        Some(())
    }

    /// This route once for each `struct rtnexthop` whose link is up.
    fn with_hops(self, mut hops: &[u8]) -> Option<Vec<Self>> {
        let mut routes = Vec::new();
        while hops.len() >= RTNEXTHOP_LEN {
            let len = usize::from(u16::from_ne_bytes(*hops.first_chunk()?)).max(RTNEXTHOP_LEN);
            let hop = hops.get(..len)?;
            let flags = u32::from(hop[2]);
            if flags & RTNH_F_DEAD == 0 {
                routes.push(self.with_hop(hop, flags)?);
            }
            hops = hops.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(routes)
    }

    fn with_hop(self, hop: &[u8], flags: u32) -> Option<Self> {
        let mut route = Self {
            oif: Some(u32::from_ne_bytes(*hop.get(4..)?.first_chunk()?)),
            onlink: flags & RTNH_F_ONLINK != 0,
            ..self
        };
        let attrs = Attr {
            kind: RTA_MULTIPATH,
            value: hop.get(RTNEXTHOP_LEN..)?,
        };
        for attr in attrs
            .attrs()
            .filter(|attr| matches!(attr.kind, RTA_GATEWAY | RTA_VIA))
        {
            route.read(&attr, 0)?;
        }
        Some(route)
    }

    /// Encodes `RTM_NEWROUTE` or `RTM_DELROUTE`.
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
        self.metrics.write(request);
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
        // A table number over 255 goes into RTA_TABLE only. The header then says "unspecified".
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
        if self.onlink {
            header[8..].copy_from_slice(&RTNH_F_ONLINK.to_ne_bytes());
        }
        header
    }

    /// Scope of the route. IPv4 requires it, IPv6 ignores it.
    const fn scope(&self) -> u8 {
        match (self.kind, self.gateway) {
            (RouteKind::Local, _) => libc::RT_SCOPE_HOST,
            (RouteKind::Unicast, None) => libc::RT_SCOPE_LINK,
            _ => libc::RT_SCOPE_UNIVERSE,
        }
    }
}

/// A `struct rtmsg` that requests all routes of all families.
pub(super) const fn dump_header() -> [u8; HEADER_LEN] {
    [0; HEADER_LEN]
}

impl Rtnl {
    /// Lists all routes of all tables, both families.
    pub fn routes(&mut self) -> Result<Vec<Route>, ListError> {
        self.request.start(RTM_GETROUTE, 0).header(&dump_header());
        self.dump_routes()
    }

    /// Lists the routes of one table. The kernel filters, so a large `main` table costs nothing here.
    pub fn routes_in(&mut self, table: Table) -> Result<Vec<Route>, ListError> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut header = dump_header();
            header[0] = family as u8;
            self.request.start(RTM_GETROUTE, 0).header(&header);
            self.request.u32(RTA_TABLE, table.0);
            match self.dump_routes() {
                Ok(routes) => found.extend(routes),
                // A table exists only while it has a route.
                Err(ListError(RequestError::Refused(refusal))) if refusal.errno == libc::ENOENT => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn dump_routes(&mut self) -> Result<Vec<Route>, ListError> {
        let dumped = self
            .socket
            .dump_whole(&mut self.request, |message| Some(Route::parse(&message)));
        Ok(dumped.map_err(ListError)?.into_iter().flatten().collect())
    }

    /// Finds the current route to `to` for a packet of this host over TCP. By itself the kernel would assume
    /// UDP, which may have rules of its own. The sending socket has no source address, and is bound to the
    /// link `oif` if that is set. `None` if there is no route.
    ///
    /// This looks up the routing tables and sends no packet.
    pub fn lookup(&mut self, to: IpAddr, oif: Option<u32>) -> Option<Route> {
        let mut header = dump_header();
        let host = Prefix::host(to);
        (header[0], header[1]) = (host.family(), host.len());
        let flags = match to {
            IpAddr::V4(_) => RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE,
            IpAddr::V6(_) => RTM_F_FIB_MATCH,
        };
        header[8..].copy_from_slice(&flags.to_ne_bytes());
        self.request
            .start(RTM_GETROUTE, 0)
            .header(&header)
            .ip(RTA_DST, to)
            .u8(RTA_IP_PROTO, TCP);
        if let Some(oif) = oif {
            self.request.u32(RTA_OIF, oif);
        }
        let mut found = None;
        let asked = self.socket.ask(&mut self.request, |message| {
            found = Route::parse(&message).first().copied();
            Ok(())
        });
        asked.ok().and(found)
    }

    /// Adds a route. Fails if the table has one with the same destination and metric.
    pub fn add_route(&mut self, route: &Route) -> Result<(), AddRouteError> {
        route.write(&mut self.request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddRouteError::new(route, error))
    }

    /// Adds a route, replacing one with the same destination and metric.
    pub fn replace_route(&mut self, route: &Route) -> Result<(), AddRouteError> {
        route.write(&mut self.request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddRouteError::new(route, error))
    }

    /// Removes the route that matches every field set here.
    pub fn del_route(&mut self, route: &Route) -> Result<(), DelRouteError> {
        route.write(&mut self.request, RTM_DELROUTE, 0);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DelRouteError::new(route, error))
    }
}
