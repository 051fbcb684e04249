//! The netlink socket: sequence-numbered requests, dumps and multicast events.

use super::Builder;
use super::error::{OpenError, ReceiveError, Refusal, RequestError};
use super::message::{Message, Messages};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;
const SOL_NETLINK: i32 = 270;
/// The kernel builds dumps in chunks of at most 32 KiB. Twice that also holds any single message.
const BUFFER_LEN: usize = 64 * 1024;
/// Holds the events of a few thousand changes while the reader is busy.
const EVENT_BUFFER_BYTES: i32 = 4 * 1024 * 1024;
/// Sequence numbers begin far up, as those of iproute2. Events of a change carry the number of the request,
/// and `wireguard-go` takes small ones for answers to its own.
const FIRST: u32 = 0x4000_0000;
const ANSWER_TIMEOUT_S: u64 = 5;
const DUMP_ATTEMPTS: u32 = 16;

/// The kernel subsystem that a socket addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// rtnetlink: links, addresses, routes, rules.
    Route,
    /// Socket statistics.
    SockDiag,
    /// Generic netlink.
    Generic,
    /// Connection tracking.
    Netfilter,
}

impl Protocol {
    const fn number(self) -> i32 {
        match self {
            Self::Route => libc::NETLINK_ROUTE,
            Self::SockDiag => libc::NETLINK_SOCK_DIAG,
            Self::Generic => libc::NETLINK_GENERIC,
            Self::Netfilter => libc::NETLINK_NETFILTER,
        }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Route | Self::Generic => "CONFIG_NET",
            Self::SockDiag => "CONFIG_INET_DIAG",
            Self::Netfilter => "CONFIG_NF_CT_NETLINK",
        }
    }
}

/// The message that completes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The acknowledgement.
    Ack,
    /// The first message.
    First,
    /// `NLMSG_DONE`.
    Done,
}

/// A netlink socket in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    seq: u32,
    buf: Box<[u8]>,
}

impl Socket {
    /// Opens and binds a socket with extended ACKs enabled.
    pub fn open(protocol: Protocol) -> Result<Self, OpenError> {
        let fd = open_fd(protocol)?;
        let socket = Self {
            fd,
            seq: FIRST,
            buf: vec![0; BUFFER_LEN].into_boxed_slice(),
        };
        socket.configure(protocol).map_err(OpenError::Socket)?;
        Ok(socket)
    }

