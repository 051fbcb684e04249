//! What an input changed.

/// What a fact changed, for the strategy that decides next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Numbers only.
    Counters,
    /// A link came into doubt, or a doubt is proven: there is something to be woken for.
    Doubt,
    /// Links or subflows came, went, or changed their state.
    Shape,
    /// Whether a link may be used has to be judged anew.
    Cost,
}
