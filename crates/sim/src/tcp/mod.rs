//! A TCP sender and receiver in virtual time, segment by segment. Windows come from [`policy::cc`]. Loss
//! detection, time-outs and undo follow Linux. The sender has CLA's whole hand-off stage
//! ([`policy::cc::HandOffStage`]), which no program in a kernel has.
//!
//! A sender knows neither links nor queues. There are two ways to drive one.
//!
//! As half of a subflow ([`crate::mptcp`]): [`Sender::hear`] takes ACKs with SACK blocks and timestamps,
//! [`Sender::expire`] is called at [`Sender::wake_at`], and as long as [`Sender::has_room`], the driver calls
//! [`Sender::send_again`] and [`Sender::send_new`]. A [`Receiver`] makes those ACKs.
//!
//! Alone, with data that never ends ([`crate::handoff`]): the driver reports which transmissions have
//! arrived, and takes the outgoing ones.
//!
//! 1. Call [`Sender::send`] at the start, and after each [`Sender::acknowledge`] and [`Sender::hand_off`].
//!    Put each transmission on its way at once.
//! 2. Call [`Sender::acknowledge`] when the ACK of one or more arrivals reaches the sender.
//! 3. Call [`Sender::wake`] at [`Sender::wake_at`], which every call may change.
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
//! // All of it is acknowledged after 20 ms. In slow start twice as much follows.
//! let now = Instant::from_millis(20);
//! sender.acknowledge(now, &std::mem::take(&mut flight));
//! sender.send(now, &mut flight);
//! assert_eq!(flight.len(), 2 * INITIAL_WINDOW as usize);
//! # Ok::<(), sim::tcp::ConfigError>(())
//! ```
//!
//! # Sources
//! - RFC 5681 (slow start, congestion avoidance), RFC 6298 §5 (the timer), RFC 6937 (proportional rate
//!   reduction), RFC 8985 (RACK, loss probe).
//! - RFC 3522 and RFC 2883 (how a retransmission proves to be spurious: by the timestamp of the first
//!   transmission, or by its second arrival).
//! - Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_try_undo_*`),
//!   `tcp_recovery.c`, `tcp_output.c` (`tcp_schedule_loss_probe`); `bpf/cc/control.h` and `orders.h` for CLA.
//!
//! # Where we differ, and why
//! 1. The handshake and the receive window belong to the connection.
//! 2. No F-RTO: timestamps reveal a spurious time-out with the same ACK.
//! 3. A loss probe is sent only if it is due before the RTO. A sender whose data never ends probes with new
//!    data.
//! 4. Without siblings, a coupled controller behaves as if the connection had no other path.
//!
//! # Checked by
//! `tests` here and in [`Scoreboard`]'s file: single losses, reordering, tail losses, time-outs, arrivals of
//! segments that were never sent. `tests/hosts.rs`: both halves between two hosts. `tests/cla_handoff.rs`: a
//! sender that stays fills its link, and every transmission arrives, is dropped or is in flight.

mod config;
pub mod packet;
mod receiver;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;

pub use config::{
    Config, ConfigError, Control, ControlError, Detection, Estimates, Growth, INITIAL_WINDOW, MAX_WINDOW,
    MSS, Metrics, Ordered, SlowStart, Steps, Timeout,
};
pub use receiver::{Arrived, Received, Receiver};
pub use scoreboard::{Acked, Arrival, Heard, Payload, Scoreboard, Segment};
pub(crate) use sender::earlier;
pub use sender::{Counts, Sender, Woken};
