//! What the brain is told and what it asks for. After the README, the second file to read.
//!
//! A *link* is a way out of the host: one association with an access point, one modem, one cable. A *connection* is an MPTCP
//! connection of some application. A *subflow* is one connection's share of one link. Worlds name them by small numbers.

use alloc::string::String;
use units::{Bytes, Dbm, Duration};

/// A link, by the world's number; never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// A connection: the kernel's MPTCP token (unique among the living ones of a host).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

/// A subflow, by the world's number; never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowId(pub u32);

/// What a link is made of: decides how patient the brain is, and what it can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// An 802.11 association with one access point.
    Wifi,
    /// A modem.
    Cellular,
    /// A cable or anything that behaves like one.
    Cable,
}

/// What the user wants of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Joined and used.
    #[default]
    Primary,
    /// Joined as backup; carries data while the primaries are full.
    Secondary,
    /// Joined as backup; used only when no primary or secondary delivers.
    Backup,
    /// Never touched.
    Never,
}

/// What is known of a link when it appears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpec {
    /// The name that users know it by.
    pub name: String,
    /// What it is made of.
    pub kind: LinkKind,
    /// What the user wants of it.
    pub role: Role,
    /// WiFi: the channel; links of one channel share one air.
    pub channel: Option<u16>,
}

/// One fact about the world. A bad or late fact (about a link or subflow that is gone) is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// About a link.
    Link(LinkId, LinkEvent),
    /// About a connection.
    Conn(ConnId, ConnEvent),
    /// About a subflow.
    Subflow(SubflowId, SubflowEvent),
}

/// What can happen to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// It can be seen (an access point in range, a modem, a cable); not necessarily usable yet.
    Appeared(LinkSpec),
    /// It will not come back under this number.
    Gone,
    /// Its carrier came (associated, plugged in) or went.
    Carrier(bool),
    /// It has an address and a gateway now, or has lost them.
    Usable(bool),
    /// A beacon was heard; the client need not be associated.
    Beacon(Dbm),
    /// Packets that the interface has received so far, of any kind: any increase is a proof of life.
    Received {
        /// The interface's counter.
        packets: u64,
    },
    /// A probe that the brain asked for was answered after this long.
    ProbeAnswered {
        /// Which one.
        probe: u32,
        /// From sending to the answer.
        rtt: Duration,
    },
}

/// What can happen to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnEvent {
    /// It was established.
    Opened,
    /// It is no more.
    Closed,
    /// Its counters now.
    Sample(ConnSample),
    /// A subflow that was asked for over this link could not be made, or was refused by the peer.
    JoinFailed {
        /// Over which link.
        link: LinkId,
        /// Why.
        reason: JoinFailure,
    },
}

/// Why a subflow did not come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JoinFailure {
    /// The peer takes no more subflows (established, then closed by it within two round trips).
    Refused,
    /// No answer.
    Timeout,
    /// This host's kernel said no.
    Local,
}

/// What can happen to a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubflowEvent {
    /// It was established.
    Established {
        /// Whose.
        conn: ConnId,
        /// Over which link.
        link: LinkId,
        /// Whether it is the connection's first one.
        initial: bool,
        /// Whether it is backup.
        backup: bool,
    },
    /// It is no more.
    Closed,
    /// Its counters now.
    Sample(SubflowSample),
}

/// Counters of a subflow, as `tcp_info` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubflowSample {
    /// Segments that arrived, of any kind.
    pub segs_in: u64,
    /// Payload bytes received in order on this subflow.
    pub bytes_received: Bytes,
    /// Payload bytes sent and acknowledged.
    pub bytes_acked: Bytes,
    /// Segments sent and not yet acknowledged.
    pub unacked: u32,
    /// Bytes assigned to this subflow and not yet sent.
    pub unsent: Bytes,
    /// Segments sent again.
    pub retransmits: u64,
    /// Since the last acknowledgement arrived.
    pub last_ack: Duration,
    /// Smoothed round-trip time; zero if none was measured.
    pub srtt: Duration,
    /// Least round-trip time; zero if none was measured.
    pub min_rtt: Duration,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Whether it is backup now.
    pub backup: bool,
}

