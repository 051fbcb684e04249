//! Why an action could not be carried out.

use crate::daemon::api::networks::FlowError;
use crate::daemon::ask::probes::ProbeError;
use crate::daemon::host::endpoints::EndpointError;
use crate::daemon::queues::levers::LeverError;
use crate::daemon::queues::marks::MarkError;
use crate::journal::SetSysctlError;
use crate::mptcp_pm::{self, CreateSubflowError};
use thiserror::Error;

/// Why an action could not be carried out.
#[derive(Debug, Error)]
pub(crate) enum ActError {
    /// The link went away between the decision and its execution.
    #[error("the link is gone or has no address of this family; it is tried again when it has one")]
    NoWay,
    /// Another program decides with which access points this host associates.
    #[error(
        "slowhand does not join or leave access points here; let NetworkManager, iwd or wpa_supplicant connect \
         each adapter"
    )]
    NotOurs,
    /// The user's routes lead to the peer over another network.
    #[error("the user's routes reach its peer through another network, not over this link")]
    Elsewhere,
    /// The connection went away between the decision and its execution.
    #[error("the connection is gone")]
    NoConnection,
    /// The subflow went away between the decision and its execution.
    #[error("the subflow is gone")]
    NoSubflow,
    /// The peer accepts no joins at this address, or has announced no address at all.
    #[error("the server accepts no joins at this address, and has announced no other")]
    NotJoinable,
    /// The address is in use again.
    #[error("its address has been joined again since; withdrawing it now would end the new subflow")]
    JoinedAgain,
    /// The kernel refused a join.
    #[error(transparent)]
    Create(#[from] CreateSubflowError),
    /// The kernel refused to end a subflow.
    #[error(transparent)]
    Destroy(#[from] mptcp_pm::DestroySubflowError),
    /// The kernel refused to announce an address.
    #[error(transparent)]
    Announce(#[from] mptcp_pm::AnnounceError),
    /// The kernel refused to withdraw an address.
    #[error(transparent)]
    Remove(#[from] mptcp_pm::RemoveError),
    /// The kernel refused to change a priority.
    #[error(transparent)]
    SetBackup(#[from] mptcp_pm::SetBackupError),
    /// A flow did not get its network.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// An endpoint of the kernel's own path manager could not be set.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The kernel did not list a connection's addresses.
    #[error(transparent)]
    ListEndpoints(#[from] mptcp_pm::ListEndpointsError),
    /// A probe could not be sent.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The engine asked for something that this daemon cannot do.
    #[error("this daemon cannot {0}; choose a policy or configuration that does not need it")]
    NotHere(&'static str),
    /// Packets of a link could not be marked.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// A lever could not be set.
    #[error(transparent)]
    Lever(#[from] LeverError),
    /// The receive buffer of later connections could not be set.
    #[error(transparent)]
    Buffer(#[from] SetSysctlError),
}
