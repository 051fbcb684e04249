//! A small world around the engine: links with a fluid model, probes that are answered while a link is alive,
//! and a peer with places.
//!
//! It carries out the engine's requests as a real world would, and remembers them. As with a stock peer, its
//! peer counts an added subflow until it learns of its end. RM_ADDR tells it so: that leaves over the
//! connection's oldest subflow, and is lost if that one's link is dead. Over a live link, the subflow itself
//! tells it one way delay later.

use crate::*;
use std::collections::{BTreeMap, BTreeSet};
use units::{Bitrate, Bytes, Dbm, Duration, Instant};

pub(super) const STEP: Duration = Duration::from_millis(5);
/// Payload of a segment.
const SEGMENT: f64 = 1_448.0;

/// A link of the test world.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) rate: Bitrate,
    pub(super) rtt: Duration,
    /// The queueing delay on it.
    pub(super) queue: Duration,
    /// How long the reply to a probe takes.
    pub(super) answers_after: Duration,
    pub(super) alive: bool,
    /// Whether it loses one segment in a hundred at random.
    pub(super) loses: bool,
    pub(super) signal: Option<Dbm>,
    /// Payload that arrived over it.
    bytes: f64,
    /// Replies that arrived over it.
    answers: u64,
}

impl Link {
    /// Counter of packets that the link's interface received.
    fn packets(&self) -> u64 {
        (self.bytes / SEGMENT) as u64 + self.answers
    }
}

#[derive(Debug)]
struct Sub {
    conn: ConnId,
    link: LinkId,
    backup: bool,
    segments: f64,
    bytes: f64,
}

/// The engine, and everything around it.
pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) now: Instant,
    pub(super) links: BTreeMap<LinkId, Link>,
    pub(super) done: Vec<(Instant, Action)>,
    /// The application's demand, as a share of the links' rate.
    pub(super) demand: f64,
    /// Payload of a segment.
    pub(super) segment: f64,
    /// A connection without demand.
    pub(super) idle: Option<ConnId>,
    /// The intervals between polls of the counters, in a loop. Without any, they are read at every step.
    pub(super) pauses: Vec<Duration>,
    /// When they were read, if there are intervals.
    pub(super) readings: Vec<Instant>,
    /// Whether the counters of interfaces are read, too.
    pub(super) counts: bool,
    /// Whether the counters of suspect links are read whenever the engine is due.
    pub(super) glances: bool,
    /// Segments of an upload in flight over each link.
    pub(super) unacked: u32,
    /// Out-of-order bytes.
    pub(super) held: Bytes,
    /// Whether arriving data is duplicate: connections make no progress.
    pub(super) repeats: bool,
    /// How far each connection was.
    reached: BTreeMap<ConnId, f64>,
    /// How many added subflows the peer accepts.
    pub(super) places: usize,
    /// This many RM_ADDRs are lost from now on.
    pub(super) lose_words: usize,
    /// RM_ADDRs that were lost so.
    pub(super) lost_words: usize,
    /// How long an RM_ADDR takes to reach the peer.
    pub(super) word_takes: Duration,
    /// The subflows withdrawn by RM_ADDR, and when the peer received it.
    pub(super) heard: Vec<(Instant, SubflowId)>,
    subs: BTreeMap<SubflowId, Sub>,
    owners: BTreeMap<SubflowId, ConnId>,
    /// Added subflows that have a place at the peer.
    placed: BTreeSet<SubflowId>,
    words: Vec<(Instant, LinkId, SubflowId)>,
    /// Subflows that were closed, and when the peer learns of it over their own links.
    ends: Vec<(Instant, LinkId, SubflowId)>,
    answers: Vec<(Instant, LinkId, u32, Duration)>,
    /// Those that have arrived.
    answered: Vec<(LinkId, u32, Duration)>,
    joins: Vec<(Instant, ConnId, LinkId, bool)>,
    refusals: Vec<(Instant, ConnId, LinkId)>,
    next_sub: u32,
}

pub(super) fn spec(name: &str, kind: LinkKind, role: Role) -> LinkSpec {
    let channel = (kind == LinkKind::Wifi).then_some(6);
    LinkSpec {
        name: name.into(),
        kind,
        role,
        channel,
    }
}

