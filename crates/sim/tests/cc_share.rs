//! Share of a bottleneck with queue management that coupled subflows take from a TCP flow. The model consists
//! only of windows, losses and noise, and shows the effect of the arithmetic without a kernel around it.
//!
//! # Sources
//! - RFC 8289 (CoDel, 5 ms, 100 ms), RFC 6937 (proportional rate reduction), RFC 6675 (a segment is lost once
//!   three behind it have arrived).
//!
//! # Where we differ, and why
//! 1. The service time of a segment varies between 0.5 and 1.5 times its mean, and ACKs are up to 0.5 ms
//!    late. Without noise flows lock into step, and shares depend on the phase.
//! 2. No time-outs: they do not happen at these windows.

use policy::cc::{Controller, Credit, Flow, Increase, Interval, MeanWindow, Prr};
use sim::EventQueue;
use std::collections::VecDeque;
use units::{Instant, Rng};

/// Service time of 1,500 bytes at 40 Mb/s, in ns. All times are in ns.
const SERVICE: u64 = 300_000;
const RTT: u64 = 20_000_000;
const NOISE: u64 = 500_000;
const S: u64 = 1_000_000_000;
const RUN: u64 = 45 * S;
const WARM_UP: u64 = 5 * S;
const TARGET: u64 = 5_000_000;
const INTERVAL: u64 = 100_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Segment {
    sender: usize,
    number: u64,
    sent: u64,
}

/// A queue with CoDel (RFC 8289).
#[derive(Default)]
struct Codel {
    queue: VecDeque<(u64, Segment)>,
    first_above: Option<u64>,
    dropping: bool,
    next: u64,
    count: u32,
    last: u32,
}

impl Codel {
    /// Removes the segment at the head. Also returns whether the queueing delay has been too long for too
    /// long.
    fn head(&mut self, now: u64) -> Option<(Segment, bool)> {
        let Some((came, segment)) = self.queue.pop_front() else {
            self.first_above = None;
            return None;
        };
        if now - came < TARGET || self.queue.is_empty() {
            self.first_above = None;
            return Some((segment, false));
        }
        let above = *self.first_above.get_or_insert(now + INTERVAL);
        Some((segment, now >= above))
    }

    fn law(&self, from: u64) -> u64 {
        from + (INTERVAL as f64 / f64::from(self.count).sqrt()) as u64
    }

    /// Next segment that is not dropped.
    fn take(&mut self, now: u64) -> Option<Segment> {
        let (mut segment, mut late) = self.head(now)?;
        if self.dropping {
            while late && now >= self.next {
                self.count += 1;
                (segment, late) = self.head(now)?;
                self.next = self.law(self.next);
            }
            self.dropping = late;
        } else if late {
            (segment, _) = self.head(now)?;
            self.dropping = true;
            let since = self.count - self.last;
            self.count = if since > 1 && now.saturating_sub(self.next) < 16 * INTERVAL {
                since
            } else {
                1
            };
            self.last = self.count;
            self.next = self.law(now);
        }
        Some(segment)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// In flight since this time.
    Out(u64),
    Arrived,
    Lost,
}

/// Recovery from a loss.
struct Recovery {
    until: u64,
    prr: Prr,
}

struct Sender {
    coupled: bool,
    cwnd: u32,
    ssthresh: u32,
    /// First segment that has not arrived, with the state of it and of those behind.
    first: u64,
    slots: VecDeque<Slot>,
    furthest: u64,
    in_flight: u32,
    recovery: Option<Recovery>,
    srtt: f64,
    mean: MeanWindow,
    interval: Interval,
    credit: Credit,
    growth: Increase,
    round_end: u64,
    delivered: u64,
    acked_at: u64,
    received: u64,
}

impl Sender {
    fn new(coupled: bool) -> Self {
        Self {
            coupled,
            cwnd: 10,
            ssthresh: u32::MAX,
            first: 0,
            slots: VecDeque::new(),
            furthest: 0,
            in_flight: 0,
            recovery: None,
            srtt: 0.0,
            mean: MeanWindow::default(),
            interval: Interval::default(),
            credit: Credit::default(),
            growth: Increase::default(),
            round_end: 0,
            delivered: 0,
            acked_at: 0,
            received: 0,
        }
    }

    fn flow(&self, own: bool, means: bool) -> Flow {
        Flow {
            cwnd: if own || self.recovery.is_none() {
                self.cwnd
            } else {
                self.ssthresh
            },
            srtt_us: (self.srtt / 1e3) as u32,
            mean: if means { self.mean } else { MeanWindow::default() },
            interval: self.interval,
        }
    }

