//! The filter that stops `socket` calls for TCP, and for UDP if these sockets are to change, too.

use super::Sockets;
use libc::{sock_filter, sock_fprog};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use thiserror::Error;

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// Bits of a socket's type that are no flags.
const TYPE: u32 = 0xf;
/// Offsets in `struct seccomp_data`. Arguments have 64 bits, of which the lower half counts.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
/// Number of steps, and the places of both verdicts.
const STEPS: usize = 20;
const ALLOW: u8 = 18;
const ASK: u8 = 19;

/// Why calls cannot be stopped.
#[derive(Debug, Error)]
pub enum FilterError {
    /// Another supervisor answers for this process.
    #[error("a program with a seccomp supervisor of its own runs this one; start it outside")]
    Taken,
    /// The kernel refuses.
    #[error(
        "this kernel refuses a seccomp filter with a supervisor ({0}); it needs Linux 5.14 and CONFIG_SECCOMP_FILTER"
    )]
    Kernel(#[from] io::Error),
}

/// Puts the filter before this thread and all programs that it starts. It stops the calls for the sockets
/// that are to change. Returns the descriptor from which the supervisor receives the calls.
///
/// Only root may do so while programs can still gain rights. Otherwise this gives up the right to gain any:
/// under `sudo` or another setuid program, nothing runs as root any more.
///
/// # Errors
/// If the kernel has no supervisors, or there is one already.
pub fn install(sockets: Sockets) -> Result<OwnedFd, FilterError> {
    match attach(sockets) {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            // SAFETY: no pointers.
            if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
                return Err(io::Error::last_os_error().into());
            }
            attach(sockets).map_err(refusal)
        }
        attached => attached.map_err(refusal),
    }
}

fn refusal(error: io::Error) -> FilterError {
    match error.raw_os_error() {
        Some(libc::EBUSY) => FilterError::Taken,
        _ => FilterError::Kernel(error),
    }
}

fn attach(sockets: Sockets) -> io::Result<OwnedFd> {
    let plain = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // With this flag, signals that are not fatal do not interrupt a call that the supervisor has begun to
    // answer. Runtimes that send themselves signals would repeat it for ever.
    match attach_with(plain | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, sockets) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => attach_with(plain, sockets),
        attached => attached,
    }
}

fn attach_with(flags: libc::c_ulong, sockets: Sockets) -> io::Result<OwnedFd> {
    let mut steps = steps(sockets);
    let program = sock_fprog {
        len: u16::try_from(steps.len()).unwrap_or(u16::MAX),
        filter: steps.as_mut_ptr(),
    };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the kernel copies the program, which outlives the call.
    let made = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    let descriptor = i32::try_from(made).ok().filter(|made| *made >= 0);
    // SAFETY: the kernel has just made it, and nobody else owns it.
    let owned = descriptor.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) });
    owned.ok_or_else(io::Error::last_os_error)
}

/// A test that fails jumps to the last step but one, which allows the call. The last step asks the
/// supervisor.
fn steps(sockets: Sockets) -> [sock_filter; STEPS] {
    let argument = |index: u32| load(ARGUMENTS_AT + 8 * index);
    let socket = u32::try_from(libc::SYS_socket).unwrap_or(u32::MAX);
    // No type and no protocol has the number that stands for none.
    let [mptcp, datagram] = match sockets {
        Sockets::Mptcp => [-1, -1],
        Sockets::Marked(_) => [-1, libc::SOCK_DGRAM],
        Sockets::Bound(_) => [libc::IPPROTO_MPTCP, libc::SOCK_DGRAM],
    };
    let [inet, inet6, stream, tcp, mptcp, datagram, udp] = [
        libc::AF_INET,
        libc::AF_INET6,
        libc::SOCK_STREAM,
        libc::IPPROTO_TCP,
        mptcp,
        datagram,
        libc::IPPROTO_UDP,
    ]
    .map(i32::cast_unsigned);
    let verdict = |verdict| step(libc::BPF_RET | libc::BPF_K, verdict);
    [
        load(ARCH_AT),
        is(1, ARCH, 2, ALLOW),
        load(NUMBER_AT),
        is(3, socket, 4, ALLOW),
        argument(0),
        is(5, inet, 7, 6),
        is(6, inet6, 7, ALLOW),
        argument(1),
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, TYPE),
        is(9, stream, 10, 14),
        argument(2),
        is(11, 0, ASK, 12),
        is(12, tcp, ASK, 13),
        is(13, mptcp, ASK, ALLOW),
        is(14, datagram, 15, ALLOW),
        argument(2),
        is(16, 0, ASK, 17),
        is(17, udp, ASK, ALLOW),
        verdict(libc::SECCOMP_RET_ALLOW),
        verdict(libc::SECCOMP_RET_USER_NOTIF),
    ]
}
const fn step(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

const fn load(offset: u32) -> sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// The step at place `at`: continues at `same` if the loaded number is this one, otherwise at `other`.
const fn is(at: u8, number: u32, same: u8, other: u8) -> sock_filter {
    sock_filter {
        jt: same - at - 1,
        jf: other - at - 1,
        ..step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number)
    }
}
