//! A sender's data plane as a world builds it. A controller grows a window per acknowledgement, and a
//! scheduler chooses the subflow per segment. The engine at the other end decides by MP_PRIO which subflows
//! are backup.

mod world;

use policy::cc::{Controller, Credit, Cubic, Flow};
use policy::sched::{
    Blest, Choice, Connection, Ecf, LinuxDefault, LowestRtt, Redundant, Rescue, RoundRobin, Scheduler, View,
};
use policy::{Policy, SubflowId};
use std::collections::VecDeque;
use units::{Bitrate, Bytes, Duration, Instant};
use world::plans::BOTH;
use world::{Step, World};

const MS: Duration = Duration::from_millis(1);
const MSS: Bytes = Bytes::new(1_448);
const CONTROLLERS: [Controller; 4] = [
    Controller::Reno,
    Controller::Lia,
    Controller::Olia,
    Controller::Balia,
];

fn schedulers() -> Vec<(&'static str, Scheduler)> {
    vec![
        ("lowest-rtt", Scheduler::LowestRtt(LowestRtt)),
        ("round-robin", Scheduler::RoundRobin(RoundRobin::default())),
        ("linux-default", Scheduler::LinuxDefault(LinuxDefault::default())),
        ("blest", Scheduler::Blest(Blest::default())),
        ("ecf", Scheduler::Ecf(Ecf::default())),
    ]
}

/// State of one subflow's sender.
#[derive(Debug)]
struct Subflow {
    cwnd: u32,
    slow_start: bool,
    credit: Credit,
    /// Acknowledgement time of each segment in flight.
    flying: VecDeque<Instant>,
    /// When the bottleneck's queue is empty.
    free: Instant,
    rtt: Duration,
    segment_time: Duration,
    delivered: u64,
    backup: bool,
    recovers_until: Instant,
}

impl Subflow {
    fn new(mbps: u64, rtt_ms: u64) -> Self {
        let segment_time = Bitrate::from_mbps(mbps).time_for(MSS).expect("a rate");
        Self {
            cwnd: 10,
            slow_start: true,
            credit: Credit::default(),
            flying: VecDeque::new(),
            free: Instant::ZERO,
            rtt: MS * rtt_ms as u32,
            segment_time,
            delivered: 0,
            backup: false,
            recovers_until: Instant::ZERO,
        }
    }

    fn queue(&self, now: Instant) -> Duration {
        self.free - now
    }

    fn srtt(&self, now: Instant) -> Duration {
        self.rtt + self.queue(now)
    }

    fn flow(&self, now: Instant) -> Flow {
        Flow {
            cwnd: self.cwnd,
            srtt_us: self.srtt(now).as_micros() as u32,
            ..Flow::default()
        }
    }

    fn view(&self, now: Instant, id: u32) -> View {
        let in_flight = self.flying.len() as u32;
        View {
            id: SubflowId(id),
            srtt: self.srtt(now),
            rttvar: MS,
            cwnd: self.cwnd,
            in_flight,
            mss: MSS,
            queued: MSS * u64::from(in_flight),
            unsent: Bytes::ZERO,
            send_buffer: Bytes::from_kib(4_096),
            pacing_rate: (MSS * u64::from(self.cwnd)).per(self.srtt(now)),
            backup: self.backup,
            usable: true,
            stale_count: 0,
            stale: false,
            holds_oldest: false,
        }
    }

    /// Sends a segment. It is lost if the queue in front of it exceeds two round trips.
    fn send(&mut self, now: Instant) -> bool {
        if self.queue(now) > 2 * self.rtt {
            return false;
        }
        self.free = self.free.max(now) + self.segment_time;
        self.flying.push_back(self.free + self.rtt);
        true
    }
}

struct Sender {
    subflows: Vec<Subflow>,
    controller: Controller,
    now: Instant,
}

