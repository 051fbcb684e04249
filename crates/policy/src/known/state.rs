//! What the engine knows, and the few verbs by which every strategy acts.

mod beginnings;
mod endings;

use crate::estimate::acked::Acked;
use crate::estimate::arrivals::Arrivals;
use crate::estimate::carries::Carries;
use crate::estimate::delivery::Frame;
use crate::estimate::losses::Losses;
use crate::estimate::segments::Segments;
use crate::estimate::trickle::Trickle;
use crate::io::{
    Action, Checked, ConnEvent, ConnId, HostId, Input, JoinFailure, LONGEST, LinkEvent, LinkId, LinkSpec,
    Note, SubflowEvent, SubflowId, SubflowSample, Verb,
};
use crate::known::change::Change;
use crate::known::conn::{Conn, Joining, Subflow};
use crate::known::path::{Health, Marks, Path, Tally};
use crate::known::portals::Portals;
use crate::known::watches::Liveness;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use units::{Bitrate, Duration, Instant};

/// More links than any host has; a bound for memory whatever a world says.
const MOST_LINKS: usize = 1_024;
/// More connections than are watched; those beyond are left to the kernel.
const MOST_CONNS: usize = 16_384;

/// A subflow has found its rate by then.
const GROWN_AFTER: Duration = Duration::from_secs(3);
/// While all others bring this share of what they can, an application asks for more than they have: what a link then brings is what it can.
const FULL_PERCENT: u64 = 80;

/// Links, connections, and what is still to be carried out.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) paths: BTreeMap<LinkId, Path>,
    pub(crate) conns: BTreeMap<ConnId, Conn>,
    owners: BTreeMap<SubflowId, ConnId>,
    actions: VecDeque<Action>,
    next_probe: u32,
    probes: VecDeque<(u32, LinkId)>,
    /// Where new connections begin, in IPv4 and IPv6; `None`: as the user's routes say.
    chosen: [Option<LinkId>; 2],
    peer_subflows: usize,
    pub(crate) liveness: Liveness,
    pub(crate) portals: Portals,
}

impl State {
    pub(crate) fn new(peer_subflows: usize) -> Self {
        Self {
            paths: BTreeMap::new(),
            conns: BTreeMap::new(),
            owners: BTreeMap::new(),
            actions: VecDeque::new(),
            next_probe: 0,
            probes: VecDeque::new(),
            chosen: [None; 2],
            peer_subflows,
            liveness: Liveness::default(),
            portals: Portals::default(),
        }
    }

    pub(crate) fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Takes in one fact; facts about what is gone change nothing.
    pub(crate) fn learn(&mut self, now: Instant, input: Input) -> Change {
        match input {
            Input::Link(link, LinkEvent::Appeared(spec)) => self.appeared(link, spec),
            Input::Link(link, LinkEvent::Gone) => {
                self.paths.remove(&link);
                self.leads_elsewhere(link);
                Change::Shape
            }
            Input::Link(link, event) => self.about_link(now, link, event),
            Input::Conn(conn, event) => self.about_conn(now, conn, event),
            Input::Subflow(subflow, event) => self.about_subflow(now, subflow, event),
            Input::Radio(..) | Input::Flow(..) | Input::Allow(..) | Input::Resumed => Change::Counters,
        }
    }

    fn appeared(&mut self, link: LinkId, spec: LinkSpec) -> Change {
        let has_room = self.paths.len() < MOST_LINKS;
        match self.paths.get_mut(&link) {
            Some(path) => path.spec = spec,
            None if has_room => drop(self.paths.insert(link, Path::new(spec))),
            None => {}
        }
        Change::Shape
    }