impl SubflowSample {
    /// Times that no network shows, from a broken counter, cut down to what sums can bear.
    pub(crate) fn plausible(self) -> Self {
        Self {
            last_ack: self.last_ack.min(LONGEST),
            srtt: self.srtt.min(LONGEST),
            min_rtt: self.min_rtt.min(LONGEST),
            ..self
        }
    }
}

/// Longer than any round trip or silence that means anything.
pub(crate) const LONGEST: Duration = Duration::from_secs(3_600);

/// Counters of a connection, as `mptcp_info` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnSample {
    /// Payload bytes received in order at the data level.
    pub bytes_received: Bytes,
    /// Payload bytes of ours that the peer acknowledged at the data level.
    pub bytes_acked: Bytes,
    /// Payload bytes of ours that the application has written and the peer has not acknowledged.
    pub backlog: Bytes,
}

/// Something that the world must carry out now. Actions come in the order in which they must reach the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Associate with this access point and get an address (no effect where there is nothing to associate).
    Associate(LinkId),
    /// Leave this access point.
    Leave(LinkId),
    /// New connections begin on this link.
    DefaultRoute(LinkId),
    /// Let the kernel's own path manager use the link's address (`true`), or stop it.
    Endpoint(LinkId, bool),
    /// Add a subflow to this connection over this link.
    Join {
        /// To which.
        conn: ConnId,
        /// Over which.
        link: LinkId,
        /// Whether as backup.
        backup: bool,
    },
    /// Tell both ends that a subflow is backup, or is not any more (MP_PRIO: only a path that still delivers carries it).
    SetBackup {
        /// Which.
        subflow: SubflowId,
        /// Backup or not.
        backup: bool,
    },
    /// End this host's half of a subflow, without a word to the peer.
    Destroy(SubflowId),
    /// Tell the peer over a living path that the address of this subflow is gone (RM_ADDR): it gives up its half and sends again
    /// elsewhere what was under way.
    Withdraw(SubflowId),
    /// Find out whether this link still reaches the peer of this connection.
    Probe {
        /// Which link.
        link: LinkId,
        /// Towards whom.
        conn: ConnId,
        /// The name that the answer will carry.
        probe: u32,
    },
    /// Bound how far ahead the peer may send (`None`: as the kernel likes).
    Window(ConnId, Option<Bytes>),
    /// Bound what this host assigns to the connection's subflows before it can be sent (`None`: as the kernel likes).
    Unsent(ConnId, Option<Bytes>),
    /// For the record and for the user: what was decided, and why.
    Note(Note),
}

/// A decision, in a word for machines and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// About which link, if about one.
    pub link: Option<LinkId>,
    /// About which connection, if about one.
    pub conn: Option<ConnId>,
    /// A stable identifier.
    pub verb: Verb,
    /// A sentence with the numbers behind it.
    pub why: String,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// A link is used from now on.
    Use,
    /// A link is kept as backup from now on.
    Demote,
    /// A link is in doubt.
    Suspect,
    /// A link answered: it is in doubt no longer.
    Clear,
    /// A link is given up because its loss was seen coming.
    Retire,
    /// A link is given up because it is dead.
    Remove,
    /// A link is tried again.
    Retry,
    /// A link is left alone.
    Refuse,
    /// A connection's window was set.
    Window,
}

impl Verb {
    /// The stable identifier in traces and JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Demote => "demote",
            Self::Suspect => "suspect",
            Self::Clear => "clear",
            Self::Retire => "retire",
            Self::Remove => "remove",
            Self::Retry => "retry",
            Self::Refuse => "refuse",
            Self::Window => "window",
        }
    }
}
