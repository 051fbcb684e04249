//! `slowhand bench`: measures the figures that the README quotes, each as its declaration says, with the
//! spread of its trials.
//!
//! | module | what it is |
//! |---|---|
//! | [`catalogue`] | declares every benchmark: the place to look up or add one |
//! | [`declaration`] | what a declaration consists of |
//! | [`command`], `table` | the command line, and the rows as text |
//! | `calibration`, `heap` | stored figures of other programs, scaled to this machine; bytes of heap in use |
//! | `trial` | runs trials in the lab and reads their records, for all groups below |
//! | `host` | a whole host: links that die, return, fade or idle; the building walk; `up` and `down` |
//! | `window` | limits on the receive window |
//! | `relay` | agent and relay beside MPTCP at both ends, the kernel alone, and HAProxy |
//! | `coupled` | coupled congestion control, and CLA's hand-off |
//! | `emulator` | the lab itself: its speed, its lateness, and whether it agrees with virtual time |
//! | `air` | the 802.11 medium in virtual time |
//! | `transport` | TCP and MPTCP between hosts in virtual time: their speed and their memory |
//! | `speed` | parts that run without a kernel: engine, estimator, models of links |

#![deny(clippy::print_stderr)]

mod air;
mod calibration;
pub mod catalogue;
pub mod command;
mod coupled;
mod cpu;
pub mod declaration;
mod emulator;
mod heap;
mod host;
mod relay;
mod speed;
mod table;
mod transport;
mod trial;
mod window;
mod worlds;

pub use command::{Args, names, run};
