//! How many runs go side by side: fewer once one was late, one more again once enough in a row were punctual.
//!
//! # Where we differ, and why
//! 1. What disturbs the machine for a moment makes all runs late that go on just then: together they count once.
//! 2. Late runs are repeated, so trying again what was too much costs time: each lowering doubles how many must be punctual before.
//!
//! # Checked by
//! `tests`.

/// So many punctual runs in a row before the first raise; twice as many after each lowering.
const FIRST_RAISE: usize = 4;

/// The runs that may go side by side.
#[derive(Debug, Clone, Copy)]
pub struct Width {
    most: usize,
    now: usize,
    lowered: u32,
    punctual: usize,
}

/// How often the width had been lowered when a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun(u32);

impl Width {
    /// Begins with the most.
    pub const fn new(most: usize) -> Self {
        Self {
            most,
            now: most,
            lowered: 0,
            punctual: 0,
        }
    }

    /// So many now.
    pub const fn get(self) -> usize {
        self.now
    }

    /// A run begins.
    pub const fn begin(self) -> Begun {
        Begun(self.lowered)
    }

    /// A run that had others beside it was late.
    pub const fn late(&mut self, begun: Begun) {
        self.punctual = 0;
        if begun.0 == self.lowered && self.now > 1 {
            self.now -= 1;
            self.lowered += 1;
        }
    }

    /// A run was punctual.
    pub fn punctual(&mut self) {
        self.punctual += 1;
        let needed = FIRST_RAISE << self.lowered.min(16);
        if self.now < self.most && self.punctual >= needed {
            self.punctual = 0;
            self.now += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbance_counts_once_and_is_forgotten() {
        let mut width = Width::new(4);
        let begun = width.begin();
        (0..4).for_each(|_| width.late(begun));
        assert_eq!(width.get(), 3);
        (0..7).for_each(|_| width.punctual());
        assert_eq!(width.get(), 3);
        width.punctual();
        assert_eq!(width.get(), 4);
        (0..100).for_each(|_| width.punctual());
        assert_eq!(width.get(), 4);
    }

    #[test]
    fn what_was_too_much_again_is_tried_less_often() {
        let mut width = Width::new(2);
        let mut tried = 0;
        for _ in 0..200 {
            if width.get() == 2 {
                tried += 1;
                width.late(width.begin());
            } else {
                width.punctual();
            }
        }
        assert_eq!((width.get(), tried), (1, 5));
    }

    #[test]
    fn there_is_always_one() {
        let mut width = Width::new(1);
        width.late(width.begin());
        assert_eq!(width.get(), 1);
    }
}
