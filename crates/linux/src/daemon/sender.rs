//! What this host's new connections are sent with.

use crate::bpf::cc::Controller;
use crate::sysctl::Key;
use std::sync::Arc;

/// A congestion controller for the whole namespace, while the daemon runs.
#[derive(Debug, Clone)]
pub enum Sender {
    /// One that the kernel has, by its name.
    Kernel(String),
    /// One of ours. Held until the daemon has put the kernel's own choice back.
    Coupled(Arc<Controller>),
}

impl Sender {
    /// Ours, if it is one of ours.
    pub(super) fn coupled(&self) -> Option<Arc<Controller>> {
        match self {
            Self::Kernel(_) => None,
            Self::Coupled(controller) => Some(Arc::clone(controller)),
        }
    }

    /// What the kernel calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Kernel(name) => name,
            Self::Coupled(controller) => controller.name().as_str(),
        }
    }
}

/// What new sockets of a namespace begin with.
pub(super) fn default_controller() -> Key {
    Key::new("net.ipv4.tcp_congestion_control")
}