    /// Number of the segment to send next: a lost one, or a new one.
    fn next(&mut self, now: u64) -> u64 {
        self.in_flight += 1;
        let lost = self.slots.iter().position(|slot| *slot == Slot::Lost);
        let at = lost.unwrap_or(self.slots.len());
        if lost.is_none() {
            self.slots.push_back(Slot::Out(now));
        }
        self.slots[at] = Slot::Out(now);
        self.first + at as u64
    }

    /// Processes an arrival. Returns whether it is new.
    fn arrived(&mut self, now: u64, segment: Segment) -> bool {
        let Some(at) = segment.number.checked_sub(self.first) else {
            return false;
        };
        if self.slots[at as usize] != Slot::Out(segment.sent) {
            return false;
        }
        self.slots[at as usize] = Slot::Arrived;
        self.in_flight -= 1;
        self.delivered += 1;
        self.interval.acknowledged(1_500);
        let rtt = (now - segment.sent) as f64;
        self.srtt += (rtt - self.srtt) / if self.srtt == 0.0 { 1.0 } else { 8.0 };
        self.furthest = self.furthest.max(segment.sent);
        while self.slots.front() == Some(&Slot::Arrived) {
            self.slots.pop_front();
            self.first += 1;
            self.received += u64::from(now > WARM_UP);
        }
        true
    }

    /// Marks segments as lost that were sent before one that has arrived, and have three arrivals ahead of
    /// them. Returns whether there are any.
    fn notice_losses(&mut self) -> bool {
        let last = self.slots.iter().rposition(|slot| *slot == Slot::Arrived);
        let Some(behind) = last.and_then(|last| last.checked_sub(2)) else {
            return false;
        };
        let mut noticed = false;
        for slot in self.slots.iter_mut().take(behind) {
            if matches!(slot, Slot::Out(sent) if *sent < self.furthest) {
                *slot = Slot::Lost;
                self.in_flight -= 1;
                noticed = true;
            }
        }
        noticed
    }

    /// Number of segments that may be sent now. At the end of a recovery the window becomes the threshold.
    fn repair(&mut self) -> u32 {
        let Some(recovery) = &mut self.recovery else {
            return self.cwnd.saturating_sub(self.in_flight);
        };
        if self.first >= recovery.until {
            self.recovery = None;
            self.cwnd = self.ssthresh;
            return self.cwnd.saturating_sub(self.in_flight);
        }
        recovery.prr.may_send(1, self.ssthresh, self.in_flight)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begins(usize),
    Served(Segment),
    Arrived(Segment),
}

/// Coupled subflows, then one TCP flow, at one bottleneck.
struct Model {
    controller: Controller,
    /// Whether the controller uses mean windows.
    means: bool,
    senders: Vec<Sender>,
    codel: Codel,
    busy: bool,
    events: EventQueue<Event>,
    random: Rng,
}

impl Model {
    fn new(controller: Controller, means: bool, subflows: usize, seed: u64) -> Self {
        let mut model = Self {
            controller,
            means,
            senders: (0..=subflows)
                .map(|sender| Sender::new(sender < subflows))
                .collect(),
            codel: Codel::default(),
            busy: false,
            events: EventQueue::default(),
            random: Rng::named(seed, "share"),
        };
        for sender in 0..=subflows {
            let begins = model.up_to(S / 10) + sender as u64 * S / 20;
            model.at(begins, Event::Begins(sender));
        }
        model
    }

    fn at(&mut self, nanos: u64, event: Event) {
        self.events.push(Instant::from_nanos(nanos), event);
    }

    fn up_to(&mut self, most: u64) -> u64 {
        self.random.next_u64() % most
    }

    fn run(&mut self) {
        while let Some((now, event)) = self.events.pop()
            && now < Instant::from_nanos(RUN)
        {
            let now = now.as_nanos();
            match event {
                Event::Begins(sender) => self.send(now, sender, 10),
                Event::Served(segment) => {
                    self.busy = false;
                    let back = now + RTT + self.up_to(NOISE);
                    let before = &mut self.senders[segment.sender].acked_at;
                    // ACKs do not overtake each other.
                    *before = back.max(*before);
                    let back = *before;
                    self.at(back, Event::Arrived(segment));
                    self.serve(now);
                }
                Event::Arrived(segment) => self.acknowledge(now, segment),
            }
        }
    }

