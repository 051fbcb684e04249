//! Actions: what a world must carry out.

use super::ids::{ConnId, FlowId, HostId, LinkId, RadioId, RemoteId, SubflowId};
use super::links::Family;
use super::notes::Note;
use super::radios::Slot;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Ratio};

/// An action for the world to carry out now. Actions come in the order in which they must reach the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Associate with this access point and get an address. No effect where there is nothing to associate.
    Associate(LinkId),
    /// Disassociate from this access point.
    Leave(LinkId),
    /// Start new connections of this family on this link. `None`: follow the user's own routes, which is the
    /// default.
    DefaultRoute(Family, Option<LinkId>),
    /// Let the kernel's own path manager use the link's address (`true`), or stop it.
    Endpoint(LinkId, bool),
    /// Add a subflow to this connection over this link.
    Join {
        /// The connection.
        conn: ConnId,
        /// The link.
        link: LinkId,
        /// The peer's address. Its family is that of this host's address on the link.
        remote: RemoteId,
        /// Whether to join as backup.
        backup: bool,
    },
    /// Tell both ends whether a subflow is backup (MP_PRIO, which only a path that still delivers carries).
    SetBackup {
        /// The subflow.
        subflow: SubflowId,
        /// Whether it is backup.
        backup: bool,
    },
    /// Close this host's end of a subflow without notifying the peer.
    Destroy(SubflowId),
    /// Send RM_ADDR for the address of this subflow over a living path. The peer closes its end and reinjects
    /// what was in flight.
    Withdraw(SubflowId),
    /// Probe whether this link still reaches the peer of this connection.
    Probe {
        /// The link.
        link: LinkId,
        /// The connection whose peer is probed.
        conn: ConnId,
        /// The identifier that the reply will carry.
        probe: u32,
    },
    /// Probe whether this link still reaches this host.
    Ask {
        /// The link.
        link: LinkId,
        /// The host.
        host: HostId,
        /// The identifier that the reply will carry.
        probe: u32,
        /// Send only packets that cost the host nothing: no TCP handshake.
        gently: bool,
    },
    /// Check whether this link leads to the Internet, or to a captive portal.
    Check(LinkId),
    /// Cap the connection's receive window (`None`: as the kernel decides). A [`crate::Verb::Window`] note
    /// before it says why, where that is worth reporting.
    Window(ConnId, Option<Ahead>),
    /// Cap the bytes that this host assigns to the connection's subflows and has not sent (`None`: as the
    /// kernel decides).
    Unsent(ConnId, Option<Bytes>),
    /// Cap the rate of a subflow that paces, for this long. No effect on one that does not pace: its
    /// congestion controller reacts to marks.
    CapPacing {
        /// The subflow.
        subflow: SubflowId,
        /// The rate of payload, as the kernel paces it.
        rate: Bitrate,
        /// How long the cap lasts from now on.
        lasts: Duration,
    },
    /// Set CE on this share of the ECN-capable packets that arrive over this link, before TCP sees them.
    Mark(LinkId, Ratio),
    /// Set CE on this share of the packets that this host sends over this link, after TCP has sent them. This
    /// keeps an upload's queue short.
    MarkSent(LinkId, Ratio),
    /// Outlook of a WiFi link's signal, for the congestion controller of whoever sends over it (cla). No
    /// effect without such a controller.
    Outlook(LinkId, Outlook),
    /// The living subflows of this link go over another access point now: whoever sends over them continues
    /// as on new subflows (cla). No effect without a controller that accepts advice.
    HandedOff(LinkId),
    /// Let a radio repeat this cycle of slots until further notice. Empty: the radio need not listen to
    /// anything.
    Slots(RadioId, Vec<Slot>),
    /// Carry this flow over this link. It comes once for each flow.
    Assign(FlowId, LinkId),
    /// Carry this flow, and no other one, over this link from its next packet on.
    Move(FlowId, LinkId),
    /// No network has an address for this flow: hold its first packet until it is assigned.
    Hold(FlowId),
    /// End this flow, because its network is gone. The application then opens another.
    EndFlow(FlowId),
    /// A decision and its reason, for the trace and the user.
    Note(Note),
}

/// The receive window of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// The whole window.
    pub window: Bytes,
    /// The part of it that is reserved for out-of-order bytes behind a loss. It ends when the lost bytes have
    /// arrived.
    pub missed: Bytes,
}

impl Ahead {
    /// The window without the part reserved for losses.
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

/// How a signal develops, in cla's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// `MI`, −1,000,000 to 1,000,000: negative when the signal falls.
    pub mobility_ppm: i32,
    /// `Q`: quality relative to the next candidate. Half if both are alike.
    pub quality: Ratio,
    /// Whether the signal falls while another link is as good.
    pub fading: bool,
    /// Time until the signal is too weak, at the present slope. `None` if it does not fall.
    pub handoff_in: Option<Duration>,
}
