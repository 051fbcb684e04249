//! Which controllers are loaded, by any process, and which ones sockets really use.

use super::{ControllerName, Coupled, Missing, StatusError};
use crate::diag::{CongestionName, Diag, States};
use crate::mptcp_pm::AddressId;
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use policy::ConnId;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A coupled controller in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadedController {
    /// The name by which sockets choose it.
    pub name: ControllerName,
    /// The algorithm.
    pub coupled: Coupled,
    /// Whether sockets can still choose it. If not, only sockets that have it keep it.
    pub registered: bool,
}

/// The controller of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowController {
    /// Id of our address.
    pub local_id: AddressId,
    /// Id of the peer's address.
    pub remote_id: AddressId,
    /// The controller that the kernel reports.
    pub name: CongestionName,
}

/// Lists every coupled controller in the kernel, from any process, sorted by name. Needs CAP_SYS_ADMIN.
pub fn loaded() -> Result<Vec<LoadedController>, StatusError> {
    let place = NamePlace::find()?;
    let registered = registered_maps();
    let mut found = Vec::new();
    for info in MapInfoIter::default() {
        let coupled = info.name.to_str().and_then(Coupled::from_id);
        let Some(coupled) = coupled.filter(|_| info.ty == MapType::StructOps) else {
            continue;
        };
        // The map may have been removed between the listing and the open.
        let Ok(map) = MapHandle::from_map_id(info.id) else {
            if is_root() {
                continue;
            } else {
                return Err(StatusError::NotPermitted);
            }
        };
        if let Some(name) = place.read(&map)? {
            found.push(LoadedController {
                name,
                coupled,
                registered: registered.contains(&info.id),
            });
        }
    }
    found.sort();
    Ok(found)
}

/// Ids of the structures that belong to a link. Only those are registered.
fn registered_maps() -> BTreeSet<u32> {
    let map_of = |info: libbpf_rs::query::LinkInfo| match info.info {
        LinkTypeInfo::StructOps(struct_ops) => Some(struct_ops.map_id),
        _ => None,
    };
    LinkInfoIter::default().filter_map(map_of).collect()
}

/// Offset of the controller's name in a structure's kernel value, in bytes.
struct NamePlace(usize);

impl NamePlace {
    fn find() -> Result<Self, StatusError> {
        let btf = Btf::from_vmlinux().map_err(|_| Missing::Btf)?;
        let data = member_offset(&btf, "bpf_struct_ops_tcp_congestion_ops", "data");
        let name = member_offset(&btf, "tcp_congestion_ops", "name");
        match (data, name) {
            (Some(data), Some(name)) => Ok(Self(data + name)),
            _ => Err(Missing::StructOps.into()),
        }
    }

    /// `None` before the structure has a value.
    fn read(&self, map: &MapHandle) -> Result<Option<ControllerName>, StatusError> {
        let value = map
            .lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| StatusError::Kernel(format!("{error:#}")))?;
        let field = value.as_deref().and_then(|value| value.get(self.0..self.0 + 16));
        Ok(field.and_then(|field| CongestionName::from_bytes(field).as_str().parse().ok()))
    }
}

fn member_offset(btf: &Btf<'_>, structure: &str, member: &str) -> Option<usize> {
    let structure = btf.type_by_name::<types::Struct<'_>>(structure)?;
    let found = structure
        .iter()
        .find(|field| field.name.is_some_and(|name| name == member))?;
    match found.attr {
        types::MemberAttr::Normal { offset } => usize::try_from(offset / 8).ok(),
        types::MemberAttr::BitField { .. } => None,
    }
}

fn is_root() -> bool {
    // SAFETY: no arguments, no memory.
    unsafe { libc::geteuid() == 0 }
}

/// Counts the connected TCP sockets per controller, in the calling thread's network namespace.
pub fn users() -> Result<BTreeMap<String, usize>, StatusError> {
    let mut users = BTreeMap::new();
    for socket in sockets()? {
        *users.entry(socket.name.as_str().to_owned()).or_default() += 1;
    }
    Ok(users)
}

/// The controller of one connected TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketController {
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
    /// The controller that the kernel reports.
    pub name: CongestionName,
}

/// The controller of each connected TCP socket of the calling thread's network namespace, subflows included.
pub fn sockets() -> Result<Vec<SocketController>, StatusError> {
    let mut sockets = Vec::new();
    Diag::open()?.each_tcp(States::CONNECTED, |socket| {
        if !socket.congestion.as_str().is_empty() {
            sockets.push(SocketController {
                local: socket.local,
                remote: socket.remote,
                name: socket.congestion,
            });
        }
    })?;
    Ok(sockets)
}

/// The controller of every subflow of every MPTCP connection of the calling thread's network namespace.
pub fn connections() -> Result<BTreeMap<ConnId, Vec<SubflowController>>, StatusError> {
    let mut found: BTreeMap<ConnId, Vec<SubflowController>> = BTreeMap::new();
    Diag::open()?.each_tcp(States::CONNECTED, |socket| {
        let Some(subflow) = socket.subflow else { return };
        found
            .entry(ConnId(subflow.token.0))
            .or_default()
            .push(SubflowController {
                local_id: subflow.local_id,
                remote_id: subflow.remote_id,
                name: socket.congestion,
            });
    })?;
    Ok(found)
}

/// The controllers of one connection's subflows in the calling thread's network namespace.
pub fn subflows(conn: ConnId) -> Result<Vec<SubflowController>, StatusError> {
    Ok(connections()?.remove(&conn).unwrap_or_default())
}
