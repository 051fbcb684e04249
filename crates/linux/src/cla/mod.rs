//! CLA around the kernel: what a mobile knows of its signals reaches the windows of whoever sends, be it itself or a server.
//!
//! - [`Advisor`] runs where data is sent: it turns what is said of a path into windows ([`policy::cc::MobileStage`]) and orders them from the
//!   controller ([`crate::bpf::cc::Orders`]).
//! - [`Teller`] runs on the mobile: it says the same to the senders of its downloads, as [`wire::mobility`] has it.
//! - [`Listener`] runs on a server: it hears that, and asks an [`Advisor`] of its own.
//!
//! # Sources
//! - cla §IV.
//!
//! # Where we differ, and why
//! 1. A path's rate is the kernel's own delivery rate, which it measures over about a round trip; its base round trip is the kernel's minimum.
//! 2. The windows of the mobile stage are thresholds too: a window that is lowered must not be in slow start, and one that is raised has
//!    been given what it may have.
//! 3. A path that does not fade is never lowered: its window may hold a queue, which the paper's `w = R·RTT/MSS` would take away from the very
//!    path that is to carry more.
//! 4. A hand-off here is a subflow of its own, which begins with the kernel's initial window anyhow; `BDP_UB` is ordered for it all the same.
//!
//! # Checked by
//! `tests/cc/advice.rs`: real connections both ways.

mod advisor;
mod listener;
mod teller;

pub use advisor::{Advice, AdviceError, Advisor};
pub use listener::{Heard, ListenError, Listener};
pub use teller::{TellError, Teller};

/// The port on which servers listen for mobiles, unless configured otherwise.
pub const DEFAULT_PORT: u16 = 7_391;
