//! What an input changed.

/// What an input changed, for the strategy that decides next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Counters only.
    Counters,
    /// A link became doubtful, or a doubt was proven: the strategy must run.
    Doubt,
    /// Links or subflows came, went, or changed their state.
    Shape,
    /// Whether a link may be used must be decided again.
    Cost,
}
