//! A radio that serves several access points in turn.

use units::Duration;

/// The client's only radio, and how its time is divided among access points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleRadio {
    /// How its time is divided.
    pub division: Division,
    /// The time for which it is deaf when it changes channel.
    pub switch: Duration,
    /// The time for which it is deaf when it changes network on one channel.
    pub same_channel: Duration,
    /// The time in each cycle for which it looks for access points on channels 1, 6 and 11. Zero: it does
    /// not.
    pub scan: Duration,
}

/// How a radio's time is divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Division {
    /// By what each slot received (nsdi15 §7).
    Adaptive {
        /// The duration of a cycle.
        cycle: Duration,
        /// How strongly good access points are preferred. 0: equal slots.
        alpha: u32,
        /// The shortest slot.
        least: Duration,
    },
    /// By whole multiples of a slice (juggler §3.3).
    Weighted {
        /// The duration of one slice at the start.
        slice: Duration,
        /// Access points with their number of slices in a cycle: each an index in [`crate::Plan::links`].
        /// Others have one.
        weights: Vec<(usize, u32)>,
        /// When the duration of a slice changes, and to what, in the order of time.
        slices: Vec<(Duration, Duration)>,
    },
}

impl SingleRadio {
    /// The slices of a link in a cycle.
    pub fn weight(&self, link: usize) -> u32 {
        match &self.division {
            Division::Adaptive { .. } => 1,
            Division::Weighted { weights, .. } => weights
                .iter()
                .find(|(of, _)| *of == link)
                .map_or(1, |&(_, weight)| weight),
        }
    }
}
