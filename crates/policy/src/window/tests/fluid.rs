//! The controller against links with rates, round trips and queues, and a sender that fills them as Linux does.
//!
//! The next bytes go to the subflow whose queue, over its pacing rate, is shortest (`mptcp_subflow_get_send`); each subflow has a congestion
//! window that doubles, then grows by a segment in a round trip, and is halved by what does not fit into its link's queue. What was lost comes a
//! round trip through that queue later, and what lies behind it waits for it. The window counts from what has arrived in order, and its right
//! edge does not move back.
//!
//! What it leaves out: packets (it moves blocks), time-outs, losses other than by overflow, and noise of the host's own.

use super::super::*;
use crate::estimate::arrivals::Arrivals;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use proptest::prelude::*;

const STEP: Duration = Duration::from_millis(5);
const LOOK_EVERY: u64 = 10;
const BLOCK: u64 = 4_344;
/// What a stock host lets its peer send ahead.
const STOCK: Bytes = Bytes::new(6_000_000);

/// What a link is like.
#[derive(Debug, Clone, Copy)]
struct Shape {
    mbps: u64,
    rtt_ms: u64,
    /// Its queue, in tenths of its product of rate and round trip.
    queue_tenths: u64,
}

impl Shape {
    fn rate(self) -> Bitrate {
        Bitrate::from_mbps(self.mbps)
    }

    fn rtt(self) -> Duration {
        Duration::from_millis(self.rtt_ms)
    }

    fn queue(self) -> Duration {
        // Room for a burst of the sender at least.
        (self.rtt() * self.queue_tenths as u32 / 10).max(Duration::from_millis(20))
    }
}

/// A link, and the subflow over it.
#[derive(Debug)]
struct Link {
    shape: Shape,
    window: u64,
    threshold: u64,
    cut_at: Instant,
    /// When all that was sent has left the queue.
    free_at: Instant,
    /// Blocks that wait for room in the congestion window.
    unsent: VecDeque<u64>,
    /// When each block under way is acknowledged.
    under_way: Vec<Instant>,
    arrivals: Arrivals,
    received: u64,
}

impl Link {
    fn new(now: Instant, shape: Shape) -> Self {
        Self {
            shape,
            window: 10 * BLOCK,
            threshold: u64::MAX,
            cut_at: now,
            free_at: now,
            unsent: VecDeque::new(),
            under_way: Vec::new(),
            arrivals: Arrivals::new(now),
            received: 0,
        }
    }

    fn smoothed_rtt(&self, now: Instant) -> Duration {
        self.shape.rtt() + (self.free_at - now)
    }

    /// Nanoseconds that what it has would take at its pacing rate.
    fn linger(&self, now: Instant) -> u128 {
        let queued = (self.unsent.len() + self.under_way.len()) as u128 * u128::from(BLOCK);
        queued * self.smoothed_rtt(now).as_nanos() / u128::from(self.window)
    }

    fn acknowledge(&mut self, now: Instant) {
        let before = self.under_way.len();
        self.under_way.retain(|at| *at > now);
        let acknowledged = (before - self.under_way.len()) as u64 * BLOCK;
        let is_limited = before as u64 * BLOCK + BLOCK > self.window;
        if acknowledged > 0 && is_limited {
            self.window += match self.window < self.threshold {
                true => acknowledged,
                false => (1_448 * acknowledged / self.window).max(1),
            };
        }
    }

    /// Sends what the congestion window lets through; the blocks, and when they arrive.
    fn send(&mut self, now: Instant) -> Vec<(Instant, u64)> {
        let mut sent = Vec::new();
        while (self.under_way.len() as u64 + 1) * BLOCK <= self.window {
            let Some(block) = self.unsent.pop_front() else {
                break;
            };
            let queue = self.free_at - now;
            let one_way = self.shape.rtt() / 2;
            let overflows = queue > self.shape.queue();
            self.free_at = self.free_at.max(now) + self.shape.rate().time_for(Bytes::new(BLOCK)).unwrap();
            let again = if overflows {
                self.shape.rtt() + queue
            } else {
                Duration::ZERO
            };
            if overflows && now - self.cut_at > self.smoothed_rtt(now) {
                self.threshold = (self.window / 2).max(2 * BLOCK);
                (self.window, self.cut_at) = (self.threshold, now);
            }
            let arrives = self.free_at + one_way + again;
            self.under_way.push(arrives + one_way);
            sent.push((arrives, block));
        }
        sent
    }
}

/// One connection over some links.
struct World {
    now: Instant,
    steps: u64,
    links: Vec<Link>,
    window: Window,
    changes: Vec<(Instant, Bytes)>,
    /// What the application asks for, in percent of what the links carry; over 100: all there is.
    demand: u64,
    offered: u64,
    next_block: u64,
    edge: u64,
    on_the_way: Vec<(Instant, usize, u64)>,
    in_order: u64,
    held: BTreeSet<u64>,
    acknowledgements: VecDeque<(Instant, u64)>,
}

