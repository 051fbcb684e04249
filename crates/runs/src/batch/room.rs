//! What runs may carry side by side, all together: less once one was late, more again once enough in a row were punctual.
//!
//! # Where we differ, and why
//! 1. What disturbs the machine for a moment makes all runs late that go on just then: together they count once.
//! 2. Late runs are repeated, so trying again what was too much costs time: each lowering doubles how many must be punctual before.
//! 3. It becomes three quarters of what the late run and those beside it carried, and not of what they might have: if that was less, it would come again.
//!
//! # Checked by
//! `tests`.

use units::Bitrate;

/// So many punctual runs in a row before the first raise; twice as many after each lowering.
const FIRST_RAISE: usize = 4;

/// What there is room for.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    most: Bitrate,
    now: Bitrate,
    lowered: u32,
    punctual: usize,
}

/// A run that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// How often the room had been lowered when it began.
    lowered: u32,
    carries: Bitrate,
    /// What it and those beside it have carried at most.
    together: Bitrate,
}

impl Begun {
    /// What it carries.
    pub const fn carries(self) -> Bitrate {
        self.carries
    }

    /// Whether it had others beside it at any time.
    pub fn had_company(self) -> bool {
        self.together > self.carries
    }

    /// It is one of those that carry so much together.
    pub fn meets(&mut self, together: Bitrate) {
        self.together = self.together.max(together);
    }
}

impl Room {
    /// Begins with the most.
    pub const fn new(most: Bitrate) -> Self {
        Self {
            most,
            now: most,
            lowered: 0,
            punctual: 0,
        }
    }

    /// Whether one that carries so much may begin beside others that carry so much. One that would be alone always may.
    pub fn fits(self, carries: Bitrate, others: Bitrate) -> bool {
        others == Bitrate::ZERO || carries + others <= self.now
    }

    /// A run that carries so much begins.
    pub const fn begin(self, carries: Bitrate) -> Begun {
        Begun {
            lowered: self.lowered,
            carries,
            together: carries,
        }
    }

    /// A run that had others beside it was late.
    pub fn late(&mut self, begun: Begun) {
        self.punctual = 0;
        if begun.lowered == self.lowered {
            self.now = self.now.min(begun.together).percent(75);
            self.lowered += 1;
        }
    }

    /// A run was punctual.
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

    /// How many runs fit side by side.
    fn width(room: Room) -> u64 {
        let others = |count: u64| Bitrate::from_mbps(100 * count);
        (0..=9).find(|&count| !room.fits(RUN, others(count))).unwrap()
    }

    /// One of so many that went on side by side.
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
