//! A fluid model of nsdi15 §6.2.1: one sender, two or more subflows over access points that share the air,
//! and TCP flows that compete for an access point's uplink.
//!
//! Windows are TCP's, per subflow, with the increases of [`Controller`]. A loss or a mark halves a window at
//! most once per round trip. The air is a packet-fair (weighted) queue: what an access point sends costs its
//! packet time. A packet has no size in bytes. Time advances by a millisecond.
//!
//! It leaves out timeouts, delayed acknowledgements, reordering, and backlog that the sender has already
//! assigned to a subflow. Instead of the latter, an order acts after a round trip and 100 ms.

use crate::cc::{Controller, Flow, Interval};
use crate::io::LinkId;
use crate::wifi::steer::{AccessPoint, Order, Reading, Steering, Step};
use std::collections::VecDeque;
use units::{Bitrate, Bytes, Duration, Instant, Ratio, Rng};

pub(super) const PACKET: Bytes = Bytes::new(1_500);
const STEP_S: f64 = 0.001;
const LOOK_EVERY: u64 = 100;
const BUFFER: f64 = 200.0;
const INITIAL_WINDOW: f64 = 10.0;

/// A TCP window.
#[derive(Debug, Clone)]
struct Tcp {
    window: f64,
    threshold: f64,
    cut_at: f64,
    interval: Interval,
    rtt: f64,
}

impl Tcp {
    fn new(rtt: f64) -> Self {
        Self {
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            cut_at: -1.0,
            interval: Interval::default(),
            rtt,
        }
    }

    fn rate(&self) -> f64 {
        self.window / self.rtt
    }

    fn cut(&mut self, now: f64) {
        if now - self.cut_at < self.rtt {
            return;
        }
        self.cut_at = now;
        self.interval.lost();
        self.window = (self.window / 2.0).max(1.0);
        self.threshold = self.window.max(2.0);
    }

    fn restart(&mut self) {
        self.threshold = self.threshold.min(self.window * 0.75).max(2.0);
        self.window = self.window.min(INITIAL_WINDOW);
    }

    fn flow(&self) -> Flow {
        Flow {
            cwnd: self.window.round().max(1.0) as u32,
            srtt_us: (self.rtt * 1e6) as u32,
            interval: self.interval,
            ..Flow::default()
        }
    }
}

/// TCP flows that compete for an uplink, and its queue.
#[derive(Debug, Clone)]
struct Uplink {
    rate: f64,
    queue: f64,
    rivals: Vec<Tcp>,
    to_drop: f64,
}

/// An access point and the subflow over it.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) packet_s: f64,
    pub(super) weight: f64,
    pub(super) base_rtt: f64,
    queue: f64,
    uplink: Option<Uplink>,
    tcp: Tcp,
    backup: bool,
    mark: f64,
    to_mark: f64,
    delivered: f64,
}

impl Point {
    pub(super) fn new(packet_ms: f64, rtt_ms: f64) -> Self {
        Self {
            packet_s: packet_ms / 1e3,
            weight: 1.0,
            base_rtt: rtt_ms / 1e3,
            queue: 0.0,
            uplink: None,
            tcp: Tcp::new(rtt_ms / 1e3),
            backup: false,
            mark: 0.0,
            to_mark: 0.0,
            delivered: 0.0,
        }
    }

