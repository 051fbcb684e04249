//! Chain for the standard's countdown: only idle slots count.
//!
//! # Sources
//! - I. Tinnirello, G. Bianchi, Y. Xiao: Refinements on IEEE 802.11 distributed coordination function
//!   modeling approaches, IEEE Transactions on Vehicular Technology 59(3), 2010: a countdown that freezes and
//!   resumes leaves the slot right after a busy period to the station that has just transmitted, if it draws
//!   zero. With a limit of attempts.
//!
//! # Where we differ, and why
//! 1. After a collision the paper sets the ACK time-out equal to EIFS. Ours is that of the medium. Other
//!    stations count on after DIFS. The stations that collided count from the next slot boundary after their
//!    time-out, [`Costs::time_out_slots`] slots later. If another station transmits before, they count
//!    together with everybody. The model neglects that there are fewer contenders in those few slots. With
//!    two stations this matters most: 0.008 of collision probability.
//!
//! The chain describes one station, with `p` = probability that an attempt in a contended slot collides.
//! Attempt `j` of a packet waits for `b_j` idle slots, uniform below `W_j`, and up to `K` more after a
//! failure. The packet needs `A = Σ pʲ` attempts in contended slots and `B = Σ pʲ·E[b_j] + K·(failures)` idle
//! slots. So `τ = A/B` for each slot that follows an idle one. With probability `q = 1/W_0` the winner of a
//! success draws zero and transmits again at once, alone.
//!
//! # Checked by
//! `tests`: compared with [`super::monte_carlo`].

use super::{Cell, Costs, Prediction, root};

/// Number of terms after which the sum over attempts has converged, for a chain without a limit.
const MANY: u32 = 2_000;

/// Per packet: attempts in contended slots, attempts right after an own success, idle slots.
struct PerPacket {
    contended: f64,
    free: f64,
    idle: f64,
}

fn per_packet(cell: &Cell, costs: &Costs, p: f64) -> PerPacket {
    let attempts = cell.attempts.unwrap_or(MANY);
    // The first slot is the station's own only if the packet before was delivered, not given up.
    let delivered = 1.0 - p.powi(attempts as i32);
    let free = delivered / f64::from(cell.window);
    let late = late_slots(cell, costs, p);
    let mut contended = 1.0 - free;
    let mut idle = (cell.window(0) - 1.0) / 2.0 + late * (1.0 - delivered);
    let mut reached = (1.0 - free) * p;
    for attempt in 1..attempts {
        idle += reached * ((cell.window(attempt) - 1.0) / 2.0 + late);
        contended += reached;
        reached *= p;
    }
    PerPacket {
        contended,
        free,
        idle,
    }
}

/// Mean number of idle slots between a collision and the moment at which the stations that collided count
/// again. At most [`Costs::time_out_slots`], and fewer if another station transmits before (none can in the
/// first slot).
fn late_slots(cell: &Cell, costs: &Costs, p: f64) -> f64 {
    let others = f64::from(cell.stations - 1).max(1.0);
    let idle = (1.0 - p).powf((others - 1.0) / others);
    (0..costs.time_out_slots).map(|slot| idle.powi(slot as i32)).sum()
}

/// The fixed point and the resulting throughput.
pub fn predict(cell: &Cell, costs: &Costs) -> Prediction {
    let others = f64::from(cell.stations - 1);
    let rate = |p: f64| {
        let packet = per_packet(cell, costs, p);
        packet.contended / packet.idle
    };
    let p = root(|p| 1.0 - (1.0 - rate(p).min(1.0)).powf(others) - p);
    let packet = per_packet(cell, costs, p);
    let (tau, stations) = (rate(p), f64::from(cell.stations));
    let busy = 1.0 - (1.0 - tau).powf(stations);
    let success = stations * tau * (1.0 - tau).powf(others);
    let again = 1.0 - 1.0 / f64::from(cell.window);
    let time = costs.slot + success / again * costs.success + (busy - success) * costs.collision;
    Prediction {
        collision: p * packet.contended / (packet.contended + packet.free),
        throughput: success / again * costs.payload / time / 1e6,
    }
}
