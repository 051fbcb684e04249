//! Event loop of a walk.

use super::access_point::AccessPoint;
use super::client::{Client, Receipt};
use super::outcome::Outcome;
use super::walk::{Left, Place, Walk, WalkError, Watched};
use crate::queue::EventQueue;
use crate::tcp::{Segment, Sender};
use units::{Duration, Instant, Rng};

/// Earliest time of a hand-off, and the range that is added at random, so that it hits any point of the
/// congestion window's sawtooth.
const EARLIEST: Instant = Instant::from_secs(4);
const SPREAD: Duration = Duration::from_secs(3);
/// Duration of fading before a hand-off.
const FADES: Duration = Duration::from_secs(2);
/// The measured part begins this long before the client leaves the first access point. It ends this long
/// after the client reaches the second, as in `bench cc-handoff`.
const AROUND: Duration = Duration::from_millis(2_500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A transmission arrives at an access point.
    Reaches(usize, Segment),
    /// An access point has ended a service.
    Served(usize, u64),
    /// An ACK for this number of arrivals reaches the sender.
    Answers(usize),
    Fades,
    Leaves,
    Joins,
    Wakes,
}

/// Times of the hand-off and of the measured part.
#[derive(Debug, Clone, Copy)]
struct Times {
    left: Instant,
    joined: Instant,
    /// Measured part.
    from: Instant,
    until: Instant,
}

impl Times {
    fn of(walk: &Walk) -> Self {
        let left = EARLIEST + Rng::named(walk.seed, "hand-off").duration_up_to(SPREAD);
        let gap = walk.hand_off.map_or(Duration::ZERO, |how| how.gap);
        let joined = left + gap * 3 / 4 + Rng::named(walk.seed, "gap").duration_up_to(gap / 2);
        let (from, until) = match walk.watched {
            Watched::AroundTheHandOff => (left - AROUND, joined + AROUND),
            Watched::TheBeginning => (Instant::ZERO, Instant::ZERO + AROUND),
        };
        Self {
            left,
            joined,
            from,
            until,
        }
    }
}

#[derive(Debug)]
struct World<'w> {
    walk: &'w Walk,
    times: Times,
    points: [AccessPoint; 2],
    /// Access point of the client. `None` between the two.
    at: Option<usize>,
    /// Whether the client has reached the second access point.
    joined: bool,
    client: Client,
    /// Time of the last readable data.
    read: Instant,
    sender: Sender,
    /// Number of arrivals that the sender knows.
    heard: usize,
    events: EventQueue<Event>,
    woken_at: Option<Instant>,
    out: Vec<Segment>,
    outcome: Outcome,
}

/// Runs a walk from the start until some seconds after the hand-off, or after its time if there is none.
/// Equal walks give equal outcomes.
pub fn play(walk: &Walk) -> Result<Outcome, WalkError> {
    walk.check()?;
    let mut world = World::new(walk)?;
    world.run();
    Ok(world.close())
}

impl<'w> World<'w> {
    fn new(walk: &'w Walk) -> Result<Self, WalkError> {
        let [before, after] = walk.links;
        let random = |name| Rng::named(walk.seed, name);
        let points = [
            AccessPoint::new(Place::First, before, random("before"))?,
            AccessPoint::new(Place::Second, after, random("after"))?,
        ];
        let mut world = Self {
            walk,
            times: Times::of(walk),
            points,
            at: Some(0),
            joined: false,
            client: Client::default(),
            read: Instant::ZERO,
            sender: Sender::new(walk.sender)?,
            heard: 0,
            events: EventQueue::default(),
            woken_at: None,
            out: Vec::new(),
            outcome: Outcome::default(),
        };
        world.plan();
        Ok(world)
    }

    fn plan(&mut self) {
        let Some(hand_off) = self.walk.hand_off else {
            return;
        };
        let Times { left, joined, .. } = self.times;
        if hand_off.foreseen {
            self.events.push(left - FADES, Event::Fades);
        }
        self.events.push(left, Event::Leaves);
        self.events.push(joined, Event::Joins);
    }

