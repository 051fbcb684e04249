//! Golden vectors, properties, and a sender over unequal paths with a small window.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

const GOLDEN: &str = include_str!("../../../../golden/sched.csv");
const MSS: Bytes = Bytes::new(1_000);

fn view(id: u32, srtt_ms: u64, cwnd: u32, in_flight: u32) -> View {
    View {
        id: SubflowId(id),
        srtt: Duration::from_millis(srtt_ms),
        rttvar: Duration::ZERO,
        cwnd,
        in_flight,
        mss: MSS,
        queued: MSS * u64::from(in_flight),
        unsent: Bytes::ZERO,
        send_buffer: Bytes::new(100_000),
        pacing_rate: Bitrate::ZERO,
        backup: false,
        usable: true,
        stale_count: 0,
        stale: false,
        holds_oldest: false,
    }
}

fn golden_view(id: u32, text: &str) -> View {
    let (numbers, flags) = text.rsplit_once(':').unwrap();
    let numbers: Vec<u64> = numbers.split(':').map(|number| number.parse().unwrap()).collect();
    let &[srtt, rttvar, cwnd, in_flight, queued, unsent, pacing] = numbers.as_slice() else {
        panic!("{text}: seven numbers and flags")
    };
    View {
        rttvar: Duration::from_millis(rttvar),
        queued: Bytes::new(queued),
        unsent: Bytes::new(unsent),
        pacing_rate: Bitrate::from_bps(pacing * 8),
        backup: flags.contains('b'),
        usable: !flags.contains('d'),
        stale: flags.contains('s'),
        ..view(id, srtt, cwnd as u32, in_flight as u32)
    }
}

fn all_schedulers() -> [(&'static str, Scheduler); 6] {
    [
        ("lowest-rtt", Scheduler::LowestRtt(LowestRtt)),
        ("round-robin", Scheduler::RoundRobin(RoundRobin::default())),
        ("redundant", Scheduler::Redundant(Redundant)),
        ("linux-default", Scheduler::LinuxDefault(LinuxDefault::default())),
        ("blest", Scheduler::Blest(Blest::default())),
        ("ecf", Scheduler::Ecf(Ecf::default())),
    ]
}

fn named(name: &str) -> Scheduler {
    let found = all_schedulers().into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no scheduler is called {name}")).1
}

fn said(choice: Choice) -> String {
    match choice {
        Choice::Wait => "wait".into(),
        Choice::Send { subflow, most } => format!("send {subflow} {}", most.get()),
        Choice::Duplicate { on, most } => {
            let on: Vec<String> = (0..64)
                .filter(|&at| on.contains(at))
                .map(|at| at.to_string())
                .collect();
            format!("all {} {}", on.join("+"), most.get())
        }
    }
}

#[test]
fn golden_choices() {
    let rows = GOLDEN
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("scheduler;"));
    let mut count = 0;
    for line in rows {
        let cells: Vec<&str> = line.split(';').collect();
        let subflows: Vec<View> = (0..)
            .zip(cells[3].split(' '))
            .map(|(id, text)| golden_view(id, text))
            .collect();
        let connection = Connection {
            subflows: &subflows,
            window_left: Bytes::new(cells[1].parse().unwrap()),
            unassigned: Bytes::new(cells[2].parse().unwrap()),
        };
        let choice = named(cells[0]).choose(Instant::from_secs(1), &connection);
        assert_eq!(said(choice), cells[4], "{line}");
        count += 1;
    }
    assert!(count >= 35, "only {count} vectors");
}

fn plenty(subflows: &[View]) -> Connection<'_> {
    Connection {
        subflows,
        window_left: Bytes::new(1_000_000),
        unassigned: Bytes::new(1_000_000),
    }
}

fn within<'a>(subflows: &'a [View], window_left: u64, unassigned: u64) -> Connection<'a> {
    Connection {
        window_left: Bytes::new(window_left),
        unassigned: Bytes::new(unassigned),
        ..plenty(subflows)
    }
}

