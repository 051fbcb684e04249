//! A TCP sender in virtual time, segment by segment: windows from [`policy::cc`], and around them what Linux does with losses, time-outs and what
//! turns out to have been neither. With CLA's hand-off stage whole ([`policy::cc::HandOffStage`]), as no program in a kernel has it.
//!
//! It always has something to send, and knows neither links nor queues: who plays it ([`crate::handoff`]) says which transmissions have
//! arrived, and takes what goes out. The player's whole duty:
//!
//! 1. [`Sender::send`] at the start, and after each [`Sender::acknowledge`] and [`Sender::hand_off`]; each transmission goes on its way at once;
//! 2. [`Sender::acknowledge`] when the acknowledgement of one or more arrivals is at the sender;
//! 3. [`Sender::wake`] at [`Sender::wake_at`], which every call may have changed.
//!
//! ```
//! use policy::cc::Controller;
//! use sim::tcp::{Config, INITIAL_WINDOW, Sender};
//! use units::Instant;
//!
//! let mut sender = Sender::new(Config::new(Controller::Reno))?;
//! let mut flight = Vec::new();
//! sender.send(Instant::ZERO, &mut flight);
//! assert_eq!(flight.len(), INITIAL_WINDOW as usize);
//! // All of it is acknowledged after 20 ms: in slow start twice as much follows.
//! let now = Instant::from_millis(20);
//! sender.acknowledge(now, &std::mem::take(&mut flight));
//! sender.send(now, &mut flight);
//! assert_eq!(flight.len(), 2 * INITIAL_WINDOW as usize);
//! # Ok::<(), sim::tcp::ConfigError>(())
//! ```
//!
//! # Sources
//! - RFC 5681 (slow start, congestion avoidance), RFC 6298 §5 (the timer), RFC 6937 (proportional rate reduction), RFC 8985 (RACK, the loss probe), RFC
//!   3522 and RFC 2883 (what shows that a segment was sent again for nothing: the timestamp of its first transmission, or its second arrival).
//! - Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_try_undo_*`), `tcp_recovery.c`, `tcp_output.c`
//!   (`tcp_schedule_loss_probe`); `bpf/cc/control.h` and `orders.h` for CLA.
//!
//! # Where we differ, and why
//! 1. No handshake, no receive window, no end: what is asked is what losses and changes of path do to a sender that has always more.
//! 2. No F-RTO: timestamps prove a false time-out with the same acknowledgement.
//! 3. A loss probe is new data always, and comes only where it is sooner than the time-out.
//! 4. A controller sees the sender's own path only: coupled ones are as if the connection had no other.
//!
//! # Checked by
//! `tests` here and in [`Scoreboard`]'s file: single losses, reordering, tails, time-outs, arrivals that nobody sent; `tests/cla_handoff.rs`: a sender
//! that stays fills its link, and what goes out is what arrives, is dropped or is under way.

mod config;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;

pub use config::{
    Config, ConfigError, Detection, Estimates, INITIAL_WINDOW, MAX_WINDOW, MSS, Ordered, SlowStart, Steps,
};
pub use scoreboard::{Arrival, Scoreboard, Segment};
pub use sender::{Counts, Sender};
