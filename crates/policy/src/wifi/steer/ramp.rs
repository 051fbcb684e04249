//! A marking rate that moves towards its target in small steps.
//!
//! Before marks have an effect, a sender may have queued megabytes on the marked subflow. After a step in the
//! rate, it leaves that path faster than it can take the data back. The good path then runs dry behind it.
//!
//! # Sources
//! - Measurements on a real kernel (the project's steering notes): × 1.3 per half second does not dry up the
//!   good path.
//!
//! # Where we differ, and why
//! 1. If the path has become the best, its rate drops to zero at once: nothing can run dry then.
//!
//! # Checked by
//! `steer::tests`.

use units::{Duration, Instant, Ratio};

const STEP: Duration = Duration::from_millis(500);
/// Where the rise starts. A lower rate counts as zero.
const LEAST: Ratio = Ratio::from_ppm(100);
/// At most this many steps are made up after a pause: the sender could not adapt to a rate that was not in
/// force.
const MOST_STEPS: u32 = 2;

/// A marking rate on its way to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ramp {
    rate: Ratio,
    stepped: Option<Instant>,
}

impl Ramp {
    /// No marks.
    pub const fn new() -> Self {
        Self {
            rate: Ratio::ZERO,
            stepped: None,
        }
    }

    /// The present rate.
    pub const fn rate(&self) -> Ratio {
        self.rate
    }

    /// Advances the time on the way to `target`. Returns the present rate.
    pub fn towards(&mut self, now: Instant, target: Ratio) -> Ratio {
        let mut stepped = self.stepped.unwrap_or(now - STEP);
        for _ in 0..MOST_STEPS {
            if now - stepped < STEP {
                break;
            }
            stepped += STEP;
            self.rate = step(self.rate, target);
        }
        let late = now - stepped >= STEP;
        self.stepped = Some(if late { now } else { stepped });
        self.rate
    }

    /// Resets the rate.
    pub const fn release(&mut self) {
        self.rate = Ratio::ZERO;
    }
}

fn step(rate: Ratio, target: Ratio) -> Ratio {
    if target >= rate {
        scaled(rate, 13, 10).max(LEAST).min(target)
    } else {
        let fallen = scaled(rate, 10, 13).max(target);
        if fallen < LEAST { target } else { fallen }
    }
}

fn scaled(rate: Ratio, numerator: u64, denominator: u64) -> Ratio {
    Ratio::from_fraction(rate.as_raw() * numerator, Ratio::ONE.as_raw() * denominator)
}
