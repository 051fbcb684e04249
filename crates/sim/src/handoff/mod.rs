//! A hand-off under a connection that stays: two access points that share the client's address, and a download that goes on while the client
//! changes from one to the other. What each step of CLA's hand-off stage costs and brings such a sender is a grid of these ([`Grid`]).
//!
//! ```
//! use sim::handoff::{HandOff, KINDS, Left, Link, WHOLE, Walk, Watched, play};
//! use sim::tcp::Detection;
//! use units::{Bitrate, Duration};
//!
//! let link = Link { rate: Bitrate::from_mbps(20), rtt: Duration::from_millis(20) };
//! let walk = Walk {
//!     links: [link, link],
//!     hand_off: Some(HandOff { gap: Duration::from_millis(200), left: Left::Lost, foreseen: true }),
//!     watched: Watched::AroundTheHandOff,
//!     sender: KINDS[WHOLE].sender(Detection::Linux),
//!     seed: 1,
//! };
//! let outcome = play(&walk)?;
//! assert!(outcome.goodput_mbps() > 5.0 && outcome.longest_silence > Duration::from_millis(150));
//! assert_eq!(outcome, play(&walk)?);
//! # Ok::<(), sim::handoff::WalkError>(())
//! ```
//!
//! # Sources
//! - cla §IV-C, Algorithm 2; what is compared is nothing at the hand-off, as `crates/linux/src/cla` has it for a subflow that stays, the window alone
//!   at the next acknowledgement, as the BPF program carries it out, and with it each of the steps that a struct_ops program does not reach
//!   ([`policy::cc::HandOffStage`]).
//!
//! # Where we differ from radios, and why
//! 1. An access point needs between half and one and a half times its mean for each segment, and acknowledgements up to half a millisecond
//!    more than their way: without noise all hand-offs of a kind would be one.
//! 2. Half of the round trip is before the access point's queue, half behind it, and acknowledgements meet no queue.
//! 3. Each segment is acknowledged, and each acknowledgement names all that has arrived (as many SACK blocks as there are holes).
//! 4. The sender learns of the hand-off when the new access point is there, as one does that is the mobile itself.
//! 5. One subflow: what others of the connection carry meanwhile is the same for all that are compared. CLA's mobile stage is told that they carry
//!    all they can.
//!
//! # Checked by
//! `tests/cla_handoff.rs`: the tables, what must hold of every run, and that one seed is one run; `slowhand bench cla-steps` prints the same grid.

mod access_point;
mod client;
mod figures;
mod grid;
mod outcome;
mod walk;
mod world;

pub use figures::{Gain, Summary};
pub use grid::{
    AT_ONCE, CHANGES, CLA, Grid, KINDS, Kind, ONCE_KNOWN, ORDER, Played, RENO, Row, SEEDS, WHOLE,
};
pub use outcome::Outcome;
pub use walk::{HandOff, Left, Link, Place, Walk, WalkError, Watched};
pub use world::play;
