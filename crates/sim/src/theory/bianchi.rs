//! Bianchi's chain: a busy period counts as one slot.
//!
//! # Sources
//! - G. Bianchi: Performance analysis of the IEEE 802.11 distributed coordination function, JSAC 18(3), 2000:
//!   eq. 7 and 9 (the fixed point), eq. 13 (throughput).
//! - H. Wu et al.: Performance of reliable transport protocol over IEEE 802.11 wireless LAN, INFOCOM 2002:
//!   the chain with a limit of attempts, here in the form `τ = Σ pʲ / Σ pʲ·(W_j + 1)/2` over the attempts j.
//!
//! # Checked by
//! `tests`: the published collision probabilities, and both forms compared with each other.

use super::{Cell, Costs, Prediction, root};

/// Probability that a station transmits in a slot, if its attempts collide with probability `p`.
pub fn transmits(cell: &Cell, p: f64) -> f64 {
    let Some(attempts) = cell.attempts else {
        return unlimited(cell, p);
    };
    let weights = (0..attempts).map(|attempt| power(p, attempt));
    let slots = (0..attempts).map(|attempt| power(p, attempt) * (cell.window(attempt) + 1.0) / 2.0);
    weights.sum::<f64>() / slots.sum::<f64>()
}

/// Eq. 7 in a form without a singularity at p = 1/2: `2 / (1 + W + p·W·Σ_{i<m} (2p)ⁱ)`.
fn unlimited(cell: &Cell, p: f64) -> f64 {
    let window = f64::from(cell.window);
    let doublings: f64 = (0..cell.doublings).map(|i| power(2.0 * p, i)).sum();
    2.0 / (1.0 + window + p * window * doublings)
}

fn power(base: f64, exponent: u32) -> f64 {
    base.powi(exponent as i32)
}

/// The fixed point and the resulting throughput.
pub fn predict(cell: &Cell, costs: &Costs) -> Prediction {
    let others = f64::from(cell.stations - 1);
    let collides = |p: f64| 1.0 - (1.0 - transmits(cell, p)).powf(others);
    let p = root(|p| collides(p) - p);
    let tau = transmits(cell, p);
    let stations = f64::from(cell.stations);
    let busy = 1.0 - (1.0 - tau).powf(stations);
    let success = stations * tau * (1.0 - tau).powf(others);
    let slot = (1.0 - busy) * costs.slot + success * costs.success + (busy - success) * costs.collision;
    Prediction {
        collision: p,
        throughput: success * costs.payload / slot / 1e6,
    }
}
