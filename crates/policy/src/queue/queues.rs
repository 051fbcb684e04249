//! Which links have a standing queue, and the marks that make senders drain it.
//!
//! [`Queue`] decides for one link. This module feeds it the load of the busiest subflow over that link.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c`, `tcp_rcv_rtt_measure_ts`: measures from a timestamp to the data that
//!   echoes it, with every queue in between. A subflow that was idle echoes an old timestamp. A smaller
//!   sample counts at once, a larger one by an eighth.
//! - RFC 6298: round-trip times from an upload's own acknowledgements.
//!
//! # Where we differ, and why
//! 1. Only busy links are judged: occasional data echoes old timestamps.
//! 2. Only cables are always marked. Over WiFi the round-trip time varies with the air, and a walk past five
//!    access points had 4 % less goodput with marks (one run). Poor access points are found by
//!    [`crate::wifi::steering`] through their airtime. With marks on the cell, too, one of eight runs of
//!    `fade` had a gap of 120 ms. Without them, none of twenty had more than 83 ms.
//! 3. Over radio, arriving packets are also marked while a link beside it without a queue receives less than
//!    it has shown it can carry: the queue shows which link draws too much. A link that joins a running
//!    connection has no loss within the capped window. Its congestion window ends far over what it carries,
//!    and the scheduler considers it the fastest. In the model (60 sets of links, one joins after 30 s;
//!    goodput of the next minute relative to a stock host), the worst set had 0.63 without this rule. It had
//!    0.88 with the rule and the estimates of what links carry.
//! 4. In a slow start over a cable, every sample is checked: slow start overflows a queue within two of the
//!    later intervals.
//!
//! # Checked by
//! `tests::queues`; `window::tests::fluid::many`.

use super::tuning::{EVERY, SAME, STARVED_PERCENT};
use crate::choose::rank::is_sinking;
use crate::estimate::tuning::{BUSY_SEGMENTS, LATELY};
use crate::io::{LinkId, LinkKind, SubflowId, Verb, reason};
use crate::known::conn::{Conn, Subflow, is_queued};
use crate::known::path::Path;
use crate::known::state::State;
use crate::queue::aqm::{Load, Queue};
use crate::window::tuning::{EVERY_READING, EXCUSED_FOR, ROUNDS_TO_GROW};
use alloc::collections::BTreeMap;
use units::{Duration, Instant, Ratio};

/// The queues of all links.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    links: BTreeMap<LinkId, Watched>,
    next: Instant,
    /// When smoothed delays are updated next.
    next_mean: Instant,
}

#[derive(Debug, Default)]
struct Watched {
    inbound: Direction,
    outbound: Direction,
}

/// The queue on the way here, or on the way from here.
#[derive(Debug, Default)]
struct Direction {
    queue: Queue,
    /// The load of the busy subflows, with the round-trip time of the busiest. `None` without any.
    load: Option<Load>,
    /// Segments of the busiest subflow.
    most: u64,
    marked: Option<Instant>,
    /// Whether a link beside it is starved.
    starves: bool,
}

/// The load of one busy subflow.
struct Meets {
    rtt: Duration,
    /// Segments per second.
    segments: u64,
    /// Whether this host sends them.
    own: bool,
}

impl Queues {
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        if now < self.next {
            return;
        }
        let young = self.meet(now, state);
        let is_mean = now >= self.next_mean;
        for (&link, watched) in &mut self.links {
            if let Some(path) = state.paths.get_mut(&link).filter(|_| is_mean) {
                let delay = watched.inbound.load.map_or(Duration::ZERO, Load::queue);
                path.queue = (path.queue * 15 + delay) / 16;
            }
            watched.look(now, state, link);
        }
        if is_mean {
            self.next_mean = now + EVERY;
        }
        self.next = now + if young { EVERY_READING } else { EVERY };
    }

    /// Collects the load of all subflows. Returns whether one of them may be in slow start.
    fn meet(&mut self, now: Instant, state: &State) -> bool {
        let mut any_young = false;
        self.links.retain(|link, _| state.paths.contains_key(link));
        for watched in self.links.values_mut() {
            (watched.inbound.load, watched.outbound.load) = (None, None);
            watched.inbound.starves = false;
        }
        for conn in state.conns.values() {
            let starved = longest_starved(now, conn, &state.paths);
            let starves = starved.is_some();
            for subflow in &conn.subflows {
                let Some(path) = state.paths.get(&subflow.link) else {
                    continue;
                };
                let Some(base) = path.base_rtt.map(|base| base + path.cycle) else {
                    continue;
                };
                let starts = path.spec.kind == LinkKind::Cable && is_young(now - subflow.since, base);
                let young = starts.then_some(subflow.id);
                any_young |= starts;
                let watched = self.links.entry(subflow.link).or_default();
                watched.inbound.meet(base, young, arriving(now, subflow, starts));
                watched.outbound.meet(base, young, leaving(subflow));
                watched.inbound.starves |= starves;
                watched.inbound.beside(starved.unwrap_or_default());
            }
        }
        any_young
    }
}

