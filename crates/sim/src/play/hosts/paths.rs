//! What each link has carried of each flow, from the counters of both ends.

use crate::hosts::Host;
use crate::mptcp::SubflowView;
use crate::times::Times;
use policy::SubflowId;
use std::collections::BTreeMap;
use trace::{PathUse, What};
use units::{Bytes, Instant};

/// The accounts of a run.
#[derive(Debug)]
pub(super) struct Paths {
    links: Vec<String>,
    /// For each link of the network, the plan's link that it is or shares.
    through: Vec<usize>,
    /// What each subflow of a sender has sent, by flow and subflow.
    sent: BTreeMap<(usize, SubflowId), Sent>,
    /// The link of each subflow of a receiver, and how many segments carried CE, by flow and subflow.
    marked: BTreeMap<(usize, SubflowId), (usize, u64)>,
    /// Smoothed round-trip times of the sender at each poll, by flow and link.
    rtts: BTreeMap<(usize, usize), Times>,
    /// Bytes, retransmissions, marks and segments that do not count, by flow and link.
    uncounted: BTreeMap<(usize, usize), [u64; 4]>,
    /// Bytes and retransmissions last written to the trace, by flow and link.
    told: BTreeMap<(usize, usize), (u64, u64)>,
}

/// What a subflow has sent up to the last poll.
#[derive(Debug, Clone, Copy)]
struct Sent {
    link: usize,
    view: SubflowView,
}

impl Paths {
    pub(super) const fn new(links: Vec<String>, through: Vec<usize>) -> Self {
        Self {
            links,
            through,
            sent: BTreeMap::new(),
            marked: BTreeMap::new(),
            rtts: BTreeMap::new(),
            uncounted: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// Polls a connection of a flow at both ends. Counters of subflows that are gone stay as they were.
    pub(super) fn look(&mut self, now: Instant, flow: usize, conn: u32, [from, to]: [&Host; 2]) {
        for view in from.connection(conn).iter().flat_map(|of| of.subflows(now)) {
            let link = self.through[usize::from(view.path.link.0)];
            let (acked, srtt) = (view.sample.bytes_acked, view.sample.srtt);
            let before = self.sent.insert((flow, view.id), Sent { link, view });
            let before = before.map_or(Bytes::ZERO, |sent| sent.view.sample.bytes_acked);
            if acked > before && !srtt.is_zero() {
                self.rtts.entry((flow, link)).or_default().record(srtt);
            }
        }
        for view in to.connection(conn).iter().flat_map(|of| of.subflows(now)) {
            let link = self.through[usize::from(view.path.link.0)];
            self.marked.insert((flow, view.id), (link, view.received.marked));
        }
    }

    fn of(&self, flow: usize, link: usize) -> impl Iterator<Item = &SubflowView> {
        let all = self
            .sent
            .range((flow, SubflowId(0))..=(flow, SubflowId(u32::MAX)));
        all.filter(move |(_, sent)| sent.link == link)
            .map(|(_, sent)| &sent.view)
    }

    /// Totals of a flow that have changed since the last call.
    pub(super) fn news(&mut self, flow: usize, name: &str) -> Vec<What> {
        let mut events = Vec::new();
        for link in 0..self.links.len() {
            let Some(slowest) = self.of(flow, link).max_by_key(|view| view.sample.srtt).copied() else {
                continue;
            };
            let bytes: Bytes = self.of(flow, link).map(|view| view.sample.bytes_acked).sum();
            let retransmits: u64 = self.of(flow, link).map(|view| view.sent.retransmits).sum();
            let now = (bytes.get(), retransmits);
            let before = self.told.insert((flow, link), now);
            if before == Some(now) {
                continue;
            }
            if before.is_none_or(|(bytes, _)| bytes != now.0) {
                events.push(What::PathBytes {
                    flow: name.to_owned(),
                    link: self.links[link].clone(),
                    bytes: now.0,
                });
            }
            events.push(What::PathSender {
                flow: name.to_owned(),
                link: self.links[link].clone(),
                retransmits,
                srtt_us: slowest.sample.srtt.as_micros() as u64,
                cwnd: slowest.sample.cwnd,
                ssthresh: slowest.ssthresh,
            });
        }
        events
    }

    /// Forgets what was counted for the first `flows` flows.
    pub(super) fn count_from_now(&mut self, flows: usize) {
        let links = 0..self.links.len();
        let keys = (0..flows).flat_map(|flow| links.clone().map(move |link| (flow, link)));
        let counted = keys.map(|key| (key, self.counted(key)));
        self.uncounted = counted.filter(|(_, counted)| *counted != [0; 4]).collect();
        self.rtts.clear();
    }

    /// Bytes, retransmissions, marks and segments of a flow over a link since the start.
    fn counted(&self, (flow, link): (usize, usize)) -> [u64; 4] {
        let bytes = self.of(flow, link).map(|view| view.sample.bytes_acked.get());
        let retransmits = self.of(flow, link).map(|view| view.sent.retransmits);
        let marked = self
            .marked
            .range((flow, SubflowId(0))..=(flow, SubflowId(u32::MAX)));
        let marked = marked.filter(|(_, (over, _))| *over == link);
        [
            bytes.sum(),
            retransmits.sum(),
            marked.map(|(_, (_, marks))| marks).sum(),
            self.of(flow, link).map(|view| view.segments).sum(),
        ]
    }

    /// What each link carried of a flow.
    pub(super) fn of_flow(&self, flow: usize) -> Vec<PathUse> {
        let used = |(link, name): (usize, &String)| {
            self.of(flow, link).next()?;
            let now = self.counted((flow, link));
            let then = self.uncounted.get(&(flow, link)).copied().unwrap_or_default();
            let [bytes, retransmits, ce_marks, segments] = [0, 1, 2, 3].map(|place| now[place] - then[place]);
            Some(PathUse {
                link: name.clone(),
                bytes,
                retransmits,
                segments: Some(segments),
                ce_marks,
                rtt: self.rtts.get(&(flow, link)).and_then(Times::figures),
            })
        };
        self.links.iter().enumerate().filter_map(used).collect()
    }
}
