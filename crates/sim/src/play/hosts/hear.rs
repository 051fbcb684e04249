//! Events of the client's host and counters of its connections, as facts for the engine: what `linux`'s
//! `daemon::hear` makes of a kernel's.

use super::book::Standing;
use super::sampler::{Watched, Whom};
use super::world::World;
use crate::mptcp::{Connection, Event, Path};
use policy::{ConnEvent, ConnId, Input, JoinFailure, LinkEvent, LinkId, SubflowEvent, SubflowId};
use units::{Bytes, Duration, Instant};

/// Replies that come later say nothing about the present.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

const fn link_of(path: Path) -> LinkId {
    LinkId(path.link.0)
}

impl World<'_> {
    pub(super) fn hear(&mut self, event: Event) {
        match event {
            Event::Opened { conn, mptcp } => self.opened(conn, mptcp),
            Event::Joinable { conn } => self.joinable(ConnId(conn)),
            Event::Closed { conn } => self.closed(ConnId(conn)),
            Event::SubflowOpened {
                conn, initial: true, ..
            } if self.book.is_open(ConnId(conn)) => {}
            Event::SubflowOpened {
                conn,
                subflow,
                path,
                initial: true,
                ..
            } => self.book.begin(ConnId(conn), subflow, path),
            Event::SubflowOpened {
                conn,
                subflow,
                path,
                backup,
                ..
            } => self.subflow_joined((ConnId(conn), path), subflow, backup),
            Event::SubflowClosed { subflow, .. } => self.subflow_closed(subflow),
            Event::JoinFailed { conn, path, reason } => {
                let (conn, link) = (ConnId(conn), link_of(path));
                if self.book.take_join(conn, link).is_some() {
                    self.join_failed(conn, link, reason);
                }
            }
            Event::Announced { conn, .. } => self.announced(ConnId(conn)),
            Event::ProbeAnswered { link, probe, rtt } => {
                if rtt < PROBE_PATIENCE {
                    let answered = LinkEvent::ProbeAnswered { probe, rtt };
                    self.tell(Input::Link(LinkId(link.0), answered));
                }
            }
        }
    }

    fn opened(&mut self, conn: u32, mptcp: bool) {
        if let Some(flow) = self.flows.owner(conn).filter(|_| !mptcp) {
            self.flows.all[flow].fell_back |= self.flows.all[flow].is_mptcp;
            // Joins have not waited for the peer, which turns out to speak plain TCP.
            self.closed(ConnId(conn));
        }
    }

    /// The client has sent the first SYN. If joins do not wait for the answer, the engine hears that the
    /// connection is established.
    pub(super) fn begins(&mut self, conn: u32) {
        let connection = self.client.connection(conn);
        let opening = connection.filter(|connection| connection.is_joinable());
        if let Some((subflow, path)) = opening.and_then(Connection::opening) {
            self.book.begin(ConnId(conn), subflow, path);
            self.joinable(ConnId(conn));
        }
    }

    fn joinable(&mut self, conn: ConnId) {
        self.established(conn);
        let steps = self.endpoints.joinable(conn);
        self.manage(&steps);
        self.join_announced(conn);
    }

    fn closed(&mut self, conn: ConnId) {
        if self.book.close(conn) {
            self.tell(Input::Conn(conn, ConnEvent::Closed));
        }
    }

    /// The peer has confirmed MPTCP. Only now does a kernel report the connection as established.
    fn established(&mut self, conn: ConnId) {
        let Some((id, path)) = self.book.take_initial(conn) else {
            return;
        };
        self.book.open(self.now, conn);
        self.tell(Input::Conn(conn, ConnEvent::Opened));
        self.tell_remotes(conn);
        self.book.add(self.now, id, (conn, path), true, false);
        self.introduce(id);
    }

    fn subflow_joined(&mut self, of: (ConnId, Path), id: SubflowId, backup: bool) {
        let (conn, path) = of;
        if self.book.is_open(conn) {
            let join = self.book.take_join(conn, link_of(path));
            let backup = join.map_or(backup, |join| join.backup);
            self.book.add(self.now, id, of, false, backup);
        }
    }

    /// Tells the engine about a subflow that is proven.
    fn introduce(&mut self, id: SubflowId) {
        self.book.stand(id, Standing::Proven);
        if let Some(subflow) = self.book.subflow(id) {
            let established = SubflowEvent::Established {
                conn: subflow.conn,
                link: subflow.link(),
                initial: subflow.initial,
                backup: subflow.backup,
            };
            self.tell(Input::Subflow(id, established));
        }
    }

    /// A subflow that the engine has ended itself is not in the book any more.
    fn subflow_closed(&mut self, id: SubflowId) {
        let Some(subflow) = self.book.living(id) else {
            return;
        };
        self.book.stand(id, Standing::Ended);
        if subflow.standing == Standing::Proven {
            self.tell(Input::Subflow(id, SubflowEvent::Closed));
        } else {
            self.join_failed(subflow.conn, subflow.link(), JoinFailure::Refused);
        }
    }

    /// Tells the engine that a join failed. If the link has lost its address, nobody refused it.
    pub(super) fn join_failed(&mut self, conn: ConnId, link: LinkId, reason: JoinFailure) {
        let reason = if self.plugs.is_usable(link) {
            reason
        } else {
            JoinFailure::Untimely
        };
        self.tell(Input::Conn(conn, ConnEvent::JoinFailed { link, reason }));
    }

    /// Ends joins and unproven subflows whose time is over. Returns whether there were any.
    pub(super) fn give_up_waiting(&mut self) -> bool {
        let mut ended = false;
        while let Some(join) = self.book.expired_join(self.now) {
            ended = true;
            let (path, now) = (join.path, self.now);
            self.client.act(now, join.conn.0, |connection, out| {
                connection.abandon(now, path, out)
            });
            self.join_failed(join.conn, join.link(), JoinFailure::Timeout);
        }
        while let Some((id, subflow)) = self.book.unproven_too_long(self.now) {
            ended = true;
            self.end(id, subflow.conn);
            self.join_failed(subflow.conn, subflow.link(), JoinFailure::Timeout);
        }
        ended
    }

    /// Closes this end of a subflow, which the engine does not hear of.
    pub(super) fn end(&mut self, id: SubflowId, conn: ConnId) {
        self.book.stand(id, Standing::Ended);
        let now = self.now;
        self.client
            .act(now, conn.0, |connection, out| connection.destroy(now, id, out));
    }

    /// Samples the counters that are due.
    pub(super) fn sample(&mut self) {
        let Some(whom) = self.sampler.due(self.now) else {
            return;
        };
        let now = self.now;
        let due = |conn: &ConnId| whom == Whom::All || self.book.is_busy(now, *conn);
        let conns: Vec<ConnId> = self.book.conns().filter(due).collect();
        self.sample_links(&conns);
        let proven = self.sample_subflows(&conns);
        self.sample_conns(&conns);
        proven.into_iter().for_each(|subflow| self.introduce(subflow));
        let watched = self.watched();
        self.sampler.sampled(now, whom, watched);
    }

    /// Reads the packets that links of these connections have received.
    fn sample_links(&mut self, conns: &[ConnId]) {
        let used = |link: LinkId| {
            let mut subflows = conns.iter().flat_map(|conn| self.book.of(*conn));
            subflows.any(|(_, subflow)| subflow.link() == link)
        };
        let links = (0..self.what.plan.links.len() as u16).map(LinkId);
        let used: Vec<LinkId> = links
            .filter(|&link| self.plugs.has_carrier(link) && used(link))
            .collect();
        used.into_iter().for_each(|link| self.look_at(link));
    }

    /// Reads the packets that a link has received.
    pub(super) fn look_at(&mut self, link: LinkId) {
        let packets = self.carrier.received(usize::from(link.0));
        self.tell(Input::Link(link, LinkEvent::Received { packets }));
    }

    /// Returns the subflows that the peer has confirmed.
    fn sample_subflows(&mut self, conns: &[ConnId]) -> Vec<SubflowId> {
        let mut proven = Vec::new();
        let connections = conns.iter().filter_map(|conn| self.client.connection(conn.0));
        for view in connections.flat_map(|connection| connection.subflows(self.now)) {
            match self.book.subflow(view.id).map(|known| known.standing) {
                Some(Standing::Proven) => {
                    let sample = SubflowEvent::Sample(view.sample);
                    self.facts.push_back(Input::Subflow(view.id, sample));
                }
                Some(Standing::Unproven(_)) => {
                    if view.confirmed || view.sample.bytes_received > Bytes::ZERO {
                        proven.push(view.id);
                    }
                }
                Some(Standing::Ended) | None => {}
            }
        }
        proven
    }

    fn sample_conns(&mut self, conns: &[ConnId]) {
        for &conn in conns {
            let Some(connection) = self.client.connection(conn.0) else {
                continue;
            };
            let sample = connection.sample();
            let segments: u64 = connection
                .subflows(self.now)
                .map(|view| view.sample.segs_in)
                .sum();
            let written = sample.bytes_acked + sample.backlog;
            let fingerprint = segments + written.get() + sample.bytes_received.get();
            self.book.moved(self.now, conn, fingerprint);
            self.tell(Input::Conn(conn, ConnEvent::Sample(sample)));
        }
    }

    pub(super) fn watched(&self) -> Watched {
        let busy = |conn| match self.book.is_busy(self.now, conn) {
            true => Watched::Busy,
            false => Watched::Idle,
        };
        match self.book.conns().map(busy).max() {
            None => Watched::Nothing,
            Some(_) if self.book.has_unproven() || self.engine.is_in_doubt() => Watched::Doubtful,
            Some(watched) => watched,
        }
    }

    /// Reports what the monitors have heard up to now.
    pub(super) fn listen(&mut self) {
        while let Some(frame) = self.carrier.overheard() {
            if let Some(capture) = &mut self.capture {
                capture.add(&frame);
            }
            if let Some((_, link, frame)) = self.ears.hear(&frame) {
                self.tell(Input::Link(LinkId(link as u16), LinkEvent::Frame(frame)));
            }
        }
    }

    /// Reports the drivers' surveys, and what is to come to policies that need to know it.
    pub(super) fn survey(&mut self) {
        if self.what.policy.needs_foresight() {
            self.foretell();
        }
        let surveys: Vec<_> = self.ears.surveys().collect();
        for (link, sight) in surveys {
            self.tell(Input::Link(LinkId(link as u16), LinkEvent::Survey(sight)));
        }
    }

    fn foretell(&mut self) {
        let what = self.what;
        for link in 0..what.plan.links.len() {
            let of = (what.plan, &self.config, what.seed);
            let carries = self.script.foreseen(link, self.now, of);
            self.tell(Input::Link(LinkId(link as u16), LinkEvent::Foreseen(carries)));
        }
    }

    pub(super) fn tell(&mut self, input: Input) {
        self.facts.push_back(input);
    }

    /// When the book or the sampler next has something to do.
    pub(super) fn hears_at(&self) -> Option<Instant> {
        let times = [self.book.wake_at(), self.sampler.wake_at()];
        times.into_iter().flatten().min()
    }
}
