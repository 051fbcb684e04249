//! Notes: decisions, for the trace and for users.

use super::ids::{ConnId, LinkId};
use super::reason::Reason;

/// A decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The link that it is about, if any.
    pub link: Option<LinkId>,
    /// The connection that it is about, if any.
    pub conn: Option<ConnId>,
    /// A stable identifier.
    pub verb: Verb,
    /// The reason, with its numbers.
    pub reason: Reason,
}

/// The kind of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// A link is in use from now on.
    Use,
    /// A link is a backup from now on.
    Demote,
    /// A link is silent, and is probed.
    Suspect,
    /// A dead link replies again.
    Clear,
    /// A link is drained to others, because it is about to be lost.
    Retire,
    /// A link is dead.
    Remove,
    /// A dead link is tried again.
    Retry,
    /// A subflow is replaced by another one over the same link.
    Renew,
    /// A link is not used.
    Refuse,
    /// A connection's window was set.
    Window,
    /// The unsent bytes on a connection's subflows were capped.
    Unsent,
    /// An upload's slow start was slowed down.
    Pace,
    /// The share of a link's packets that are marked changed.
    Mark,
    /// A signal began to fall towards a handoff, stopped falling, or is that of another access point.
    Fade,
    /// A radio's time was divided again, or cannot be divided.
    Slots,
    /// A flow was assigned to a network.
    Assign,
}

impl Verb {
    /// All verbs.
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
