//! Two access points that share the client's address, and a hand-off from one to the other under a connection that stays.
//!
//! # Where we differ from radios, and why
//! 1. An access point needs between half and one and a half times its mean for each segment, and acknowledgements up to half a millisecond
//!    more than their way: without noise all hand-offs of a kind would be one.
//! 2. Half of the round trip is before the access point's queue, half behind it, and acknowledgements meet no queue.
//! 3. Each segment is acknowledged, and each acknowledgement names all that has arrived (as many SACK blocks as there are holes).
//! 4. The sender learns of the hand-off when the new access point is there, as one does that is the mobile itself.

use super::board::Segment;
use super::sender::{Counts, Detection, Kind, MSS, Sender};
use crate::model::Agenda;
use std::collections::{BTreeSet, VecDeque};
use units::{Bytes, Duration, Instant, Rng};

const MS: Duration = Duration::from_millis(1);
/// With its headers.
const PACKET: Bytes = Bytes::new(1_500);
/// An access point's queue is so long, or so many packets.
const QUEUE: Duration = Duration::from_millis(100);
const SHORTEST_QUEUE: usize = 20;
/// What acknowledgements may be late by.
const NOISE: Duration = Duration::from_micros(500);
/// Hand-offs are between these two, wherever on the saw of its window the sender is.
const EARLIEST: Instant = Instant::from_secs(4);
const SPREAD: Duration = Duration::from_secs(3);
/// A path fades for so long.
const FADES: Duration = Duration::from_secs(2);
/// What is looked at begins so long before the one access point is left, and ends as long after the other is reached; as in `bench cc-handoff`.
const AROUND: Duration = Duration::from_millis(2_500);

/// A path over one access point.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub mbps: u64,
    pub rtt_ms: u32,
}

/// What becomes of what is on its way to the access point that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Lost,
    /// It is held, and the next access point gets it once the client is there.
    Forwarded,
}

/// How the client goes from one to the other.
#[derive(Debug, Clone, Copy)]
pub struct HandOff {
    /// For so long the client is at neither; up to a quarter less or more.
    pub gap_ms: u32,
    pub left: Left,
    /// The sender was told before that the path fades.
    pub foreseen: bool,
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    pub links: [Link; 2],
    /// `None`: the client stays.
    pub hand_off: Option<HandOff>,
    /// The first window and threshold of a subflow that is looked at from its beginning.
    pub first: Option<(u32, u32)>,
    pub kind: Kind,
    pub detection: Detection,
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// How long was looked at around the hand-off: the segments that the application got in it, in order, and that were sent again.
    pub over: Duration,
    pub got: u64,
    pub again: u64,
    /// The longest time in it without anything to read.
    pub silent: Duration,
    /// From here on: of the whole run. Transmissions.
    pub sent: u64,
    pub arrived: u64,
    pub dropped: u64,
    pub under_way: u64,
    /// Of those that have arrived: for the second time.
    pub twice: u64,
    pub got_in_all: u64,
    pub acknowledged: u64,
    pub forwarded: u64,
    pub reordered: bool,
    pub counts: Counts,
}

impl Outcome {
    pub fn mbps(&self) -> f64 {
        (self.got * u64::from(MSS)) as f64 * 8e-6 / self.over.as_secs_f64()
    }
}

struct AccessPoint {
    service: Duration,
    way: Duration,
    limit: usize,
    queue: VecDeque<Segment>,
    /// Which of its services goes on.
    serving: Option<u64>,
    served: u64,
    /// When its last acknowledgement arrives: they do not overtake each other.
    answered: Instant,
    random: Rng,
}

impl AccessPoint {
    fn new(link: Link, seed: u64, name: &str) -> Self {
        let rate = units::Bitrate::from_mbps(link.mbps);
        let service = rate.time_for(PACKET).expect("a rate");
        Self {
            service,
            way: link.rtt_ms * MS / 2,
            limit: SHORTEST_QUEUE.max((QUEUE.as_nanos() / service.as_nanos()) as usize),
            queue: VecDeque::new(),
            serving: None,
            served: 0,
            answered: Instant::ZERO,
            random: Rng::named(seed, name),
        }
    }

