//! Tests whether a host is reachable over one link: by ICMP echo, by a TCP handshake for networks that drop
//! ICMP, and by a DNS query to a resolver that drops it.
//!
//! A probe leaves on its link regardless of the routes, because the socket is bound to the link. It carries a
//! number. A reply is matched by that number and a random value of this prober. All sockets are non-blocking,
//! and [`Prober`] is a single descriptor to wait for.
//!
//! # Sources
//! - RFC 792 and RFC 4443 §4 (echo), RFC 9293 §3.10.7 (a reset in reply to a SYN for a closed port also
//!   proves that the host is alive).
//!
//! # Where we differ, and why
//! 1. A resolver is queried for the root name servers. It has them cached, and they reveal nothing about this
//!    host.
//! 2. A completed handshake is reset at once (SO_LINGER 0), so that no state stays at the peer.
//!
//! # Checked by
//! `tests`: replies over the right link only, numbers matched, foreign echoes ignored, IPv4 and IPv6.

#[cfg(test)]
mod tests;

use crate::rtnl::IfName;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use thiserror::Error;
use wire::{dns, echo};

/// Most concurrent handshakes. Beyond it, the oldest is abandoned.
const MOST_HANDSHAKES: usize = 64;
/// Most DNS queries waiting for a reply.
const MOST_QUESTIONS: usize = 64;
const DNS_PORT: u16 = 53;
/// Longest reply that is read, in bytes, including an IPv4 header with options. Longer than any reply to
/// these requests.
const LONGEST_REPLY: usize = 256;

