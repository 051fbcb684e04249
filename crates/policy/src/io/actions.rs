//! What a world must carry out.

use super::ids::{ConnId, FlowId, HostId, LinkId, RadioId, SubflowId};
use super::links::Family;
use super::notes::Note;
use super::radios::Slot;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Ratio};

/// Something that the world must carry out now. Actions come in the order in which they must reach the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Associate with this access point and get an address (no effect where there is nothing to associate).
    Associate(LinkId),
    /// Leave this access point.
    Leave(LinkId),
    /// New connections of this family begin on this link; `None`: where the user's own routes lead, as at the
    /// beginning.
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
    /// Tell both ends that a subflow is backup, or is not any more (MP_PRIO: only a path that still delivers
    /// carries it).
    SetBackup {
        /// Which.
        subflow: SubflowId,
        /// Backup or not.
        backup: bool,
    },
    /// End this host's half of a subflow, without a word to the peer.
    Destroy(SubflowId),
    /// Tell the peer over a living path that the address of this subflow is gone (RM_ADDR): it gives up its
    /// half and sends again elsewhere what was under way.
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
    /// Bound how far ahead the peer may send (`None`: as the kernel likes). A [`crate::Verb::Window`] note
    /// before it says why, where that is worth a word.
    Window(ConnId, Option<Ahead>),
    /// Bound what this host assigns to the connection's subflows before it can be sent (`None`: as the kernel
    /// likes).
    Unsent(ConnId, Option<Bytes>),
    /// Let a subflow that paces send no faster than this, for so long. On one that does not it does nothing:
    /// its controller hears marks.
    CapPacing {
        /// Which.
        subflow: SubflowId,
        /// Payload, as the kernel paces it.
        rate: Bitrate,
        /// For how long from now on.
        lasts: Duration,
    },
    /// Set CE on this share of the ECN-capable packets that arrive over this link from now on, before TCP
    /// sees them.
    Mark(LinkId, Ratio),
    /// The same of what this host sends over this link, after TCP has let go of it: an upload's queue is kept
    /// short so.
    MarkSent(LinkId, Ratio),
    /// How a WiFi link's signal goes, for the congestion controller of whoever sends over it (cla). Without
    /// one there is nothing to do.
    Outlook(LinkId, Outlook),
    /// Let a radio listen like this, again and again, until told otherwise. Empty: it need not.
    Slots(RadioId, Vec<Slot>),
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

/// How a signal goes, in cla's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// `MI`, −1,000,000 to 1,000,000: negative when the signal sinks.
    pub mobility_ppm: i32,
    /// `Q`: how good it is beside the next candidate, half if they are alike.
    pub quality: Ratio,
    /// Whether it sinks and another is as good.
    pub fading: bool,
    /// Until the signal is too weak, if it goes on like this; `None` if it does not sink.
    pub handoff_in: Option<Duration>,
}
