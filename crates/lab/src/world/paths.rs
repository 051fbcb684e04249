//! What each link has carried of each flow, from polls of the sockets at both ends.
//!
//! # Checked by
//! `tests`: what is reported, and when; `tests/world.rs`: a run's totals.

use super::glue::Glue;
use super::walkers::Walkers;
use crate::emulator::Marks;
use crate::traffic::{ConnectionSample, End, SubflowSample};
use links::{Direction, LinkId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use trace::{PathUse, What};
use units::{Bytes, Duration};

/// A flow: its identifier in polls, and its name.
#[derive(Debug, Clone)]
pub(super) struct FlowName {
    pub(super) seed: u64,
    pub(super) name: String,
    /// Index of the walker that the flow belongs to. 0 is the client.
    pub(super) by: usize,
    /// The end that sends the data.
    pub(super) sender: End,
    /// Whether it requested MPTCP.
    pub(super) multipath: bool,
}

/// The accounts of a run.
#[derive(Debug)]
pub(super) struct Paths {
    flows: Vec<FlowName>,
    links: Vec<String>,
    subflows: BTreeMap<(usize, SocketAddr, SocketAddr), Carried>,
    /// Subflows whose addresses and ports a later subflow has reused.
    replaced: Vec<(usize, Carried)>,
    /// The client's token of each flow's connection.
    tokens: BTreeMap<usize, u32>,
    /// How many polls in a row found each flow's client without a token.
    tokenless: BTreeMap<usize, u32>,
    told: BTreeMap<(usize, usize), Told>,
}

/// Polls without a token in a row, ten a second, that count as a fallback.
const FALLEN_AFTER: u32 = 10;

/// Where subflows of all hosts are found by their addresses.
#[derive(Clone, Copy)]
pub(super) struct Whereabouts<'s> {
    pub(super) client: &'s Glue,
    pub(super) walkers: &'s Walkers,
}

impl Whereabouts<'_> {
    /// The link that the server knows by this address: its index in the plan, and its number in the network.
    fn seen_as(self, address: IpAddr) -> Option<(usize, LinkId)> {
        let own = self.client.link_seen_as(address).map(of_the_client);
        own.or_else(|| self.walkers.seen_as(address))
    }

    /// The link on which this walker has, or had, an address.
    fn link_with(self, by: usize, address: IpAddr) -> Option<(usize, LinkId)> {
        match by {
            0 => self.client.link_with(address).map(of_the_client),
            by => self.walkers.link_with(by, address),
        }
    }
}

const fn of_the_client(link: usize) -> (usize, LinkId) {
    (link, LinkId(link as u16))
}

/// What a subflow has carried up to the last poll.
#[derive(Debug, Clone, Copy)]
struct Carried {
    link: usize,
    /// The number of the link in the network, which differs for each host.
    number: LinkId,
    bytes: Bytes,
    retransmits: u64,
    srtt: Duration,
    cwnd: u32,
    ssthresh: Option<u32>,
}

/// The last report of a flow and a link. A subflow whose link has died retransmits and receives no
/// acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    bytes: u64,
    retransmits: u64,
}

/// What one link has carried of one flow.
#[derive(Debug, Default)]
struct Total {
    bytes: u64,
    retransmits: u64,
    /// For a link with several subflows: the longest RTT, and the windows of that subflow.
    srtt: Duration,
    cwnd: u32,
    ssthresh: Option<u32>,
}

