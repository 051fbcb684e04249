use super::*;
use crate::queue::mark::Diffusion;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// A Reno sender that always has data, and a link with an infinite queue.
struct Line {
    /// Segments per second.
    capacity: f64,
    base: Duration,
    cwnd: f64,
    slow_start: bool,
    /// When it may respond to a mark again.
    answers: Instant,
    queue: Queue,
    next_look: Instant,
    marks: Diffusion,
    rate: Ratio,
    now: Instant,
}

/// What was measured on a line.
#[derive(Debug, Default)]
struct Seen {
    carried: f64,
    seconds: f64,
    longest: Duration,
    marks: u32,
}

impl Line {
    fn new(capacity: f64, base: Duration) -> Self {
        Self {
            capacity,
            base,
            cwnd: 10.0,
            slow_start: true,
            answers: Instant::ZERO,
            queue: Queue::default(),
            next_look: Instant::ZERO,
            marks: Diffusion::new(),
            rate: Ratio::ZERO,
            now: Instant::ZERO,
        }
    }

    fn rtt(&self) -> Duration {
        let full = Duration::from_secs_f64(self.cwnd / self.capacity);
        full.max(self.base)
    }

    /// One round trip. A mark gets its response a round trip later, as it travels.
    fn round(&mut self, seen: &mut Seen) {
        let rtt = self.rtt();
        self.now += rtt;
        let load = Load {
            base: self.base,
            rtt,
            segments: (self.cwnd / rtt.as_secs_f64()) as u64,
            subflows: 1,
            young: None,
            own: false,
            beside: Duration::ZERO,
        };
        // A rate holds until the next tick, in this round or a later one.
        let part = EVERY.as_secs_f64().min(rtt.as_secs_f64()) / rtt.as_secs_f64();
        let marked = self.marks.due(self.rate, (self.cwnd * part) as u16);
        if self.now >= self.next_look {
            self.rate = self.queue.look(self.now, load);
            self.next_look = self.now + EVERY;
        }
        seen.carried += self.cwnd;
        seen.seconds += rtt.as_secs_f64();
        seen.longest = seen.longest.max(load.queue());
        seen.marks += marked;
        if marked > 0 && self.now >= self.answers {
            (self.cwnd, self.slow_start) = ((self.cwnd / 2.0).max(2.0), false);
            self.answers = self.now + rtt;
        } else if self.slow_start {
            self.cwnd *= 2.0;
        } else {
            self.cwnd += 1.0;
        }
    }

    fn run(&mut self, lasts: Duration) -> Seen {
        let (end, mut seen) = (self.now + lasts, Seen::default());
        while self.now < end {
            self.round(&mut seen);
        }
        seen
    }
}

fn lines() -> impl Iterator<Item = Line> {
    let rates = [3.0, 10.0, 30.0, 100.0];
    let bases = [10, 20, 50, 100, 300];
    let segments = |mbps: f64| mbps * 1e6 / 8.0 / 1_500.0;
    rates
        .into_iter()
        .flat_map(move |mbps| bases.map(|ms| Line::new(segments(mbps), ms * MS)))
}

#[test]
fn the_queue_stays_short_and_the_link_stays_busy() {
    for mut line in lines() {
        line.run(Duration::from_secs(500));
        let seen = line.run(Duration::from_secs(2_000));
        let (capacity, base) = (line.capacity, line.base);
        let used = seen.carried / seen.seconds / capacity;
        let segment = Duration::from_secs_f64(1.0 / capacity);
        assert!(seen.marks > 0, "{capacity} {base:?}: nothing was marked");
        // One mark takes at most four round trips, in each of which the queue grows by one segment.
        assert!(
            seen.longest <= base * 3 / 4 + 5 * MS + 8 * segment,
            "{capacity} {base:?}: {seen:?}"
        );
        assert!(used >= 0.92, "{capacity} {base:?}: {used}");
    }
}

#[test]
fn a_burst_is_not_a_queue() {
    let load = |queue: Duration| Load {
        base: 40 * MS,
        rtt: 40 * MS + queue,
        segments: 2_500,
        subflows: 1,
        young: None,
        own: false,
        beside: Duration::ZERO,
    };
    let mut queue = Queue::default();
    for look in 0..20 {
        let now = Instant::ZERO + 50 * MS * look;
        let stands = if look % 2 == 0 { 200 * MS } else { Duration::ZERO };
        assert_eq!(queue.look(now, load(stands)), Ratio::ZERO, "look {look}");
    }
    let begins = Instant::from_secs(10);
    assert_eq!(queue.look(begins, load(200 * MS)), Ratio::ZERO);
    let marked = queue.look(begins + 50 * MS, load(200 * MS));
    // One of those that arrive until the next tick, at 2,500 a second.
    assert_eq!(marked, Ratio::from_fraction(1, 125));
    for look in 2..16 {
        let again = queue.look(begins + 50 * MS * look, load(200 * MS));
        assert_eq!(again, Ratio::ZERO, "the answer takes three round trips");
    }
    assert_eq!(queue.look(begins + 820 * MS, load(200 * MS)), marked);
}

