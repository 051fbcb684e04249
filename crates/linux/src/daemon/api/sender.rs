//! What this host's new connections are sent with.

use crate::bpf::cc::Controller;
use crate::sysctl::{self, Key};
use socket2::{Domain, Protocol, Socket, Type};
use std::sync::Arc;
use thiserror::Error;

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
    pub(crate) fn coupled(&self) -> Option<Arc<Controller>> {
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

/// Why new connections cannot be sent with a controller of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SenderError {
    /// The kernel does not know it.
    #[error(
        "this kernel has no congestion controller `{name}`; it has {known}, and slowhand loads lia, olia, balia and cla"
    )]
    Unknown {
        /// Its name.
        name: String,
        /// What the kernel has.
        known: String,
    },
    /// The kernel knows it, but not as what a namespace begins with.
    #[error(
        "new connections of this network namespace cannot be sent with `{name}`: the initial one allows {allowed} only; there, run sysctl -w \
         net.ipv4.tcp_allowed_congestion_control=\"{allowed} {name}\""
    )]
    NotAllowed {
        /// Its name.
        name: String,
        /// What the initial namespace allows.
        allowed: String,
    },
}

/// Whether the calling thread's namespace may send new connections with this controller of the kernel's. Changes nothing, but may load a module.
///
/// # Errors
/// With what to do, when the kernel would refuse it.
pub fn check_controller(name: &str) -> Result<(), SenderError> {
    let read = |key: &Key| sysctl::read(key).unwrap_or_default();
    if read(&default_controller()) == name {
        return Ok(());
    }
    // A socket has the kernel look for a module of that name, as the parameter would.
    let tried = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    let tried = tried.and_then(|socket| socket.set_tcp_congestion(name.as_bytes()));
    if tried.is_err_and(|error| error.raw_os_error() == Some(libc::ENOENT)) {
        let known = read(&Key::new("net.ipv4.tcp_available_congestion_control"));
        return Err(SenderError::Unknown {
            name: name.to_owned(),
            known: known.replace(' ', ", "),
        });
    }
    let list = Key::new("net.ipv4.tcp_allowed_congestion_control");
    let allowed = read(&list);
    // Only the initial namespace may change the list, and begin with what is not in it.
    let initial = sysctl::writable(&list).is_ok();
    if initial || allowed.split_whitespace().any(|word| word == name) {
        return Ok(());
    }
    Err(SenderError::NotAllowed {
        name: name.to_owned(),
        allowed,
    })
}

/// What new sockets of a namespace begin with.
pub(crate) fn default_controller() -> Key {
    Key::new("net.ipv4.tcp_congestion_control")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::inside;

    #[test]
    fn what_the_kernel_does_not_know_is_refused_with_what_it_has() {
        inside(|| {
            let Err(SenderError::Unknown { name, known }) = check_controller("nonsense") else {
                panic!("accepted")
            };
            assert!(
                name == "nonsense" && known.split(", ").any(|known| known == "reno"),
                "{known}"
            );
            check_controller("reno").unwrap();
        });
    }

    /// The kernel says of each whether it would have taken it.
    #[test]
    fn what_a_namespace_may_not_begin_with_is_refused_before_it_is_tried() {
        inside(|| {
            let known = sysctl::read(&Key::new("net.ipv4.tcp_available_congestion_control")).unwrap();
            for name in known.split_whitespace() {
                let checked = check_controller(name);
                let set = sysctl::write(&default_controller(), name);
                assert_eq!(checked.is_ok(), set.is_ok(), "{name}: {checked:?}, {set:?}");
            }
        });
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let refused = SenderError::NotAllowed {
            name: "cubic".to_owned(),
            allowed: "reno bbr".to_owned(),
        };
        assert_eq!(
            refused.to_string(),
            "new connections of this network namespace cannot be sent with `cubic`: the initial one allows reno bbr only; there, run sysctl -w \
             net.ipv4.tcp_allowed_congestion_control=\"reno bbr cubic\""
        );
        let refused = SenderError::Unknown {
            name: "nonsense".to_owned(),
            known: "reno, bbr".to_owned(),
        };
        assert_eq!(
            refused.to_string(),
            "this kernel has no congestion controller `nonsense`; it has reno, bbr, and slowhand loads lia, olia, balia and cla"
        );
    }
}