    fn about_link(&mut self, now: Instant, link: LinkId, event: LinkEvent) -> Change {
        let Some(path) = self.paths.get_mut(&link) else {
            return Change::Counters;
        };
        match event {
            LinkEvent::Carrier(carrier) => {
                path.carrier = carrier;
                path.health = Health::Alive;
                self.leads_elsewhere(link);
                Change::Shape
            }
            LinkEvent::Usable(usable) => {
                if path.usable_since.is_some() != usable {
                    path.usable_since = usable.then_some(now);
                    path.health = Health::Alive;
                }
                // Another address may be taken where the last one was not.
                for conn in self.conns.values_mut().filter(|_| usable) {
                    conn.failed.retain(|failed| failed.link != link);
                }
                self.leads_elsewhere(link);
                Change::Shape
            }
            LinkEvent::Uplink(family, uplink) => {
                path.uplinks[family as usize] = uplink;
                Change::Shape
            }
            LinkEvent::Beacon(signal) => {
                path.beacon(now, signal);
                Change::Counters
            }
            LinkEvent::Received { packets } => {
                let arrived = core::mem::replace(&mut path.received, packets) < packets;
                // What an interface counts may be a neighbour's broadcast: it ends a doubt of some milliseconds, and brings no dead link back.
                let is_dead = matches!(path.health, Health::Dead { .. });
                if arrived && !is_dead {
                    self.proof_of_life(now, link)
                } else {
                    self.found_nothing(now, link)
                }
            }
            LinkEvent::ProbeAnswered { probe, rtt } => self.answered(now, link, probe, rtt.min(LONGEST)),
            LinkEvent::ProbeFailed { probe } => {
                self.liveness.failed(now, link, probe);
                Change::Counters
            }
            LinkEvent::Host(host, event) => match self.liveness.told(now, link, host, event) {
                true => self.proof_of_life(now, link),
                false => Change::Counters,
            },
            LinkEvent::Traffic { sent, received } => {
                self.liveness.count(now, link, sent, received);
                Change::Counters
            }
            LinkEvent::Checkable => {
                self.portals.checkable(link);
                Change::Counters
            }
            LinkEvent::Checked(checked) => {
                self.portals.checked(now, link, checked);
                if checked == Checked::Passed {
                    self.liveness.heard(now, link);
                    self.proof_of_life(now, link);
                }
                Change::Shape
            }
            LinkEvent::Appeared(_) | LinkEvent::Gone => Change::Counters,
            told => path.told(now, told),
        }
    }

    /// A frame was heard: the one kind of fact that comes thousands of times a second.
    #[inline]
    pub(crate) fn overhear(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        if let Some(air) = self.paths.get_mut(&link).and_then(Path::air) {
            air.hear(now, frame);
        }
    }

    /// Brings up to date what is known of the air of every link.
    pub(crate) fn look_at_air(&mut self, now: Instant) {
        for air in self.paths.values_mut().filter_map(|path| path.air.as_mut()) {
            air.look(now);
        }
    }

    /// Brings up to date what every link has shown, and what it is known to carry: the most that any of its subflows has shown.
    pub(crate) fn look_at_rates(&mut self, now: Instant) {
        self.tally(now);
        let joined = || self.paths.values().filter(|path| path.tally.joined);
        let brings: Bitrate = joined().map(|path| path.tally.rate).sum();
        let worth: Bitrate = joined().map(|path| path.worth).sum();
        for path in self.paths.values_mut().filter(|path| path.tally.joined) {
            path.shown = path.tally.best;
            let others = worth - path.worth;
            let are_full = brings - path.tally.rate >= others.percent(FULL_PERCENT);
            let judged = path.tally.grown && others > Bitrate::ZERO && are_full;
            let known = if judged { Bitrate::ZERO } else { path.worth };
            path.worth = path.shown.max(known);
        }
    }

    fn tally(&mut self, now: Instant) {
        for path in self.paths.values_mut() {
            path.tally = Tally::default();
        }
        for subflow in self.conns.values().flat_map(|conn| &conn.subflows) {
            let Some(path) = self.paths.get_mut(&subflow.link) else {
                continue;
            };
            let tally = &mut path.tally;
            tally.joined = true;
            tally.grown |= now - subflow.since >= GROWN_AFTER;
            tally.best = tally.best.max(subflow.arrivals.best_rate(now));
            if !subflow.backup {
                tally.rate = tally.rate + subflow.arrivals.rate(now);
            }
        }
    }

    /// It has another address, or none: what was known of where it leads is void.
    fn leads_elsewhere(&mut self, link: LinkId) {
        self.liveness.forget(link);
        self.portals.forget(link);
        let path = self.paths.get_mut(&link);
        path.into_iter().for_each(|path| path.held = None);
    }

    fn answered(&mut self, now: Instant, link: LinkId, probe: u32, rtt: Duration) -> Change {
        match self.liveness.replied(now, link, probe) {
            Some(true) => return self.proof_of_life(now, link),
            Some(false) => return Change::Counters,
            None => {}
        }
        if !self.probes.contains(&(probe, link)) {
            return Change::Counters;
        }
        for subflow in self
            .conns
            .values_mut()
            .flat_map(|conn| conn.subflows.iter_mut())
            .filter(|subflow| subflow.link == link)
        {
            subflow.cleared = Some(now);
        }
        if let Some(path) = self.paths.get_mut(&link) {
            path.measured(rtt);
        }
        self.liveness.heard(now, link);
        self.proof_of_life(now, link)
    }

