//! The user-space path manager: one connection, named by its token, at a time.

use super::address::{AddressId, EndpointFlags, Nested, Remote, Subflow, Token};
use super::error::{AnnounceError, CreateSubflowError, DestroySubflowError, RemoveError, SetBackupError};
use super::{Command, Commands, attr};
use std::net::IpAddr;

/// A local address that the peer is to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress {
    /// The address.
    pub addr: IpAddr,
    /// Its number in this connection, not zero.
    pub id: AddressId,
    /// The port where the peer may connect to; `None` for the connection's own.
    pub port: Option<u16>,
    /// The link it belongs to.
    pub ifindex: Option<u32>,
}

/// A subflow that is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSubflow {
    /// Our address.
    pub addr: IpAddr,
    /// The number of our address in this connection, not zero unless it is the initial one.
    pub id: AddressId,
    /// The link to bind to.
    pub ifindex: Option<u32>,
    /// The peer should use it only when nothing else is left.
    pub backup: bool,
    /// Where it goes.
    pub remote: Remote,
}

impl NewSubflow {
    fn local(&self) -> Nested {
        let flags = if self.backup {
            EndpointFlags::BACKUP
        } else {
            EndpointFlags::NONE
        };
        Nested {
            addr: Some(self.addr),
            id: Some(self.id.0),
            port: None,
            flags: Some(flags.bits()),
            ifindex: self.ifindex,
        }
    }
}

impl Commands {
    /// Tells the peer of an address (ANNOUNCE: ADD_ADDR on the wire).
    pub fn announce(&mut self, token: Token, local: &LocalAddress) -> Result<(), AnnounceError> {
        let nested = Nested {
            addr: Some(local.addr),
            id: Some(local.id.0),
            port: local.port,
            flags: Some(EndpointFlags::SIGNAL.bits()),
            ifindex: local.ifindex,
        };
        nested.write(
            self.start(Command::Announce).u32(attr::TOKEN, token.0),
            attr::ADDR,
        );
        self.socket
            .request(&mut self.request)
            .map_err(|error| AnnounceError::new(token, error))
    }

    /// Tells the peer that an address is gone (REMOVE: RM_ADDR on the wire), over whichever subflow the kernel thinks
    /// alive. Works once per id; subflows from the address stay until destroyed.
    pub fn remove(&mut self, token: Token, id: AddressId) -> Result<(), RemoveError> {
        self.start(Command::Remove)
            .u32(attr::TOKEN, token.0)
            .u8(attr::LOC_ID, id.0);
        self.socket
            .request(&mut self.request)
            .map_err(|error| RemoveError::new(token, id, error))
    }

    /// Opens a subflow (SUBFLOW_CREATE: MP_JOIN on the wire). `Ok` says that a SYN is on its way, no more.
    pub fn create_subflow(&mut self, token: Token, new: &NewSubflow) -> Result<(), CreateSubflowError> {
        let request = self.start(Command::SubflowCreate).u32(attr::TOKEN, token.0);
        new.local().write(request, attr::ADDR);
        Nested::socket(new.remote).write(request, attr::ADDR_REMOTE);
        self.socket
            .request(&mut self.request)
            .map_err(|error| CreateSubflowError::new(token, new, error))
    }

    /// Closes a subflow (SUBFLOW_DESTROY).
    pub fn destroy_subflow(&mut self, token: Token, subflow: &Subflow) -> Result<(), DestroySubflowError> {
        let request = self.start(Command::SubflowDestroy).u32(attr::TOKEN, token.0);
        Nested::socket(subflow.local).write(request, attr::ADDR);
        Nested::socket(subflow.remote).write(request, attr::ADDR_REMOTE);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DestroySubflowError::new(token, subflow, error))
    }

    /// Tells the peer to use a subflow only when nothing else is left, or like any other (SET_FLAGS: MP_PRIO on the
    /// wire, which never arrives over a path that is dead).
    pub fn set_backup(
        &mut self,
        token: Token,
        subflow: &Subflow,
        backup: bool,
    ) -> Result<(), SetBackupError> {
        let flags = if backup {
            EndpointFlags::BACKUP
        } else {
            EndpointFlags::NONE
        };
        let local = Nested {
            flags: Some(flags.bits()),
            ..Nested::socket(subflow.local)
        };
        let request = self.start(Command::SetFlags).u32(attr::TOKEN, token.0);
        local.write(request, attr::ADDR);
        Nested::socket(subflow.remote).write(request, attr::ADDR_REMOTE);
        self.socket
            .request(&mut self.request)
            .map_err(|error| SetBackupError::new(token, subflow, error))
    }
}