impl World {
    fn new(shapes: &[Shape]) -> Self {
        let now = Instant::from_secs(1);
        Self {
            now,
            steps: 0,
            links: shapes.iter().map(|&shape| Link::new(now, shape)).collect(),
            window: Window::default(),
            changes: Vec::new(),
            demand: 1_000,
            offered: 0,
            next_block: 0,
            edge: STOCK.get() / BLOCK,
            on_the_way: Vec::new(),
            in_order: 0,
            held: BTreeSet::new(),
            acknowledgements: VecDeque::new(),
        }
    }

    fn capacity(&self) -> Bitrate {
        self.links.iter().map(|link| link.shape.rate()).sum()
    }

    fn longest(&self) -> Duration {
        self.links.iter().map(|link| link.shape.rtt()).max().unwrap()
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 200 {
            self.step();
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        self.steps += 1;
        self.offered += (self.capacity().percent(self.demand) * STEP).get();
        self.receive();
        self.hear_acknowledgements();
        self.assign();
        for (number, link) in self.links.iter_mut().enumerate() {
            let sent = link.send(self.now);
            self.on_the_way
                .extend(sent.into_iter().map(|(at, block)| (at, number, block)));
        }
        if self.steps.is_multiple_of(LOOK_EVERY) {
            self.look();
        }
    }

    fn receive(&mut self) {
        let now = self.now;
        let (arrived, later) = self.on_the_way.drain(..).partition(|(at, ..)| *at <= now);
        self.on_the_way = later;
        let arrived: Vec<(Instant, usize, u64)> = arrived;
        for (_, number, block) in arrived {
            self.links[number].received += BLOCK;
            self.held.insert(block);
        }
        while self.held.remove(&self.in_order) {
            self.in_order += 1;
        }
        for link in &mut self.links {
            link.arrivals
                .read(now, link.received / 1_448, Bytes::new(link.received));
        }
        let back = self.links.iter().map(|link| link.shape.rtt() / 2).min().unwrap();
        let window = self.window.bound().unwrap_or(STOCK);
        let edge = self.in_order + window.get() / BLOCK;
        self.acknowledgements.push_back((now + back, edge));
    }

    fn hear_acknowledgements(&mut self) {
        while self
            .acknowledgements
            .front()
            .is_some_and(|(at, _)| *at <= self.now)
        {
            let (_, edge) = self.acknowledgements.pop_front().unwrap();
            self.edge = self.edge.max(edge);
        }
        for link in &mut self.links {
            link.acknowledge(self.now);
        }
    }

    fn assign(&mut self) {
        let now = self.now;
        while self.next_block < self.edge && (self.next_block + 1) * BLOCK <= self.offered {
            let link = self.links.iter_mut().min_by_key(|link| link.linger(now)).unwrap();
            // The sender's own buffer.
            if link.unsent.len() as u64 * BLOCK > 1_000_000 {
                break;
            }
            link.unsent.push_back(self.next_block);
            self.next_block += 1;
        }
    }

    fn look(&mut self) {
        let now = self.now;
        let need = Need {
            rate: self.links.iter().map(|link| link.arrivals.best_rate(now)).sum(),
            links: self.links.len(),
            queued: false,
            rtt: self.longest(),
            repair: Duration::ZERO,
            wired: true,
            drains: false,
            received: Bytes::new(self.in_order * BLOCK),
            sinking: false,
            held: Bytes::new(self.held.len() as u64 * BLOCK),
        };
        let changed = self.window.update(now, need);
        self.changes.extend(changed.map(|window| (now, window)));
    }
}

fn any_link() -> impl Strategy<Value = Shape> {
    (5u64..40, 10u64..100, 5u64..40).prop_map(|(mbps, rtt_ms, queue_tenths)| Shape {
        mbps,
        rtt_ms,
        queue_tenths,
    })
}

fn any_links() -> impl Strategy<Value = Vec<Shape>> {
    proptest::collection::vec(any_link(), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// From the first moments on, whatever the links are.
    #[test]
    fn a_window_stays_within_its_bounds(shapes in any_links()) {
        let mut world = World::new(&shapes);
        world.run(60);
        prop_assert!(!world.changes.is_empty());
        prop_assert!(world.changes.iter().all(|(_, window)| (LEAST..=MOST).contains(window)), "{:?}", world.changes);
    }

    /// An idle connection says nothing about windows, whatever experiment was on.
    #[test]
    fn where_nothing_is_asked_nothing_changes(shapes in any_links(), busy_for in 5u64..40) {
        let mut world = World::new(&shapes);
        world.run(busy_for);
        world.demand = 0;
        world.offered = world.next_block * BLOCK;
        // What the links have shown is believed for ten seconds.
        world.run(12);
        let settled = world.changes.len();
        world.run(60);
        prop_assert_eq!(world.changes.len(), settled, "{:?}", &world.changes[settled..]);
    }
}