impl Sender {
    fn new(controller: Controller, paths: &[(u64, u64)]) -> Self {
        Self {
            subflows: paths.iter().map(|&(mbps, rtt)| Subflow::new(mbps, rtt)).collect(),
            controller,
            now: Instant::ZERO,
        }
    }

    fn run(&mut self, scheduler: &mut Scheduler, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += MS;
            (0..self.subflows.len()).for_each(|own| self.acknowledge(own));
            self.assign(scheduler);
        }
    }

    fn acknowledge(&mut self, own: usize) {
        let now = self.now;
        let flows: Vec<Flow> = self.subflows.iter().map(|subflow| subflow.flow(now)).collect();
        let increase = self.controller.increase(own, &flows);
        let subflow = &mut self.subflows[own];
        while subflow.flying.front().is_some_and(|at| *at <= now) {
            subflow.flying.pop_front();
            subflow.delivered += 1;
            let more = if subflow.slow_start {
                1
            } else {
                subflow.credit.add(increase, 1)
            };
            subflow.cwnd = subflow.cwnd.saturating_add_signed(more).max(2);
        }
    }

    fn assign(&mut self, scheduler: &mut Scheduler) {
        for _ in 0..1_000 {
            let now = self.now;
            let views: Vec<View> = (0..)
                .zip(&self.subflows)
                .map(|(id, subflow)| subflow.view(now, id))
                .collect();
            let connection = Connection {
                subflows: &views,
                window_left: Bytes::from_kib(8_192),
                unassigned: Bytes::from_kib(8_192),
            };
            let sent = match scheduler.choose(now, &connection) {
                Choice::Send { subflow, most } => {
                    let segments = most.get().div_ceil(MSS.get()).max(1);
                    (0..segments).all(|_| self.transmit(subflow))
                }
                Choice::Duplicate { on, .. } => (0..self.subflows.len())
                    .filter(|subflow| on.contains(*subflow))
                    .all(|subflow| self.transmit(subflow)),
                Choice::Wait => false,
            };
            if !sent {
                return;
            }
        }
    }

    /// Sends a segment. Returns whether the bottleneck accepted it.
    fn transmit(&mut self, own: usize) -> bool {
        let now = self.now;
        let sent = self.subflows[own].send(now);
        if !sent && now >= self.subflows[own].recovers_until {
            let flows: Vec<Flow> = self.subflows.iter().map(|subflow| subflow.flow(now)).collect();
            let left = self.controller.after_loss(own, &flows);
            let subflow = &mut self.subflows[own];
            subflow.cwnd = left;
            subflow.slow_start = false;
            subflow.recovers_until = now + subflow.srtt(now);
        }
        sent
    }

    fn delivered(&self) -> Vec<u64> {
        self.subflows.iter().map(|subflow| subflow.delivered).collect()
    }
}

#[test]
fn every_scheduler_fills_two_paths_with_every_controller() {
    // Two paths of 10 Mb/s carry 1,726 segments per second.
    for controller in CONTROLLERS {
        for (name, mut scheduler) in schedulers() {
            let mut sender = Sender::new(controller, &[(10, 20), (10, 40)]);
            sender.run(&mut scheduler, 20_000 * MS);
            let sum: u64 = sender.delivered().iter().sum();
            println!("{controller:?} {name}: {:?}", sender.delivered());
            assert!(sum > 34_520 * 85 / 100, "{controller:?}, {name}: {sum}");
        }
    }
}

#[test]
fn redundancy_sends_everything_over_both() {
    let mut scheduler = Scheduler::Redundant(Redundant);
    let mut sender = Sender::new(Controller::Reno, &[(10, 20), (10, 20)]);
    sender.run(&mut scheduler, 5_000 * MS);
    let delivered = sender.delivered();
    assert!(
        delivered[0] > 3_000 && delivered[0].abs_diff(delivered[1]) < 100,
        "{delivered:?}"
    );
}

