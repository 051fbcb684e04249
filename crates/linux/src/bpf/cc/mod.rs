//! Coupled congestion controllers for MPTCP, which the kernel does not have: LIA, OLIA, BALIA and CLA as BPF programs.
//!
//! A controller acts where data is sent. [`Controller::load`] gives the kernel one under a name; any socket may then choose it
//! (TCP_CONGESTION, or a namespace's `net.ipv4.tcp_congestion_control`), and subflows that join inherit it. The name is the
//! whole host's. It is gone with the value, unless it was [pinned](Controller::pin); sockets that use it keep it until they
//! close, and a namespace whose default it is until that is another one.
//!
//! An unknown name on an MPTCP socket is silently ignored by the kernel: [`subflows`] reads back what is really used.
//!
//! # Sources
//! - net/ipv4/bpf_tcp_ca.c, kernel/bpf/bpf_struct_ops.c (Linux 6.18); the controllers name theirs in `bpf/cc/`.
//!
//! # Checked by
//! `tests/cc/`: golden vectors on the host and in the kernel's BPF machine; real connections.

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

/// Which controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coupled {
    /// RFC 6356: together what one TCP would take on the best path.
    Lia,
    /// Khalili et al.: as LIA, but lets go of congested paths.
    Olia,
    /// draft-walid: between the two.
    Balia,
    /// LIA, with windows that follow the radio around a hand-off ([`Orders`]).
    Cla,
}

impl Coupled {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lia, Self::Olia, Self::Balia, Self::Cla];

    /// Its short name, also that of its structure in the object.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Lia => "lia",
            Self::Olia => "olia",
            Self::Balia => "balia",
            Self::Cla => "cla",
        }
    }

    /// The controller of this short name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|coupled| coupled.id() == id)
    }

    /// One line for people.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Lia => "RFC 6356: together, what one TCP takes on the best path",
            Self::Olia => "Khalili et al.: as lia, and lets go of congested paths",
            Self::Balia => "draft-walid: between lia's responsiveness and olia's fairness",
            Self::Cla => "lia, with windows that follow the radio around a hand-off",
        }
    }
}