    fn send(&mut self, now: u64, sender: usize, count: u32) {
        for _ in 0..count {
            let number = self.senders[sender].next(now);
            let sent = now;
            self.codel
                .queue
                .push_back((now, Segment { sender, number, sent }));
        }
        self.serve(now);
    }

    fn serve(&mut self, now: u64) {
        if self.busy {
            return;
        }
        if let Some(segment) = self.codel.take(now) {
            self.busy = true;
            let service = SERVICE / 2 + self.up_to(SERVICE);
            self.at(now + service, Event::Served(segment));
        }
    }

    fn acknowledge(&mut self, now: u64, segment: Segment) {
        let own = segment.sender;
        if !self.senders[own].arrived(now, segment) {
            return;
        }
        if self.senders[own].notice_losses() && self.senders[own].recovery.is_none() {
            self.lose(own);
        } else if self.senders[own].recovery.is_none() {
            self.grow(own);
        }
        let may = self.senders[own].repair();
        self.send(now, own, may);
    }

    fn lose(&mut self, own: usize) {
        let (controller, flows, at) = self.flows(own);
        let left = controller.after_loss(at, &flows);
        let sender = &mut self.senders[own];
        sender.mean.lost();
        sender.interval.lost();
        sender.round_end = sender.delivered;
        sender.ssthresh = left;
        sender.recovery = Some(Recovery {
            until: sender.first + sender.slots.len() as u64,
            prr: Prr::new(sender.cwnd),
        });
    }

    fn grow(&mut self, own: usize) {
        let sender = &mut self.senders[own];
        if sender.cwnd < sender.ssthresh {
            sender.cwnd += 1;
            return;
        }
        if sender.delivered >= sender.round_end {
            sender.mean.round(sender.cwnd);
            sender.round_end = sender.delivered + u64::from(sender.in_flight);
            let (controller, flows, at) = self.flows(own);
            self.senders[own].growth = controller.increase(at, &flows);
        }
        let sender = &mut self.senders[own];
        let more = sender.credit.add(sender.growth, 1);
        sender.cwnd = sender.cwnd.saturating_add_signed(more).max(2);
    }

    /// Input of a sender's controller, and the sender's index in it.
    fn flows(&self, own: usize) -> (Controller, Vec<Flow>, usize) {
        let means = self.means;
        if !self.senders[own].coupled {
            return (Controller::Reno, vec![self.senders[own].flow(true, means)], 0);
        }
        let coupled = self
            .senders
            .iter()
            .enumerate()
            .filter(|(_, sender)| sender.coupled);
        let flows = coupled.map(|(at, sender)| sender.flow(at == own, means));
        (self.controller, flows.collect(), own)
    }

    fn share(&self) -> f64 {
        let (rival, ours) = self.senders.split_last().expect("a rival");
        let ours: u64 = ours.iter().map(|sender| sender.received).sum();
        ours as f64 / rival.received as f64
    }
}

/// Mean share over `RUNS` runs.
fn share(controller: Controller, means: bool, subflows: usize) -> f64 {
    const RUNS: u64 = 24;
    let shares = (0..RUNS).map(|seed| {
        let mut model = Model::new(controller, means, subflows, seed);
        model.run();
        model.share()
    });
    let mean = shares.sum::<f64>() / RUNS as f64;
    println!("{controller:?}, means {means}, {subflows} subflows: {mean:.3}");
    mean
}

#[test]
fn each_uncoupled_subflow_takes_the_share_of_a_tcp_flow() {
    assert!((share(Controller::Reno, false, 1) - 1.0).abs() < 0.1);
    assert!((share(Controller::Reno, false, 2) - 2.0).abs() < 0.15);
    assert!((share(Controller::Reno, false, 4) - 4.0).abs() < 0.3);
}

#[test]
fn coupled_subflows_take_slightly_more_than_a_tcp_flow() {
    // Smoother sawteeth increase the share: sqrt(2·(1 − 1/4n)/p) over sqrt(3/2p) is 1.08 and 1.12 if losses
    // come at regular intervals.
    for controller in [Controller::Lia, Controller::Olia, Controller::Balia] {
        let (two, four) = (share(controller, true, 2), share(controller, true, 4));
        assert!((0.95..1.2).contains(&two), "{controller:?}: {two}");
        assert!((1.0..1.35).contains(&four), "{controller:?}: {four}");
    }
}

#[test]
fn alpha_from_current_windows_takes_more_than_from_mean_windows() {
    let [current, mean] = [false, true].map(|means| share(Controller::Lia, means, 4));
    share(Controller::Lia, false, 2);
    assert!(current > mean, "{current} against {mean}");
}