impl Paths {
    pub(super) const fn new(flows: Vec<FlowName>, links: Vec<String>) -> Self {
        Self {
            flows,
            links,
            subflows: BTreeMap::new(),
            replaced: Vec::new(),
            tokens: BTreeMap::new(),
            tokenless: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// Processes polls. Returns what is new.
    pub(super) fn take(&mut self, looks: &[ConnectionSample], all: Whereabouts<'_>) -> Vec<What> {
        let mut levels = Vec::new();
        for look in looks {
            let Some(flow) = self.flows.iter().position(|flow| flow.seed == look.flow) else {
                continue;
            };
            self.note_token(flow, look);
            if look.end == self.flows[flow].sender {
                look.subflows
                    .iter()
                    .for_each(|subflow| self.carried(flow, look.end, subflow, all));
            }
            // Levels and tokens are those of the connections that the engine manages.
            if look.token.is_some() && self.flows[flow].by == 0 {
                levels.push((flow, look));
            }
        }
        let mut events: Vec<What> = levels
            .into_iter()
            .filter_map(|(flow, look)| self.level(flow, look))
            .collect();
        events.extend(self.news());
        events
    }

    /// The server's queue, or the out-of-order bytes of the receiving end. The server's socket has both; of
    /// these the queue is reported.
    fn level(&self, flow: usize, look: &ConnectionSample) -> Option<What> {
        let conn = *self.tokens.get(&flow)?;
        if look.end != self.flows[flow].sender {
            let bytes = look.held?.get();
            return Some(What::OutOfOrder { conn, bytes });
        }
        (look.end == End::Server).then(|| What::ServerQueue {
            conn,
            bytes: look.subflows.iter().map(|subflow| subflow.queued.get()).sum(),
        })
    }

    fn note_token(&mut self, flow: usize, look: &ConnectionSample) {
        match look.token {
            Some(token) if look.end == End::Client => {
                self.tokens.insert(flow, token);
                self.tokenless.remove(&flow);
            }
            None if look.end == End::Client => *self.tokenless.entry(flow).or_default() += 1,
            _ => {}
        }
    }

    fn carried(&mut self, flow: usize, end: End, subflow: &SubflowSample, all: Whereabouts<'_>) {
        let link = match end {
            End::Server => all.seen_as(subflow.remote.ip()),
            End::Client => all.link_with(self.flows[flow].by, subflow.local.ip()),
        };
        if let Some(link) = link {
            self.note(flow, link, subflow);
        }
    }

    fn note(&mut self, flow: usize, (link, number): (usize, LinkId), subflow: &SubflowSample) {
        let carried = Carried {
            link,
            number,
            bytes: subflow.acked,
            retransmits: subflow.retransmits,
            srtt: subflow.srtt,
            cwnd: subflow.cwnd,
            ssthresh: subflow.ssthresh,
        };
        let before = self
            .subflows
            .insert((flow, subflow.local, subflow.remote), carried);
        // Neither value of one socket ever decreases.
        let is_another =
            |before: &Carried| before.bytes > carried.bytes || before.retransmits > carried.retransmits;
        self.replaced
            .extend(before.filter(is_another).map(|before| (flow, before)));
    }

    /// The flow that the owner of these ends sends.
    pub(super) fn sent_by(&self, local: SocketAddr, remote: SocketAddr) -> Option<usize> {
        let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
        let ends = (canonical(local), canonical(remote));
        let mut subflows = self.subflows.keys();
        let found = subflows.find(|&&(_, local, remote)| (canonical(local), canonical(remote)) == ends);
        found.map(|&(flow, ..)| flow)
    }

    /// Everything carried, each with its flow.
    fn all(&self) -> impl Iterator<Item = (usize, Carried)> {
        let living = self
            .subflows
            .iter()
            .map(|((flow, ..), carried)| (*flow, *carried));
        living.chain(self.replaced.iter().copied())
    }

    /// Totals per flow and link that have changed since the last report.
    fn news(&mut self) -> Vec<What> {
        let mut totals: BTreeMap<(usize, usize), Total> = BTreeMap::new();
        for (flow, carried) in self.all() {
            let total = totals.entry((flow, carried.link)).or_default();
            total.bytes += carried.bytes.get();
            total.retransmits += carried.retransmits;
            if carried.srtt >= total.srtt {
                (total.srtt, total.cwnd, total.ssthresh) = (carried.srtt, carried.cwnd, carried.ssthresh);
            }
        }
        let mut events = Vec::new();
        for (key, total) in totals {
            let now = Told {
                bytes: total.bytes,
                retransmits: total.retransmits,
            };
            let before = self.told.insert(key, now);
            if before == Some(now) {
                continue;
            }
            let (flow, link) = (self.flows[key.0].name.clone(), self.links[key.1].clone());
            if before.is_none_or(|before| before.bytes != now.bytes) {
                events.push(What::PathBytes {
                    flow: flow.clone(),
                    link: link.clone(),
                    bytes: total.bytes,
                });
            }
            events.push(What::PathSender {
                flow,
                link,
                retransmits: total.retransmits,
                srtt_us: total.srtt.as_micros() as u64,
                cwnd: total.cwnd,
                ssthresh: total.ssthresh,
            });
        }
        events
    }

    /// What each link carried of a flow, with its CE marks. The links `marked` some packets; the client
    /// marked others on arrival, counted per link.
    pub(super) fn of_flow(&self, flow: usize, marked: &Marks, on_arrival: &[u64]) -> Vec<PathUse> {
        let mut uses: Vec<PathUse> = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let of_link = |wanted: usize| {
                let all = self
                    .all()
                    .filter(move |(of, carried)| *of == wanted && carried.link == index);
                all.map(|(_, carried)| carried)
            };
            if of_link(flow).next().is_none() {
                continue;
            }
            uses.push(PathUse {
                link: link.clone(),
                bytes: of_link(flow).map(|carried| carried.bytes.get()).sum(),
                retransmits: of_link(flow).map(|carried| carried.retransmits).sum(),
                segments: None,
                ce_marks: self.marks(flow, index, marked) + self.share(flow, index, on_arrival[index]),
                rtt: None,
            });
        }
        uses
    }

    /// A flow's share of the packets that the client marked on arrival by a link. The client marks every nth
    /// packet, whichever flow it belongs to.
    fn share(&self, flow: usize, link: usize, marked: u64) -> u64 {
        let arrives_at_client = |of: usize| {
            let FlowName { by, sender, .. } = &self.flows[of];
            (*by, *sender) == (0, End::Server)
        };
        if !arrives_at_client(flow) {
            return 0;
        }
        let (mut own, mut all) = (0, 0);
        for (of, carried) in self.all().filter(|(_, carried)| carried.link == link) {
            all += if arrives_at_client(of) {
                carried.bytes.get()
            } else {
                0
            };
            own += if of == flow { carried.bytes.get() } else { 0 };
        }
        let share = u128::from(marked) * u128::from(own);
        share.checked_div(u128::from(all)).unwrap_or(0) as u64
    }

    /// Packets of a flow that a link has marked, or received already marked, on their way to the receiver.
    fn marks(&self, flow: usize, link: usize, marked: &Marks) -> u64 {
        let sender = self.flows[flow].sender;
        let of_it = self
            .subflows
            .iter()
            .filter(|((of, ..), carried)| *of == flow && carried.link == link);
        let ports: BTreeSet<(LinkId, u16)> = of_it
            .map(|((_, local, remote), carried)| match sender {
                End::Server => (carried.number, remote.port()),
                End::Client => (carried.number, local.port()),
            })
            .collect();
        let direction = match sender {
            End::Server => Direction::Down,
            End::Client => Direction::Up,
        };
        let count = |&(number, port): &(LinkId, u16)| marked.get(&(number, direction, port));
        ports.iter().filter_map(count).sum()
    }

    /// Flows that requested MPTCP and were carried by plain TCP. A connection that opens or closes has no
    /// token for a moment.
    pub(super) fn fell_back(&self) -> impl Iterator<Item = &str> {
        let lasting = self.tokenless.iter().filter(|(_, looks)| **looks >= FALLEN_AFTER);
        let flows = lasting.map(|(flow, _)| &self.flows[*flow]);
        flows.filter(|flow| flow.multipath).map(|flow| flow.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Paths {
        let flow = FlowName {
            seed: 7,
            name: "ours".to_owned(),
            by: 0,
            sender: End::Server,
            multipath: true,
        };
        Paths::new(vec![flow], vec!["west".to_owned(), "lte".to_owned()])
    }

    fn subflow(port: u16, acked: u64, retransmits: u64) -> SubflowSample {
        SubflowSample {
            local: ([10, 0, 0, 1], 5_001).into(),
            remote: ([10, 0, 1, 1], port).into(),
            acked: Bytes::new(acked),
            received: Bytes::ZERO,
            queued: Bytes::ZERO,
            retransmits,
            srtt: Duration::from_millis(20),
            cwnd: 10,
            ssthresh: None,
        }
    }

    fn bytes(bytes: u64) -> What {
        let (flow, link) = ("ours".to_owned(), "west".to_owned());
        What::PathBytes { flow, link, bytes }
    }

    fn sender(retransmits: u64) -> What {
        What::PathSender {
            flow: "ours".to_owned(),
            link: "west".to_owned(),
            retransmits,
            srtt_us: 20_000,
            cwnd: 10,
            ssthresh: None,
        }
    }

    #[test]
    fn retransmissions_after_the_last_ack_are_counted() {
        let mut paths = paths();
        paths.note(0, of_the_client(0), &subflow(40_000, 1_000, 0));
        assert_eq!(paths.news(), [bytes(1_000), sender(0)]);
        assert!(paths.news().is_empty());
        paths.note(0, of_the_client(0), &subflow(40_000, 1_000, 12));
        assert_eq!(paths.news(), [sender(12)]);
        assert!(paths.news().is_empty());
    }

    #[test]
    fn a_replacement_subflow_does_not_reduce_the_totals() {
        let mut paths = paths();
        paths.note(0, of_the_client(0), &subflow(40_000, 1_000, 5));
        assert_eq!(paths.news(), [bytes(1_000), sender(5)]);
        paths.note(0, of_the_client(0), &subflow(40_000, 200, 0));
        assert_eq!(paths.news(), [bytes(1_200), sender(5)]);
        paths.note(0, of_the_client(0), &subflow(40_000, 200, 3));
        assert_eq!(paths.news(), [sender(8)]);
        paths.note(0, of_the_client(0), &subflow(40_000, 250, 1));
        assert_eq!(paths.news(), [bytes(1_450), sender(9)]);
    }
}
