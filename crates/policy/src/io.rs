//! What the brain is told and what it asks for. After the README, the second file to read.
//!
//! A *link* is a way out of the host: one association with an access point, one modem, one cable. A *connection* is an MPTCP
//! connection of some application. A *subflow* is one connection's share of one link. A *radio* is what several links may have to share
//! in turns. A *flow* is what one network carries from beginning to end, where a peer does not speak MPTCP. Worlds name them by small
//! numbers.
//!
//! Two kinds of question do not pass here, because a data plane asks them per packet: which packet is to be marked
//! ([`crate::queue::mark`]), which subflow or block is next ([`crate::sched`], [`crate::flow::Stripe`]), how a window grows ([`crate::cc`]).
//! Those are objects that a world's data plane owns; what they are told comes from actions.

use crate::choose::cost::{Tariff, Trust};
use crate::estimate::bandwidth::Sight;
use crate::estimate::delivery::Frame;
use crate::estimate::energy;
use crate::estimate::phy::Phy;
use crate::flow::{FlowId, PeerId};
pub use crate::uplink::{Family, Uplink};
use crate::wifi::outlook::Outlook;
use crate::wifi::slot;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Dbm, Duration, Ratio};

/// A link, by the world's number; never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// A connection: the kernel's MPTCP token (unique among the living ones of a host).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

/// A subflow, by the world's number; never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowId(pub u32);

/// A host beyond a link that can be probed, by the world's number; never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A radio whose time several links share, by the world's number; never reused within one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId(pub u16);

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
    /// WiFi: the channel; links of one channel share one air. Without it a link has an air of its own.
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
    /// About a radio that cannot listen to all of its links at once.
    Radio(RadioId, RadioEvent),
    /// About a flow that cannot use several links.
    Flow(FlowId, FlowEvent),
    /// Whether the user lets us use networks of this kind. At the beginning: known ones only.
    Allow(Trust, bool),
    /// This host was suspended and is awake again. The engine's time stood still meanwhile, and what was asked before may have been answered to nobody.
    Resumed,
}

/// What can happen to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// It can be seen (an access point in range, a modem, a cable); not necessarily usable yet. Said again, it is declared to be something else
    /// from now on.
    Appeared(LinkSpec),
    /// It will not come back under this number.
    Gone,
    /// Its carrier came (associated, plugged in) or went.
    Carrier(bool),
    /// It has an address and a gateway now, or has lost them. Said again, it has another address.
    Usable(bool),
    /// How the user's default routes of this family rank it. Until told, [`Uplink::Declared`].
    Uplink(Family, Uplink),
    /// A beacon was heard; the client need not be associated.
    Beacon(Dbm),
    /// Packets that the interface has received so far, of any kind: any increase is a proof of life, and none is what settles a doubt.
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
    /// A probe could not be sent, so that no answer to it proves nothing.
    ProbeFailed {
        /// Which one.
        probe: u32,
    },
    /// About a host that programs of this host reach over the link, or that resolves names for it.
    Host(HostId, HostEvent),
    /// Packets that the interface has sent and received so far, without probes and their replies.
    Traffic {
        /// The interface's counter, less the probes.
        sent: u64,
        /// The interface's counter, less the replies.
        received: u64,
    },
    /// The world can check whether the link leads to the Internet ([`Action::Check`]), and now is a good time.
    Checkable,
    /// What a check found.
    Checked(Checked),
    /// WiFi: a frame of its access point's was heard well, whoever it was for (a monitor interface). Taken in at once; what follows
    /// from it is decided at the next look, so a world may tell many before it ticks.
    Frame(Frame),
    /// WiFi: how its access point sends. Until told, as its channel suggests.
    Phy(Phy),
    /// WiFi: counters of the link and of its channel, as a driver's survey has them.
    Survey(Sight),
    /// WiFi: the radio has been on another channel; what was sent meanwhile does not count as lost.
    Away,
    /// Whose network it is. Until told, one that the user knows.
    Trust(Trust),
    /// What its use costs. Until told, nothing.
    Tariff(Tariff),
    /// A metering period begins now, and this much of it is used already (the engine has no calendar).
    Period {
        /// By whomever.
        used: Bytes,
    },
    /// Bytes that the interface has carried so far, both ways: what a metered link is billed for.
    Carried(Bytes),
    /// What its radio draws. Until told, what Huang et al. measured for its kind.
    Draws(energy::Radio),
    /// What it would carry in the ten seconds that begin now if it were used: only a simulated or recorded world knows.
    Foreseen(Bytes),
}

