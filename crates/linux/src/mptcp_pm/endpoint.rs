//! The in-kernel path manager: endpoints and limits.

use super::address::{AddressId, EndpointFlags, Nested, Token};
use super::error::{AddEndpointError, DelEndpointError, LimitsError, ListEndpointsError, SetFlagsError};
use super::{Command, Commands, GENL_HEADER_LEN, attr};
use crate::netlink::{Attrs, Message, RequestError};
use std::fmt;
use std::net::IpAddr;

/// An address of this host that the in-kernel path manager may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub addr: IpAddr,
    /// Its id. 0 lets the kernel choose.
    pub id: AddressId,
    /// The port to announce and listen on. Valid only with [`EndpointFlags::SIGNAL`].
    pub port: Option<u16>,
    /// Its options.
    pub flags: EndpointFlags,
    /// The link to which its subflows are bound.
    pub ifindex: Option<u32>,
}

impl Endpoint {
    /// An endpoint without port or link. The kernel chooses its id.
    pub const fn new(addr: IpAddr, flags: EndpointFlags) -> Self {
        Self {
            addr,
            id: AddressId(0),
            port: None,
            flags,
            ifindex: None,
        }
    }

    pub(super) fn nested(&self) -> Nested {
        Nested {
            addr: Some(self.addr),
            id: Some(self.id.0).filter(|&id| id != 0),
            port: self.port,
            flags: Some(self.flags.bits()),
            ifindex: self.ifindex,
        }
    }

    pub(super) fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let nested = Nested::read(attrs.find(attr::ADDR)?.attrs());
        Some(Self {
            addr: nested.addr?,
            id: AddressId(nested.id.unwrap_or(0)),
            port: nested.port.filter(|&port| port != 0),
            flags: EndpointFlags::from_bits(nested.flags.unwrap_or(0)),
            ifindex: nested.ifindex.filter(|&ifindex| ifindex != 0),
        })
    }
}

impl fmt::Display for Endpoint {
    /// Prints it as `ip mptcp endpoint` does, except that the link is a number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.addr)?;
        if let Some(port) = self.port {
            write!(f, " port {port}")?;
        }
        write!(f, " id {}", self.id)?;
        if self.flags != EndpointFlags::NONE {
            write!(f, " {}", self.flags)?;
        }
        if let Some(ifindex) = self.ifindex {
            write!(f, " dev {ifindex}")?;
        }
        Ok(())
    }
}

/// Limits per connection for the in-kernel path manager. The kernel accepts at most 8 for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Subflows in addition to the first, whoever opens them.
    pub subflows: u32,
    /// Addresses announced by the peer to which the kernel opens subflows.
    pub add_addr_accepted: u32,
}

impl Limits {
    pub(super) fn parse(attrs: Attrs<'_>) -> Option<Self> {
        Some(Self {
            subflows: attrs.clone().find(attr::SUBFLOWS)?.u32()?,
            add_addr_accepted: attrs.find(attr::RCV_ADD_ADDRS)?.u32()?,
        })
    }
}

impl fmt::Display for Limits {
    /// Prints them as `ip mptcp limits` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "add_addr_accepted {} subflows {}",
            self.add_addr_accepted, self.subflows
        )
    }
}

