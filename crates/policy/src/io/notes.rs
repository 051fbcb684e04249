//! Decisions, for the trace and for people.

use super::ids::{ConnId, LinkId};
use alloc::string::String;

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
