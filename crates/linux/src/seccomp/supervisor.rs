//! Answers the `socket` calls that the filter stops.

use super::Sockets;
use libc::{seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Bits of a socket's type that are no flags.
const TYPE: i32 = 0xf;

/// Checks that the kernel makes MPTCP sockets.
///
/// # Errors
/// The kernel's refusal.
pub fn check() -> io::Result<()> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).map(drop)
}

/// Checks that this process may mark sockets.
///
/// # Errors
/// The kernel's refusal.
pub fn check_marks(mark: u32) -> io::Result<()> {
    Socket::new(Domain::IPV4, Type::DGRAM, None)?.set_mark(mark)
}

/// Answers until the last program behind the filter has ended.
///
/// # Errors
/// If the kernel refuses to hand out calls. The programs' `socket` calls for TCP fail from then on.
pub fn serve(calls: BorrowedFd<'_>, sockets: Sockets) -> io::Result<()> {
    let own = Place::of(Path::new("/proc/self"))?;
    loop {
        if !has_call(calls)? {
            return Ok(());
        }
        // It returns without a call if the program has ended meanwhile.
        let Some(call) = receive(calls)? else { continue };
        let program = Path::new("/proc").join(call.pid.to_string());
        match Place::of(&program).map(|place| made(&call, sockets, &place, &own)) {
            Ok(Made::Socket(socket)) => put(calls, &call, &socket)?,
            Ok(Made::Refused(error)) => refuse(calls, &call, &error)?,
            // Where it is cannot be told. It must not reach another link.
            Err(error) if matches!(sockets, Sockets::Bound(_)) => refuse(calls, &call, &error)?,
            Ok(Made::Unchanged) | Err(_) => pass(calls, &call)?,
        }
    }
}

/// The answer to a call.
enum Made {
    /// The program gets this socket.
    Socket(Socket),
    /// Its call runs as if there were no filter.
    Unchanged,
    /// It gets no socket.
    Refused(io::Error),
}

fn made(call: &seccomp_notif, sockets: Sockets, place: &Place, own: &Place) -> Made {
    if place.network != own.network {
        return Made::Unchanged;
    }
    let socket = match (sockets, is_datagram(call)) {
        (Sockets::Bound(link), _) => {
            let bound = like(call, place.user).and_then(|socket| {
                socket.bind_device(Some(link.as_str().as_bytes()))?;
                Ok(socket)
            });
            return bound.map_or_else(Made::Refused, Made::Socket);
        }
        (Sockets::Marked(mark), true) => like(call, place.user).and_then(|socket| {
            socket.set_mark(mark)?;
            Ok(socket)
        }),
        (Sockets::Mptcp | Sockets::Marked(_), false) if place == own => of_call(call, Some(Protocol::MPTCP)),
        (Sockets::Mptcp | Sockets::Marked(_), _) => return Made::Unchanged,
    };
    socket.map_or(Made::Unchanged, Made::Socket)
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

fn is_datagram(call: &seccomp_notif) -> bool {
    call.data.args[1] as i32 & TYPE == libc::SOCK_DGRAM
}

/// A socket of this user like the requested one.
fn like(call: &seccomp_notif, user: u32) -> io::Result<Socket> {
    // Rules by user see who has made the socket. Only this thread gets that user, and only for files.
    // SAFETY: no pointers.
    let own = unsafe { libc::setfsuid(user) };
    let protocol = Some(call.data.args[2] as i32).filter(|protocol| *protocol != 0);
    let socket = of_call(call, protocol.map(Protocol::from));
    // SAFETY: as above.
    unsafe { libc::setfsuid(own.cast_unsigned()) };
    socket
}

/// A socket like the requested one, with this protocol.
fn of_call(call: &seccomp_notif, protocol: Option<Protocol>) -> io::Result<Socket> {
    let [domain, kind] = [call.data.args[0], call.data.args[1]].map(|argument| argument as i32);
    let wanted = Type::from(kind & !libc::SOCK_CLOEXEC);
    Socket::new(Domain::from(domain), wanted, protocol)
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
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    answer(calls, call, 0, flags)
}

/// Lets the call fail.
fn refuse(calls: BorrowedFd<'_>, call: &seccomp_notif, error: &io::Error) -> io::Result<()> {
    answer(calls, call, -error.raw_os_error().unwrap_or(libc::EACCES), 0)
}

fn answer(calls: BorrowedFd<'_>, call: &seccomp_notif, error: i32, flags: u32) -> io::Result<()> {
    let mut answer = seccomp_notif_resp {
        id: call.id,
        val: 0,
        error,
        flags,
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
