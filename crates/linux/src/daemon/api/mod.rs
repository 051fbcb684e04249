//! The interface to the program around the daemon: values only, no work.
//!
//! In: [`setup`] (what to drive) and [`inlet`] (facts, report requests and the request to stop, from other
//! threads). Out: [`observe`] (events as they happen), [`report`] (everything at one moment) and [`error`].
//! [`networks`] has what concerns flows that cannot use several links. [`sender`] names the congestion
//! controller of new connections. `daemon` re-exports what is public.

pub(crate) mod error;
pub(crate) mod inlet;
pub(crate) mod left_alone;
pub(crate) mod networks;
pub(crate) mod observe;
pub(crate) mod report;
pub(crate) mod sender;
pub(crate) mod setup;
