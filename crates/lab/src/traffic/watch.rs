//! Polls the sockets of a run from outside: what each path has carried, and what the sender has queued on it.
//!
//! # Sources
//! - `include/uapi/linux/mptcp.h` (`mptcp_full_info`, `mptcp_subflow_info`), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. The sender can be inspected because it is ours. Slowhand's decisions never depend on it.
//! 2. A subflow that closes between two polls keeps the values of the last one.
//!
//! # Checked by
//! `tests`: the counters add up to what was transferred; plain TCP is told apart from MPTCP.

use linux::info::{Held, MptcpInfo, TcpInfo, TcpState};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, Duration};

const SOL_MPTCP: libc::c_int = 284;
const MPTCP_FULL_INFO: libc::c_int = 4;
const MAX_SUBFLOWS: usize = 16;
const TCP_INFO_LEN: usize = TcpInfo::LEN;
/// Number, padding, two `sockaddr_storage`.
const SUBFLOW_LEN: usize = 8 + 2 * 128;
const HEADER_LEN: usize = 40;
/// `SK_MEMINFO_VARS` numbers; the first is the memory of the receive queue.
const MEMINFO_LEN: usize = 9 * 4;
const FULL_LEN: usize = HEADER_LEN + MptcpInfo::LEN;

/// Which end of a connection a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client's.
    Client,
    /// The server's.
    Server,
}

/// One connection as one of its ends sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSample {
    /// The flow: the seed of its task.
    pub flow: u64,
    /// Which end.
    pub end: End,
    /// Its MPTCP token; `None`: plain TCP, or fallen back to it.
    pub token: Option<u32>,
    /// Its subflows; plain TCP has one.
    pub subflows: Vec<SubflowSample>,
    /// Out-of-order bytes, zero with plain TCP. `None`: unknown.
    pub held: Option<Bytes>,
}

/// One subflow. Counters are since it was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowSample {
    /// The end that is polled.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Payload sent and acknowledged.
    pub acked: Bytes,
    /// Payload received.
    pub received: Bytes,
    /// Payload assigned to it and not yet acknowledged, sent or not.
    pub queued: Bytes,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Smoothed round-trip time; zero until one was measured.
    pub srtt: Duration,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments; `None` while there is none.
    pub ssthresh: Option<u32>,
}

#[derive(Debug)]
struct Watched {
    number: u64,
    flow: u64,
    end: End,
    socket: TcpStream,
    held: Held,
    /// Bytes of each subflow that are counted in `held`.
    counted: BTreeMap<(SocketAddr, SocketAddr), Bytes>,
}

/// What the kernel reports of a connection.
struct Seen {
    /// Its token, unless it fell back.
    token: Option<u32>,
    /// Bytes received in order since it began.
    in_order: Bytes,
    subflows: Vec<SubflowSample>,
}

#[derive(Debug, Default)]
struct Inner {
    sockets: Vec<Watched>,
    /// Connections that have ended, as they were then.
    ended: Vec<ConnectionSample>,
    next: u64,
}

/// The sockets of a run.
#[derive(Debug, Clone, Default)]
pub struct Watchlist {
    inner: Arc<Mutex<Inner>>,
}

/// Keeps a socket on its list until dropped.
#[derive(Debug)]
pub(super) struct Watching {
    list: Watchlist,
    number: u64,
}

impl Watchlist {
    /// Polls a socket from now on.
    pub(super) fn add(&self, flow: u64, end: End, stream: &TcpStream) -> io::Result<Watching> {
        let socket = stream.try_clone()?;
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        inner.sockets.push(Watched {
            number,
            flow,
            end,
            socket,
            held: Held::default(),
            counted: BTreeMap::new(),
        });
        Ok(Watching {
            list: self.clone(),
            number,
        })
    }

    /// Every connection that is open, and those that have ended since the last poll.
    pub fn look(&self) -> Vec<ConnectionSample> {
        let mut inner = self.lock();
        let mut looks = std::mem::take(&mut inner.ended);
        looks.extend(inner.sockets.iter_mut().filter_map(Watched::look));
        looks
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic elsewhere leaves a list that is still correct.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut inner = self.list.lock();
        if let Some(at) = inner
            .sockets
            .iter()
            .position(|watched| watched.number == self.number)
        {
            let mut watched = inner.sockets.swap_remove(at);
            inner.ended.extend(watched.look());
        }
    }
}

