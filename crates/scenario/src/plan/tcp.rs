//! Where the hosts' TCP and MPTCP differ from Linux's defaults.

use units::Bytes;

/// TCP and MPTCP of all hosts. The default is a stock Linux host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// What congestion windows grow by.
    pub growth: Growth,
    /// How the retransmission time-out follows from the RTT.
    pub rto: Rto,
    /// A fixed receive window. `None`: it is autotuned.
    pub receive_window: Option<Bytes>,
    /// Initial congestion window, in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, in segments. `None`: unlimited.
    pub initial_ssthresh: Option<u32>,
    /// Whether a host keeps RTT and slow-start threshold of closed connections for later ones to the same
    /// address.
    pub metrics_cache: bool,
    /// Which subflow carries the next bytes of a connection.
    pub scheduler: Scheduler,
    /// Whether the sender reinjects the first bytes of a full receive window over another subflow. It also
    /// halves the window of the one that holds them (Raiciu et al., NSDI 2012, §4.2).
    pub opportunistic_retransmission: bool,
    /// When the client sends the SYNs of further subflows.
    pub syns: Syns,
    /// Whether TCP segments without data take airtime.
    pub acks_take_air: bool,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            growth: Growth::PerSegment,
            rto: Rto::Linux,
            receive_window: None,
            initial_window: 10,
            initial_ssthresh: None,
            metrics_cache: false,
            scheduler: Scheduler::Linux,
            opportunistic_retransmission: false,
            syns: Syns::OneByOne,
            acks_take_air: true,
        }
    }
}

/// What congestion windows grow by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Segments acknowledged, as in Linux.
    PerSegment,
    /// ACKs that advance, as in ns-3's NewReno.
    PerAck,
}

/// How the retransmission time-out follows from the RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rto {
    /// As Linux computes it: four times the deviation counts as at least 200 ms.
    Linux,
    /// RFC 6298's, with its minimum of one second.
    Rfc6298,
}

/// Which subflow carries the next bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// Upstream Linux's.
    Linux,
    /// The one with the lowest RTT that has room in its congestion window.
    LowestRtt,
    /// Each in turn.
    RoundRobin,
    /// All of them carry everything.
    Redundant,
    /// BLEST (Ferlin et al. 2016).
    Blest,
    /// ECF (Lim et al. 2017).
    Ecf,
}

/// When the client sends the SYNs of further subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syns {
    /// Once the peer has confirmed MPTCP, as in Linux.
    OneByOne,
    /// With the first SYN of the connection (imc13 §2.2.1).
    AtOnce,
}
