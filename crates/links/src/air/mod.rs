//! The exact medium: 802.11 stations that contend, transmit and receive, each with its own view of the air.
//!
//! [`Air`] is told the time and does no I/O. The driver's duty is that of the whole crate: [`Air::handle`] what happens, [`Air::poll`]
//! until nothing is left, sleep until [`Air::wake_at`], [`Air::tick`]. `sim` drives it in virtual time, `lab`, by way of [`wlan`] and [`crate::Network`], in real time.
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
//! - IEEE 802.11-2020 §10.3 (DCF), §10.25 (block acknowledgement), §15 to §19 (PHYs); each file names its sections.
//!
//! # Where we differ, and why
//! 1. Stations by themselves only contend, send and acknowledge: what access points and clients say to each other is queued by [`wlan`], or by
//!    whoever drives the air.
//! 2. Adjacent channels do not leak into each other. A channel of 40 MHz is that of its first half: nobody may use the other.
//!
//! # Where the time goes
//! - One saturated station (perf, 164 ns a frame): nowhere in particular; frames' beginnings and ends, the deadlines, sessions and queues take
//!   5 to 10 % each. Half of it would need an exchange of frame and acknowledgement to be one step where nobody else is there.
//! - Fifty who all hear each other (perf, 0.6 µs a frame): they count down together (`sense::clique`), so that a frame moves one deadline and not 49, and a
//!   collision is weighed by distances alone wherever those leave no doubt (`rival`). 23 % go into collisions, 16 % into the least deadline, 15 % into frames'
//!   beginnings and ends, 11 % into leaving the common countdown and joining it again; the rest is spread as for one. Without either it was
//!   three times as much. Half of it would need the deadlines of those who collide, too, to be one, and what one saturated station would need.
//!   A clique of fewer than sixteen goes by itself: with eleven, one cell alone takes 10 % less that way, a network of such cells 10 % more.
//! - A thousand access points of ten clients each, against ten of them at the same density (callgrind, instructions a frame, channel by channel): 22,000
//!   against 13,600. In both a frame is weighed by 5.5 to 5.9 of those who hear it. What they weigh it against grows,
//!   because ten access points are mostly edge: 578 stations on its channel are in reach of its power in the place of 32, so that 130 other frames
//!   overlap with it in the place of 4.4, and each receiver adds up 11.7 that are near in the place of 4.2. Of the 8,400 more, 3,500 are the pass over
//!   what is far, once for each frame (`far`), 1,800 cutting frames where what is near changes (`foresight`), 1,200 its sums at each receiver, 700 the
//!   least deadline. Sums over time for tiles far away, taken down
//!   when a frame begins and ends, would not be cheaper: by calculation 60 fours of tiles 55 m wide at 36 instructions, and what is nearer still
//!   source by source.
//!   What branches cost that cannot be predicted counts for more: without those on the way from what is near to the sections of a frame, the thousand take
//!   23 % less time (2.4 µs in the place of 3.1, one core, the same run), with 7 % fewer instructions, and the ten what they took before.
//!   The rest is memory. A frame touches 200 lines that a first-level cache of 32 KiB does not hold, 34 that 1 MiB does not, and 5
//!   that 4 MiB does not (of ten access points 28, and next to none): where these were measured, beyond 4 MiB a line takes 140 ns, and within 10 to
//!   15. The next factor of two needs fewer instructions, such as pairs of fours in wider registers, and what a transmission touches of a station asked
//!   for one event ahead: tried, with the processor's instruction for that, some 12 % less. No safe function of Rust has it.
//!   `bench growth` with two cores, channel by channel, each on a core of its own (`sim::Islands`), seven readings of five trials on one day: 1.76, 1.76,
//!   1.81, 1.84, 1.96, 2.11 and 2.16, where the version before, in turn with four of them, had 2.00, 2.14, 2.19 and 2.27; three on the next: 1.68 (1.11 µs
//!   against 0.66), 1.71 and 1.72.
//!
//! # Checked by
//! `tests`, `monitor_tests`, and in `sim`: saturated stations against the chains of Bianchi and of Tinnirello, Bianchi and Xiao; aggregates
//! against the standard's durations and another simulator.
//!
//! | room | what it is | uses |
//! |---|---|---|
//! | `io` | inputs, outputs, packets, counters | |
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
mod transmission;
mod watch;
pub mod wlan;

pub use crate::config::{
    AirConfig, AirError, Countdown, Discipline, Eifs, Ht, NoiseConfig, RateControl, Rules, StationConfig,
    Thresholds,
};
pub use engine::Air;
pub use io::{Counters, Destination, Fate, Input, Output, Packet, StationId, Subtype};
pub use medium::Medium;
pub use medium::wfq::{Wfq, WfqError, WfqStation};
pub use phy::mode::Mode;
pub use watch::frames::Addresses;
pub use watch::overheard::{FrameKind, Overheard, Says};
pub use watch::tim::{Aid, Tim};
