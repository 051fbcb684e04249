//! The load that runs may carry side by side. It is lowered after a late run, and raised after enough
//! punctual ones in a row.
//!
//! # Where we differ, and why
//! 1. A short disturbance of the machine makes all runs late that are running then: together they count once.
//! 2. Late runs are repeated, so trying a load that was too much costs time. Each lowering doubles the number
//!    of punctual runs needed for a raise.
//! 3. Lowering sets three quarters of what the late run and those beside it carried, not of what they were
//!    allowed. If they carried less than that, the same would happen again.
//!
//! # Checked by
//! `tests`.

use units::Bitrate;

/// Punctual runs in a row before the first raise. The number doubles with each lowering.
const FIRST_RAISE: usize = 4;

/// The load for which there is room.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    most: Bitrate,
    now: Bitrate,
    lowered: u32,
    punctual: usize,
}

/// A run in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// How often the room had been lowered when it began.
    lowered: u32,
    carries: Bitrate,
    /// Greatest load so far of it and the runs beside it.
    together: Bitrate,
}

impl Begun {
    /// Load of the run itself.
    pub const fn carries(self) -> Bitrate {
        self.carries
    }

    /// Whether it had others beside it at any time.
    pub fn had_company(self) -> bool {
        self.together > self.carries
    }

    /// Notes that the runs in progress carry this much together.
    pub fn meets(&mut self, together: Bitrate) {
        self.together = self.together.max(together);
    }
}

impl Room {
    /// Begins with the greatest load.
    pub const fn new(most: Bitrate) -> Self {
        Self {
            most,
            now: most,
            lowered: 0,
            punctual: 0,
        }
    }

    /// Whether a run with this load may begin beside others with that load. A run that would be alone always
    /// may.
    pub fn fits(self, carries: Bitrate, others: Bitrate) -> bool {
        others == Bitrate::ZERO || carries + others <= self.now
    }

    /// Begins a run with this load.
    pub const fn begin(self, carries: Bitrate) -> Begun {
        Begun {
            lowered: self.lowered,
            carries,
            together: carries,
        }
    }

    /// Notes that a run with others beside it was late.
    pub fn late(&mut self, begun: Begun) {
        self.punctual = 0;
        if begun.lowered == self.lowered {
            self.now = self.now.min(begun.together).percent(75);
            self.lowered += 1;
        }
    }

    /// Notes that a run was punctual.
    pub fn punctual(&mut self) {
        self.punctual += 1;
        let needed = FIRST_RAISE << self.lowered.min(16);
        if self.now < self.most && self.punctual >= needed {
            self.punctual = 0;
            self.now = self.most.min(self.now.percent(134));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Bitrate = Bitrate::from_mbps(400);
    const RUN: Bitrate = Bitrate::from_mbps(100);

    /// Number of runs that fit side by side.
    fn width(room: Room) -> u64 {
        let others = |count: u64| Bitrate::from_mbps(100 * count);
        (0..=9).find(|&count| !room.fits(RUN, others(count))).unwrap()
    }

    /// One of `count` runs side by side.
    fn beside(room: Room, count: u64) -> Begun {
        let mut begun = room.begin(RUN);
        begun.meets(Bitrate::from_mbps(100 * count));
        begun
    }

    #[test]
    fn one_disturbance_counts_once_and_is_forgotten() {
        let mut room = Room::new(WHOLE);
        let begun = beside(room, 4);
        (0..4).for_each(|_| room.late(begun));
        assert_eq!(width(room), 3);
        (0..7).for_each(|_| room.punctual());
        assert_eq!(width(room), 3);
        room.punctual();
        assert_eq!(width(room), 4);
        (0..100).for_each(|_| room.punctual());
        assert_eq!(width(room), 4);
    }

    #[test]
    fn what_was_too_much_again_is_tried_less_often() {
        let mut room = Room::new(Bitrate::from_mbps(200));
        let mut tried = 0;
        for _ in 0..200 {
            if width(room) == 2 {
                tried += 1;
                room.late(beside(room, 2));
            } else {
                room.punctual();
            }
        }
        assert_eq!((width(room), tried), (1, 5));
    }

    #[test]
    fn what_was_too_much_does_not_come_again_at_once_where_there_was_room_for_more() {
        let mut room = Room::new(WHOLE);
        room.late(beside(room, 2));
        assert_eq!(width(room), 1);
    }

    #[test]
    fn there_is_always_one() {
        let mut room = Room::new(RUN);
        for _ in 0..50 {
            room.late(beside(room, 2));
        }
        assert_eq!(width(room), 1);
        assert_eq!(width(Room::new(Bitrate::ZERO)), 1);
    }

    #[test]
    fn a_run_is_alone_only_if_nobody_was_beside_it_at_any_time() {
        let mut begun = Room::new(WHOLE).begin(RUN);
        begun.meets(RUN);
        assert!(!begun.had_company());
        begun.meets(Bitrate::from_mbps(101));
        begun.meets(RUN);
        assert!(begun.had_company());
    }
}