#[test]
fn round_robin_goes_round() {
    let subflows = [view(7, 10, 10, 0), view(8, 90, 10, 10), view(9, 50, 10, 0)];
    let mut scheduler = RoundRobin::default();
    let turns: Vec<String> = (0..4)
        .map(|_| said(scheduler.choose(&plenty(&subflows))))
        .collect();
    assert_eq!(
        turns,
        ["send 0 1000", "send 2 1000", "send 0 1000", "send 2 1000"]
    );
    // The subflow whose turn it was is gone.
    assert_eq!(said(scheduler.choose(&plenty(&subflows[..1]))), "send 0 1000");
}

#[test]
fn the_kernels_mean_rate_follows_the_pacing_rate_by_the_bytes() {
    let mut scheduler = LinuxDefault::default();
    let paced = |queued: u64, rate: u64| View {
        queued: Bytes::new(queued),
        pacing_rate: Bitrate::from_bps(8 * rate),
        ..view(0, 10, 10, 0)
    };
    let other = View {
        id: SubflowId(1),
        queued: Bytes::new(20_000),
        ..paced(0, 1_000_000)
    };
    // The first choice sets the mean to 4 MB/s: 40,000 B linger 10 ms, less than the other's 20.
    let mut choose = |subflows: &[View]| said(scheduler.choose(&within(subflows, 40_000, 1_000_000)));
    assert_eq!(choose(&[paced(40_000, 4_000_000), other]), "send 0 40000");
    // Weighted by bytes: (4 MB/s · 40,000 + 1 MB/s · 40,000) / 80,000 = 2.5 MB/s, so 60,000 B linger 24 ms.
    assert_eq!(choose(&[paced(40_000, 1_000_000), other]), "send 0 40000");
    assert_eq!(choose(&[paced(60_000, 1_000_000), other]), "send 1 40000");
    // 45,000 B linger 18 ms.
    assert_eq!(choose(&[paced(45_000, 1_000_000), other]), "send 0 40000");
}

#[test]
fn the_kernel_retransmits_on_an_idle_subflow() {
    let busy = view(0, 10, 10, 3);
    let idle = view(1, 90, 10, 0);
    let backup = View {
        backup: true,
        ..view(2, 50, 10, 0)
    };
    let on = |subflows: &[View]| LinuxDefault::retransmit_on(&plenty(subflows));
    assert_eq!(on(&[busy, idle, backup]), Some(1));
    assert_eq!(on(&[busy, backup]), None);
    assert_eq!(
        on(&[
            View {
                stale_count: 1,
                ..busy
            },
            backup
        ]),
        None
    );
    assert_eq!(
        on(&[
            View {
                stale_count: 2,
                ..busy
            },
            backup
        ]),
        Some(1)
    );
    assert_eq!(
        on(&[
            View {
                usable: false,
                ..idle
            },
            backup
        ]),
        Some(1)
    );
    assert_eq!(on(&[]), None);
}

#[test]
fn blest_learns_from_being_blocked() {
    let mut scheduler = Blest::default();
    let subflows = [view(0, 10, 10, 10), view(1, 100, 10, 0)];
    assert_eq!(scheduler.caution(), 1_200);
    let full = Connection {
        window_left: Bytes::ZERO,
        ..plenty(&subflows)
    };
    for second in 1..=20 {
        scheduler.choose(Instant::from_secs(second), &full);
        scheduler.choose(Instant::from_secs(second), &plenty(&subflows));
    }
    assert_eq!(scheduler.caution(), 1_300);
    for second in 21..=60 {
        scheduler.choose(Instant::from_secs(second), &plenty(&subflows));
    }
    assert_eq!(scheduler.caution(), 1_000);
}

#[test]
fn ecf_keeps_waiting_within_a_margin() {
    let subflows = [view(0, 10, 10, 10), view(1, 100, 10, 0)];
    let to_go = |segments: u64| Connection {
        unassigned: MSS * segments,
        ..plenty(&subflows)
    };
    let mut scheduler = Ecf::default();
    assert_eq!(
        scheduler.choose(&to_go(95)),
        Choice::Send {
            subflow: 1,
            most: MSS
        }
    );
    assert_eq!(scheduler.choose(&to_go(80)), Choice::Wait);
    // 10.5 fast round trips: later than 100 ms, sooner than 125.
    assert_eq!(scheduler.choose(&to_go(95)), Choice::Wait);
    assert_eq!(
        scheduler.choose(&to_go(120)),
        Choice::Send {
            subflow: 1,
            most: MSS
        }
    );
    assert_eq!(
        scheduler.choose(&to_go(95)),
        Choice::Send {
            subflow: 1,
            most: MSS
        }
    );
}

