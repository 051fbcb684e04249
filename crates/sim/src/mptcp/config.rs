//! Configuration of a host's connections, and the paths of subflows.

use crate::tcp::{Config as SenderConfig, Control, Metrics};
use links::LinkId;
use policy::Family;
use policy::sched::{Blest, Ecf, LinuxDefault, LowestRtt, Redundant, RoundRobin, Scheduler};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use units::Bytes;

/// Joins that a stock host accepts (`ip mptcp limits`: `subflows 2`).
pub const STOCK_JOINS: u8 = 2;
/// Limit of an autotuned receive buffer (`tcp_rmem[2]` since Linux 6.16).
const MOST_RECEIVE_BUFFER: Bytes = Bytes::new(32 << 20);
/// Part of a receive buffer that is window: a buffer of 2 MB gives 1.2 MB.
const WINDOW_TENTHS: u64 = 6;

/// Path of a subflow, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Link of the client.
    pub link: LinkId,
    /// Version of IP.
    pub family: Family,
    /// Identifier of the client's address.
    pub client: u8,
    /// Identifier of the server's address.
    pub server: u8,
}

impl Path {
    /// The path between a link's address of this family and a server with one address per family. A link's
    /// addresses have the identifiers 2n and 2n + 1, modulo 256: one connection must not use links whose
    /// numbers differ by a multiple of 128.
    pub const fn over(link: LinkId, family: Family) -> Self {
        let version = family as u8;
        Self {
            link,
            family,
            client: (link.0 as u8).wrapping_mul(2) + version,
            server: version,
        }
    }
}

/// Receive window of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// It grows with the rate, up to the window that a buffer of this size allows.
    Autotuned(Bytes),
    /// A window of this size from the start.
    Window(Bytes),
}

impl ReceiveBuffer {
    /// Window that it allows at most.
    pub const fn most(self) -> u64 {
        match self {
            Self::Autotuned(buffer) => buffer.get() / 10 * WINDOW_TENTHS,
            Self::Window(window) => window.get(),
        }
    }
}

/// Which scheduler a sender runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerKind {
    /// Upstream Linux's.
    LinuxDefault,
    /// Lowest RTT first.
    LowestRtt,
    /// Each in turn.
    RoundRobin,
    /// Everything everywhere.
    Redundant,
    /// BLEST.
    Blest,
    /// ECF.
    Ecf,
}

impl SchedulerKind {
    pub(super) fn build(self) -> Scheduler {
        match self {
            Self::LinuxDefault => Scheduler::LinuxDefault(LinuxDefault::default()),
            Self::LowestRtt => Scheduler::LowestRtt(LowestRtt),
            Self::RoundRobin => Scheduler::RoundRobin(RoundRobin::default()),
            Self::Redundant => Scheduler::Redundant(Redundant),
            Self::Blest => Scheduler::Blest(Blest::default()),
            Self::Ecf => Scheduler::Ecf(Ecf::default()),
        }
    }
}

/// When joins may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joins {
    /// Once the peer has confirmed MPTCP, as in Linux.
    Confirmed,
    /// With the first SYN (imc13 §2.2.1).
    AtOnce,
}

/// Configuration of a host's connections.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The senders of its subflows.
    pub sender: SenderConfig,
    /// Whether it speaks MPTCP.
    pub mptcp: bool,
    /// Whether it asks for ECN, or agrees to it.
    pub ecn: bool,
    /// Receive window.
    pub receive_buffer: ReceiveBuffer,
    /// Limit of each subflow's queue. `None`: autotuned.
    pub send_buffer: Option<Bytes>,
    /// Scheduler.
    pub scheduler: SchedulerKind,
    /// Whether a full receive window is unblocked by opportunistic retransmission and penalisation
    /// ([`policy::sched::Rescue`]). Upstream Linux has neither.
    pub rescue: bool,
    /// Joins that it accepts for a connection.
    pub most_joins: u8,
    /// When it may join.
    pub joins: Joins,
    /// Whether it keeps RTT and slow-start threshold of closed subflows for later ones over the same path
    /// (Linux's `tcp_no_metrics_save` and `tcp_no_ssthresh_metrics_save` at 0).
    pub metrics_cache: bool,
}

impl Config {
    /// A stock Linux host with this congestion control.
    pub const fn stock(control: Control, mptcp: bool) -> Self {
        Self {
            sender: SenderConfig::host(control),
            mptcp,
            ecn: false,
            receive_buffer: ReceiveBuffer::Autotuned(MOST_RECEIVE_BUFFER),
            send_buffer: None,
            scheduler: SchedulerKind::LinuxDefault,
            rescue: false,
            most_joins: STOCK_JOINS,
            joins: Joins::Confirmed,
            metrics_cache: false,
        }
    }
}

/// What a host keeps of closed subflows, by path.
///
/// Linux forgets entries when its table is full. Here they stay.
#[derive(Debug, Clone, Default)]
pub struct Cache(Arc<Mutex<BTreeMap<Path, Metrics>>>);

impl Cache {
    fn get(&self, path: Path) -> Option<Metrics> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&path).copied()
    }

    fn put(&self, path: Path, metrics: Metrics) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(path, metrics);
    }
}

/// A configuration that many connections share.
#[derive(Debug, Clone)]
pub struct Shared {
    pub(super) host: Arc<OfHost>,
    sender: Arc<SenderConfig>,
}

/// What all connections of a host have, behind one pointer: each connection holds it.
#[derive(Debug)]
pub(super) struct OfHost {
    pub(super) config: Config,
    cache: Option<Cache>,
}

impl Shared {
    /// A configuration of a host that has this cache.
    pub fn with_cache(config: Config, cache: &Cache) -> Self {
        Self::new(config, config.metrics_cache.then(|| cache.clone()))
    }

    fn new(config: Config, cache: Option<Cache>) -> Self {
        Self {
            host: Arc::new(OfHost { config, cache }),
            sender: Arc::new(config.sender),
        }
    }

    /// Configuration of the sender of a new subflow over this path.
    pub(super) fn sender(&self, path: Path) -> Arc<SenderConfig> {
        match self.host.cache.as_ref().and_then(|cache| cache.get(path)) {
            None => self.sender.clone(),
            metrics => Arc::new(SenderConfig {
                metrics,
                ..*self.sender
            }),
        }
    }

    /// Keeps what a subflow over this path leaves, if the host has a cache.
    pub(super) fn keep(&self, path: Path, metrics: Option<Metrics>) {
        if let (Some(cache), Some(metrics)) = (&self.host.cache, metrics) {
            cache.put(path, metrics);
        }
    }
}

impl From<Config> for Shared {
    fn from(config: Config) -> Self {
        Self::new(config, None)
    }
}
