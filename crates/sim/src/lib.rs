//! Simulation in virtual time: link models, traffic, TCP and MPTCP hosts, and the theory that they are
//! checked against.
//!
//! ```
//! use links::Position;
//! use links::air::{AirConfig, Destination, StationConfig, StationId};
//! use sim::{Flow, Pace, World};
//! use units::{Duration, Instant, wifi::Standard};
//!
//! let stations = ["ap", "laptop"].map(|name| StationConfig::new(name, Standard::A, Position::default()));
//! let download = Flow {
//!     from: StationId(0),
//!     to: Destination::Station(StationId(1)),
//!     payload: 1_470,
//!     pace: Pace::Saturated,
//!     start: Instant::ZERO,
//! };
//! let mut world = World::new(1, &AirConfig::new(Standard::A, stations.into()), vec![download])?;
//! world.run_for(Duration::from_secs(1));
//! // 1,470 bytes per 34 + 67.5 + 248 + 16 + 28 µs: DIFS, mean backoff, frame, SIFS, ACK.
//! let mbps = world.total().mbps(Duration::from_secs(1));
//! assert!((29.6..30.2).contains(&mbps), "{mbps}");
//! # Ok::<(), links::air::AirError>(())
//! ```
//!
//! | what | where |
//! |---|---|
//! | one run in virtual time | [`World`] |
//! | one run of a network with independent channels, on many cores | [`Islands`] |
//! | a run of a scenario | [`play()`] |
//! | UDP: saturated, constant rate, broadcast probes | [`Flow`] |
//! | a TCP sender and receiver, segment by segment | [`tcp`] |
//! | TCP and MPTCP connections | [`mptcp`] |
//! | hosts with links and applications | [`hosts`] |
//! | a hand-off under such a sender, and CLA's whole hand-off stage | [`handoff`] |
//! | events outside the medium ([`links::air::schedule`] has those of the medium) | [`EventQueue`] |
//! | plans shared by tests and benchmarks | [`cells`] |
//! | many runs on many cores | [`sweep()`] |
//! | models of saturated stations | [`theory`] |

pub mod cells;
pub mod handoff;
pub mod hosts;
mod islands;
pub mod mptcp;
mod play;
mod queue;
mod sweep;
pub mod tcp;
pub mod theory;
mod times;
mod traffic;
mod world;

pub use islands::Islands;
pub use play::{
    Addresses, Association, Capture, Cast, CastError, Play, Played, Radio, RoundTrip, check, digest, play,
    wired,
};
pub use queue::EventQueue;
pub use sweep::sweep;
pub use traffic::{Flow, HEADERS, Pace, Tally};
pub use world::World;
