//! Models of saturated stations that all hear each other: the reference for the medium.
//!
//! | model | effect of a busy period on others' countdowns |
//! |---|---|
//! | [`bianchi`] | counts as one slot |
//! | [`countdown`] | none, as in the standard |
//! | [`monte_carlo`] | none: slot by slot, without assuming independence. Decides where the chains disagree |

pub mod bianchi;
pub mod countdown;
pub mod monte_carlo;

use units::wifi::{ACK_BYTES, DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Duration};

/// A cell of saturated stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Number of stations that contend.
    pub stations: u32,
    /// Slots in the first contention window: CWmin + 1.
    pub window: u32,
    /// Number of times that the window doubles.
    pub doublings: u32,
    /// Number of attempts after which a frame is given up. `None`: unlimited.
    pub attempts: Option<u32>,
}

impl Cell {
    /// Cell with the standard's windows.
    pub const fn of(standard: Standard, stations: u32, attempts: Option<u32>) -> Self {
        let window = standard.cw_min() + 1;
        Self {
            stations,
            window,
            doublings: ((standard.cw_max() + 1) / window).ilog2(),
            attempts,
        }
    }

    /// Slots in the window before attempt number `attempt`, counted from zero.
    pub fn window(&self, attempt: u32) -> f64 {
        f64::from(self.window) * f64::from(1_u32 << attempt.min(self.doublings))
    }
}

/// Durations in seconds, and the payload of a success in bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// An idle slot.
    pub slot: f64,
    /// A frame with its ACK and the interframe spaces around them.
    pub success: f64,
    /// A collision and the interframe space after it.
    pub collision: f64,
    /// Payload of a frame, in bits.
    pub payload: f64,
    /// Slots from the end of the interframe space after a collision until the stations that collided count
    /// again: their time-out is longer than DIFS.
    pub time_out_slots: u32,
}

/// Interframe space after a collision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// DIFS.
    Difs,
    /// EIFS.
    Eifs,
}

impl Costs {
    /// Costs of frames with `payload` bytes of UDP in IPv4 at `rate`.
    pub fn of(standard: Standard, rate: Bitrate, payload: u32, after: After) -> Self {
        let seconds = |duration: Duration| duration.as_secs_f64();
        let frame = standard.frame_time(payload + UDP_AND_IP + DATA_OVERHEAD_BYTES, rate);
        let ack = standard.frame_time(ACK_BYTES, standard.ack_rate(rate));
        let slowest_ack = standard.frame_time(ACK_BYTES, standard.basic_rate());
        let eifs = standard.sifs() + slowest_ack + standard.difs();
        let space = match after {
            After::Difs => standard.difs(),
            After::Eifs => eifs,
        };
        let start_delay = match standard {
            Standard::A | Standard::G => Duration::from_micros(20),
            Standard::B => Duration::from_micros(192),
        };
        let time_out = standard.sifs() + standard.slot() + start_delay;
        let late = time_out.saturating_sub(standard.difs()).as_nanos();
        Self {
            slot: seconds(standard.slot()),
            success: seconds(frame + standard.sifs() + ack + standard.difs()),
            collision: seconds(frame + space),
            payload: f64::from(payload) * 8.0,
            time_out_slots: late.div_ceil(standard.slot().as_nanos()) as u32,
        }
    }
}

/// Headers of UDP and IPv4, in bytes.
const UDP_AND_IP: u32 = 28;

/// Result of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Probability that an attempt collides.
    pub collision: f64,
    /// Payload throughput of all stations together, in Mb/s.
    pub throughput: f64,
}

/// Root of a falling function between 0 and 1.
fn root(falling: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if falling(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests;
