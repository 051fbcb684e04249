mod two;

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

const STEP: Duration = Duration::from_millis(50);
const SLOW: LinkId = LinkId(2);

fn mbps(mbps: u64) -> Bitrate {
    Bitrate::from_mbps(mbps)
}

/// Links of which the slow one reduces the others' goodput while it is in use.
struct Fluid {
    slow: Slow,
    now: Instant,
    received: Bytes,
    rates: [Bitrate; 3],
    /// What is left of the others' goodput beside the slow link, in percent.
    beside_slow: u64,
    /// The demand of the application, in percent.
    demand: u64,
    held: Bytes,
    queued: bool,
    loses: bool,
    changes: Vec<(Instant, bool)>,
}

impl Fluid {
    fn new(rates: [u64; 3], beside_slow: u64) -> Self {
        Self {
            slow: Slow::default(),
            now: Instant::ZERO,
            received: Bytes::ZERO,
            rates: rates.map(mbps),
            beside_slow,
            demand: 100,
            held: Bytes::from_kib(600),
            queued: false,
            loses: false,
            changes: Vec::new(),
        }
    }

    fn in_use(&self) -> bool {
        !self.slow.spares(SLOW)
    }

    fn goodput(&self) -> Bitrate {
        let others = self.rates[0] + self.rates[1];
        let all = match self.in_use() {
            true => others.percent(self.beside_slow) + self.rates[2],
            false => others,
        };
        all.percent(self.demand)
    }

    fn step(&mut self) {
        self.now += STEP;
        self.received += self.goodput() * STEP;
        let view = |link: u16| {
            let best = self.rates[usize::from(link)].percent(self.demand);
            let (best, left) = match (LinkId(link) == SLOW, self.in_use()) {
                (true, false) => (Bitrate::ZERO, 100),
                (true, true) | (false, false) => (best, 100),
                (false, true) => (best, self.beside_slow),
            };
            View {
                link: LinkId(link),
                best,
                rate: best.percent(left),
                queued: self.queued && LinkId(link) == SLOW,
                loses: self.loses && LinkId(link) == SLOW,
            }
        };
        let links = [view(0), view(1), view(2)];
        let changed = self.slow.look(
            self.now,
            &Look {
                links: &links,
                rtt: Duration::from_millis(50),
                held: if self.in_use() { self.held } else { Bytes::ZERO },
                received: self.received,
                window: None,
            },
        );
        self.changes
            .extend(changed.map(|changed| (self.now, changed.in_use)));
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 20 {
            self.step();
        }
    }
}

#[test]
fn a_blocking_link_with_a_twentieth_of_the_rate_is_a_backup_within_a_second() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(1);
    assert!(!fluid.in_use());
    assert_eq!(fluid.changes.len(), 1);
}

/// The subflow that replaced another has carried nothing yet, which says nothing about its link.
#[test]
fn a_replaced_link_gets_time_to_find_its_rate() {
    let changes = |anew: bool| {
        let mut fluid = Fluid::new([30, 30, 12], 60);
        fluid.run(2);
        fluid.rates[2] = Bitrate::ZERO;
        if anew {
            fluid.slow.begins_anew(SLOW);
        }
        fluid.step();
        fluid.rates[2] = mbps(12);
        fluid.run(2);
        fluid.changes
    };
    assert!(changes(true).is_empty());
    assert!(!changes(false)[0].1, "a backup");
}

#[test]
fn a_blocking_queue_is_seen_at_once_and_its_backlog_awaited() {
    let until_backup = |queued: bool| {
        let mut fluid = Fluid::new([30, 30, 3], 55);
        fluid.queued = queued;
        while fluid.in_use() {
            fluid.step();
        }
        assert!(fluid.slow.drains(fluid.now));
        assert!(!fluid.slow.drains(fluid.now + Duration::from_secs(3)));
        fluid.now
    };
    assert!(until_backup(true) <= Instant::from_millis(400));
    assert!(until_backup(false) >= Instant::from_millis(800));
}

