//! Which access points of one channel a sender should use, and how it is notified.
//!
//! Access points of a channel share its air. A packet over a poor one costs several over a good one, and a
//! remote sender cannot see that. The client can signal it in two ways:
//! - by MP_PRIO, fast and coarse: a subflow is backup or not
//! - by marking arriving packets with congestion experienced, slow and fine
//!
//! One [`Steering`] controls one channel. It gets measurements every 100 ms or so and returns the orders that
//! change something, each with its numbers.
//!
//! # Sources
//! - nsdi15 §5.2 (marking), §6.2.1 (its target). RFC 8684 §3.3.8 (MP_PRIO). RFC 3168 §6.1.3 (the meaning of a
//!   mark).
//!
//! # Where we differ, and why
//! 1. nsdi15 marks. The default here is [`ClosedLoop`], which checks the effect of an order and undoes it if
//!    it was wrong. No open formula gives nsdi15's results in both of its scenarios.
//!
//! In the engine, `wifi/steering.rs` takes the measurements and carries out the orders, for the policies
//! `ecn`, one at a time and `slowhand`.
//!
//! # Checked by
//! `tests/engine_steering.rs`: through the engine. `tests`: golden vectors, properties, and a fluid model of
//! both scenarios of nsdi15 §6.2.1.

mod closed_loop;
mod lanes;
mod marking;
mod on_off;
mod ramp;
mod rate;
mod smooth;
#[cfg(test)]
mod tests;

use crate::io::reason::Steer;
pub use closed_loop::ClosedLoop;
pub use marking::Marking;
pub use on_off::OnOff;
pub use ramp::Ramp;
pub use rate::{CAP, Form, Measured, Model, UnknownForm};

use crate::io::LinkId;
use alloc::vec::Vec;
use units::{Bitrate, Duration, Instant, Ratio};

/// An access point is poor if its packet time is at least this percentage of the best one's (nsdi15 §5.2).
const POOR_ABOVE_PERCENT: u64 = 120;

/// The measurements of one access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPoint {
    /// The link.
    pub link: LinkId,
    /// Airtime of one delivered packet.
    pub packet_time: Duration,
    /// Payload received over it, per time.
    pub goodput: Bitrate,
    /// Round-trip time, including the queue.
    pub rtt: Duration,
    /// Round-trip time without the queue.
    pub base_rtt: Duration,
    /// Whether its subflows are backup.
    pub backup: bool,
}

/// The measurements of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The usable access points, in any order.
    pub points: &'a [AccessPoint],
    /// The share of time in which the medium was busy, whoever sent.
    pub busy: Ratio,
    /// Whether the connections would take more.
    pub wanting: bool,
}

/// An order for an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Make its subflows backup, or primary again.
    Backup(bool),
    /// Mark this share of the ECN-capable packets that arrive over it.
    Mark(Ratio),
}

/// An order and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The link of the access point.
    pub link: LinkId,
    /// The order.
    pub order: Order,
    /// The reason.
    pub because: Steer,
}

/// The way of steering. Calls are dispatched by this enum, not by a trait object.
#[expect(
    clippy::large_enum_variant,
    reason = "one per daemon, and a box would be an allocation and a pointer chase"
)]
#[derive(Debug, Clone)]
pub enum Steering {
    /// No steering: everything is left to the sender.
    Off,
    /// nsdi15's marks.
    Marking(Marking),
    /// One access point at a time, as FatVAP and Juggler do.
    OnOff(OnOff),
    /// The default.
    ClosedLoop(ClosedLoop),
}

impl Default for Steering {
    fn default() -> Self {
        Self::ClosedLoop(ClosedLoop::default())
    }
}

impl Steering {
    /// Processes measurements. Appends the orders that change something, in the order in which they must be
    /// carried out.
    pub fn look(&mut self, now: Instant, reading: &Reading<'_>, steps: &mut Vec<Step>) {
        match self {
            Self::Off => {}
            Self::Marking(marking) => marking.look(now, reading, steps),
            Self::OnOff(on_off) => on_off.look(reading, steps),
            Self::ClosedLoop(closed_loop) => closed_loop.look(now, reading, steps),
        }
    }
}

/// The least packet time of a channel.
fn best_time(points: &[AccessPoint]) -> Option<Duration> {
    points.iter().map(|point| point.packet_time).min()
}

/// Whether `time` is at least `percent` hundredths of `best`.
fn is_above(time: Duration, best: Duration, percent: u64) -> bool {
    time.as_nanos() * 100 >= best.as_nanos() * u128::from(percent)
}
