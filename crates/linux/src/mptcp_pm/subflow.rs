//! The user-space path manager: commands for one connection, named by its token.

use super::address::{AddressId, EndpointFlags, Nested, Remote, Subflow, Token};
use super::error::{AnnounceError, CreateSubflowError, DestroySubflowError, RemoveError, SetBackupError};
use super::{Command, Commands, attr};
use std::net::IpAddr;

/// A local address to announce to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress {
    /// The address.
    pub addr: IpAddr,
    /// Its id in this connection, not zero.
    pub id: AddressId,
    /// The port to which the peer may connect, or `None` for the connection's own.
    pub port: Option<u16>,
    /// The link to which it belongs.
    pub ifindex: Option<u32>,
}

/// A subflow to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSubflow {
    /// Our address.
    pub addr: IpAddr,
    /// Id of our address in this connection. Not zero, except for the initial address.
    pub id: AddressId,
    /// The link to which the subflow is bound.
    pub ifindex: Option<u32>,
    /// Make it a backup at the peer.
    pub backup: bool,
    /// The peer's address and port.
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
    /// Announces an address to the peer (ANNOUNCE: ADD_ADDR on the wire).
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

    /// Tells the peer that an address is removed (REMOVE: RM_ADDR on the wire). The kernel sends it over any
    /// subflow that it considers alive. This works once per id. Subflows from the address stay until they are
    /// destroyed.
    pub fn remove(&mut self, token: Token, id: AddressId) -> Result<(), RemoveError> {
        self.start(Command::Remove)
            .u32(attr::TOKEN, token.0)
            .u8(attr::LOC_ID, id.0);
        self.socket
            .request(&mut self.request)
            .map_err(|error| RemoveError::new(token, id, error))
    }

    /// Opens a subflow (SUBFLOW_CREATE: MP_JOIN on the wire). `Ok` means only that the SYN was sent.
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

    /// Makes a subflow a backup or a regular one at the peer (SET_FLAGS: MP_PRIO on the wire). MP_PRIO never
    /// arrives over a dead path.
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