#[test]
fn a_link_demoted_for_its_queue_is_not_tried_again_soon() {
    let tried_after = |queued: bool| {
        let mut fluid = Fluid::new([30, 30, 3], 55);
        fluid.queued = queued;
        fluid.run(120);
        fluid.changes[1].0 - fluid.changes[0].0
    };
    assert_eq!(tried_after(false), FIRST_PAUSE);
    assert_eq!(tried_after(true), PLAIN_PAUSE);
}

#[test]
fn a_trial_with_a_cost_ends_within_a_second_and_the_next_comes_later() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(240);
    assert!(!fluid.in_use());
    let spans: Vec<Duration> = fluid.changes[1..]
        .chunks(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    assert!(
        !spans.is_empty() && spans.iter().all(|span| *span <= Duration::from_secs(1)),
        "{spans:?}"
    );
    let trials: Vec<Instant> = fluid.changes[1..]
        .iter()
        .filter(|(_, in_use)| *in_use)
        .map(|(at, _)| *at)
        .collect();
    assert!(trials.len() <= 4, "{trials:?}");
    let pauses: Vec<Duration> = trials.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.windows(2).all(|pair| pair[1] > pair[0]), "{pauses:?}");
}

#[test]
fn a_pause_in_a_trial_gives_no_verdict() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(1);
    fluid.beside_slow = 100;
    for trial in 1..=3 {
        assert!(!fluid.in_use());
        let demoted = fluid.changes.last().expect("it was demoted").0;
        while !fluid.in_use() {
            fluid.step();
        }
        assert_eq!(
            fluid.now - demoted,
            FIRST_PAUSE,
            "trial {trial}: no failure counts"
        );
        (fluid.demand, fluid.held) = (0, Bytes::ZERO);
        fluid.run(2);
        (fluid.demand, fluid.held) = (100, Bytes::from_kib(600));
    }
    fluid.run(30);
    assert!(fluid.in_use(), "without a pause it adds its rate");
}

#[test]
fn a_link_that_became_worse_after_its_proof_is_demoted() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(1);
    fluid.beside_slow = 100;
    fluid.run(60);
    assert!(fluid.in_use());
    fluid.beside_slow = 55;
    fluid.run(120);
    assert!(fluid.in_use(), "it was proven a moment ago");
    fluid.run(90);
    let demoted = |(_, in_use): &&(Instant, bool)| !in_use;
    assert_eq!(
        fluid.changes.iter().filter(demoted).count(),
        2,
        "{:?}",
        fluid.changes
    );
}

#[test]
fn a_link_that_adds_its_whole_rate_is_used_again() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(1);
    assert!(!fluid.in_use());
    fluid.beside_slow = 100;
    fluid.run(20);
    assert!(fluid.in_use(), "{:?}", fluid.changes);
}

#[test]
fn a_link_beside_which_none_is_starved_stays_in_use() {
    let mut fluid = Fluid::new([30, 30, 3], 80);
    fluid.run(60);
    assert_eq!(fluid.changes, [], "however many bytes are out of order");
}

#[test]
fn a_link_that_loses_is_a_backup_although_none_is_starved() {
    let mut fluid = Fluid::new([30, 30, 3], 100);
    fluid.loses = true;
    fluid.run(1);
    assert!(!fluid.in_use(), "{:?}", fluid.changes);
}

#[test]
fn a_link_that_is_finding_its_rate_is_not_judged() {
    let mut fluid = Fluid::new([30, 30, 1], 55);
    for kbps in (1_000..20_000).step_by(500) {
        fluid.rates[2] = Bitrate::from_kbps(kbps);
        fluid.step();
    }
    fluid.run(20);
    assert_eq!(fluid.changes, []);
}

#[test]
fn links_of_like_rates_are_left_alone() {
    let mut fluid = Fluid::new([30, 30, 20], 60);
    fluid.run(60);
    assert_eq!(fluid.changes, []);
}

