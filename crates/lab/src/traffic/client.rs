//! One flow of the client, from connect to the end of the run.

use super::assigned::Assigned;
use super::server::Server;
use super::socket::{SocketError, Transport, impatient};
use super::watch::{End, Watching, Watchlist};
use super::{datagrams, download, fetch, on_off, requests, upload};
use crate::clock::Clock;
use blocks::Blocks;
use linux::netns::EnterError;
use policy::flow::PeerId;
use scenario::Work;
use socket2::Socket;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use trace::agent::MARK;
use trace::{FlowMeter, Stall};
use units::{Duration, Instant};

/// Timeout of an attempt to connect. The flow then tries again, as applications do.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// Time between attempts that fail at once, as without a route.
const CONNECT_EVERY: Duration = Duration::from_millis(20);
/// Interval between progress reports.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// What carries a flow.
#[derive(Debug, Clone)]
pub enum Via {
    /// MPTCP, wherever the routes lead.
    Mptcp,
    /// Plain TCP, wherever the routes lead: an agent carries it.
    Agent,
    /// Plain TCP, bound to this device.
    Tcp {
        /// The interface.
        device: String,
        /// Whether its link is usable now.
        usable: Arc<AtomicBool>,
    },
    /// Plain TCP over several connections, one for each of these.
    Several(Vec<Place>),
    /// UDP, bound to this device.
    Udp {
        /// The interface.
        device: String,
    },
}

/// A link of a flow with several connections.
#[derive(Debug, Clone)]
pub struct Bound {
    /// As the engine calls it.
    pub link: policy::LinkId,
    /// Its interface.
    pub device: String,
    /// Whether it is usable now.
    pub usable: Arc<AtomicBool>,
    /// The server's address over it.
    pub server: SocketAddr,
}

/// What one of several connections of a flow is bound to.
#[derive(Debug, Clone)]
pub enum Place {
    /// This link.
    Link(Bound),
    /// The link that the engine assigns to this peer.
    Peer {
        /// As the engine calls it.
        peer: PeerId,
        /// All links.
        links: Arc<[Bound]>,
        /// The engine's answers.
        assigned: Assigned,
    },
}

/// Why the flow left a connection.
pub(super) enum Left {
    /// The transfer or the run is over.
    Done,
    /// A new connection should continue from here.
    Again,
}

/// One flow to run.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it moves.
    pub work: Work,
    /// How.
    pub via: Via,
    /// To whom.
    pub server: SocketAddr,
    /// Congestion controller of this end, which sends uploads.
    pub cc: String,
    /// Seed of the content.
    pub seed: u64,
    /// The clock of the run.
    pub clock: Clock,
    /// When the run ends, even with data in flight.
    pub until: Instant,
    /// Set when the run is to end at once.
    pub stop: Arc<AtomicBool>,
    /// Where this end of its connections can be polled.
    pub watchlist: Watchlist,
}

/// A connection, and the guard that keeps it on the watchlist.
pub(super) type Connection = (TcpStream, Watching);

/// Something that happened to a flow, for the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Bytes that the receiving application has read so far.
    Bytes(u64),
    /// A gap between its reads.
    Stall(Stall),
}

/// Receives the events of a flow, on its threads; must not block.
pub type Tell<'a> = &'a (dyn Fn(Instant, Told) + Sync);

/// The outcome of a flow.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Measured at the receiving application.
    pub meter: FlowMeter,
    /// The receiver's SHA-256 equals the sender's, or every byte of every block was right.
    pub intact: bool,
    /// How many connections it took.
    pub connections: u32,
    /// Errors that broke connections before the end, in order.
    pub broken: Vec<String>,
    /// Every request that was answered, until its reply was complete. The time counts from when the request
    /// was written. If the previous one was unanswered when it was due, it counts from then.
    pub requests: Vec<Stall>,
    /// Requests that were due and unanswered when the run ended, until that time.
    pub unanswered: Vec<Stall>,
    /// The file that the flow fetched in blocks, if it does.
    pub blocks: Option<Blocks>,
    /// When the transfer ended.
    pub ended: Instant,
}

