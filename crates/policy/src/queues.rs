//! Which links have a queue standing before them, and the marks that make senders take it away.
//!
//! [`Queue`] decides for one link; here it is shown what the busiest subflow over that link meets.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c`, `tcp_rcv_rtt_measure_ts`: from a time stamp to the data that echoes it, with every queue between;
//!   a subflow that stood still echoes an old one, but what is less counts at once, what is more by an eighth.
//! - RFC 6298: what an upload's own acknowledgements say of its round trip.
//!
//! # Where we differ, and why
//! 1. Only links that are busy are judged: data that comes by the way echoes time stamps of long ago.
//! 2. Only cables are always marked. Over WiFi the round trip comes and goes with the air, and a walk past five access points brought 4 % less for it
//!    (one run); what is poor there, [`crate::steering`] sees by its airtime. With marks on the cell, too, one of eight plays of `fade` had a gap of
//!    120 ms; without, none of twenty over 83.
//! 3. Over radio, too, while a link beside it that has no queue is given less than it has shown that it can carry: a queue that stands then is what draws too
//!    much. A link that joins a running connection meets no loss inside the bounded window, its congestion window ends far over what it carries, and
//!    the scheduler takes it for the fastest. In the model (60 sets of links, one joins after 30 s; the next minute over a stock host's) the worst set
//!    brought 0.63 of a stock host's goodput without this rule, and 0.88 with it and what links are believed to carry.
//!
//! # Checked by
//! `tests::queues`; `window::tests::fluid::many`.

use crate::aqm::{self, Load, Queue};
use crate::bounds::is_queued;
use crate::conn::Subflow;
use crate::io::{LinkId, LinkKind, Verb};
use crate::path::Path;
use crate::select::is_sinking;
use crate::state::State;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use units::{Duration, Instant, Ratio};

/// Fewer segments in the last 300 ms are no load that a queue could come from.
pub(crate) const BUSY_SEGMENTS: u64 = 30;
/// A link with no queue before it that brings less than these percent of what it has shown lately is given too little.
pub(crate) const STARVED_PERCENT: u64 = 75;
/// A queue that comes back within this is worth no second word.
const SAME: Duration = Duration::from_secs(10);

/// The queues of all links.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    links: BTreeMap<LinkId, Watched>,
    next: Instant,
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
    /// What the busy subflows meet, its round trip that of the busiest; `None` without any.
    load: Option<Load>,
    /// Segments of the busiest one.
    most: u64,
    marked: Option<Instant>,
    /// Whether a link beside it is given less than it could carry.
    starves: bool,
}

/// What a busy subflow meets.
struct Meets {
    rtt: Duration,
    /// Segments in a second.
    segments: u64,
}

impl Queues {
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        if now < self.next {
            return;
        }
        self.next = now + aqm::EVERY;
        self.links.retain(|link, _| state.paths.contains_key(link));
        for watched in self.links.values_mut() {
            (watched.inbound.load, watched.outbound.load) = (None, None);
            watched.inbound.starves = false;
        }
        for conn in state.conns.values() {
            let starves = conn
                .subflows
                .iter()
                .any(|subflow| is_starved(now, subflow, &state.paths));
            for subflow in &conn.subflows {
                if let Some(base) = state.paths.get(&subflow.link).and_then(|path| path.base_rtt) {
                    let watched = self.links.entry(subflow.link).or_default();
                    watched.inbound.meet(base, arriving(now, subflow));
                    watched.outbound.meet(base, leaving(subflow));
                    watched.inbound.starves |= starves;
                }
            }
        }
        for (&link, watched) in &mut self.links {
            if let Some(path) = state.paths.get_mut(&link) {
                let stands = watched.inbound.load.map_or(Duration::ZERO, Load::queue);
                path.queue = (path.queue * 15 + stands) / 16;
            }
            watched.look(now, state, link);
        }
    }
}

/// Whether it is in use and brings less than it could, though nothing waits before it.
fn is_starved(now: Instant, subflow: &Subflow, paths: &BTreeMap<LinkId, Path>) -> bool {
    let in_use = !subflow.backup && subflow.draining.is_none();
    let [rate, shown] = [subflow.arrivals.rate(now), subflow.arrivals.best_rate(now)];
    let given_little = in_use && rate < shown.percent(STARVED_PERCENT);
    given_little
        && paths
            .get(&subflow.link)
            .is_some_and(|path| !is_queued(subflow, path) && !is_sinking(path))
}

/// What data that comes meets, if much comes.
fn arriving(now: Instant, subflow: &Subflow) -> Option<Meets> {
    let recent = subflow.arrivals.recent_segments(now);
    let rtt = subflow.sample.data_rtt;
    (recent >= BUSY_SEGMENTS && rtt > Duration::ZERO).then_some(Meets {
        rtt,
        segments: recent * 10 / 3,
    })
}

/// What data that is sent meets, if much is under way.
fn leaving(subflow: &Subflow) -> Option<Meets> {
    let (unacked, rtt) = (u64::from(subflow.sample.unacked), subflow.sample.srtt);
    (unacked >= BUSY_SEGMENTS && rtt > Duration::ZERO).then(|| Meets {
        rtt,
        segments: unacked.saturating_mul(1_000_000) / (rtt.as_micros() as u64).max(1),
    })
}

impl Watched {
    fn look(&mut self, now: Instant, state: &mut State, link: LinkId) {
        let is_cable = |path: &Path| path.spec.kind == LinkKind::Cable;
        let marks = state.paths.get(&link).is_some_and(is_cable);
        let inbound = self.inbound.look(now, marks || self.inbound.starves);
        let outbound = self.outbound.look(now, marks);
        state.mark(link, |marks| (marks.queue, marks.sent) = (inbound, outbound));
        for (direction, rate, what) in [
            (&mut self.inbound, inbound, "arrives"),
            (&mut self.outbound, outbound, "is sent"),
        ] {
            if let Some(load) = direction.load.filter(|_| direction.is_news(now, rate)) {
                state.remark(link, Verb::Mark, sentence(load, rate, what));
            }
        }
    }
}

impl Direction {
    /// Takes in one subflow.
    fn meet(&mut self, base: Duration, meets: Option<Meets>) {
        let Some(Meets { rtt, segments }) = meets else {
            return;
        };
        let load = self.load.get_or_insert_with(|| {
            self.most = 0;
            Load {
                base,
                rtt,
                segments: 0,
                subflows: 0,
            }
        });
        load.subflows += 1;
        load.segments = load.segments.saturating_add(segments);
        if segments > self.most {
            (self.most, load.rtt) = (segments, rtt);
        }
    }

    /// The share that is to be marked until the next look.
    fn look(&mut self, now: Instant, marks: bool) -> Ratio {
        let Some(load) = self.load else {
            self.queue = Queue::default();
            return Ratio::ZERO;
        };
        if marks {
            return self.queue.look(now, load);
        }
        self.queue.ignore();
        Ratio::ZERO
    }

    /// Whether marking at this rate is worth a word.
    fn is_news(&mut self, now: Instant, rate: Ratio) -> bool {
        let marks = rate > Ratio::ZERO;
        let news = marks && self.marked.is_none_or(|at| now - at >= SAME);
        if marks {
            self.marked = Some(now);
        }
        news
    }
}

/// "83 ms of queue stand before it, 45 may: 0.21 % of what arrives is marked"
fn sentence(load: Load, rate: Ratio, what: &str) -> String {
    format!(
        "{} ms of queue stand before it, {} may: {rate} of what {what} is marked",
        load.queue().as_millis(),
        load.target().as_millis()
    )
}