impl Watched {
    /// `None` when the connection has ended.
    fn look(&mut self) -> Option<ConnectionSample> {
        let (token, subflows, held) = match full_info(self.socket.as_raw_fd()) {
            Ok(seen) => (seen.token, seen.subflows.clone(), self.held(&seen)),
            Err(_) => (None, vec![self.plain().ok()?], Bytes::ZERO),
        };
        Some(ConnectionSample {
            flow: self.flow,
            end: self.end,
            token,
            subflows,
            held: Some(held),
        })
    }

    fn held(&mut self, seen: &Seen) -> Bytes {
        let mut arrived = Bytes::ZERO;
        for subflow in &seen.subflows {
            let counted = self
                .counted
                .insert((subflow.local, subflow.remote), subflow.received);
            arrived += subflow.received.saturating_sub(counted.unwrap_or_default());
        }
        let queue = receive_memory(self.socket.as_raw_fd()).unwrap_or_default();
        self.held.look(arrived, seen.in_order, queue)
    }

    fn plain(&self) -> io::Result<SubflowSample> {
        let mut info = [0; TCP_INFO_LEN];
        getsockopt(
            self.socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            &mut info,
        )?;
        Ok(SubflowSample::of(
            &TcpInfo::parse(&info),
            canonical(self.socket.local_addr()?),
            canonical(self.socket.peer_addr()?),
        ))
    }
}

/// Memory of everything that was received and not read.
fn receive_memory(fd: RawFd) -> io::Result<Bytes> {
    let mut meminfo = [0; MEMINFO_LEN];
    getsockopt(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut meminfo)?;
    Ok(Bytes::new(u32_at(&meminfo, 0).into()))
}

/// Reads `mptcp_full_info` and its arrays.
fn full_info(fd: RawFd) -> io::Result<Seen> {
    let mut ends = [0; MAX_SUBFLOWS * SUBFLOW_LEN];
    let mut infos = [0; MAX_SUBFLOWS * TCP_INFO_LEN];
    let mut full = [0; FULL_LEN];
    full[4..8].copy_from_slice(&(TCP_INFO_LEN as u32).to_ne_bytes());
    full[12..16].copy_from_slice(&(SUBFLOW_LEN as u32).to_ne_bytes());
    full[20..24].copy_from_slice(&(MAX_SUBFLOWS as u32).to_ne_bytes());
    full[24..32].copy_from_slice(&(ends.as_mut_ptr() as u64).to_ne_bytes());
    full[32..40].copy_from_slice(&(infos.as_mut_ptr() as u64).to_ne_bytes());
    // The kernel writes at most the sizes above into the two arrays, which outlive the call.
    getsockopt(fd, SOL_MPTCP, MPTCP_FULL_INFO, &mut full)?;
    let count = (u32_at(&full, 16) as usize).min(MAX_SUBFLOWS);
    let pairs = ends
        .chunks_exact(SUBFLOW_LEN)
        .zip(infos.chunks_exact(TCP_INFO_LEN))
        .take(count);
    let looks = pairs.filter_map(|(ends, info)| {
        let info = TcpInfo::parse(info);
        let (local, remote) = (address(&ends[8..136])?, address(&ends[136..264])?);
        (info.state != TcpState::Close).then(|| SubflowSample::of(&info, local, remote))
    });
    let looks = looks.collect();
    let connection = MptcpInfo::parse(&full[HEADER_LEN..]);
    let token = connection.token.filter(|_| !connection.fallback);
    Ok(Seen {
        token: token.map(|token| token.0),
        in_order: connection.bytes_received,
        subflows: looks,
    })
}

impl SubflowSample {
    /// What the kernel's counters say.
    pub(crate) fn of(info: &TcpInfo, local: SocketAddr, remote: SocketAddr) -> Self {
        let in_flight = info.bytes_sent - info.bytes_retrans - info.bytes_acked;
        Self {
            local,
            remote,
            // The first byte acknowledged is the SYN.
            acked: info.bytes_acked - Bytes::new(1),
            received: info.bytes_received,
            queued: info.notsent + in_flight,
            retransmits: info.total_retrans.into(),
            srtt: info.rtt,
            cwnd: info.snd_cwnd,
            ssthresh: info.snd_ssthresh,
        }
    }
}

/// A `sockaddr_storage`.
fn address(storage: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes([storage[0], storage[1]]);
    let port = u16::from_be_bytes([storage[2], storage[3]]);
    let ip = match libc::c_int::from(family) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*storage[4..].first_chunk::<4>()?)),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(*storage[8..].first_chunk::<16>()?)),
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

/// Converts an IPv4-mapped IPv6 address, which an IPv6 socket has, to IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn getsockopt(fd: RawFd, level: libc::c_int, name: libc::c_int, into: &mut [u8]) -> io::Result<()> {
    let mut len = into.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `into`, and `len` itself.
    let result = unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut len) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}
