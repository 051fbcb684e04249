//! Two slow links beside fast ones.

use super::{STEP, mbps};
use crate::io::LinkId;
use crate::slow::{Look, Slow, View};
use units::{Bitrate, Bytes, Duration, Instant};

/// Links of which each slow one reduces the fast ones' goodput while it is in use. The fast ones come first.
struct Links {
    slow: Slow,
    now: Instant,
    received: Bytes,
    rates: Vec<Bitrate>,
    fast: usize,
    /// What is left of the fast ones' goodput beside each slow one, in percent.
    beside: Vec<u64>,
    changes: Vec<(Instant, u16, bool)>,
}

impl Links {
    fn new(rates: &[u64], beside: &[u64]) -> Self {
        Self {
            slow: Slow::default(),
            now: Instant::ZERO,
            received: Bytes::ZERO,
            rates: rates.iter().map(|&rate| mbps(rate)).collect(),
            fast: rates.len() - beside.len(),
            beside: beside.to_vec(),
            changes: Vec::new(),
        }
    }

    fn link(at: usize) -> LinkId {
        LinkId(at as u16)
    }

    fn in_use(&self) -> Vec<usize> {
        let all = 0..self.rates.len();
        all.filter(|&at| !self.slow.spares(Self::link(at))).collect()
    }

    fn slow_in_use(&self) -> impl Iterator<Item = usize> {
        self.in_use().into_iter().filter(|at| *at >= self.fast)
    }

    /// What is left of the fast links' goodput beside the slow ones, in percent.
    fn left(&self) -> u64 {
        let left = self.slow_in_use().map(|at| self.beside[at - self.fast]);
        left.min().unwrap_or(100)
    }

    fn goodput(&self) -> Bitrate {
        let fast: Bitrate = self.rates[..self.fast].iter().copied().sum();
        fast.percent(self.left()) + self.slow_in_use().map(|at| self.rates[at]).sum()
    }

    fn step(&mut self) {
        self.now += STEP;
        self.received += self.goodput() * STEP;
        let in_use = self.in_use();
        let left = self.left();
        let view = |at: usize| {
            let best = if in_use.contains(&at) {
                self.rates[at]
            } else {
                Bitrate::ZERO
            };
            View {
                link: Self::link(at),
                best,
                rate: best.percent(if at < self.fast { left } else { 100 }),
                queued: false,
                loses: false,
            }
        };
        let links: Vec<View> = (0..self.rates.len()).map(view).collect();
        let waits = in_use
            .iter()
            .any(|&at| at >= self.fast && self.beside[at - self.fast] < 100);
        let look = Look {
            links: &links,
            rtt: Duration::from_millis(50),
            held: if waits { Bytes::from_kib(600) } else { Bytes::ZERO },
            received: self.received,
            window: None,
        };
        let changed = self.slow.look(self.now, &look);
        self.changes
            .extend(changed.map(|changed| (self.now, changed.link.0, changed.in_use)));
        let tried = self
            .changes
            .iter()
            .filter(|(_, link, _)| usize::from(*link) >= self.fast);
        assert_eq!(
            tried.count(),
            self.changes.len(),
            "a fast one is never demoted: {:?}",
            self.changes
        );
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 20 {
            self.step();
        }
    }
}

#[test]
fn two_slow_links_are_both_backups() {
    let mut links = Links::new(&[60, 3, 3], &[55, 55]);
    links.run(4);
    assert_eq!(links.in_use(), [0], "{:?}", links.changes);
    assert_eq!(links.changes.len(), 2);
    links.run(240);
    assert_eq!(links.in_use(), [0], "{:?}", links.changes);
    // Each trial begins when the previous one is over, and after a longer pause.
    let trials = &links.changes[2..];
    assert!(trials.len() >= 4, "{trials:?}");
    for trial in trials.chunks(2) {
        let [(began, tried, true), (ended, demoted, false)] = trial else {
            panic!("two are tried at a time: {trials:?}")
        };
        assert!(
            tried == demoted && *ended - *began <= Duration::from_secs(4),
            "{trials:?}"
        );
    }
    let tried: Vec<u16> = trials.iter().step_by(2).map(|(_, link, _)| *link).collect();
    assert!(
        tried.windows(2).all(|pair| pair[0] != pair[1]),
        "they take turns: {tried:?}"
    );
    let began: Vec<Instant> = trials.iter().step_by(2).map(|(at, ..)| *at).collect();
    let pauses: Vec<Duration> = began.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.windows(2).all(|pair| pair[1] > pair[0]), "{pauses:?}");
}

#[test]
fn of_two_slow_links_the_harmless_one_is_used_in_the_end() {
    // It is the slowest, and is blamed first.
    let mut links = Links::new(&[60, 4, 3], &[55, 100]);
    links.run(4);
    assert_eq!(links.in_use(), [0], "{:?}", links.changes);
    links.run(300);
    assert_eq!(links.in_use(), [0, 2], "{:?}", links.changes);
}

#[test]
fn the_backlog_of_the_first_is_not_blamed_on_the_second() {
    let mut links = Links::new(&[60, 3, 6], &[55, 100]);
    links.run(14);
    assert_eq!(links.in_use(), [0, 2], "{:?}", links.changes);
    assert_eq!(links.changes.len(), 1);
}

#[test]
fn both_are_used_as_soon_as_the_fast_one_is_gone() {
    let mut links = Links::new(&[60, 3, 3], &[55, 55]);
    links.run(4);
    assert_eq!(links.in_use(), [0]);
    let now = links.now;
    let mut received = links.received;
    for n in 1..=20 {
        received += mbps(3) * STEP;
        let view = |link: u16| View {
            link: LinkId(link),
            best: mbps(3),
            rate: mbps(3),
            queued: false,
            loses: false,
        };
        let left = [view(1), view(2)];
        let look = Look {
            links: &left,
            rtt: Duration::from_millis(50),
            held: Bytes::ZERO,
            received,
            window: None,
        };
        let changed = links.slow.look(now + STEP * n, &look);
        assert!(n > 1 || changed.is_some_and(|changed| changed.in_use), "at once");
    }
    assert_eq!(links.in_use(), [0, 1, 2]);
}