#[test]
fn a_blocked_connection_is_rescued_by_the_faster_one() {
    let fast = view(0, 10, 10, 3);
    let slow = View {
        holds_oldest: true,
        ..view(1, 100, 10, 7)
    };
    let blocked = |subflows: &'static [View]| Connection {
        window_left: Bytes::new(999),
        ..plenty(subflows)
    };
    let subflows: &'static [View] = Vec::leak(vec![fast, slow]);
    let mut rescue = Rescue::default();
    let at = Instant::from_millis;
    let rescued = |penalise| Rescued {
        again_on: Some(0),
        penalise,
    };
    assert_eq!(rescue.unblock(at(0), &blocked(subflows)), rescued(Some(1)));
    assert_eq!(rescue.unblock(at(99), &blocked(subflows)), rescued(None));
    assert_eq!(rescue.unblock(at(100), &blocked(subflows)), rescued(Some(1)));
    // In turn: the window has space, no subflow is faster, the segment was sent there already, no subflow
    // holds it.
    assert_eq!(rescue.unblock(at(300), &plenty(subflows)), Rescued::default());
    for other in [
        vec![
            View {
                srtt: Duration::from_millis(100),
                ..fast
            },
            slow,
        ],
        vec![
            View {
                holds_oldest: true,
                ..fast
            },
            slow,
        ],
        vec![
            fast,
            View {
                holds_oldest: false,
                ..slow
            },
        ],
        vec![
            View {
                in_flight: 10,
                ..fast
            },
            View {
                in_flight: 10,
                ..slow
            },
        ],
    ] {
        assert_eq!(
            rescue.unblock(at(600), &blocked(Vec::leak(other))),
            Rescued::default()
        );
    }
}

#[test]
fn a_set_contains_its_members() {
    let set = Set::default().with(0).with(63).with(64).with(1_000);
    let members: Vec<usize> = (0..2_000).filter(|&at| set.contains(at)).collect();
    assert_eq!(members, [0, 63]);
    assert!(Set::default().is_empty() && !set.is_empty());
}

fn any_view() -> impl Strategy<Value = View> {
    let times = (0u64..2_000, 0u64..500);
    let segments = (0u32..300, 0u32..300);
    let bytes = (
        0u64..200_000,
        0u64..100_000,
        prop_oneof![Just(0u64), 1_000u64..1_000_000_000],
    );
    (times, segments, bytes, any::<[bool; 4]>()).prop_map(
        |((srtt, rttvar), (cwnd, in_flight), (queued, unsent, pacing), [backup, down, stale, holds])| View {
            rttvar: Duration::from_millis(rttvar),
            queued: Bytes::new(queued),
            unsent: Bytes::new(unsent),
            pacing_rate: Bitrate::from_bps(pacing),
            backup,
            usable: !down,
            stale,
            holds_oldest: holds,
            ..view(0, srtt, cwnd, in_flight)
        },
    )
}

fn any_subflows() -> impl Strategy<Value = Vec<View>> {
    prop::collection::vec(any_view(), 0..9).prop_map(|mut views| {
        for (id, view) in (0..).zip(&mut views) {
            view.id = SubflowId(id);
        }
        views
    })
}