/// What can happen to a host, as the sockets of programs show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent {
    /// It resolves names for the link.
    Resolves {
        /// Whether it is the link's own next hop: its reply says nothing of what lies beyond.
        near: bool,
    },
    /// It lies beyond the next hop, and segments of it have arrived over the link.
    Heard,
    /// It lies beyond the next hop, and a program waits for its reply although the kernel has retransmitted.
    Unanswered,
}

/// What a check of a link found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checked {
    /// The expected reply: the link leads to the Internet.
    Passed,
    /// Another reply: a captive portal stands in the way.
    Portal,
    /// No reply.
    Failed,
}

/// What can happen to a radio whose links take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadioEvent {
    /// It is there, and its time is divided like this.
    Appeared(Division),
    /// It is gone, and so is its plan.
    Gone,
    /// It has to listen to this link's access point too, on the link's channel.
    Serves {
        /// Which.
        link: LinkId,
        /// How many slices, where cycles are divided by weight.
        weight: u32,
    },
    /// It has to listen to peers without an access point too, on the link's channel.
    AdHoc {
        /// Which.
        link: LinkId,
        /// For so long in each cycle.
        stays: Duration,
    },
    /// It need not listen to this link any more.
    Leaves(LinkId),
    /// It looks for access points for so long in each cycle, on channels 1, 6 and 11 in turn; not at all if zero.
    Scan(Duration),
    /// This much came over the link in its slot of the cycle that ends.
    Brought(LinkId, Bytes),
    /// A cycle is over: from what it brought follows the next.
    CycleEnded,
}

/// How a radio's time is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// By what each slot brought (nsdi15 §7).
    Adaptive(slot::Rules),
    /// By whole multiples of a slice (juggler §3.3).
    Weighted {
        /// What the radio can do.
        radio: slot::Radio,
        /// One of weight 1.
        slice: Duration,
    },
}

/// What can happen to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEvent {
    /// Its first packet waits for an answer: [`Action::Assign`] or [`Action::Hold`].
    Began(Wish),
    /// It is over.
    Ended,
}

/// Where the application wants a flow to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Wherever new connections go.
    Active,
    /// Over this link, if it has an address now.
    Network(LinkId),
    /// To one of many peers, which are to be spread evenly over all links.
    Peer(PeerId),
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
    /// The user's routes lead to the peer by a network of its own, such as a tunnel or an inner network, and not over this link.
    Elsewhere,
    /// The link has no address of the peer's family.
    NoAddress,
    /// It was asked for at the wrong moment: the connection or the link was changing just then. Nobody has refused it.
    Untimely,
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
    /// Round-trip time as the peer's data shows it, with the queue that it meets on its way here; zero if none was measured.
    /// From small segments the kernel takes none, and tells the time of a whole window instead, which is not believed (`estimate::segments`).
    pub data_rtt: Duration,
    /// Segments that arrived out of order.
    pub disordered: u64,
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
            data_rtt: self.data_rtt.min(LONGEST),
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
    /// Payload bytes that came and wait for earlier ones.
    pub held: Bytes,
}