/// Whether a subflow may be in slow start.
pub(crate) fn is_young(age: Duration, base: Duration) -> bool {
    age < (base * ROUNDS_TO_GROW).max(EXCUSED_FOR)
}

/// The longest base round trip of the subflows that carry less than they could. `None` without any.
fn longest_starved(now: Instant, conn: &Conn, paths: &BTreeMap<LinkId, Path>) -> Option<Duration> {
    let subflows = conn.subflows.iter();
    let starved = subflows.filter(|subflow| is_starved(now, subflow, paths));
    starved
        .filter_map(|subflow| paths.get(&subflow.link)?.base_rtt)
        .max()
}

/// Whether it is in use and carries less than it could, though it has no queue.
fn is_starved(now: Instant, subflow: &Subflow, paths: &BTreeMap<LinkId, Path>) -> bool {
    let in_use = !subflow.backup && subflow.draining.is_none();
    let [rate, shown] = [subflow.arrivals.rate(now), subflow.arrivals.best_rate(now)];
    let given_little = in_use && rate < shown.percent(STARVED_PERCENT);
    given_little
        && paths
            .get(&subflow.link)
            .is_some_and(|path| !is_queued(subflow, path) && !is_sinking(path))
}

/// The load of arriving data, if there is much.
fn arriving(now: Instant, subflow: &Subflow, starts: bool) -> Option<Meets> {
    let recent = subflow.arrivals.recent_segments(now);
    let rtt = subflow.sample.data_rtt;
    // A mean of 300 ms lags far behind a slow start.
    let lately = starts.then(|| subflow.arrivals.lately(now, LATELY).0);
    (recent >= BUSY_SEGMENTS && rtt > Duration::ZERO).then(|| Meets {
        rtt,
        segments: (recent * 10 / 3).max(lately.unwrap_or_default()),
        own: false,
    })
}

/// The load of data being sent, if much is in flight.
fn leaving(subflow: &Subflow) -> Option<Meets> {
    let (unacked, rtt) = (u64::from(subflow.sample.unacked), subflow.sample.srtt);
    sends_much(subflow).then(|| Meets {
        rtt,
        segments: unacked.saturating_mul(1_000_000) / (rtt.as_micros() as u64).max(1),
        own: true,
    })
}

/// Whether so much of its data is in flight that it may cause a queue.
pub(crate) fn sends_much(subflow: &Subflow) -> bool {
    u64::from(subflow.sample.unacked) >= BUSY_SEGMENTS && subflow.sample.srtt > Duration::ZERO
}

impl Watched {
    fn look(&mut self, now: Instant, state: &mut State, link: LinkId) {
        let is_cable = |path: &Path| path.spec.kind == LinkKind::Cable;
        let marks = state.paths.get(&link).is_some_and(is_cable);
        let inbound = self.inbound.look(now, marks || self.inbound.starves);
        let outbound = self.outbound.look(now, marks);
        state.mark(link, |marks| (marks.queue, marks.sent) = (inbound, outbound));
        for (direction, rate, sent) in [
            (&mut self.inbound, inbound, false),
            (&mut self.outbound, outbound, true),
        ] {
            if let Some(load) = direction.load.filter(|_| direction.is_news(now, rate)) {
                state.remark(None, Some(link), Verb::Mark, reason_of(load, rate, sent));
            }
        }
    }
}

impl Direction {
    /// Adds one subflow.
    fn meet(&mut self, base: Duration, young: Option<SubflowId>, meets: Option<Meets>) {
        let Some(Meets { rtt, segments, own }) = meets else {
            return;
        };
        let load = self.load.get_or_insert_with(|| {
            self.most = 0;
            Load {
                base,
                rtt,
                segments: 0,
                subflows: 0,
                young,
                own,
                beside: Duration::ZERO,
            }
        });
        load.young = load
            .young
            .max(young)
            .filter(|_| young.is_some() && load.young.is_some());
        load.subflows += 1;
        load.segments = load.segments.saturating_add(segments);
        if segments > self.most {
            (self.most, load.rtt) = (segments, rtt);
        }
    }

    /// Records the base round trip of a starved link beside it.
    fn beside(&mut self, starved: Duration) {
        if let Some(load) = &mut self.load {
            load.beside = load.beside.max(starved);
        }
    }

    /// The share to mark until the next tick.
    fn look(&mut self, now: Instant, marks: bool) -> Ratio {
        let Some(load) = self.load else {
            self.queue.ignore();
            return Ratio::ZERO;
        };
        if marks {
            return self.queue.look(now, load);
        }
        self.queue.ignore();
        Ratio::ZERO
    }

    /// Whether marking at this rate is worth reporting.
    fn is_news(&mut self, now: Instant, rate: Ratio) -> bool {
        let marks = rate > Ratio::ZERO;
        let news = marks && self.marked.is_none_or(|at| now - at >= SAME);
        if marks {
            self.marked = Some(now);
        }
        news
    }
}

/// Why this load is marked.
fn reason_of(load: Load, rate: Ratio, sent: bool) -> reason::Queue {
    let (queue, target) = (load.queue(), load.target());
    reason::Queue::Marked {
        queue,
        target: (queue >= target).then_some(target),
        rate,
        sent,
    }
}