    /// Something arrived over this link: whatever was held against it is void.
    pub(crate) fn proof_of_life(&mut self, now: Instant, link: LinkId) -> Change {
        let Some(path) = self.paths.get_mut(&link) else {
            return Change::Counters;
        };
        let health = core::mem::replace(&mut path.health, Health::Alive);
        path.heard = Some(now);
        match health {
            Health::Alive => return Change::Counters,
            Health::Doubted(doubt) => {
                let overdue = (now - doubt.since).saturating_sub(path.rtt());
                path.gap.survived(now, overdue);
            }
            Health::Dead { .. } => {
                self.liveness.found(link);
                self.note(Some(link), None, Verb::Clear, String::from("it answers again"));
            }
        }
        Change::Shape
    }

    /// It was looked whether anything has come over this link, and nothing has.
    fn found_nothing(&mut self, now: Instant, link: LinkId) -> Change {
        let health = self.paths.get_mut(&link).map(|path| &mut path.health);
        let is_proof = match health {
            Some(Health::Doubted(doubt)) => doubt.looked(now),
            _ => false,
        };
        if is_proof { Change::Doubt } else { Change::Counters }
    }

    fn about_conn(&mut self, now: Instant, conn: ConnId, event: ConnEvent) -> Change {
        match event {
            ConnEvent::Opened if self.conns.len() < MOST_CONNS => {
                let peer_subflows = self.peer_subflows;
                self.conns.entry(conn).or_insert_with(|| Conn::new(peer_subflows));
                Change::Shape
            }
            ConnEvent::Opened => Change::Counters,
            ConnEvent::Closed => {
                self.forget_conn(conn);
                Change::Shape
            }
            ConnEvent::Sample(sample) => {
                if let Some(conn) = self.conns.get_mut(&conn) {
                    conn.read(now, sample);
                }
                Change::Counters
            }
            ConnEvent::JoinFailed { link, reason } => self.join_failed(now, conn, link, reason),
        }
    }

    /// With its subflows, and what was said of links for its sake.
    fn forget_conn(&mut self, conn: ConnId) {
        let subflows = self.conns.remove(&conn).map(|conn| conn.subflows);
        for subflow in subflows.into_iter().flatten() {
            self.owners.remove(&subflow.id);
        }
        for path in self.paths.values_mut() {
            path.forget_aside(conn);
        }
    }

    fn join_failed(&mut self, now: Instant, conn: ConnId, link: LinkId, reason: JoinFailure) -> Change {
        let Some(state) = self.conns.get_mut(&conn) else {
            return Change::Counters;
        };
        state.joining.retain(|join| join.link != link);
        let said = state.join_failed(now, link, reason);
        let is_second = state.renewals.is_over(link);
        if reason != JoinFailure::Timeout {
            state.renewals.join_failed(link);
        }
        match said.map(String::from) {
            // The first goes on.
            Some(why) if is_second => self.remark(Some(conn), link, Verb::Refuse, why),
            Some(why) => self.note(Some(link), Some(conn), Verb::Refuse, why),
            None => {}
        }
        Change::Shape
    }

    fn about_subflow(&mut self, now: Instant, id: SubflowId, event: SubflowEvent) -> Change {
        match event {
            SubflowEvent::Established {
                conn,
                link,
                initial,
                backup,
            } => {
                let since = now;
                let subflow = Subflow {
                    id,
                    link,
                    initial,
                    since,
                    backup,
                    arrivals: Arrivals::new(now),
                    acked: Acked::default(),
                    carries: Carries::default(),
                    losses: Losses::default(),
                    trickle: Trickle::default(),
                    segments: Segments::default(),
                    waiting: None,
                    sample: SubflowSample::default(),
                    draining: None,
                    held_back: false,
                    cleared: None,
                };
                self.established(now, conn, subflow)
            }
            SubflowEvent::Closed => self.subflow_closed(now, id),
            SubflowEvent::Sample(sample) => self.sampled(now, id, sample.plausible()),
        }
    }

    fn established(&mut self, now: Instant, id: ConnId, subflow: Subflow) -> Change {
        let Some(conn) = self.conns.get_mut(&id) else {
            return Change::Counters;
        };
        conn.begun = true;
        conn.joining.retain(|join| join.link != subflow.link);
        conn.failed.retain(|failed| failed.link != subflow.link);
        conn.withdrawn.retain(|withdrawn| withdrawn.link != subflow.link);
        self.owners.insert(subflow.id, id);
        let link = subflow.link;
        conn.subflows.retain(|other| other.id != subflow.id);
        conn.subflows.push(subflow);
        if let Some(path) = self.paths.get_mut(&link) {
            path.forget_aside(id);
        }
        self.proof_of_life(now, link);
        Change::Shape
    }

    fn subflow_closed(&mut self, now: Instant, id: SubflowId) -> Change {
        if let Some(conn) = self.owners.remove(&id).and_then(|conn| self.conns.get_mut(&conn)) {
            conn.subflows.retain(|subflow| subflow.id != id);
            conn.place_freed(now);
        }
        Change::Shape
    }

