//! Makes the TCP sockets of a program MPTCP ones, without changing the program.
//!
//! A seccomp filter stops each `socket` call for TCP over IPv4 or IPv6. The kernel then asks another process,
//! the supervisor, which makes an MPTCP socket and puts it into the program. All other calls run as before.
//! This also works for static programs and those that make system calls themselves.
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
//! 2. So do 32-bit programs on a 64-bit kernel: their `socket` call has another number.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/exec.rs`.

mod filter;
mod supervisor;
#[cfg(test)]
mod tests;

pub use filter::{FilterError, install};
pub use supervisor::{check, serve};
