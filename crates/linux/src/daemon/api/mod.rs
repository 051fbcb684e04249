//! What the program around the daemon sees: values, no work.
//!
//! In: [`setup`] (what to drive) and [`inlet`] (facts, questions, the word to stop, from other threads).
//! Out: [`observe`] (what happens, as it happens), [`report`] (everything at one moment) and [`error`].
//! [`sender`] names the congestion controller of new connections. `daemon` re-exports what is public.

pub(crate) mod error;
pub(crate) mod inlet;
pub(crate) mod left_alone;
pub(crate) mod observe;
pub(crate) mod report;
pub(crate) mod sender;
pub(crate) mod setup;
