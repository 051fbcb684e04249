//! Answers the `socket` calls that the filter stops.

use libc::{seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Checks that the kernel makes MPTCP sockets.
///
/// # Errors
/// The kernel's refusal.
pub fn check() -> io::Result<()> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).map(drop)
}

/// Answers until the last program behind the filter has ended.
///
/// # Errors
/// If the kernel refuses to hand out calls. The programs' `socket` calls for TCP fail from then on.
pub fn serve(calls: BorrowedFd<'_>) -> io::Result<()> {
    let own = Place::of(Path::new("/proc/self"))?;
    loop {
        if !has_call(calls)? {
            return Ok(());
        }
        // It returns without a call if the program has ended meanwhile.
        let Some(call) = receive(calls)? else { continue };
        let program = Path::new("/proc").join(call.pid.to_string());
        let made = match Place::of(&program) {
            Ok(place) if place == own => socket_for(&call),
            _ => None,
        };
        match made {
            Some(socket) => put(calls, &call, &socket)?,
            None => pass(calls, &call)?,
        }
    }
}

/// Where a program is, as rules about its sockets see it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    user: u32,
    network: u64,
}

impl Place {
    fn of(process: &Path) -> io::Result<Self> {
        Ok(Self {
            user: fs::metadata(process)?.uid(),
            network: fs::metadata(process.join("ns/net"))?.ino(),
        })
    }
}

/// Waits for a call. `false`: no program is left that could make one.
fn has_call(calls: BorrowedFd<'_>) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: calls.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        // SAFETY: one descriptor, valid for the call.
        match unsafe { libc::poll(&raw mut poll, 1, -1) } {
            1 => return Ok(poll.revents & libc::POLLIN != 0),
            _ => uninterrupted(io::Error::last_os_error())?,
        }
    }
}

/// Passes on every error but an interruption.
fn uninterrupted(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

fn receive(calls: BorrowedFd<'_>) -> io::Result<Option<seccomp_notif>> {
    // SAFETY: zeroes are a value of it, and the kernel asks for zeroes.
    let mut call: seccomp_notif = unsafe { std::mem::zeroed() };
    match control(calls, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) {
        Ok(_) => Ok(Some(call)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => uninterrupted(error).map(|()| None),
    }
}

/// An MPTCP socket like the requested one. `None` if the kernel makes none.
fn socket_for(call: &seccomp_notif) -> Option<Socket> {
    let [domain, kind] = [call.data.args[0], call.data.args[1]].map(|argument| argument as i32);
    let wanted = Type::from(kind & !libc::SOCK_CLOEXEC);
    Socket::new(Domain::from(domain), wanted, Some(Protocol::MPTCP)).ok()
}

/// Puts the socket into the program, as the result of its call.
fn put(calls: BorrowedFd<'_>, call: &seccomp_notif, socket: &Socket) -> io::Result<()> {
    let closes = call.data.args[1] as i32 & libc::SOCK_CLOEXEC != 0;
    let mut addition = seccomp_notif_addfd {
        id: call.id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: socket.as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: if closes {
            libc::O_CLOEXEC.cast_unsigned()
        } else {
            0
        },
    };
    match control(calls, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw mut addition) {
        Ok(_) => Ok(()),
        // The program has ended.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        // It may have no descriptor left, for instance. Its own call fails in the same way.
        Err(_) => pass(calls, call),
    }
}

/// Lets the call run as if there were no filter.
fn pass(calls: BorrowedFd<'_>, call: &seccomp_notif) -> io::Result<()> {
    let mut answer = seccomp_notif_resp {
        id: call.id,
        val: 0,
        error: 0,
        flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    };
    match control(calls, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) {
        Ok(_) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

fn control<T>(calls: BorrowedFd<'_>, request: libc::Ioctl, value: *mut T) -> io::Result<i32> {
    // SAFETY: each request is passed the structure that it reads or writes, which outlives the call.
    match unsafe { libc::ioctl(calls.as_raw_fd(), request, value) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