/// Something that the world must carry out now. Actions come in the order in which they must reach the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Associate with this access point and get an address (no effect where there is nothing to associate).
    Associate(LinkId),
    /// Leave this access point.
    Leave(LinkId),
    /// New connections of this family begin on this link; `None`: where the user's own routes lead, as at the beginning.
    DefaultRoute(Family, Option<LinkId>),
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
    /// Find out whether this link still reaches this host.
    Ask {
        /// Which link.
        link: LinkId,
        /// Which host.
        host: HostId,
        /// The name that the answer will carry.
        probe: u32,
        /// Only by packets that cost the host nothing: no TCP handshake.
        gently: bool,
    },
    /// Check whether this link leads to the Internet, or to a captive portal.
    Check(LinkId),
    /// Bound how far ahead the peer may send (`None`: as the kernel likes). A [`Verb::Window`] note before it says why, where that is worth a word.
    Window(ConnId, Option<Ahead>),
    /// Bound what this host assigns to the connection's subflows before it can be sent (`None`: as the kernel likes).
    Unsent(ConnId, Option<Bytes>),
    /// Let a subflow that paces send no faster than this, for so long. On one that does not it does nothing: its controller hears marks.
    CapPacing {
        /// Which.
        subflow: SubflowId,
        /// Payload, as the kernel paces it.
        rate: Bitrate,
        /// For how long from now on.
        lasts: Duration,
    },
    /// Set CE on this share of the ECN-capable packets that arrive over this link from now on, before TCP sees them.
    Mark(LinkId, Ratio),
    /// The same of what this host sends over this link, after TCP has let go of it: an upload's queue is kept short so.
    MarkSent(LinkId, Ratio),
    /// How a WiFi link's signal goes, for the congestion controller of whoever sends over it (cla). Without one there is nothing to do.
    Outlook(LinkId, Outlook),
    /// Let a radio listen like this, again and again, until told otherwise. Empty: it need not.
    Slots(RadioId, Vec<slot::Slot>),
    /// This flow goes over this link, and will not go over another.
    Assign(FlowId, LinkId),
    /// No network has an address for this flow: keep its first packet until it is assigned.
    Hold(FlowId),
    /// The network on which this flow began is gone: end it, so that the application opens another.
    EndFlow(FlowId),
    /// For the record and for the user: what was decided, and why.
    Note(Note),
}

/// How far ahead a peer may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// The connection's window.
    pub window: Bytes,
    /// So much of it is only for what waits for lost bytes at this moment, and goes when these have come.
    pub missed: Bytes,
}

impl Ahead {
    /// The window without that.
    pub const fn usual(self) -> Bytes {
        self.window.saturating_sub(self.missed)
    }
}

impl From<Bytes> for Ahead {
    fn from(window: Bytes) -> Self {
        Self {
            window,
            missed: Bytes::ZERO,
        }
    }
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
    /// A link fell silent, and is asked whether it is alive.
    Suspect,
    /// A link that was given up answers again.
    Clear,
    /// What a link carries is drained to others, because its loss was seen coming.
    Retire,
    /// A link is given up because it is dead.
    Remove,
    /// A link is tried again.
    Retry,
    /// A subflow is replaced by another one over the same link.
    Renew,
    /// A link is left alone.
    Refuse,
    /// A connection's window was set.
    Window,
    /// What waits unsent on a connection's subflows was bounded.
    Unsent,
    /// An upload's slow start was held back.
    Pace,
    /// The share of a link's packets that are marked changed.
    Mark,
    /// A signal began to sink towards a hand-off, or ceased to.
    Fade,
    /// A radio's time was divided anew, or cannot be.
    Slots,
    /// A flow was given a network.
    Assign,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Use,
        Self::Demote,
        Self::Suspect,
        Self::Clear,
        Self::Retire,
        Self::Remove,
        Self::Retry,
        Self::Renew,
        Self::Refuse,
        Self::Window,
        Self::Unsent,
        Self::Pace,
        Self::Mark,
        Self::Fade,
        Self::Slots,
        Self::Assign,
    ];

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
            Self::Renew => "renew",
            Self::Refuse => "refuse",
            Self::Window => "window",
            Self::Unsent => "unsent",
            Self::Pace => "pace",
            Self::Mark => "mark",
            Self::Fade => "fade",
            Self::Slots => "slots",
            Self::Assign => "assign",
        }
    }
}
