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
//! 2. Access points are not marked: over WiFi the round trip comes and goes with the air, and a walk past five of them brought 4 % less for it (one
//!    run). What is poor there, [`crate::steering`] sees by its airtime.
//!
//! # Checked by
//! `tests::queues`.

use crate::aqm::{self, Load, Queue};
use crate::io::{LinkId, Verb};
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
    load: Option<Load>,
    marked: Option<Instant>,
}

impl Queues {
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        if now < self.next {
            return;
        }
        self.next = now + aqm::EVERY;
        self.links.retain(|link, _| state.paths.contains_key(link));
        for (&link, path) in &state.paths {
            self.links.entry(link).or_default().load = load(now, state, link, path);
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
    fn look(&mut self, now: Instant, state: &mut State, link: LinkId) {
        let Some(load) = self.load else {
            self.queue = Queue::default();
            return state.mark(link, |marks| marks.queue = Ratio::ZERO);
        };
        if state.paths.get(&link).is_none_or(Path::is_wifi) {
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

/// What the busiest subflow over this link meets, if one is busy.
fn load(now: Instant, state: &State, link: LinkId, path: &Path) -> Option<Load> {
    let (mut busiest, mut rtt, mut subflows, mut segments) = (0, Duration::ZERO, 0, 0);
    for subflow in state.conns.values().flat_map(|conn| conn.over(link)) {
        let recent = subflow.arrivals.recent_segments(now);
        if recent < BUSY_SEGMENTS || subflow.sample.data_rtt == Duration::ZERO {
            continue;
        }
        (subflows, segments) = (subflows + 1, segments + recent);
        if recent > busiest {
            (busiest, rtt) = (recent, subflow.sample.data_rtt);
        }
    }
    (subflows > 0).then_some(Load {
        base: path.base_rtt?,
        rtt,
        segments: segments * 10 / 3,
        subflows,
    })
}
