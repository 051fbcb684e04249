//! The daemon's endpoints in the kernel's own path manager.

use crate::daemon::flows::address_ids::AddressIds;
use crate::daemon::host::Host;
use crate::daemon::links::book::Links;
use crate::journal::{Change, JournalError};
use crate::mptcp_pm::{self, AddressId, Endpoint, EndpointFlags};
use crate::orphans;
use policy::LinkId;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why the endpoints of a link could not be set.
#[derive(Debug, Error)]
pub(crate) enum EndpointError {
    /// The link went away between the decision and its execution.
    #[error("the link is gone or has no address of this family; it is tried again when it has one")]
    NoLink,
    /// The kernel refused an endpoint.
    #[error(transparent)]
    Add(#[from] mptcp_pm::AddEndpointError),
    /// An endpoint could not be put on record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The kernel refused to remove an endpoint.
    #[error(transparent)]
    Del(#[from] mptcp_pm::DelEndpointError),
}

/// Identifiers of the endpoints set for each link.
#[derive(Debug, Default)]
pub(crate) struct Endpoints(BTreeMap<LinkId, Vec<AddressId>>);

impl Endpoints {
    /// Sets one endpoint for every way out of a link, or removes them.
    pub(crate) fn set(
        &mut self,
        host: &mut Host,
        links: &Links,
        ids: &mut AddressIds,
        (link, wanted): (LinkId, bool),
    ) -> Result<(), EndpointError> {
        for id in self.0.remove(&link).unwrap_or_default() {
            release_orphans(host, id);
            match host.commands.del_endpoint(id, None) {
                Ok(()) | Err(mptcp_pm::DelEndpointError::Absent { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !wanted {
            return Ok(());
        }
        let managed = links.get(link).ok_or(EndpointError::NoLink)?;
        for way in managed.ways() {
            let id = AddressId(ids.of(link, way.address.addr()));
            host.settings.journal.will(Change::Endpoint {
                id,
                address: way.address.addr(),
            })?;
            let endpoint = Endpoint {
                id,
                ifindex: managed.ifindex,
                ..Endpoint::new(way.address.addr(), EndpointFlags::SUBFLOW)
            };
            host.commands.add_endpoint(&endpoint)?;
            self.0.entry(link).or_default().push(id);
        }
        Ok(())
    }

    /// Links whose endpoints another program has removed.
    pub(crate) fn missing(&self, host: &mut Host) -> Vec<LinkId> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let Ok(present) = host.commands.endpoints() else {
            return Vec::new();
        };
        let missing = |ids: &Vec<_>| ids.iter().any(|id| present.iter().all(|known| known.id != *id));
        let links = self.0.iter().filter(|(_, ids)| missing(ids));
        links.map(|(&link, _)| link).collect()
    }
}

/// Releases closed connections that lose their last subflow with the endpoint. The kernel would keep them for
/// ever.
fn release_orphans(host: &mut Host, id: AddressId) {
    let released = match host.commands.endpoint(id) {
        Ok(endpoint) => endpoint.map_or(Ok(()), |endpoint| orphans::release(endpoint.addr)),
        // The command that removes it reports the error.
        Err(_) => return,
    };
    if let Err(error) = released {
        let doing = "looking for closed connections at an endpoint that goes";
        host.outlet.trouble(doing, &error);
    }
}