impl Commands {
    /// Adds an endpoint (ADD_ADDR). Live connections use it at once.
    pub fn add_endpoint(&mut self, endpoint: &Endpoint) -> Result<(), AddEndpointError> {
        endpoint.nested().write(self.start(Command::AddAddr), attr::ADDR);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddEndpointError::new(endpoint.addr, error))
    }

    /// Removes an endpoint by its id (DEL_ADDR). The kernel closes its subflows and notifies the peers.
    ///
    /// For id 0, the initial address of every connection, `addr` selects the address.
    pub fn del_endpoint(&mut self, id: AddressId, addr: Option<IpAddr>) -> Result<(), DelEndpointError> {
        let nested = Nested {
            id: Some(id.0),
            addr,
            ..Nested::default()
        };
        nested.write(self.start(Command::DelAddr), attr::ADDR);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DelEndpointError::new(id, error))
    }

    /// Removes all endpoints (FLUSH_ADDRS).
    pub fn flush_endpoints(&mut self) -> Result<(), DelEndpointError> {
        // The kernel's policy requires an address here and ignores it.
        Nested::default().write(self.start(Command::FlushAddrs), attr::ADDR);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DelEndpointError::new(AddressId(0), error))
    }

    /// Finds the endpoint with this id (GET_ADDR). `None` if there is none.
    pub fn endpoint(&mut self, id: AddressId) -> Result<Option<Endpoint>, ListEndpointsError> {
        let nested = Nested {
            id: Some(id.0),
            ..Nested::default()
        };
        nested.write(self.start(Command::GetAddr), attr::ADDR);
        self.ask_endpoint()
    }

    /// Lists all endpoints (GET_ADDR, dump).
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>, ListEndpointsError> {
        self.start(Command::GetAddr);
        Ok(self
            .socket
            .dump_whole(&mut self.request, |m| Endpoint::parse(m.attrs(GENL_HEADER_LEN)))?)
    }

    /// Lists the local addresses of a connection under the user-space path manager (GET_ADDR with a token,
    /// dump; Linux 6.10).
    pub fn addresses_of(&mut self, token: Token) -> Result<Vec<Endpoint>, ListEndpointsError> {
        self.start(Command::GetAddr).u32(attr::TOKEN, token.0);
        Ok(self
            .socket
            .dump_whole(&mut self.request, |m| Endpoint::parse(m.attrs(GENL_HEADER_LEN)))?)
    }

    /// Finds one local address of a connection under the user-space path manager (GET_ADDR with a token;
    /// Linux 6.10). `None` if the connection has no address with this id.
    pub fn address_of(
        &mut self,
        token: Token,
        id: AddressId,
    ) -> Result<Option<Endpoint>, ListEndpointsError> {
        let nested = Nested {
            id: Some(id.0),
            ..Nested::default()
        };
        nested.write(self.start(Command::GetAddr).u32(attr::TOKEN, token.0), attr::ADDR);
        self.ask_endpoint()
    }

    /// Sets the `backup` and `fullmesh` flags of an endpoint (SET_FLAGS). Live subflows follow at once
    /// (MP_PRIO).
    ///
    /// Other flags cannot be changed and are ignored. The endpoint is found by its id, or by its address for
    /// id 0.
    pub fn set_endpoint_flags(&mut self, endpoint: &Endpoint) -> Result<(), SetFlagsError> {
        // If both are given, the kernel uses the address only.
        let addr = Some(endpoint.addr).filter(|_| endpoint.id.0 == 0);
        let nested = Nested {
            addr,
            port: None,
            ifindex: None,
            ..endpoint.nested()
        };
        nested.write(self.start(Command::SetFlags), attr::ADDR);
        self.socket
            .request(&mut self.request)
            .map_err(|error| SetFlagsError::new(endpoint, error))
    }

    /// Reads the limits per connection (GET_LIMITS).
    pub fn limits(&mut self) -> Result<Limits, LimitsError> {
        self.start(Command::GetLimits);
        let mut limits = None;
        let read = |message: Message<'_>| {
            limits = Limits::parse(message.attrs(GENL_HEADER_LEN));
            Ok(())
        };
        self.socket
            .ask(&mut self.request, read)
            .map_err(LimitsError::new)?;
        limits.ok_or(LimitsError::new(RequestError::Malformed { what: "MPTCP limits" }))
    }

    /// Sets the limits for future connections (SET_LIMITS).
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), LimitsError> {
        self.start(Command::SetLimits)
            .u32(attr::RCV_ADD_ADDRS, limits.add_addr_accepted)
            .u32(attr::SUBFLOWS, limits.subflows);
        self.socket.request(&mut self.request).map_err(LimitsError::new)
    }

    fn ask_endpoint(&mut self) -> Result<Option<Endpoint>, ListEndpointsError> {
        let mut endpoint = None;
        let asked = self.socket.ask(&mut self.request, |message| {
            endpoint = Endpoint::parse(message.attrs(GENL_HEADER_LEN));
            Ok(())
        });
        match asked {
            Ok(()) => Ok(endpoint),
            Err(RequestError::Refused(refusal)) if refusal.says("not found") => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