#[test]
fn few_out_of_order_bytes_change_nothing() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.held = Bytes::from_kib(20);
    fluid.run(60);
    assert_eq!(fluid.changes, []);
}

/// A minute and a half with the slow link as backup and `held` bytes out of order, at a twentieth of the
/// others' earlier rate. Returns when the link was promoted.
fn little_comes(held: Bytes) -> Option<Duration> {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(2);
    assert!(!fluid.in_use());
    fluid.demand = 5;
    let (from, before) = (fluid.now, fluid.changes.len());
    for _ in 0..100 * 20 {
        fluid.now += STEP;
        fluid.received += fluid.goodput() * STEP;
        let view = |link: u16, best| View {
            link: LinkId(link),
            best,
            rate: Bitrate::ZERO,
            queued: false,
            loses: false,
        };
        let links = [view(0, mbps(30)), view(1, mbps(30)), view(2, Bitrate::ZERO)];
        let look = Look {
            links: &links,
            rtt: Duration::from_millis(50),
            held,
            received: fluid.received,
            window: None,
        };
        let changed = fluid.slow.look(fluid.now, &look);
        fluid
            .changes
            .extend(changed.map(|changed| (fluid.now, changed.in_use)));
    }
    let changed = fluid.changes.get(before);
    changed.filter(|(_, in_use)| *in_use).map(|(at, _)| *at - from)
}

#[test]
fn low_demand_changes_no_role() {
    assert_eq!(little_comes(Bytes::ZERO), None);
}

/// Out-of-order bytes show that losses, and not the application, limit the goodput.
#[test]
fn a_backup_is_promoted_when_losses_slow_the_others() {
    let after = little_comes(Bytes::from_kib(30)).unwrap();
    assert!(after <= Duration::from_secs(4), "{after:?}");
}

#[test]
fn a_backup_is_promoted_at_once_when_the_others_become_slow() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(2);
    assert!(!fluid.in_use());
    fluid.rates = [mbps(6), mbps(6), mbps(3)];
    fluid.run(1);
    assert!(fluid.in_use());
}

#[test]
fn a_backup_stays_one_when_only_one_other_link_is_lost() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(2);
    fluid.rates[0] = Bitrate::ZERO;
    fluid.run(3);
    assert!(!fluid.in_use(), "{:?}", fluid.changes);
}

#[test]
fn a_backup_is_used_when_all_others_are_gone() {
    let mut fluid = Fluid::new([30, 30, 3], 55);
    fluid.run(2);
    let only = [View {
        link: SLOW,
        best: Bitrate::ZERO,
        rate: Bitrate::ZERO,
        queued: false,
        loses: false,
    }];
    let look = Look {
        links: &only,
        rtt: Duration::from_millis(50),
        held: Bytes::ZERO,
        received: fluid.received,
        window: None,
    };
    let changed = fluid.slow.look(fluid.now + STEP, &look).unwrap();
    assert!(changed.in_use && changed.link == SLOW);
    assert!(!fluid.slow.spares(SLOW));
}

proptest! {
    #[test]
    fn roles_never_oscillate(slow in 1u64..20, beside in 30u64..=100, held_kib in 0u64..4_000) {
        let mut fluid = Fluid::new([30, 30, slow], beside);
        fluid.held = Bytes::from_kib(held_kib);
        fluid.run(300);
        // Trials after 15, 30, 60, 120 … s, two changes each, and the first demotion.
        prop_assert!(fluid.changes.len() <= 15, "{:?}", fluid.changes);
    }

    /// Beside a slow link, the others carry so little that they are starved, or all they can.
    #[test]
    fn roles_end_where_goodput_is_higher(
        slow in 1u64..10,
        beside in prop_oneof![30..STARVED_PERCENT, Just(100)],
    ) {
        let mut fluid = Fluid::new([30, 30, slow], beside);
        fluid.run(60);
        prop_assert_eq!(fluid.in_use(), beside == 100, "{:?}", fluid.changes);
    }
}