/// Why a probe could not be sent. A link that is down refuses it, which is not worth more than a note.
#[derive(Debug, Error)]
pub enum SendError {
    /// The socket could not be created.
    #[error("probes need raw sockets; run as root or with CAP_NET_RAW")]
    Socket(#[source] io::Error),
    /// The link refused the probe.
    #[error("{link} refuses a probe to {to}")]
    Send {
        /// The link.
        link: IfName,
        /// The destination.
        to: IpAddr,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Destination and link of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The link.
    pub link: IfName,
    /// Its address.
    pub from: IpAddr,
    /// The destination.
    pub to: IpAddr,
}

/// Sends probes and receives replies.
#[derive(Debug)]
pub struct Prober {
    wait: OwnedFd,
    word: u64,
    echoes: BTreeMap<(IfName, bool), Socket>,
    handshakes: Vec<Handshake>,
    resolvers: BTreeMap<(IfName, IpAddr), Socket>,
    /// DNS query ids and their probe numbers.
    questions: VecDeque<(u16, u32)>,
}

/// A handshake in progress.
#[derive(Debug)]
struct Handshake {
    probe: u32,
    socket: Socket,
    inode: u32,
}

impl Prober {
    /// Opens a prober for the calling thread's namespace.
    pub fn open() -> io::Result<Self> {
        // SAFETY: epoll_create1 takes no pointers; its result is checked.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just made and belongs to nobody else.
        let wait = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self {
            wait,
            word: random_word(),
            echoes: BTreeMap::new(),
            handshakes: Vec::new(),
            resolvers: BTreeMap::new(),
            questions: VecDeque::new(),
        })
    }

    /// Sends an ICMP echo with the number `probe`.
    pub fn echo(&mut self, target: Target, probe: u32) -> Result<(), SendError> {
        let v6 = target.to.is_ipv6();
        let key = (target.link, v6);
        if !self.echoes.contains_key(&key) {
            let socket = echo_socket(target.link, v6).map_err(SendError::Socket)?;
            self.watch(&socket, libc::EPOLLIN).map_err(SendError::Socket)?;
            self.echoes.insert(key, socket);
        }
        let request = echo::request(v6, self.word, probe);
        let to = SocketAddr::new(target.to, 0);
        match self.echoes[&key].send_to(&request, &to.into()) {
            Ok(_) => Ok(()),
            Err(source) => {
                // The link may have come back with another index, so the next probe binds again.
                self.echoes.remove(&key);
                Err(SendError::Send {
                    link: target.link,
                    to: target.to,
                    source,
                })
            }
        }
    }

    /// Starts a TCP handshake with `port`. Any reply proves that the host is alive.
    pub fn handshake(&mut self, target: Target, port: u16, probe: u32) -> Result<(), SendError> {
        let to = SocketAddr::new(target.to, port);
        let socket = handshake_socket(target).map_err(SendError::Socket)?;
        match socket.connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                return Err(SendError::Send {
                    link: target.link,
                    to: target.to,
                    source: error,
                });
            }
            _ => {}
        }
        self.watch(&socket, libc::EPOLLOUT).map_err(SendError::Socket)?;
        if self.handshakes.len() == MOST_HANDSHAKES {
            self.handshakes.remove(0);
        }
        let inode = inode(&socket);
        self.handshakes.push(Handshake { probe, socket, inode });
        Ok(())
    }

    /// Sends a DNS query with the number `probe` to a resolver.
    pub fn query(&mut self, target: Target, probe: u32) -> Result<(), SendError> {
        let key = (target.link, target.from);
        if !self.resolvers.contains_key(&key) {
            let socket = resolver_socket(target).map_err(SendError::Socket)?;
            self.watch(&socket, libc::EPOLLIN).map_err(SendError::Socket)?;
            self.resolvers.insert(key, socket);
        }
        let id = (self.word as u16) ^ (probe as u16);
        let question = dns::question(id, "", dns::Kind::Ns).unwrap_or_default();
        let to = SocketAddr::new(target.to, DNS_PORT);
        if let Err(source) = self.resolvers[&key].send_to(&question, &to.into()) {
            self.resolvers.remove(&key);
            let Target { link, to, .. } = target;
            return Err(SendError::Send { link, to, source });
        }
        if self.questions.len() == MOST_QUESTIONS {
            self.questions.pop_front();
        }
        self.questions.push_back((id, probe));
        Ok(())
    }

    /// Whether the socket with this inode is one of the prober's handshakes.
    pub fn owns(&self, inode: u32) -> bool {
        inode != 0 && self.handshakes.iter().any(|handshake| handshake.inode == inode)
    }

    /// Returns the number of the next probe with a reply, or `None` if no reply is pending.
    pub fn answer(&mut self) -> Option<u32> {
        self.finished_handshake()
            .or_else(|| self.heard_echo())
            .or_else(|| self.heard_resolver())
    }

    /// Abandons a probe.
    pub fn give_up(&mut self, probe: u32) {
        self.handshakes.retain(|other| other.probe != probe);
        self.questions.retain(|(_, other)| *other != probe);
    }

    fn finished_handshake(&mut self) -> Option<u32> {
        let at = self
            .handshakes
            .iter()
            .position(|handshake| is_settled(&handshake.socket))?;
        let Handshake { probe, socket, .. } = self.handshakes.swap_remove(at);
        // A refusal also came from the peer. Other errors (no route, time-out) did not.
        match socket.take_error() {
            Ok(None) => Some(probe),
            Ok(Some(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Some(probe),
            _ => self.finished_handshake(),
        }
    }

    fn heard_echo(&self) -> Option<u32> {
        self.echoes.iter().find_map(|(&(_, v6), socket)| {
            let mut buffer = [MaybeUninit::new(0u8); LONGEST_REPLY];
            // A raw socket receives the echoes of all programs, so read until one of this prober's arrives or
            // none is left.
            while let Ok(length) = socket.recv(&mut buffer) {
                let bytes: [u8; LONGEST_REPLY] = buffer.map(|byte| {
                    // SAFETY: the array was initialised with zeros above.
                    unsafe { byte.assume_init() }
                });
                if let Some(probe) = echo::reply(v6, &bytes[..length.min(LONGEST_REPLY)], self.word) {
                    return Some(probe);
                }
            }
            None
        })
    }

    fn heard_resolver(&mut self) -> Option<u32> {
        let Self {
            resolvers, questions, ..
        } = self;
        resolvers.values().find_map(|socket| {
            let mut buffer = [MaybeUninit::new(0u8); LONGEST_REPLY];
            // The header suffices, even if the rest is truncated.
            while let Ok(length) = socket.recv(&mut buffer) {
                let bytes: [u8; LONGEST_REPLY] = buffer.map(|byte| {
                    // SAFETY: the array was initialised with zeros above.
                    unsafe { byte.assume_init() }
                });
                let id = dns::replied(&bytes[..length.min(LONGEST_REPLY)]);
                let at = questions.iter().position(|(asked, _)| Some(*asked) == id);
                if let Some((_, probe)) = at.and_then(|at| questions.remove(at)) {
                    return Some(probe);
                }
            }
            None
        })
    }

    fn watch(&self, socket: &Socket, events: libc::c_int) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: events.cast_unsigned(),
            u64: 0,
        };
        // SAFETY: both descriptors are open, and `event` is valid for the call.
        let result = unsafe {
            libc::epoll_ctl(
                self.wait.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                socket.as_raw_fd(),
                &raw mut event,
            )
        };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

impl AsRawFd for Prober {
    /// Readable when a reply may be pending.
    fn as_raw_fd(&self) -> RawFd {
        self.wait.as_raw_fd()
    }
}

fn random_word() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds its hashers with system randomness.
    std::hash::RandomState::new().build_hasher().finish()
}

fn echo_socket(link: IfName, v6: bool) -> io::Result<Socket> {
    let (domain, protocol) = if v6 {
        (Domain::IPV6, Protocol::ICMPV6)
    } else {
        (Domain::IPV4, Protocol::ICMPV4)
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.bind_device(Some(link.as_str().as_bytes()))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn handshake_socket(target: Target) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(SocketAddr::new(target.to, 0)),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.bind_device(Some(target.link.as_str().as_bytes()))?;
    socket.bind(&SocketAddr::new(target.from, 0).into())?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn resolver_socket(target: Target) -> io::Result<Socket> {
    let domain = Domain::for_address(SocketAddr::new(target.to, 0));
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(Some(target.link.as_str().as_bytes()))?;
    socket.bind(&SocketAddr::new(target.from, 0).into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The socket's inode as in socket statistics, or 0 if the kernel does not report it.
fn inode(socket: &Socket) -> u32 {
    // SAFETY: all bytes zero are a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is live during the call, and the descriptor is open.
    let told = unsafe { libc::fstat(socket.as_raw_fd(), &raw mut stat) };
    if told == 0 { stat.st_ino as u32 } else { 0 }
}

fn is_settled(socket: &Socket) -> bool {
    let mut wanted = libc::pollfd {
        fd: SockRef::from(socket).as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one valid pollfd; a time-out of zero does not block.
    unsafe { libc::poll(&raw mut wanted, 1, 0) > 0 }
}