    /// Joins a multicast group and enlarges the receive buffer for bursts.
    pub fn subscribe(&self, group: u32) -> io::Result<()> {
        // Without CAP_NET_ADMIN the kernel refuses the forced size and keeps the system's limit. Overruns are
        // then more likely, and the caller handles them.
        let _ = self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, EVENT_BUFFER_BYTES);
        self.set(SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group.cast_signed())
    }

    /// Sends a request and waits for its acknowledgement.
    pub fn request(&mut self, request: &mut Builder) -> Result<(), RequestError> {
        self.exchange(request, Until::Ack, &mut |_| Ok(()))
    }

    /// Sends a request whose answer is exactly one message, and passes it to `on`.
    pub fn ask(
        &mut self,
        request: &mut Builder,
        mut on: impl FnMut(Message<'_>) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        self.exchange(request, Until::First, &mut on)
    }

    /// Sends a dump request and passes every message to `on`.
    ///
    /// If the kernel marks the dump as inconsistent, it is still read to its end and then reported as
    /// [`RequestError::Interrupted`]. See [`dump_whole`](Self::dump_whole).
    pub fn dump(
        &mut self,
        request: &mut Builder,
        mut on: impl FnMut(Message<'_>) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        self.exchange(request, Until::Done, &mut on)
    }

    /// Dumps into a `Vec` and starts again if the list changed during the dump.
    pub fn dump_whole<T>(
        &mut self,
        request: &mut Builder,
        parse: impl Fn(Message<'_>) -> Option<T>,
    ) -> Result<Vec<T>, RequestError> {
        let mut found = Vec::new();
        for _ in 0..DUMP_ATTEMPTS {
            found.clear();
            let result = self.dump(request, |message| {
                found.extend(parse(message));
                Ok(())
            });
            match result {
                Ok(()) => return Ok(found),
                Err(RequestError::Interrupted { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(RequestError::Interrupted {
            attempts: DUMP_ATTEMPTS,
        })
    }

    /// Receives the next datagram of events without blocking. `None` if none is pending.
    pub fn receive(&mut self) -> Result<Option<Messages<'_>>, ReceiveError> {
        match self.recv(libc::MSG_DONTWAIT) {
            Ok(len) => Ok(Some(Messages::new(&self.buf[..len]))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Err(ReceiveError::Overrun),
            Err(error) => Err(ReceiveError::Socket(error)),
        }
    }

    /// Shrinks the receive buffer to a few events.
    #[cfg(test)]
    pub(crate) fn shrink_for_test(&self) {
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, 4096).unwrap();
    }

    fn exchange(
        &mut self,
        request: &mut Builder,
        until: Until,
        on: &mut dyn FnMut(Message<'_>) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        self.send(request, until)?;
        let mut interrupted = false;
        loop {
            let len = self.recv(0).map_err(answer_error)?;
            for message in Messages::new(&self.buf[..len]).filter(|m| m.seq == self.seq) {
                interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
                match message.kind {
                    NLMSG_ERROR => return Ok(Refusal::from_error(&message)?),
                    NLMSG_DONE => {
                        Refusal::from_done(&message)?;
                        return if interrupted {
                            Err(RequestError::Interrupted { attempts: 1 })
                        } else {
                            Ok(())
                        };
                    }
                    _ if until == Until::First => return on(message),
                    _ => on(message)?,
                }
            }
        }
    }

    fn send(&mut self, request: &mut Builder, until: Until) -> Result<(), RequestError> {
        self.seq = self.seq.wrapping_add(1).max(1);
        let flags = match until {
            Until::Ack => NLM_F_REQUEST | NLM_F_ACK,
            Until::First => NLM_F_REQUEST,
            Until::Done => NLM_F_REQUEST | NLM_F_DUMP,
        };
        let bytes = request.finish(self.seq, flags);
        // SAFETY: pointer and length describe `bytes`, which outlives the call.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            Err(RequestError::Socket(io::Error::last_os_error()))
        } else {
            Ok(())
        }
    }

    /// Receives one datagram from the kernel into the buffer. Datagrams of other processes are dropped.
    fn recv(&mut self, flags: i32) -> io::Result<usize> {
        loop {
            // SAFETY: sockaddr_nl is plain data, all zeros is a valid value.
            let mut from: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
            let mut from_len = socklen::<libc::sockaddr_nl>();
            // SAFETY: buffer and address are live, and their lengths are passed with them.
            let got = unsafe {
                libc::recvfrom(
                    self.fd.as_raw_fd(),
                    self.buf.as_mut_ptr().cast(),
                    self.buf.len(),
                    flags,
                    (&raw mut from).cast(),
                    &raw mut from_len,
                )
            };
            match usize::try_from(got) {
                Ok(len) if from.nl_pid == 0 => return Ok(len),
                Ok(_) => {}
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn configure(&self, protocol: Protocol) -> io::Result<()> {
        self.set(SOL_NETLINK, libc::NETLINK_EXT_ACK, 1)?;
        self.set(SOL_NETLINK, libc::NETLINK_CAP_ACK, 1)?;
        if protocol == Protocol::Route {
            // Without strict checking the kernel ignores filters in dump requests.
            self.set(SOL_NETLINK, libc::NETLINK_GET_STRICT_CHK, 1)?;
        }
        let timeout = libc::timeval {
            tv_sec: ANSWER_TIMEOUT_S.cast_signed(),
            tv_usec: 0,
        };
        self.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, timeout)?;
        self.bind()
    }

    fn bind(&self) -> io::Result<()> {
        // SAFETY: sockaddr_nl is plain data, all zeros is a valid value: the kernel picks the port.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        // SAFETY: the address is live and its length is passed with it.
        let rc = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                socklen::<libc::sockaddr_nl>(),
            )
        };
        if rc < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn set<T>(&self, level: i32, option: i32, value: T) -> io::Result<()> {
        // SAFETY: `value` is live and its size is passed with it.
        let rc = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                socklen::<T>(),
            )
        };
        if rc < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open_fd(protocol: Protocol) -> Result<OwnedFd, OpenError> {
    // SAFETY: no pointers are passed.
    let fd = unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            protocol.number(),
        )
    };
    if fd < 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EPROTONOSUPPORT) => OpenError::Unsupported {
                protocol: protocol.number(),
                option: protocol.option(),
            },
            _ => OpenError::Socket(error),
        });
    }
    // SAFETY: the descriptor was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn answer_error(error: io::Error) -> RequestError {
    match error.kind() {
        io::ErrorKind::WouldBlock => RequestError::NoAnswer {
            seconds: ANSWER_TIMEOUT_S,
        },
        _ => RequestError::Socket(error),
    }
}

const fn socklen<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}