    /// The next service, and when it is over.
    fn begin(&mut self, now: Instant) -> Option<(Instant, u64)> {
        if self.serving.is_some() || self.queue.is_empty() {
            return None;
        }
        self.served += 1;
        self.serving = Some(self.served);
        let noise = self.random.duration_up_to(self.service);
        Some((now + self.service / 2 + noise, self.served))
    }

    /// When an acknowledgement that leaves now is at the sender.
    fn answer(&mut self, now: Instant) -> Instant {
        let noise = self.random.duration_up_to(NOISE);
        self.answered = self.answered.max(now + self.way + noise);
        self.answered
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Reaches(usize, Segment),
    Served(usize, u64),
    /// An acknowledgement of so many arrivals.
    Answers(usize),
    Fades,
    Leaves,
    Joins,
    Wakes,
}

/// The client: what has arrived.
#[derive(Default)]
struct Client {
    log: Vec<Segment>,
    next: u64,
    early: BTreeSet<u64>,
    /// When there was something to read last.
    read: Instant,
}

struct World {
    walk: Walk,
    points: [AccessPoint; 2],
    /// Where the client is; `None` between the two.
    at: Option<usize>,
    /// The next access point was reached.
    joined: bool,
    /// What is looked at.
    from: Instant,
    until: Instant,
    client: Client,
    sender: Sender,
    /// So many arrivals are known to the sender.
    heard: usize,
    agenda: Agenda<Instant, Event>,
    woken_at: Option<Instant>,
    out: Vec<Segment>,
    outcome: Outcome,
}

/// Plays a walk from its beginning until some seconds after the hand-off, or after where it would have been.
pub fn play(walk: Walk) -> Outcome {
    let mut world = World::new(walk);
    world.run();
    world.close()
}

impl World {
    fn new(walk: Walk) -> Self {
        let [before, after] = walk.links;
        let left_at = EARLIEST + Rng::named(walk.seed, "hand-off").duration_up_to(SPREAD);
        let gap = walk.hand_off.map_or(0, |how| how.gap_ms) * MS;
        let joined_at = left_at + gap * 3 / 4 + Rng::named(walk.seed, "gap").duration_up_to(gap / 2);
        let mut agenda = Agenda::new();
        if let Some(hand_off) = walk.hand_off {
            if hand_off.foreseen {
                agenda.at(left_at - FADES, Event::Fades);
            }
            agenda.at(left_at, Event::Leaves);
            agenda.at(joined_at, Event::Joins);
        }
        Self {
            walk,
            points: [
                AccessPoint::new(before, walk.seed, "before"),
                AccessPoint::new(after, walk.seed, "after"),
            ],
            at: Some(0),
            joined: false,
            from: if walk.first.is_some() {
                Instant::ZERO
            } else {
                left_at - AROUND
            },
            until: if walk.first.is_some() {
                Instant::ZERO + AROUND
            } else {
                joined_at + AROUND
            },
            client: Client::default(),
            sender: Sender::new(walk.kind, walk.detection),
            heard: 0,
            agenda,
            woken_at: None,
            out: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    fn run(&mut self) {
        if let Some((cwnd, ssthresh)) = self.walk.first {
            self.sender.begin_with(cwnd, ssthresh);
        }
        self.sender.send(Instant::ZERO, &mut self.out);
        self.put_out(Instant::ZERO);
        while let Some((now, event)) = self.agenda.take() {
            if now > self.until {
                self.outcome.under_way += u64::from(matches!(event, Event::Reaches(..)));
                break;
            }
            self.happen(now, event);
            self.put_out(now);
        }
        self.read(self.until);
    }

    fn happen(&mut self, now: Instant, event: Event) {
        match event {
            Event::Reaches(point, segment) => self.enqueue(now, point, segment),
            Event::Served(point, service) => {
                if self.points[point].serving == Some(service) {
                    self.deliver(now, point);
                }
            }
            Event::Answers(count) => {
                if count > self.heard {
                    let arrivals = &self.client.log[self.heard..count];
                    self.sender.acknowledge(now, arrivals);
                    self.heard = count;
                    self.sender.send(now, &mut self.out);
                }
            }
            Event::Fades => self.sender.fade(),
            Event::Leaves => self.leave(),
            Event::Joins => self.join(now),
            Event::Wakes => {
                if self.woken_at == Some(now) {
                    self.woken_at = None;
                }
                if self.sender.wake_at().is_some_and(|at| at <= now) {
                    self.sender.wake(now, &mut self.out);
                }
            }
        }
    }

    /// What the sender has sent goes on its way, and its next wake is noted.
    fn put_out(&mut self, now: Instant) {
        let point = usize::from(self.joined);
        let reaches = now + self.points[point].way;
        for segment in self.out.drain(..) {
            self.outcome.sent += 1;
            if segment.again && now >= self.from {
                self.outcome.again += 1;
            }
            self.agenda.at(reaches, Event::Reaches(point, segment));
        }
        if let Some(at) = self.sender.wake_at()
            && self.woken_at.is_none_or(|woken| at < woken)
        {
            let at = at.max(now);
            self.woken_at = Some(at);
            self.agenda.at(at, Event::Wakes);
        }
    }

    fn enqueue(&mut self, now: Instant, point: usize, segment: Segment) {
        let gone = point == 0 && self.at != Some(0);
        let forwards = self.walk.hand_off.is_some_and(|how| how.left == Left::Forwarded);
        let point = match (gone, forwards) {
            (true, false) => {
                self.outcome.dropped += 1;
                return;
            }
            (true, true) if self.joined => {
                self.outcome.forwarded += 1;
                1
            }
            _ => point,
        };
        let place = &mut self.points[point];
        if place.queue.len() >= place.limit {
            self.outcome.dropped += 1;
        } else {
            place.queue.push_back(segment);
        }
        self.serve(now, point);
    }

    fn serve(&mut self, now: Instant, point: usize) {
        if self.at != Some(point) {
            return;
        }
        if let Some((over, service)) = self.points[point].begin(now) {
            self.agenda.at(over, Event::Served(point, service));
        }
    }

    fn deliver(&mut self, now: Instant, point: usize) {
        let place = &mut self.points[point];
        place.serving = None;
        let segment = place.queue.pop_front().expect("it was served");
        let answered = place.answer(now);
        self.receive(now, segment);
        self.agenda.at(answered, Event::Answers(self.client.log.len()));
        self.serve(now, point);
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        let client = &mut self.client;
        client.log.push(segment);
        self.outcome.arrived += 1;
        if segment.number < client.next || client.early.contains(&segment.number) {
            self.outcome.twice += 1;
            return;
        }
        let before = client.next;
        if segment.number > before {
            client.early.insert(segment.number);
            return;
        }
        client.next += 1;
        while client.early.remove(&client.next) {
            client.next += 1;
        }
        let got = client.next - before;
        self.outcome.got += if now >= self.from { got } else { 0 };
        self.read(now);
    }

    /// There is something to read, or all is over.
    fn read(&mut self, now: Instant) {
        let since = self.client.read.max(self.from);
        self.outcome.silent = self.outcome.silent.max(now - since);
        self.client.read = now;
    }

    /// The access point has no client any more. What it was just sending comes to nothing.
    fn leave(&mut self) {
        self.at = None;
        let place = &mut self.points[0];
        place.serving = None;
        if self.walk.hand_off.is_some_and(|how| how.left == Left::Lost) {
            self.outcome.dropped += place.queue.len() as u64;
            place.queue.clear();
        }
    }

    fn join(&mut self, now: Instant) {
        self.at = Some(1);
        self.joined = true;
        let held: Vec<Segment> = self.points[0].queue.drain(..).collect();
        for segment in held {
            self.outcome.forwarded += 1;
            self.enqueue(now, 1, segment);
        }
        self.sender.hand_off(now);
        self.sender.send(now, &mut self.out);
    }

    fn close(mut self) -> Outcome {
        while let Some((_, event)) = self.agenda.take() {
            self.outcome.under_way += u64::from(matches!(event, Event::Reaches(..)));
        }
        let queued = self.points.iter().map(|point| point.queue.len() as u64);
        self.outcome.under_way += queued.sum::<u64>();
        Outcome {
            over: self.until - self.from,
            got_in_all: self.client.next,
            acknowledged: self.sender.acknowledged(),
            reordered: self.sender.has_seen_reordering(),
            counts: self.sender.counts,
            ..self.outcome
        }
    }
}