/// Why a flow could not run. A connection that breaks is no error but part of the outcome.
#[derive(Debug, Error)]
pub enum TransferError {
    /// Its thread cannot enter the client's namespace.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// No socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// An option of a connection was refused.
    #[error("cannot set up a connection")]
    Prepare(#[source] io::Error),
    /// No thread for one of its connections.
    #[error("cannot start a thread; check the limit `ulimit -u`")]
    Thread(#[source] io::Error),
}

/// Runs one flow to its end in the calling thread, which is in the client's namespace.
pub fn run(task: &Task, server: &Server, tell: Tell<'_>) -> Result<Outcome, TransferError> {
    match task.work {
        Work::Download { size, limit } => download::run(task, size, limit, tell),
        Work::Upload { size, limit } => upload::run(task, server, size, limit, tell),
        Work::OnOff { up, turns } => on_off::run(task, server, (up, turns), tell),
        Work::Requests {
            every,
            request,
            reply,
        } => requests::run(task, every, request, reply, tell),
        Work::Stripe { .. } | Work::Swarm { .. } => match &task.via {
            Via::Several(places) => fetch::run(task, places, tell),
            _ => unreachable!("blocks are fetched over links"),
        },
        Work::Datagrams { way, pace, payload } => datagrams::run(task, server, (way, pace, payload), tell),
    }
}

impl Task {
    /// Whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        self.clock.now() >= self.until || self.stop.load(Ordering::Relaxed)
    }

    /// Connects, retrying until the run is over; `None` when it is.
    pub(super) fn connect(&self) -> Result<Option<Connection>, TransferError> {
        self.connect_while(|| true)
    }

    /// As [`Self::connect`], but only while this holds.
    pub(super) fn connect_while(
        &self,
        wanted: impl Fn() -> bool,
    ) -> Result<Option<Connection>, TransferError> {
        while !self.is_over() && wanted() {
            if !self.has_link() {
                std::thread::sleep(CONNECT_EVERY);
                continue;
            }
            let socket = self.transport().socket(self.server, &self.cc)?;
            if let Via::Tcp { device, .. } = &self.via {
                bind(&socket, device, self.server).map_err(TransferError::Prepare)?;
            }
            let left = self.until.since(self.clock.now());
            let patience = CONNECT_PATIENCE.min(left.max(Duration::from_millis(1)));
            if socket.connect_timeout(&self.server.into(), patience).is_ok() {
                let stream = TcpStream::from(socket);
                impatient(&stream).map_err(TransferError::Prepare)?;
                let watching = self.watchlist.add(self.seed, End::Client, &stream);
                return Ok(Some((stream, watching.map_err(TransferError::Prepare)?)));
            }
            std::thread::sleep(CONNECT_EVERY);
        }
        Ok(None)
    }

    const fn transport(&self) -> Transport {
        match self.via {
            Via::Mptcp => Transport::Mptcp,
            Via::Agent | Via::Tcp { .. } | Via::Several(_) | Via::Udp { .. } => Transport::Tcp,
        }
    }

    /// Whether to replace a silent connection: for plain TCP, once its link is usable again.
    pub(super) fn should_reconnect(&self) -> bool {
        matches!(self.via, Via::Tcp { .. }) && self.has_link()
    }

    /// Whether a first packet can leave: a lost SYN costs at least a second. Without a route, attempts of
    /// MPTCP fail at once.
    fn has_link(&self) -> bool {
        match &self.via {
            Via::Tcp { usable, .. } => usable.load(Ordering::Relaxed),
            Via::Mptcp | Via::Agent | Via::Several(_) | Via::Udp { .. } => true,
        }
    }
}

/// Binds the socket to this device, and to a port that nobody else has. If connecting chose the port, the
/// kernel might choose that of a socket that is bound to no device for the same route (docs/kernel.md). The
/// server could not tell the two connections apart.
fn bind(socket: &Socket, device: &str, server: SocketAddr) -> io::Result<()> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    socket.bind_device(Some(device.as_bytes()))?;
    // If there is an agent, it must not carry this over other links.
    socket.set_mark(MARK)?;
    socket.bind(&SocketAddr::new(any, 0).into())
}

/// Reports progress at intervals, and stalls as they end.
pub(super) struct Reporter<'a> {
    tell: Tell<'a>,
    last: Option<Instant>,
}

impl<'a> Reporter<'a> {
    pub(super) const fn new(tell: Tell<'a>) -> Self {
        Self { tell, last: None }
    }

    pub(super) fn bytes(&mut self, now: Instant, bytes: u64) {
        if self.last.is_none_or(|last| now.since(last) >= TELL_EVERY) {
            self.last = Some(now);
            self.say(now, Told::Bytes(bytes));
        }
    }

    pub(super) fn stall(&self, now: Instant, stall: Option<Stall>) {
        if let Some(stall) = stall {
            self.say(now, Told::Stall(stall));
        }
    }

    fn say(&self, now: Instant, told: Told) {
        (self.tell)(now, told);
    }
}
