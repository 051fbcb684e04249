//! The exact medium: 802.11 stations that contend, transmit and receive, each with its own view of the air.
//!
//! [`Air`] is given the time and does no I/O. The driver's duties are those of the whole crate: pass events
//! to [`Air::handle`], call [`Air::poll`] until it returns nothing, sleep until [`Air::wake_at`], call
//! [`Air::tick`]. `sim` drives it in virtual time. `lab` drives it in real time, through [`wlan`] and
//! [`crate::Network`].
//!
//! ```
//! use links::air::{Air, AirConfig, Destination, Fate, Input, Output, Packet, StationConfig, StationId};
//! use links::Position;
//! use units::{Instant, wifi::Standard};
//!
//! let station = |name, x_mm| StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 });
//! let stations = vec![station("ap", 0), station("laptop", 5_000)];
//! let mut air = Air::new(7, &AirConfig::new(Standard::A, stations))?;
//! let packet = Packet::new(Destination::Station(StationId(1)), 1_500, 1);
//! air.handle(Instant::ZERO, Input::Send(StationId(0), packet));
//! while let Some((at, _reason)) = air.wake_at() {
//!     air.tick(at);
//! }
//! // DIFS, then 1,536 bytes at 54 Mb/s: 34 + 20 + 57 symbols of 4 µs. An idle medium asks for no backoff.
//! let (due, output) = air.poll_due().unwrap();
//! assert_eq!(due, Instant::from_micros(34 + 20 + 4 * 57));
//! assert!(matches!(output, Output::Received { station: StationId(1), .. }));
//! # Ok::<(), links::air::AirError>(())
//! ```
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3 (DCF), §10.25 (block acknowledgement), §15 to §19 (PHYs). Each file names its
//!   sections.
//!
//! # Where we differ, and why
//! 1. Stations on their own only contend, send and acknowledge. [`wlan`], or whoever drives the air, queues
//!    the frames that access points and clients exchange.
//! 2. Adjacent channels do not leak into each other. A 40 MHz channel is represented by its first half:
//!    nobody may use the other half.
//!
//! # Where the time goes
//! - One saturated station (perf, 164 ns per frame): no hot spot. Starts and ends of frames, deadlines,
//!   sessions and queues take 5 to 10 % each. Halving it would need the exchange of frame and acknowledgement
//!   to be one step when no other station is there.
//! - Fifty stations that all hear each other (perf, 0.6 µs per frame): they count down together
//!   (`sense::clique`), so a frame moves one deadline instead of 49. A collision is decided by distances
//!   alone wherever those leave no doubt (`rival`). 23 % goes into collisions, 16 % into finding the least
//!   deadline, 15 % into starts and ends of frames, 11 % into leaving and rejoining the common countdown. The
//!   rest is spread as for one station. Without either optimisation it took three times as long. Halving it
//!   would need a single deadline for the colliding stations too, plus what one saturated station would need.
//!   In a clique of fewer than sixteen each station counts down on its own. With eleven, one cell alone takes
//!   10 % less that way, a network of such cells 10 % more.
//! - A thousand access points of ten clients each, against ten of them at the same density (callgrind,
//!   instructions per frame, channel by channel): 22,000 against 13,600. In both, 5.5 to 5.9 of the stations
//!   that hear a frame weigh it. What they weigh it against grows, because ten access points are mostly edge.
//!   On the channel, 578 stations are in reach of its power instead of 32. So 130 other frames overlap with
//!   it instead of 4.4. Each receiver adds up 11.7 near ones instead of 4.2.
//! - Of the 8,400 extra instructions, 3,500 are the pass over far sources, once per frame (`far`). Cutting
//!   frames where the near sources change takes 1,800 (`foresight`), its sums at each receiver 1,200, the
//!   least deadline 700. Sums over time for distant tiles, recorded when a frame begins and ends, would not
//!   be cheaper. By calculation, that takes 60 fours of tiles 55 m wide at 36 instructions, and nearer
//!   sources still one by one.
//! - Mispredicted branches cost more. Removing those between the near sources and the sections of a frame
//!   saves the thousand access points 23 % of the time. That is 2.4 µs instead of 3.1 (one core, the same
//!   run), with 7 % fewer instructions. The ten take the same time either way.
//! - The rest is memory. A frame touches 200 cache lines that a 32 KiB first-level cache does not hold. 1 MiB
//!   does not hold 34 of them, 4 MiB does not hold 5 (with ten access points 28, and next to none). On the
//!   machine measured, a line beyond 4 MiB takes 140 ns, one within it 10 to 15.
//! - The next factor of two needs fewer instructions, such as pairs of fours in wider registers, and
//!   prefetching a station's data one event ahead. A trial with the processor's prefetch instruction took
//!   some 12 % less. No safe Rust function offers it.
//! - `bench growth` with two cores, channel by channel, each on its own core (`sim::Islands`). Seven runs of
//!   five trials on one day: 1.76, 1.76, 1.81, 1.84, 1.96, 2.11 and 2.16. The previous version, alternating
//!   with four of them, had 2.00, 2.14, 2.19 and 2.27. Three runs on the next day: 1.68 (1.11 µs against
//!   0.66), 1.71 and 1.72.
//!
//! # Checked by
//! `tests`, `monitor_tests`, and in `sim`: saturated stations against the Markov chains of Bianchi and of
//! Tinnirello, Bianchi and Xiao. Also aggregates against the standard's durations and another simulator.
//!
//! | room | what it is | uses |
//! |---|---|---|
//! | `io` | inputs, outputs, packets, counters | |
//! | `stamp` | tokens that name a flow and a time: [`Stamp`] | |
//! | [`schedule`] | deadlines of all stations | |
//! | `place` | distances, path loss, walls | |
//! | `phy` | rates, durations, interframe spaces, fading, frame errors | |
//! | `check` | refuses an [`AirConfig`] that cannot be | `phy` |
//! | `transmission` | frames on the air, sums of their power | `place`, `phy` |
//! | `rx` | SINR by section, capture: what a receiver decodes | `transmission` |
//! | `mac` | queues, FQ-CoDel, sessions, aggregates, backoff, rate control | `transmission` |
//! | `sense` | who hears whom, NAV and countdown, stations that count down together | `rx` |
//! | `watch` | what a monitor interface shows, and as which bytes: [`Overheard`], [`Addresses`] | `phy` |
//! | `engine` | [`Air`]: how frames follow each other, moves, noise, capture | all of these |
//! | `medium` | the contract [`Medium`], and a coarser medium that keeps it, [`Wfq`] | `engine` |
//! | [`wlan`] | access points and clients: joining, beacons, power saving, slots | `engine` |

mod check;
mod engine;
mod io;
mod mac;
mod medium;
mod phy;
mod place;
mod rx;
pub mod schedule;
mod sense;
mod stamp;
mod transmission;
mod watch;
pub mod wlan;

pub use crate::config::{
    AirConfig, AirError, Countdown, Discipline, Eifs, Ht, Loss, NoiseConfig, RateControl, Rules,
    StationConfig, Thresholds,
};
pub use engine::Air;
pub use io::{Counters, Destination, Fate, Input, Output, Packet, Setbacks, StationId, Subtype};
pub use medium::Medium;
pub use medium::wfq::{Wfq, WfqError, WfqStation};
pub use phy::mode::Mode;
pub use stamp::Stamp;
pub use watch::bodies::StationKind;
pub use watch::frames::Addresses;
pub use watch::overheard::{FrameKind, Overheard, Says};
pub use watch::tim::{Aid, Tim};