#[test]
fn no_scheduler_sends_on_a_subflow_that_the_engine_made_backup() {
    let mut client = World::after(Policy::OneAtATime, BOTH);
    client.follow(&[Step::Run(Duration::from_secs(4))]);
    let backup: Vec<bool> = [0, 1].map(|link| !client.in_use().contains(&link)).to_vec();
    assert_eq!(backup, [true, false]);
    let mut all = schedulers();
    all.push(("redundant", Scheduler::Redundant(Redundant)));
    for (name, mut scheduler) in all {
        let mut sender = Sender::new(Controller::Lia, &[(5, 20), (20, 20)]);
        for (subflow, backup) in sender.subflows.iter_mut().zip(&backup) {
            subflow.backup = *backup;
        }
        sender.run(&mut scheduler, 2_000 * MS);
        let delivered = sender.delivered();
        assert!(delivered[0] == 0 && delivered[1] > 2_000, "{name}: {delivered:?}");
    }
}

#[test]
fn a_full_window_is_unblocked_by_the_faster_subflow() {
    let (fast, slow) = (Subflow::new(10, 20), Subflow::new(1, 300));
    let now = Instant::from_secs(1);
    let mut views = [fast.view(now, 0), slow.view(now, 1)];
    views[1].holds_oldest = true;
    let connection = Connection {
        subflows: &views,
        window_left: Bytes::ZERO,
        unassigned: Bytes::from_kib(64),
    };
    let rescued = Rescue::default().unblock(now, &connection);
    assert_eq!((rescued.again_on, rescued.penalise), (Some(0), Some(1)));
}

/// A subflow's link is gone, and with it everything in flight there.
#[test]
fn after_a_time_out_the_kernel_reinjects_on_an_idle_subflow() {
    let mut sender = Sender::new(Controller::Lia, &[(10, 20), (10, 40)]);
    sender.run(&mut Scheduler::LinuxDefault(LinuxDefault::default()), 1_000 * MS);
    let again_on = |sender: &Sender, backup: bool, stale_count: u8| {
        let mut views: Vec<View> = (0..)
            .zip(&sender.subflows)
            .map(|(id, subflow)| subflow.view(sender.now, id))
            .collect();
        (views[0].stale_count, views[1].backup) = (stale_count, backup);
        LinuxDefault::retransmit_on(&Connection {
            subflows: &views,
            window_left: Bytes::from_kib(64),
            unassigned: Bytes::ZERO,
        })
    };
    assert_eq!(again_on(&sender, false, 0), None, "both are busy");
    sender.now += 1_000 * MS;
    sender.acknowledge(1);
    assert_eq!(again_on(&sender, false, 0), Some(1));
    assert_eq!(again_on(&sender, true, 1), None, "a backup waits");
    assert_eq!(
        again_on(&sender, true, 2),
        Some(1),
        "a backup is used once the others are stuck"
    );
}

/// A competitor as in `sim`: CUBIC alone on a path of 20 Mb/s and 40 ms.
#[test]
fn background_traffic_fills_its_path() {
    let mut subflow = Subflow::new(20, 40);
    let mut cubic = Cubic::default();
    for ms in 0..20_000 {
        let now = Instant::from_millis(ms);
        while subflow.flying.front().is_some_and(|at| *at <= now) {
            subflow.flying.pop_front();
            subflow.delivered += 1;
            let increase = cubic.increase(ms * 1_000, 1, subflow.cwnd, 40_000);
            let more = subflow.credit.add(increase, 1);
            subflow.cwnd = subflow.cwnd.saturating_add_signed(more).max(2);
        }
        while (subflow.flying.len() as u32) < subflow.cwnd {
            if !subflow.send(now) {
                if now >= subflow.recovers_until {
                    subflow.cwnd = cubic.after_loss(subflow.cwnd);
                    subflow.recovers_until = now + subflow.srtt(now);
                }
                break;
            }
        }
    }
    // 1,726 segments per second for 20 s.
    assert!(subflow.delivered > 34_520 * 85 / 100, "{}", subflow.delivered);
}