proptest! {
    #[test]
    fn every_choice_can_be_carried_out(
        asks in prop::collection::vec((any_subflows(), 0u64..300_000, 0u64..300_000), 1..20),
    ) {
        for (name, mut scheduler) in all_schedulers() {
            for (second, (subflows, window, unassigned)) in (0u64..).zip(&asks) {
                let connection = Connection {
                    subflows,
                    window_left: Bytes::new(*window),
                    unassigned: Bytes::new(*unassigned),
                };
                let primary = subflows.iter().any(|view| view.usable && !view.stale && !view.backup);
                let room = subflows.iter().any(|view| view.has_room() && view.backup != primary);
                let chosen: Vec<usize> = match scheduler.choose(Instant::from_secs(second), &connection) {
                    Choice::Wait => vec![],
                    Choice::Send { subflow, most } => {
                        prop_assert!(most <= connection.window_left && most <= connection.unassigned);
                        vec![subflow]
                    }
                    Choice::Duplicate { on, most } => {
                        prop_assert!(most <= connection.window_left && most <= connection.unassigned);
                        (0..subflows.len()).filter(|&at| on.contains(at)).collect()
                    }
                };
                for &at in &chosen {
                    prop_assert!(subflows[at].usable && !subflows[at].stale, "{name} chose one that is not usable");
                    prop_assert!(subflows[at].backup != primary, "{name} chose a backup without need");
                    prop_assert!(name == "linux-default" || subflows[at].has_room(), "{name} chose one that is full");
                }
                if matches!(name, "lowest-rtt" | "round-robin" | "redundant") {
                    prop_assert_eq!(chosen.is_empty(), !(room && *window > 0 && *unassigned > 0), "{}", name);
                }
            }
        }
    }

    #[test]
    fn no_number_is_too_large(cwnd: u32, in_flight: u32, srtt: u64, bytes: u64, rate: u64) {
        let huge = View {
            srtt: Duration::from_nanos(srtt),
            rttvar: Duration::from_nanos(srtt),
            mss: Bytes::new(bytes),
            queued: Bytes::new(bytes),
            unsent: Bytes::new(bytes),
            send_buffer: Bytes::new(u64::MAX),
            pacing_rate: Bitrate::from_bps(rate),
            ..view(0, 0, cwnd, in_flight)
        };
        let subflows = [huge, view(1, 10, 10, 10), View { id: SubflowId(2), ..huge }, view(3, 20, 10, 0)];
        let connection = Connection {
            subflows: &subflows,
            window_left: Bytes::new(bytes),
            unassigned: Bytes::new(bytes),
        };
        for (_, mut scheduler) in all_schedulers() {
            for second in 0..3 {
                scheduler.choose(Instant::from_secs(second), &connection);
            }
        }
        Rescue::default().unblock(Instant::ZERO, &connection);
    }

    #[test]
    fn the_kernels_choice_is_the_shortest_linger_in_real_numbers(subflows in any_subflows()) {
        let active = |view: &&View| view.usable && !view.stale;
        let primary = subflows.iter().filter(active).any(|view| !view.backup);
        let linger = |view: &View| view.queued.get() as f64 * 8.0 / view.pacing_rate.as_bps() as f64;
        let least = subflows
            .iter()
            .filter(active)
            .filter(|view| view.backup != primary && view.pacing_rate > Bitrate::ZERO)
            .map(linger)
            .fold(f64::INFINITY, f64::min);
        match LinuxDefault::default().choose(&plenty(&subflows)) {
            Choice::Send { subflow, .. } => {
                // Rates are whole bytes per second here.
                prop_assert!(linger(&subflows[subflow]) <= least * 1.02 + 1e-9);
                prop_assert!(subflows[subflow].queued < subflows[subflow].send_buffer);
            }
            Choice::Wait => prop_assert!(subflows.iter().any(|view| view.queued >= view.send_buffer) || least.is_infinite()),
            Choice::Duplicate { .. } => prop_assert!(false, "the kernel does not duplicate"),
        }
    }
}

/// A sender of whole segments over paths with fixed windows. Its peer accepts this many out of order. Data
/// assigned to a subflow stays on it.
struct Sender {
    paths: Vec<(u64, u32)>,
    window: u64,
    flying: VecDeque<(u64, usize, u64)>,
    assigned: Vec<VecDeque<u64>>,
    arrived: std::collections::BTreeSet<u64>,
    acknowledged: u64,
    next: u64,
}

impl Sender {
    fn run(paths: &[(u64, u32)], window: u64, scheduler: &mut Scheduler, rescue: bool, ms: u64) -> u64 {
        let mut sender = Self {
            paths: paths.to_vec(),
            window,
            flying: VecDeque::new(),
            assigned: vec![VecDeque::new(); paths.len()],
            arrived: Default::default(),
            acknowledged: 0,
            next: 0,
        };
        let mut unblock = Rescue::default();
        for now in 0..ms {
            sender.receive(now);
            while sender.send(now, scheduler, rescue.then_some(&mut unblock)) {}
        }
        sender.acknowledged
    }

