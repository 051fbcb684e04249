//! A hand-off below a connection that stays open. Two access points share the client's address, and a
//! download continues while the client moves from one to the other. A [`Grid`] of such runs shows what each
//! step of CLA's hand-off stage gains and costs such a sender.
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
//! - cla §IV-C, Algorithm 2. Three variants are compared. Nothing at the hand-off, as in
//!   `crates/linux/src/cla` for a subflow that stays. The window alone at the next ACK, as the BPF program
//!   sets it. The window with each of the steps that a struct_ops program cannot take
//!   ([`policy::cc::HandOffStage`]).
//!
//! # Where we differ from radios, and why
//! 1. The service time of a segment varies between 0.5 and 1.5 times its mean, and ACKs are up to 0.5 ms
//!    late. Without noise all hand-offs of a kind would be identical.
//! 2. Half of the RTT is before the access point's queue, half behind it, and ACKs meet no queue.
//! 3. Every segment is acknowledged, and each ACK names all arrivals (as many SACK blocks as there are
//!    holes).
//! 4. The sender learns of the hand-off when the new access point is reached, as a sender on the mobile
//!    itself does.
//! 5. One subflow: what the others of the connection carry is the same for all variants. CLA's mobile stage
//!    is told that they carry all they can.
//!
//! # Checked by
//! `tests/cla_handoff.rs`: the tables, the invariants of every run, and that equal seeds give equal runs.
//! `slowhand bench cla-steps` prints the same grid.

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