    fn sampled(&mut self, now: Instant, id: SubflowId, sample: SubflowSample) -> Change {
        let Some(conn) = self.owners.get(&id).and_then(|conn| self.conns.get_mut(conn)) else {
            return Change::Counters;
        };
        let Some(subflow) = conn.subflows.iter_mut().find(|subflow| subflow.id == id) else {
            return Change::Counters;
        };
        let arrived = subflow.read(now, sample);
        let link = subflow.link;
        let Some(path) = self.paths.get_mut(&link) else {
            return Change::Counters;
        };
        path.measured(sample.min_rtt);
        // An interface counts all that has come over it, a subflow only its own.
        let is_counted = path.received > 0;
        match arrived {
            true => {
                self.liveness.heard(now, link);
                self.proof_of_life(now, link)
            }
            false if is_counted => Change::Counters,
            false => self.found_nothing(now, link),
        }
    }

    pub(crate) fn conn_of(&self, subflow: SubflowId) -> Option<ConnId> {
        self.owners.get(&subflow).copied()
    }

    /// Asks for an association, at most every two seconds; nothing where there is nothing to associate.
    pub(crate) fn associate(&mut self, now: Instant, link: LinkId) {
        let Some(path) = self
            .paths
            .get_mut(&link)
            .filter(|path| path.is_wifi() && !path.carrier)
        else {
            return;
        };
        if path
            .asked
            .is_none_or(|asked| now - asked >= Duration::from_secs(2))
        {
            path.asked = Some(now);
            self.actions.push_back(Action::Associate(link));
        }
    }

    pub(crate) fn leave(&mut self, link: LinkId) {
        if self
            .paths
            .get_mut(&link)
            .is_some_and(|path| path.asked.take().is_some())
        {
            self.actions.push_back(Action::Leave(link));
        }
    }

    pub(crate) fn endpoint(&mut self, link: LinkId, wanted: bool) {
        self.actions.push_back(Action::Endpoint(link, wanted));
    }

    pub(crate) fn join(&mut self, now: Instant, conn: ConnId, link: LinkId, backup: bool) {
        if let Some(state) = self.conns.get_mut(&conn) {
            state.joining.push(Joining { link, since: now });
            self.actions.push_back(Action::Join { conn, link, backup });
        }
    }

    pub(crate) fn set_backup(&mut self, conn: ConnId, subflow: SubflowId, backup: bool) {
        let subflows = self
            .conns
            .get_mut(&conn)
            .into_iter()
            .flat_map(|conn| conn.subflows.iter_mut());
        for subflow in subflows.filter(|other| other.id == subflow && other.backup != backup) {
            subflow.backup = backup;
            self.actions.push_back(Action::SetBackup {
                subflow: subflow.id,
                backup,
            });
        }
    }

    pub(crate) fn probe(&mut self, link: LinkId, conn: ConnId) {
        let probe = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        if self.probes.len() == 256 {
            self.probes.pop_front();
        }
        self.probes.push_back((probe, link));
        self.actions.push_back(Action::Probe { link, conn, probe });
    }

    /// Has a host probed; the probe's name.
    pub(crate) fn ask(&mut self, link: LinkId, host: HostId, gently: bool) -> u32 {
        let probe = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.actions.push_back(Action::Ask {
            link,
            host,
            probe,
            gently,
        });
        probe
    }

    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Says something about a link that does not take the place of what was decided about it.
    pub(crate) fn remark(&mut self, conn: Option<ConnId>, link: LinkId, verb: Verb, why: String) {
        self.actions.push_back(Action::Note(Note {
            link: Some(link),
            conn,
            verb,
            why,
        }));
    }

    /// Changes who asks for which marks on a link; the world is told when what follows from that changes.
    pub(crate) fn mark(&mut self, link: LinkId, change: impl FnOnce(&mut Marks)) {
        let Some(path) = self.paths.get_mut(&link) else {
            return;
        };
        let before = path.marks;
        change(&mut path.marks);
        let after = path.marks;
        if after.arriving() != before.arriving() {
            self.actions.push_back(Action::Mark(link, after.arriving()));
        }
        if after.sent != before.sent {
            self.actions.push_back(Action::MarkSent(link, after.sent));
        }
    }

    /// Records a decision, for the trace and for `why`.
    pub(crate) fn note(&mut self, link: Option<LinkId>, conn: Option<ConnId>, verb: Verb, why: String) {
        let note = Note {
            link,
            conn,
            verb,
            why,
        };
        if let Some(path) = link.and_then(|link| self.paths.get_mut(&link)) {
            if path.decided() == Some(&note) {
                return;
            }
            path.decide(note.clone());
        }
        self.actions.push_back(Action::Note(note));
    }
}