    fn receive(&mut self, now: u64) {
        let arrived = &mut self.arrived;
        self.flying.retain(|&(at, _, segment)| {
            if at <= now {
                arrived.insert(segment);
            }
            at > now
        });
        while self.arrived.remove(&self.acknowledged) {
            self.acknowledged += 1;
        }
        self.arrived.retain(|&segment| segment >= self.acknowledged);
        for path in 0..self.paths.len() {
            self.fly(now, path);
        }
    }

    fn in_flight(&self, path: usize) -> u32 {
        self.flying.iter().filter(|flying| flying.1 == path).count() as u32
    }

    fn fly(&mut self, now: u64, path: usize) {
        let (rtt, cwnd) = self.paths[path];
        while self.in_flight(path) < cwnd
            && let Some(segment) = self.assigned[path].pop_front()
        {
            self.flying.push_back((now + rtt, path, segment));
        }
    }

    fn assign(&mut self, now: u64, path: usize, segment: u64) {
        self.assigned[path].push_back(segment);
        self.fly(now, path);
    }

    fn views(&self) -> Vec<View> {
        let view_of = |(path, &(rtt, cwnd)): (usize, &(u64, u32))| {
            let waiting = MSS * self.assigned[path].len() as u64;
            let flying = self.in_flight(path);
            let oldest = |&(_, on, segment): &(u64, usize, u64)| on == path && segment == self.acknowledged;
            View {
                holds_oldest: self.flying.iter().any(oldest),
                pacing_rate: (MSS * u64::from(cwnd)).per(Duration::from_millis(rtt)),
                unsent: waiting,
                queued: waiting + MSS * u64::from(flying),
                ..view(path as u32, rtt, cwnd, flying)
            }
        };
        self.paths.iter().enumerate().map(view_of).collect()
    }

    fn send(&mut self, now: u64, scheduler: &mut Scheduler, rescue: Option<&mut Rescue>) -> bool {
        let views = self.views();
        let connection = Connection {
            subflows: &views,
            window_left: MSS * (self.acknowledged + self.window - self.next),
            unassigned: MSS * 1_000,
        };
        let now_at = Instant::from_millis(now);
        if let Some(path) = rescue.and_then(|rescue| rescue.unblock(now_at, &connection).again_on) {
            self.assign(now, path, self.acknowledged);
            return true;
        }
        let on: Vec<usize> = match scheduler.choose(now_at, &connection) {
            Choice::Wait => return false,
            Choice::Send { subflow, .. } => vec![subflow],
            Choice::Duplicate { on, .. } => (0..views.len()).filter(|&at| on.contains(at)).collect(),
        };
        for path in on {
            self.assign(now, path, self.next);
        }
        self.next += 1;
        true
    }
}

#[test]
fn with_a_small_window_the_slow_path_blocks_the_fast_one_unless_it_is_left_alone() {
    // 10 segments per 10 ms and per 200 ms: 1,000 and 50 segments per second. The peer's window holds 20.
    let paths = [(10, 10), (200, 10)];
    let sent = |name, rescue| Sender::run(&paths, 20, &mut named(name), rescue, 10_000);
    let (plain, rescued) = (sent("lowest-rtt", false), sent("lowest-rtt", true));
    let (blest, turns) = (sent("blest", false), sent("round-robin", false));
    println!("lowest RTT {plain}, with rescue {rescued}, BLEST {blest}, round robin {turns}");
    assert!(plain < 2_000, "{plain}: the slow path should have blocked");
    assert!(turns <= plain);
    assert!(blest > 9_500, "{blest}");
    assert!(rescued > 2 * plain, "{rescued} against {plain}");
}

#[test]
fn with_a_large_window_every_scheduler_but_one_adds_the_paths_up() {
    let paths = [(20, 10), (40, 10)];
    for (name, mut scheduler) in all_schedulers() {
        let sent = Sender::run(&paths, 1_000, &mut scheduler, false, 10_000);
        println!("{name}: {sent}");
        let expected = if name == "redundant" {
            4_900..=5_400
        } else {
            7_300..=7_500
        };
        assert!(expected.contains(&sent), "{name}: {sent}");
    }
}