impl World {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            engine: Engine::new(Config {
                policy,
                peer_subflows: 2,
            }),
            now: Instant::from_secs(1),
            links: BTreeMap::new(),
            done: Vec::new(),
            demand: 1.0,
            segment: SEGMENT,
            idle: None,
            pauses: Vec::new(),
            readings: Vec::new(),
            counts: false,
            glances: false,
            unacked: 0,
            held: Bytes::ZERO,
            repeats: false,
            reached: BTreeMap::new(),
            places: 2,
            lose_words: 0,
            lost_words: 0,
            word_takes: Duration::ZERO,
            heard: Vec::new(),
            subs: BTreeMap::new(),
            owners: BTreeMap::new(),
            placed: BTreeSet::new(),
            words: Vec::new(),
            ends: Vec::new(),
            answers: Vec::new(),
            answered: Vec::new(),
            joins: Vec::new(),
            refusals: Vec::new(),
            next_sub: 0,
        }
    }

    /// Adds a link that is up and has an address.
    pub(super) fn up(&mut self, id: u16, kind: LinkKind, role: Role, mbps: u64, rtt_ms: u64) {
        let link = LinkId(id);
        self.add(id, kind, role, mbps, rtt_ms);
        self.tell(Input::Link(link, LinkEvent::Carrier(true)));
        self.tell(Input::Link(link, LinkEvent::Usable(true)));
    }

    /// Adds an access point as a host without a monitor interface sees it: up with an address, but of unknown
    /// channel.
    pub(super) fn up_without_channel(&mut self, id: u16, mbps: u64, rtt_ms: u64) {
        let link = LinkId(id);
        let spec = LinkSpec {
            channel: None,
            ..spec(&format!("link{id}"), LinkKind::Wifi, Role::Primary)
        };
        self.add(id, LinkKind::Wifi, Role::Primary, mbps, rtt_ms);
        self.tell(Input::Link(link, LinkEvent::Appeared(spec)));
        self.tell(Input::Link(link, LinkEvent::Carrier(true)));
        self.tell(Input::Link(link, LinkEvent::Usable(true)));
    }

    /// Adds a link that has no carrier.
    pub(super) fn add(&mut self, id: u16, kind: LinkKind, role: Role, mbps: u64, rtt_ms: u64) {
        let (rate, rtt) = (Bitrate::from_mbps(mbps), Duration::from_millis(rtt_ms));
        self.links.insert(
            LinkId(id),
            Link {
                rate,
                rtt,
                queue: Duration::ZERO,
                answers_after: rtt,
                alive: true,
                loses: false,
                signal: None,
                bytes: 0.0,
                answers: 0,
            },
        );
        self.tell(Input::Link(
            LinkId(id),
            LinkEvent::Appeared(spec(&format!("link{id}"), kind, role)),
        ));
    }

    /// Opens a connection whose first subflow is on this link.
    pub(super) fn open(&mut self, conn: u32, link: u16) {
        self.tell(Input::Conn(ConnId(conn), ConnEvent::Opened));
        self.establish(ConnId(conn), LinkId(link), true, false);
    }

    pub(super) fn tell(&mut self, input: Input) {
        self.engine.handle(self.now, input);
        self.carry_out();
    }

    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
    }

    /// The same with bytes out of order. After a second, the links carry less than they have shown.
    pub(super) fn run_blocked(&mut self, time: Duration) {
        let second = Duration::from_secs(1);
        self.held = Bytes::from_kib(500);
        self.run(second);
        self.demand = 0.6;
        self.run(time - second);
        self.demand = 1.0;
    }

    fn step(&mut self) {
        self.now += STEP;
        self.flow();
        self.deliver_answers();
        self.deliver_words();
        self.deliver_ends();
        self.finish_joins();
        self.tell_refusals();
        self.beacon();
        self.glance();
        self.engine.tick(self.now);
        self.carry_out();
    }

    /// Stops the engine for this long, while everything else runs.
    pub(super) fn starve(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            self.carry();
        }
    }

    /// Stops the whole host for this long. What is sent to it meanwhile is lost.
    pub(super) fn freeze(&mut self, time: Duration) {
        self.now += time;
        self.lose_answers();
    }

    /// Loses whatever is on its way to this host.
    pub(super) fn lose_answers(&mut self) {
        self.answers.clear();
    }

    /// Delays pending joins by this time.
    pub(super) fn delay_joins(&mut self, time: Duration) {
        self.joins.iter_mut().for_each(|join| join.0 += time);
    }

    /// Loses pending joins.
    pub(super) fn lose_joins(&mut self) {
        self.joins.clear();
    }

    fn flow(&mut self) {
        self.carry();
        if self.is_reading() {
            self.read_interfaces();
            self.read_subflows();
            self.report_connections();
        }
    }

    /// Moves the data of one step, whether or not it is polled.
    fn carry(&mut self) {
        let now = self.now;
        let Self { links, subs, .. } = self;
        let active_exists = subs.values().any(|sub| !sub.backup && links[&sub.link].alive);
        for sub in subs.values_mut() {
            let Some(link) = links.get_mut(&sub.link).filter(|link| link.alive) else {
                continue;
            };
            if !sub.backup || !active_exists {
                let is_idle = self.idle == Some(sub.conn);
                let demand = if is_idle { 0.0 } else { self.demand };
                let bytes = (link.rate * STEP).get() as f64 * demand;
                sub.bytes += bytes;
                sub.segments += bytes / self.segment;
                link.bytes += bytes;
            }
        }
        let (due, later): (Vec<_>, Vec<_>) = self.answers.drain(..).partition(|answer| answer.0 <= now);
        self.answers = later;
        for (_, id, probe, rtt) in due {
            if let Some(link) = links.get_mut(&id).filter(|link| link.alive) {
                link.answers += 1;
                self.answered.push((id, probe, rtt));
            }
        }
    }

    fn is_reading(&mut self) -> bool {
        if self.pauses.is_empty() {
            return true;
        }
        let pause = self.pauses[self.readings.len() % self.pauses.len()];
        let due = self.readings.last().is_none_or(|last| self.now - *last >= pause);
        self.readings.extend(due.then_some(self.now));
        due
    }

    fn read_interfaces(&mut self) {
        let links: Vec<LinkId> = self.links.keys().copied().filter(|_| self.counts).collect();
        links.into_iter().for_each(|link| self.read_interface(link));
    }

    fn glance(&mut self) {
        let is_due = self.engine.wake_at().is_some_and(|(at, _)| at <= self.now);
        if self.glances && is_due {
            let doubted: Vec<LinkId> = self.engine.doubted().collect();
            doubted.into_iter().for_each(|link| self.read_interface(link));
        }
    }

    fn read_interface(&mut self, link: LinkId) {
        let packets = self.links[&link].packets();
        self.tell(Input::Link(link, LinkEvent::Received { packets }));
    }

    fn read_subflows(&mut self) {
        let ids: Vec<SubflowId> = self.subs.keys().copied().collect();
        for id in ids {
            let Some(sub) = self.subs.get_mut(&id) else {
                continue;
            };
            let link = &self.links[&sub.link];
            let (segs_in, bytes_received) = (sub.segments as u64, Bytes::new(sub.bytes as u64));
            let (min_rtt, data_rtt) = (link.rtt, link.rtt + link.queue);
            let disordered = if link.loses { segs_in / 100 } else { 0 };
            let sample = SubflowSample {
                segs_in,
                bytes_received,
                unacked: self.unacked,
                srtt: data_rtt,
                min_rtt,
                data_rtt,
                disordered,
                backup: sub.backup,
                ..SubflowSample::default()
            };
            self.tell(Input::Subflow(id, SubflowEvent::Sample(sample)));
        }
    }

    fn report_connections(&mut self) {
        let mut received: BTreeMap<ConnId, f64> = BTreeMap::new();
        for sub in self.subs.values() {
            *received.entry(sub.conn).or_default() += sub.bytes;
        }
        if self.repeats {
            received.clone_from(&self.reached);
        }
        self.reached.clone_from(&received);
        for (conn, bytes) in received {
            let sample = ConnSample {
                bytes_received: Bytes::new(bytes as u64),
                held: self.held,
                ..ConnSample::default()
            };
            self.tell(Input::Conn(conn, ConnEvent::Sample(sample)));
        }
    }

    fn deliver_answers(&mut self) {
        for (link, probe, rtt) in std::mem::take(&mut self.answered) {
            self.tell(Input::Link(link, LinkEvent::ProbeAnswered { probe, rtt }));
        }
    }

    fn finish_joins(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.joins.drain(..).partition(|join| join.0 <= now);
        self.joins = later;
        for (_, conn, link, backup) in due {
            if !self.links[&link].alive {
                continue;
            }
            if self.places_taken(conn) < self.places {
                self.establish(conn, link, false, backup);
            } else {
                self.refusals.push((now + self.links[&link].rtt, conn, link));
            }
        }
    }

    /// A refused join looks established for a round trip.
    fn tell_refusals(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.refusals.drain(..).partition(|refusal| refusal.0 <= now);
        self.refusals = later;
        for (_, conn, link) in due {
            let reason = JoinFailure::Refused;
            self.tell(Input::Conn(conn, ConnEvent::JoinFailed { link, reason }));
        }
    }

    fn places_taken(&self, conn: ConnId) -> usize {
        let owned = |subflow: &&SubflowId| self.owners[*subflow] == conn;
        self.placed.iter().filter(owned).count()
    }

    /// RM_ADDR leaves over the oldest remaining subflow of the connection.
    fn withdraw(&mut self, subflow: SubflowId) {
        let conn = self.owners[&subflow];
        let Some(over) = self
            .subs
            .values()
            .find(|sub| sub.conn == conn)
            .map(|sub| sub.link)
        else {
            return;
        };
        if self.lose_words > 0 {
            (self.lose_words, self.lost_words) = (self.lose_words - 1, self.lost_words + 1);
            return;
        }
        self.words.push((self.now + self.word_takes, over, subflow));
        self.deliver_words();
    }

    fn deliver_words(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.words.drain(..).partition(|word| word.0 <= now);
        self.words = later;
        for (_, over, subflow) in due {
            if self.links[&over].alive {
                self.placed.remove(&subflow);
                self.heard.push((now, subflow));
            }
        }
    }

    fn deliver_ends(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.ends.drain(..).partition(|end| end.0 <= now);
        self.ends = later;
        for (_, over, subflow) in due {
            if self.links[&over].alive {
                self.placed.remove(&subflow);
            }
        }
    }

    fn beacon(&mut self) {
        if !self.now.as_millis().is_multiple_of(100) {
            return;
        }
        let heard: Vec<(LinkId, Dbm)> = self
            .links
            .iter()
            .filter_map(|(&id, link)| Some((id, link.signal?)))
            .collect();
        for (link, signal) in heard {
            self.tell(Input::Link(link, LinkEvent::Beacon(signal)));
        }
    }

    fn establish(&mut self, conn: ConnId, link: LinkId, initial: bool, backup: bool) {
        let id = SubflowId(self.next_sub);
        self.next_sub += 1;
        self.owners.insert(id, conn);
        if !initial {
            self.placed.insert(id);
        }
        self.subs.insert(
            id,
            Sub {
                conn,
                link,
                backup,
                segments: 0.0,
                bytes: 0.0,
            },
        );
        self.tell(Input::Subflow(
            id,
            SubflowEvent::Established {
                conn,
                link,
                initial,
                backup,
            },
        ));
    }

    fn carry_out(&mut self) {
        while let Some(action) = self.engine.poll() {
            self.done.push((self.now, action.clone()));
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Probe { link, probe, .. } => {
                let rtt = self.links[&link].answers_after;
                self.answers.push((self.now + rtt, link, probe, rtt));
            }
            Action::Join {
                conn, link, backup, ..
            } => self
                .joins
                .push((self.now + self.links[&link].rtt, conn, link, backup)),
            Action::SetBackup { subflow, backup } => {
                if let Some(sub) = self.subs.get_mut(&subflow) {
                    sub.backup = backup;
                }
            }
            Action::Destroy(subflow) => {
                if let Some(sub) = self.subs.remove(&subflow) {
                    let way = self.links[&sub.link].rtt / 2;
                    self.ends.push((self.now + way, sub.link, subflow));
                }
            }
            Action::Withdraw(subflow) => self.withdraw(subflow),
            Action::Associate(link) => {
                self.engine
                    .handle(self.now, Input::Link(link, LinkEvent::Carrier(true)));
                self.engine
                    .handle(self.now, Input::Link(link, LinkEvent::Usable(true)));
            }
            Action::Leave(link) => {
                self.engine
                    .handle(self.now, Input::Link(link, LinkEvent::Carrier(false)));
                self.engine
                    .handle(self.now, Input::Link(link, LinkEvent::Usable(false)));
            }
            _ => {}
        }
    }

    /// The times of all picked actions since `since`.
    pub(super) fn asked(&self, since: Instant, pick: impl Fn(&Action) -> bool) -> Vec<Instant> {
        self.done
            .iter()
            .filter(|(at, action)| *at >= since && pick(action))
            .map(|(at, _)| *at)
            .collect()
    }

    pub(super) fn withdrawn(&self, since: Instant) -> Vec<Instant> {
        self.asked(since, |action| matches!(action, Action::Withdraw(_)))
    }

    /// The links in use for this connection now, in order.
    pub(super) fn in_use(&self) -> Vec<u16> {
        self.over(|sub| !sub.backup)
    }

    /// The links that are joined, in order.
    pub(super) fn joined(&self) -> Vec<u16> {
        self.over(|_| true)
    }

    fn over(&self, wanted: impl Fn(&Sub) -> bool) -> Vec<u16> {
        let subs = self.subs.values().filter(|sub| wanted(sub));
        let mut links: Vec<u16> = subs.map(|sub| sub.link.0).collect();
        links.sort_unstable();
        links
    }

    /// The latest subflow over this link.
    pub(super) fn joined_as(&self, id: u16) -> SubflowId {
        let over = self.subs.iter().filter(|(_, sub)| sub.link == LinkId(id));
        over.map(|(subflow, _)| *subflow).max().unwrap()
    }

    pub(super) fn set_alive(&mut self, id: u16, alive: bool) {
        self.links.get_mut(&LinkId(id)).unwrap().alive = alive;
    }

    pub(super) fn set_signal(&mut self, id: u16, dbm: f64) {
        self.links.get_mut(&LinkId(id)).unwrap().signal = Some(Dbm::from_mbm((dbm * 100.0) as i32));
    }

    pub(super) fn state_of(&self, id: u16) -> &'static str {
        self.engine
            .explain()
            .into_iter()
            .find(|explanation| explanation.link == LinkId(id))
            .unwrap()
            .state
    }
}
