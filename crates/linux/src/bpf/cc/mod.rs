//! Coupled congestion controllers for MPTCP that the kernel lacks: LIA, OLIA, BALIA and CLA as BPF programs.
//!
//! A controller acts on the sender. [`Controller::load`] registers one in the kernel under a name. Any socket
//! may then choose it (TCP_CONGESTION, or a namespace's `net.ipv4.tcp_congestion_control`), and joining
//! subflows inherit it. The name is visible in all namespaces of the host. The controller is unregistered at
//! drop unless it is [pinned](Controller::pin). Sockets that use it keep it until they close. A namespace
//! whose default it is keeps it until that default changes.
//!
//! The kernel silently ignores an unknown name on an MPTCP socket. [`subflows`] reads back the controller in
//! use.
//!
//! # Sources
//! - net/ipv4/bpf_tcp_ca.c, kernel/bpf/bpf_struct_ops.c (Linux 6.18). The sources of the controllers are
//!   given in `bpf/cc/`.
//!
//! # Checked by
//! `tests/cc/`: golden vectors on the host and in the kernel's BPF machine, and real connections.

mod controller;
mod empty;
mod error;
mod name;
mod needs;
mod orders;
mod pin;
mod status;

pub use controller::Controller;
pub use empty::Empty;
pub use error::{CcError, NameError, OrderError, PinError, StatusError, UnloadError};
pub use name::ControllerName;
pub use needs::{Missing, missing};
pub use orders::{AddressEnd, Orders, WindowOrder};
pub use pin::{Pins, unload};
pub use status::{
    LoadedController, SocketController, SubflowController, connections, loaded, sockets, subflows, users,
};

/// A coupled congestion-control algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coupled {
    /// RFC 6356: in total, the rate of one TCP flow on the best path.
    Lia,
    /// Khalili et al.: as LIA, and moves traffic away from congested paths.
    Olia,
    /// draft-walid: between LIA and OLIA.
    Balia,
    /// LIA, with windows that follow the radio around a hand-off ([`Orders`]).
    Cla,
}

impl Coupled {
    /// All algorithms.
    pub const ALL: [Self; 4] = [Self::Lia, Self::Olia, Self::Balia, Self::Cla];

    /// Short name of the controller, and name of its structure in the object.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Lia => "lia",
            Self::Olia => "olia",
            Self::Balia => "balia",
            Self::Cla => "cla",
        }
    }

    /// Finds the algorithm by its short name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|coupled| coupled.id() == id)
    }

    /// A one-line description for users.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Lia => "RFC 6356: in total, the rate of one TCP flow on the best path",
            Self::Olia => "Khalili et al.: as lia, and moves traffic away from congested paths",
            Self::Balia => "draft-walid: between lia's responsiveness and olia's fairness",
            Self::Cla => "lia, with windows that follow the radio around a hand-off",
        }
    }
}