#[test]
fn a_slow_start_is_ended_once_by_the_first_sign_of_a_queue() {
    let (ms, rate) = (Instant::from_millis, Ratio::from_fraction(1, 16));
    let load = |queue: u32, young: Option<u32>| Load {
        base: 40 * MS,
        rtt: 40 * MS + queue * MS,
        segments: 1_000,
        subflows: 1,
        young: young.map(SubflowId),
        own: false,
        beside: Duration::ZERO,
    };
    let mut queue = Queue::default();
    assert_eq!(queue.look(ms(0), load(9, Some(1))), Ratio::ZERO);
    assert_eq!(queue.look(ms(10), load(11, None)), Ratio::ZERO, "it has grown up");
    assert_eq!(queue.look(ms(20), load(11, Some(1))), rate, "at once");
    // Sixteen packets contain one mark, and arrive within 16 ms.
    assert_eq!(queue.look(ms(30), load(20, Some(1))), rate);
    assert_eq!(queue.look(ms(50), load(29, Some(1))), Ratio::ZERO);
    for at in (60..2_000).step_by(10) {
        assert_eq!(queue.look(ms(at), load(29, Some(1))), Ratio::ZERO, "{at}");
    }
    assert_eq!(
        queue.look(ms(2_000), load(29, Some(2))),
        rate,
        "another one starts"
    );
}

#[test]
fn bursts_sent_by_this_host_are_marked_for_a_round_trip() {
    let ends = |own| {
        let load = Load {
            base: 40 * MS,
            rtt: 55 * MS,
            segments: 10_000,
            subflows: 1,
            young: Some(SubflowId(1)),
            own,
            beside: Duration::ZERO,
        };
        let mut queue = Queue::default();
        let marked = |at: &u32| queue.look(Instant::ZERO + MS * *at, load) > Ratio::ZERO;
        (1_000..2_000).take_while(marked).count()
    };
    assert_eq!((ends(false), ends(true)), (9, 40));
}

#[test]
fn a_subflow_on_a_shared_link_is_marked_as_often_as_one_alone() {
    let load = |subflows| Load {
        base: 20 * MS,
        rtt: 100 * MS,
        segments: 10_000,
        subflows,
        young: None,
        own: false,
        beside: Duration::ZERO,
    };
    let look = |subflows| {
        let mut queue = Queue::default();
        queue.look(Instant::ZERO, load(subflows));
        queue.look(Instant::ZERO + 50 * MS, load(subflows))
    };
    assert_eq!(look(1), Ratio::from_fraction(1, 500));
    assert_eq!(look(8), Ratio::from_fraction(8, 500));
}

#[test]
fn a_third_of_a_starved_links_round_trip_may_queue() {
    let load = |beside_ms| Load {
        base: Duration::from_millis(10),
        rtt: Duration::from_millis(60),
        segments: 2_000,
        subflows: 1,
        young: None,
        own: false,
        beside: Duration::from_millis(beside_ms),
    };
    let marks = |load: Load| {
        let mut queue = Queue::default();
        let looks = (0..10).map(|look| queue.look(Instant::ZERO + EVERY * look, load));
        looks.filter(|rate| *rate > Ratio::ZERO).count()
    };
    assert!(marks(load(0)) > 0, "50 ms are over three quarters of 10 ms");
    assert_eq!(marks(load(200)), 0, "50 ms are under a third of 200 ms");
    assert!(marks(load(100)) > 0, "50 ms are over a third of 100 ms");
}

proptest! {
    #[test]
    fn never_more_than_a_sixteenth(base_us in 0u64..1 << 40, rtt_us in 0u64..1 << 40, segments: u64, subflows in 1u64..1 << 20) {
        let load = Load {
            base: Duration::from_micros(base_us),
            rtt: Duration::from_micros(rtt_us),
            segments,
            subflows,
            young: None,
            own: false,
            beside: Duration::ZERO,
        };
        let mut queue = Queue::default();
        for look in 0..4u32 {
            let rate = queue.look(Instant::ZERO + Duration::from_secs(1 << 21) * look, load);
            prop_assert!(rate <= Ratio::from_fraction(1, 16));
            prop_assert!(rate == Ratio::ZERO || load.queue() >= load.target());
        }
    }
}
