//! What can happen in a run, and when.

use crate::words::words;
use crate::{Plan, PolicyName, Run, World};
use serde::{Deserialize, Serialize};
use units::Instant;

/// Something that happened: one line of a trace file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Nanoseconds since the start of the run (scenario time).
    pub t_ns: u64,
    /// What it was.
    #[serde(flatten)]
    pub what: What,
}

impl Event {
    /// `what` happened at `now`.
    pub const fn new(now: Instant, what: What) -> Self {
        Self {
            t_ns: now.as_nanos(),
            what,
        }
    }

    /// When it happened.
    pub const fn at(&self) -> Instant {
        Instant::from_nanos(self.t_ns)
    }
}

/// The kinds of event. Links and flows are named as in the plan, connections by their MPTCP token, as `ip
/// mptcp` shows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// The run begins; everything up to its [`What::RunEnd`] belongs to it.
    RunStart(Box<RunStart>),
    /// The client is here now.
    Position {
        /// Metres east.
        x_m: f64,
        /// Metres north.
        y_m: f64,
    },
    /// The client receives an access point's beacons at this power.
    Signal {
        /// Which.
        link: String,
        /// Received power in dBm.
        dbm: f64,
    },
    /// A link's state changed, as the client sees it.
    LinkState {
        /// Which.
        link: String,
        /// Its new state.
        state: LinkState,
    },
    /// A fault began or ended.
    Fault {
        /// Where.
        link: String,
        /// What, in a few words.
        fault: String,
        /// Whether its effect has been observed.
        applied: bool,
    },
    /// The engine decided.
    Decision {
        /// About which link, if about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// About which connection, if about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conn: Option<u32>,
        /// Stable identifier, such as `demote`.
        verb: String,
        /// Stable identifier of the reason, such as `fading`. Empty in older records, and where the engine
        /// gave none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// Why, in a sentence with its numbers.
        why: String,
    },
    /// A subflow came, went or changed.
    Subflow {
        /// Of which connection.
        conn: u32,
        /// Over which link.
        link: String,
        /// What happened to it.
        event: SubflowEvent,
        /// Whether it is a backup now.
        backup: bool,
    },
    /// Bytes a link has carried for a flow since the start, in the flow's direction; sampled every 100 ms.
    PathBytes {
        /// Which flow.
        flow: String,
        /// Which link.
        link: String,
        /// Cumulative.
        bytes: u64,
    },
    /// A flow's sender on one link, where the sender can be observed. Reported with [`What::PathBytes`], and
    /// when only `retransmits` has grown.
    PathSender {
        /// Which flow.
        flow: String,
        /// Which link.
        link: String,
        /// Retransmitted segments since the start.
        retransmits: u64,
        /// The smoothed round-trip time now, microseconds; 0 until one was measured.
        srtt_us: u64,
        /// Its congestion window now, segments; 0 in older records.
        #[serde(default)]
        cwnd: u32,
        /// Where its slow start ends, segments; absent while it has no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ssthresh: Option<u32>,
    },
    /// Bytes the receiving application has read since the start; sampled every 100 ms.
    AppBytes {
        /// Which flow.
        flow: String,
        /// Cumulative.
        bytes: u64,
    },
    /// Nothing arrived at the application for longer than [`crate::STALL_THRESHOLD`]; reported when it ends.
    Stall {
        /// Which flow.
        flow: String,
        /// The last byte before it, nanoseconds since the start.
        from_ns: u64,
        /// The first byte after it, or the end of the run.
        to_ns: u64,
    },
    /// The client limits how much the sender may queue.
    Window {
        /// Of which connection.
        conn: u32,
        /// The limit; absent when it is lifted.
        bytes: Option<u64>,
        /// Why, in a sentence with its numbers.
        why: String,
    },
    /// Bytes the sender has assigned to subflows and that are not yet acknowledged. Known where the server
    /// can be observed.
    ServerQueue {
        /// Of which connection.
        conn: u32,
        /// How many.
        bytes: u64,
    },
    /// Out-of-order bytes at the receiver.
    OutOfOrder {
        /// Of which connection.
        conn: u32,
        /// How many.
        bytes: u64,
    },
    /// How late packets left the emulator, since the last such event.
    Lateness(LatenessUs),
    /// The run is over, with its result.
    RunEnd {
        /// Its row of the result.
        summary: Box<Run>,
    },
}

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The scenario's name.
    pub scenario: String,
    /// Where it runs.
    pub world: World,
    /// Who decides.
    pub policy: PolicyName,
    /// The sender's congestion controller; `null` where nothing is sent by TCP.
    #[serde(default)]
    pub cc: Option<String>,
    /// `stock` or `slowhand`.
    pub server: String,
    /// The run's seed.
    pub seed: u64,
    /// The place and what will happen in it.
    pub plan: Plan,
}

/// Departure minus due time of packets, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LatenessUs {
    /// Median.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// The latest of all.
    pub max_us: u64,
}

words! {
    /// The state of a link, as a host's link layer would show it.
    LinkState is "link state" {
        /// No carrier.
        Down = "down",
        /// Scanning, authenticating or associating.
        Joining = "joining",
        /// Carrier, but no address yet.
        Carrier = "carrier",
        /// Carrier and an address.
        Up = "up",
    }
}

words! {
    /// What happened to a subflow.
    SubflowEvent is "subflow event" {
        /// A join was requested.
        Requested = "requested",
        /// It carries data (or may, if it is a backup).
        Established = "established",
        /// It became a backup, or stopped being one.
        Priority = "priority",
        /// The peer or the kernel refused the join.
        Refused = "refused",
        /// It is gone.
        Closed = "closed",
    }
}
