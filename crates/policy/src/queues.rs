//! Which links have a queue standing before them, and the marks that make senders take it away.
//!
//! [`Queue`] decides for one link; here it is shown what the busiest subflow over that link meets.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c`, `tcp_rcv_rtt_measure_ts`: from a time stamp to the data that echoes it, with every queue between;
//!   a subflow that stood still echoes an old one, but what is less counts at once, what is more by an eighth.
//!
//! # Where we differ, and why
//! 1. Only links that are busy are judged: data that comes by the way echoes time stamps of long ago.
//! 2. Only cables are marked. Over WiFi the round trip comes and goes with the air, and a walk past five access points brought 4 % less for it (one
//!    run); what is poor there, [`crate::steering`] sees by its airtime. With marks on the cell, too, one of eight plays of `fade` had a gap of 120 ms,
//!    without any none over 53.
//!
//! # Checked by
//! `tests::queues`.

use crate::aqm::{self, Load, Queue};
use crate::conn::Subflow;
use crate::io::{LinkId, LinkKind, Verb};
use crate::path::Path;
use crate::state::State;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use units::{Duration, Instant, Ratio};

/// Fewer segments in the last 300 ms are no load that a queue could come from.
const BUSY_SEGMENTS: u64 = 30;
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
    queue: Queue,
    /// What the busy subflows meet, its round trip that of the busiest; `None` without any.
    load: Option<Load>,
    /// Segments of the busiest one.
    most: u64,
    marked: Option<Instant>,
}

impl Queues {
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        if now < self.next {
            return;
        }
        self.next = now + aqm::EVERY;
        self.links.retain(|link, _| state.paths.contains_key(link));
        self.links.values_mut().for_each(|watched| watched.load = None);
        for subflow in state.conns.values().flat_map(|conn| &conn.subflows) {
            if let Some(base) = state.paths.get(&subflow.link).and_then(|path| path.base_rtt) {
                self.links
                    .entry(subflow.link)
                    .or_default()
                    .meet(now, base, subflow);
            }
        }
        for (&link, watched) in &mut self.links {
            if let Some(path) = state.paths.get_mut(&link) {
                let stands = watched.load.map_or(Duration::ZERO, Load::queue);
                path.queue = (path.queue * 15 + stands) / 16;
            }
            watched.look(now, state, link);
        }
    }
}

impl Watched {
    /// Takes in one subflow over this link, if it is busy.
    fn meet(&mut self, now: Instant, base: Duration, subflow: &Subflow) {
        let (recent, rtt) = (subflow.arrivals.recent_segments(now), subflow.sample.data_rtt);
        if recent < BUSY_SEGMENTS || rtt == Duration::ZERO {
            return;
        }
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
        load.segments += recent * 10 / 3;
        if recent > self.most {
            (self.most, load.rtt) = (recent, rtt);
        }
    }

    fn look(&mut self, now: Instant, state: &mut State, link: LinkId) {
        let Some(load) = self.load else {
            self.queue = Queue::default();
            return state.mark(link, |marks| marks.queue = Ratio::ZERO);
        };
        let is_cable = |path: &Path| path.spec.kind == LinkKind::Cable;
        if !state.paths.get(&link).is_some_and(is_cable) {
            return;
        }
        let rate = self.queue.look(now, load);
        state.mark(link, |marks| marks.queue = rate);
        if rate == Ratio::ZERO {
            return;
        }
        if self.marked.is_none_or(|at| now - at >= SAME) {
            state.remark(link, Verb::Mark, sentence(load, rate));
        }
        self.marked = Some(now);
    }
}

/// "83 ms of queue stand before it, 45 may: 0.21 % of what arrives is marked"
fn sentence(load: Load, rate: Ratio) -> String {
    format!(
        "{} ms of queue stand before it, {} may: {rate} of what arrives is marked",
        load.queue().as_millis(),
        load.target().as_millis()
    )
}