    fn run(&mut self) {
        self.sender.send(Instant::ZERO, &mut self.out);
        self.dispatch(Instant::ZERO);
        while let Some((now, event)) = self.events.pop() {
            if now > self.times.until {
                self.outcome.under_way += u64::from(matches!(event, Event::Reaches(..)));
                break;
            }
            self.handle(now, event);
            self.dispatch(now);
        }
        self.record_read(self.times.until);
    }

    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Reaches(point, segment) => self.enqueue(now, point, segment),
            Event::Served(point, service) => self.deliver(now, point, service),
            Event::Answers(count) => self.answer(now, count),
            Event::Fades => self.sender.fade(),
            Event::Leaves => self.leave(),
            Event::Joins => self.join(now),
            Event::Wakes => self.wake(now),
        }
    }

    /// Puts the sender's transmissions on their way, and schedules its next wake.
    fn dispatch(&mut self, now: Instant) {
        let point = usize::from(self.joined);
        let reaches = now + self.points[point].way;
        for segment in self.out.drain(..) {
            self.outcome.sent += 1;
            if segment.retransmission && now >= self.times.from {
                self.outcome.retransmits += 1;
            }
            self.events.push(reaches, Event::Reaches(point, segment));
        }
        if let Some(at) = self.sender.wake_at()
            && self.woken_at.is_none_or(|woken| at < woken)
        {
            let at = at.max(now);
            self.woken_at = Some(at);
            self.events.push(at, Event::Wakes);
        }
    }

    fn wake(&mut self, now: Instant) {
        if self.woken_at == Some(now) {
            self.woken_at = None;
        }
        if self.sender.wake_at().is_some_and(|at| at <= now) {
            self.sender.wake(now, &mut self.out);
        }
    }

    fn answer(&mut self, now: Instant, count: usize) {
        if count > self.heard {
            let arrivals = self.client.between(self.heard, count);
            self.sender.acknowledge(now, arrivals);
            self.heard = count;
            self.sender.send(now, &mut self.out);
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
        self.outcome.dropped += u64::from(!self.points[point].enqueue(segment));
        self.serve(now, point);
    }

    fn serve(&mut self, now: Instant, point: usize) {
        if self.at != Some(point) {
            return;
        }
        if let Some((over, service)) = self.points[point].begin(now) {
            self.events.push(over, Event::Served(point, service));
        }
    }

    fn deliver(&mut self, now: Instant, point: usize, service: u64) {
        let Some((segment, answered)) = self.points[point].finish(now, service) else {
            return;
        };
        self.receive(now, segment);
        self.events.push(answered, Event::Answers(self.client.arrivals()));
        self.serve(now, point);
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        self.outcome.arrived += 1;
        match self.client.receive(segment) {
            Receipt::Duplicate => self.outcome.duplicates += 1,
            Receipt::Early => {}
            Receipt::Readable(segments) => {
                self.outcome.delivered += if now >= self.times.from { segments } else { 0 };
                self.record_read(now);
            }
        }
    }

    /// Records the silence up to now: data became readable, or the run ends.
    fn record_read(&mut self, now: Instant) {
        let since = self.read.max(self.times.from);
        self.outcome.longest_silence = self.outcome.longest_silence.max(now - since);
        self.read = now;
    }

    fn leave(&mut self) {
        self.at = None;
        self.points[0].abandon();
        if self.walk.hand_off.is_some_and(|how| how.left == Left::Lost) {
            self.outcome.dropped += self.points[0].drain().len() as u64;
        }
    }

    fn join(&mut self, now: Instant) {
        self.at = Some(1);
        self.joined = true;
        for segment in self.points[0].drain() {
            self.outcome.forwarded += 1;
            self.enqueue(now, 1, segment);
        }
        self.sender.hand_off(now);
        self.sender.send(now, &mut self.out);
    }

    fn close(mut self) -> Outcome {
        while let Some((_, event)) = self.events.pop() {
            self.outcome.under_way += u64::from(matches!(event, Event::Reaches(..)));
        }
        let waiting = self.points.iter().map(AccessPoint::waiting);
        self.outcome.under_way += waiting.sum::<u64>();
        Outcome {
            watched: self.times.until - self.times.from,
            delivered_in_all: self.client.read(),
            acknowledged: self.sender.scoreboard().first(),
            reordered: self.sender.scoreboard().seen_reordering(),
            counts: self.sender.counts(),
            ..self.outcome
        }
    }
}
