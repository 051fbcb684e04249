//! Changes the sockets that a program opens, without changing the program ([`Sockets`]).
//!
//! A seccomp filter stops each `socket` call for TCP over IPv4 or IPv6, and for UDP if asked to. The kernel
//! then asks another process, the supervisor, which makes another socket and puts it into the program. All
//! other calls run as before. This also works for static programs and those that make system calls
//! themselves.
//!
//! | file | concern |
//! |---|---|
//! | `filter` | the filter, and putting it before this process |
//! | `supervisor` | answering the calls that the filter stops |
//!
//! # Sources
//! - seccomp(2), seccomp_unotify(2): `SECCOMP_RET_USER_NOTIF`, `SECCOMP_ADDFD_FLAG_SEND` (Linux 5.14).
//! - `linux/Documentation/networking/mptcp.rst`: which `socket` call asks for MPTCP.
//!
//! # Where we differ, and why
//! 1. Programs of another user or network namespace than the supervisor's get plain TCP. Rules by user and
//!    network would otherwise see the supervisor's.
//!    A UDP socket is made as the user of its program instead.
//!    A socket that is bound to a link is made in the same way. If that fails, the program gets no socket.
//! 2. So do 32-bit programs on a 64-bit kernel: their `socket` call has another number.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/exec.rs`.

mod filter;
mod supervisor;
#[cfg(test)]
mod tests;

pub use filter::{FilterError, install};
pub use supervisor::{check, check_marks, serve};

use crate::rtnl::IfName;

/// What becomes of the sockets that a program opens over IPv4 and IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sockets {
    /// Those for TCP become MPTCP ones.
    Mptcp,
    /// The same, and those for UDP get this mark.
    Marked(u32),
    /// Those for TCP and UDP use this link alone.
    Bound(IfName),
}