    pub(super) fn weighing(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// Puts it behind an uplink of this many Mb/s, shared with `rivals` TCP flows.
    pub(super) fn behind(self, mbps: f64, rivals: usize) -> Self {
        let mut point = Self {
            uplink: Some(Uplink {
                rate: mbps * 1e6 / PACKET.bits() as f64,
                queue: 0.0,
                rivals: Vec::new(),
                to_drop: 0.0,
            }),
            ..self
        };
        point.rivals(rivals);
        point
    }

    fn flow(&self, idle_counts: bool) -> Flow {
        if self.backup && !idle_counts {
            Flow::default()
        } else {
            self.tcp.flow()
        }
    }

    pub(super) fn rivals(&mut self, rivals: usize) {
        let rtt = self.base_rtt;
        if let Some(uplink) = &mut self.uplink {
            uplink.rivals.resize_with(rivals, || Tcp::new(rtt));
        }
    }
}

/// The whole model.
pub(super) struct World {
    pub(super) points: Vec<Point>,
    /// The share of the air that other stations take.
    pub(super) strangers: f64,
    /// Relative error of a measurement.
    pub(super) noise: f64,
    pub(super) controller: Controller,
    pub(super) steering: Steering,
    pub(super) steps: Vec<(f64, Step)>,
    /// Whether the windows of backup subflows count in a coupled increase.
    pub(super) idle_counts: bool,
    rng: Rng,
    ticks: u64,
    busy: f64,
    looked: Vec<f64>,
    waiting: VecDeque<(f64, Step)>,
}

impl World {
    pub(super) fn new(points: Vec<Point>, controller: Controller, steering: Steering, seed: u64) -> Self {
        Self {
            looked: vec![0.0; points.len()],
            points,
            strangers: 0.0,
            noise: 0.0,
            controller,
            steering,
            steps: Vec::new(),
            idle_counts: false,
            rng: Rng::named(seed, "fluid"),
            ticks: 0,
            busy: 0.0,
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn now(&self) -> f64 {
        self.ticks as f64 * STEP_S
    }

    /// Total packets that arrived.
    pub(super) fn delivered(&self) -> f64 {
        self.points.iter().map(|point| point.delivered).sum()
    }

    /// Runs for this many seconds. Returns the Mb/s that arrived in them.
    pub(super) fn run(&mut self, seconds: f64) -> f64 {
        let before = self.delivered();
        for _ in 0..(seconds / STEP_S).round() as u64 {
            self.step();
        }
        (self.delivered() - before) * PACKET.bits() as f64 / seconds / 1e6
    }

    fn step(&mut self) {
        self.ticks += 1;
        let arriving: Vec<f64> = (0..self.points.len()).map(|at| self.through_uplink(at)).collect();
        let served = self.through_air(&arriving);
        let flows: Vec<Flow> = self
            .points
            .iter()
            .map(|point| point.flow(self.idle_counts))
            .collect();
        for (at, &served) in served.iter().enumerate() {
            self.acknowledge(at, served, &flows);
        }
        if self.ticks.is_multiple_of(LOOK_EVERY) {
            self.look();
        }
        self.carry_out();
    }

    /// Packets that reach the access point in this step.
    fn through_uplink(&mut self, at: usize) -> f64 {
        let now = self.now();
        let rng = &mut self.rng;
        let point = &mut self.points[at];
        let own = if point.backup {
            0.0
        } else {
            point.tcp.rate() * STEP_S
        };
        let Some(uplink) = &mut point.uplink else {
            return own;
        };
        let delay = uplink.queue / uplink.rate;
        let offered: Vec<f64> = uplink
            .rivals
            .iter_mut()
            .map(|rival| {
                rival.rtt = point.base_rtt + delay;
                rival.rate() * STEP_S
            })
            .collect();
        let all = own + offered.iter().sum::<f64>();
        let carried = (uplink.queue + all).min(uplink.rate * STEP_S);
        uplink.queue += all - carried;
        uplink.to_drop += (uplink.queue - BUFFER / 2.0).max(0.0);
        uplink.queue = uplink.queue.min(BUFFER / 2.0);
        while uplink.to_drop >= 1.0 {
            uplink.to_drop -= 1.0;
            let mut draw = rng.unit() * all;
            let hit = offered.iter().position(|rate| {
                draw -= rate;
                draw < 0.0
            });
            match hit {
                Some(rival) => uplink.rivals[rival].cut(now),
                None => point.tcp.cut(now),
            }
        }
        if all == 0.0 {
            return 0.0;
        }
        let share = carried / all;
        for (rival, rate) in uplink.rivals.iter_mut().zip(&offered) {
            grow(rival, rate * share, Controller::Reno, 0, None);
        }
        own * share
    }

    /// Packets that each access point sends in this step.
    fn through_air(&mut self, arriving: &[f64]) -> Vec<f64> {
        let air = (1.0 - self.strangers) * STEP_S;
        let demand: Vec<f64> = self
            .points
            .iter()
            .zip(arriving)
            .map(|(point, arriving)| point.queue + arriving)
            .collect();
        let served = packet_fair(&self.points, &demand, air);
        self.busy = self.strangers;
        for (at, point) in self.points.iter_mut().enumerate() {
            self.busy += served[at] * point.packet_s / STEP_S;
            let left = demand[at] - served[at];
            if left > BUFFER {
                point.tcp.cut(self.ticks as f64 * STEP_S);
            }
            point.queue = left.min(BUFFER);
        }
        served
    }

    fn acknowledge(&mut self, at: usize, served: f64, flows: &[Flow]) {
        let now = self.now();
        let air = self.air_of(at);
        let controller = self.controller;
        let point = &mut self.points[at];
        point.delivered += served;
        let uplink = point
            .uplink
            .as_ref()
            .map_or(0.0, |uplink| uplink.queue / uplink.rate);
        point.tcp.rtt = point.base_rtt + uplink + (point.queue + 1.0) * point.packet_s / air;
        point.to_mark += served * point.mark;
        if point.to_mark >= 1.0 {
            point.to_mark -= 1.0;
            point.tcp.cut(now);
        }
        if !point.backup {
            grow(&mut point.tcp, served, controller, at, Some(flows));
        }
    }

    /// The share of the air that an access point gets while packets wait in its queue.
    fn air_of(&self, at: usize) -> f64 {
        let mine = &self.points[at];
        let waiting = |point: &&Point| point.queue > 1.0;
        let all: f64 = self
            .points
            .iter()
            .filter(waiting)
            .map(|point| point.weight * point.packet_s)
            .sum();
        let share = if all > 0.0 && mine.queue > 1.0 {
            mine.weight * mine.packet_s / all
        } else {
            1.0
        };
        (share * (1.0 - self.strangers)).max(0.01)
    }

    fn look(&mut self) {
        let seconds = LOOK_EVERY as f64 * STEP_S;
        let mut points = Vec::new();
        for at in 0..self.points.len() {
            let point = self.points[at].clone();
            let packets = point.delivered - self.looked[at];
            self.looked[at] = point.delivered;
            let bps = packets * PACKET.bits() as f64 / seconds;
            points.push(AccessPoint {
                link: LinkId(at as u16),
                packet_time: Duration::from_secs_f64(point.packet_s * self.off()),
                goodput: Bitrate::from_bps((bps * self.off()) as u64),
                rtt: Duration::from_secs_f64(point.tcp.rtt),
                base_rtt: Duration::from_secs_f64(point.base_rtt),
                backup: point.backup,
            });
        }
        let reading = Reading {
            points: &points,
            busy: Ratio::clamped(self.busy * self.off()),
            wanting: true,
        };
        let mut steps = Vec::new();
        let now = Instant::from_millis(self.ticks);
        self.steering.look(now, &reading, &mut steps);
        for step in steps {
            let rtt = self.points[usize::from(step.link.0)].tcp.rtt;
            let delay = match step.order {
                Order::Backup(_) => rtt + 0.1,
                Order::Mark(_) => 0.0,
            };
            self.steps.push((self.now(), step));
            self.waiting.push_back((self.now() + delay, step));
        }
    }

    /// A random factor for the error of a measurement.
    fn off(&mut self) -> f64 {
        1.0 + self.noise * (2.0 * self.rng.unit() - 1.0)
    }

    fn carry_out(&mut self) {
        let now = self.now();
        let due = |(at, _): &(f64, Step)| *at <= now;
        while let Some((_, step)) = self.waiting.pop_front_if(|waiting| due(waiting)) {
            let point = &mut self.points[usize::from(step.link.0)];
            match step.order {
                Order::Mark(rate) => point.mark = rate.as_f64(),
                Order::Backup(backup) => {
                    if point.backup && !backup {
                        point.tcp.restart();
                    }
                    point.backup = backup;
                }
            }
        }
    }
}

fn grow(tcp: &mut Tcp, acked: f64, controller: Controller, own: usize, flows: Option<&[Flow]>) {
    tcp.interval.acknowledged((acked * PACKET.get() as f64) as u64);
    if tcp.window < tcp.threshold {
        tcp.window += acked;
        return;
    }
    let alone = [tcp.flow()];
    let (own, flows) = flows.map_or((0, alone.as_slice()), |flows| (own, flows));
    let increase = controller.increase(own, flows).0 as f64 / 4_294_967_296.0;
    tcp.window = (tcp.window + increase * acked).max(1.0);
}

/// What each may send of its demand: equal parts by weight, in packets, while there is air.
fn packet_fair(points: &[Point], demand: &[f64], air: f64) -> Vec<f64> {
    let mut served = vec![0.0; points.len()];
    let mut left = air;
    for _ in 0..points.len() {
        let open = |at: &usize| demand[*at] - served[*at] > 1e-12;
        let cost: f64 = (0..points.len())
            .filter(open)
            .map(|at| points[at].weight * points[at].packet_s)
            .sum();
        if cost == 0.0 || left <= 1e-15 {
            break;
        }
        let level = (0..points.len())
            .filter(open)
            .map(|at| (demand[at] - served[at]) / points[at].weight)
            .fold(left / cost, f64::min);
        for at in (0..points.len())
            .filter(|at| demand[*at] - served[*at] > 1e-12)
            .collect::<Vec<_>>()
        {
            served[at] += level * points[at].weight;
            left -= level * points[at].weight * points[at].packet_s;
        }
    }
    served
}
