//! The congestion controller of this host's new connections.

use crate::bpf::cc::Controller;
use crate::sysctl::{self, Key};
use socket2::{Domain, Protocol, Socket, Type};
use std::sync::Arc;
use thiserror::Error;

/// A congestion controller for the whole namespace, while the daemon runs.
#[derive(Debug, Clone)]
pub enum Sender {
    /// A controller of the kernel, by name.
    Kernel(String),
    /// A controller of ours. Held until the daemon has restored the kernel's own choice.
    Coupled(Arc<Controller>),
}

impl Sender {
    /// The controller, if it is one of ours.
    pub(crate) fn coupled(&self) -> Option<Arc<Controller>> {
        match self {
            Self::Kernel(_) => None,
            Self::Coupled(controller) => Some(Arc::clone(controller)),
        }
    }

    /// The name that the kernel knows it by.
    pub fn name(&self) -> &str {
        match self {
            Self::Kernel(name) => name,
            Self::Coupled(controller) => controller.name().as_str(),
        }
    }
}

/// Why new connections cannot use a controller of the kernel.
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
    /// The kernel knows it, but a namespace may not use it as its default.
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

/// Checks whether the calling thread's namespace may use this controller of the kernel for new connections.
/// Changes nothing, but may load a module.
///
/// # Errors
/// If the kernel would refuse it. The error says what to do.
pub fn check_controller(name: &str) -> Result<(), SenderError> {
    let read = |key: &Key| sysctl::read(key).unwrap_or_default();
    if read(&default_controller()) == name {
        return Ok(());
    }
    // Setting it on a socket makes the kernel look for a module of that name, as the parameter would.
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
    // Only the initial namespace may change the list, and have a default that is not on it.
    let initial = sysctl::writable(&list).is_ok();
    if initial || allowed.split_whitespace().any(|word| word == name) {
        return Ok(());
    }
    Err(SenderError::NotAllowed {
        name: name.to_owned(),
        allowed,
    })
}

/// The default controller of a namespace's new sockets.
pub(crate) fn default_controller() -> Key {
    Key::new("net.ipv4.tcp_congestion_control")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::inside;

    #[test]
    fn an_unknown_controller_is_refused_with_a_list_of_known_ones() {
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

    /// Compares with the kernel: whether it would have accepted each controller.
    #[test]
    fn a_controller_that_a_namespace_may_not_use_is_refused_before_it_is_set() {
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
