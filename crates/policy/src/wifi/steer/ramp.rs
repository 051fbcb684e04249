//! A marking rate that moves towards its target in small steps.
//!
//! By the time that marks arrive, a sender may have queued megabytes on the marked subflow. A step in the
//! rate makes it leave that path faster than it can take the data back, and the good path runs dry behind it.
//!
//! # Sources
//! - Readings on a real kernel (the project's steering notes): × 1.3 per half second does not dry up the good
//!   path.
//!
//! # Where we differ, and why
//! 1. A rate that is to go altogether because its path has become the best goes at once: nothing can dry up
//!    then.
//!
//! # Checked by
//! `steer::tests`.

use units::{Duration, Instant, Ratio};

const STEP: Duration = Duration::from_millis(500);
/// Where the rise begins, and under which a rate is none.
const LEAST: Ratio = Ratio::from_ppm(100);
/// No more than this is caught up with after a pause: what was not in force then could not be got used to.
const MOST_STEPS: u32 = 2;

/// A rate on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ramp {
    rate: Ratio,
    stepped: Option<Instant>,
}

impl Ramp {
    /// No marks.
    pub const fn new() -> Self {
        Self::with(Ratio::ZERO, None)
    }

    /// This rate at once: for a path that carries nothing yet, which no step can dry up.
    pub const fn at(now: Instant, rate: Ratio) -> Self {
        Self::with(rate, Some(now))
    }

    const fn with(rate: Ratio, stepped: Option<Instant>) -> Self {
        Self { rate, stepped }
    }

    /// The rate in force.
    pub const fn rate(&self) -> Ratio {
        self.rate
    }

    /// Lets time pass on the way to `target`; the rate in force then.
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

    /// Forgets the rate.
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
