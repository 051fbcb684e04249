//! Reads the counters of connections, subflows and links, and tells the engine.
//!
//! Few sockets are looked up one by one, many are listed at once. [`crate::daemon::hear::pace`] says when.
//! With 262,144 buckets in the kernel's tables a subflow takes 6 µs to look up and 4 µs to list, plus 0.4 ms
//! per list. A connection takes 5 µs to look up, and a list of connections costs 2.5 ms, however few there
//! are.
//!
//! # Sources
//! - net/ipv4/tcp.c (`tcp_get_info`), net/mptcp/sockopt.c (`mptcp_diag_fill_info`), Linux 6.18: what each
//!   counter counts.
//!
//! # Where we differ, and why
//! 1. The engine uses received segments (`segs_in`), not bytes: bytes do not advance during loss recovery.
//!
//! # Checked by
//! `daemon::tests::sampling`: both ways of reading return the same and miss the same; `daemon::tests::cost`:
//! neither allocates.

use crate::daemon::act::conns::Conns;
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::flows::book::{Conn, Flows, Phase, Standing, Subflow};
use crate::daemon::hear::pace::{Pace, Watched, Whom};
use crate::daemon::host::Host;
use crate::daemon::host::sockets::{is_backup, is_closing};
use crate::daemon::links::book::Links;
use crate::daemon::os::clock::thread_cpu;
use crate::diag::{Diag, DiagError, Ends, MptcpSocket, States, TcpSocket};
use crate::mptcp_pm::Token;
use policy::{
    ConnEvent, ConnId, ConnSample, Input, LinkEvent, LinkId, SubflowEvent, SubflowId, SubflowSample,
};
use std::collections::VecDeque;
use std::time::Duration;
use units::{Bytes, Instant};

/// Above this number, listing all subflows is cheaper than looking up each.
const FEW_SUBFLOWS: usize = 128;
/// Above this number, listing all connections is cheaper than looking up each.
const FEW_CONNS: usize = 512;
/// After this many samples in a row that did not find it, a subflow is gone although no event said so.
const MISSES: u8 = 3;

/// Samples counters on its own schedule. Reuses its buffers, so a sample allocates nothing once they have
/// grown.
#[derive(Debug)]
pub(crate) struct Sampler {
    pace: Pace,
    cpu: Duration,
    conns: Vec<ConnId>,
    subflows: Vec<SubflowId>,
    links: Vec<(LinkId, u32)>,
    /// What the latest lists contained.
    listed: Listed,
    news: Vec<News>,
    /// At most this many subflows, and this many connections, are looked up one by one.
    pub(crate) few: (usize, usize),
}

/// Contents of the latest lists, sorted.
#[derive(Debug, Default)]
struct Listed {
    subflows: Vec<SubflowId>,
    conns: Vec<ConnId>,
}

/// What a sample found besides counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Proven(SubflowId),
    Missing(SubflowId),
    FellBack(ConnId),
    Closing(ConnId),
    Gone(ConnId),
}

impl Sampler {
    pub(crate) fn new() -> Self {
        Self {
            pace: Pace::new(),
            cpu: Duration::ZERO,
            conns: Vec::new(),
            subflows: Vec::new(),
            links: Vec::new(),
            listed: Listed::default(),
            news: Vec::new(),
            few: (FEW_SUBFLOWS, FEW_CONNS),
        }
    }

    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.pace.wake_at()
    }

    /// Samples what is due.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        in_doubt: bool,
        conns: &mut Conns,
        host: &mut Host,
        links: &Links,
    ) {
        let Some(whom) = self.pace.due(now) else {
            return;
        };
        // Everything the thread did after the last sample counts as its cost: the engine works on what was
        // sampled.
        let cpu = thread_cpu();
        let cost = cpu - std::mem::replace(&mut self.cpu, cpu);
        self.choose(now, whom, &conns.flows, links);
        if let Err(error) = self.read(now, &mut conns.flows, host) {
            host.outlet.trouble("reading counters", &error);
        }
        self.take_news(conns, host, links);
        conns.bounds.mind_passage(now, &conns.flows, links, host);
        let watched = watched(&conns.flows, now, in_doubt);
        self.pace.read(now, whom, cost, watched);
    }

    fn take_news(&mut self, conns: &mut Conns, host: &mut Host, links: &Links) {
        let mut news = std::mem::take(&mut self.news);
        for item in news.drain(..) {
            match item {
                News::Proven(subflow) => conns.proven(subflow, host, links),
                News::Missing(subflow) => missing(subflow, conns, host, links),
                News::FellBack(conn) => conns.leave_alone(conn, LeftAlone::FellBack, host),
                News::Closing(conn) => conns.leave_alone(conn, LeftAlone::Closing, host),
                News::Gone(conn) => conns.closed(conn, host),
            }
        }
        self.news = news;
    }

    /// Reschedules the next sample: an event may have made it more urgent.
    pub(crate) fn stir(&mut self, now: Instant, in_doubt: bool, flows: &Flows) {
        let watched = watched(flows, now, in_doubt);
        self.pace.stir(now, watched);
    }

    /// Chooses what to sample: connections by motion, their subflows, and the links of those.
    fn choose(&mut self, now: Instant, whom: Whom, flows: &Flows, links: &Links) {
        let due = |conn: &&Conn| conn.phase == Phase::Open && (whom == Whom::All || conn.motion.is_busy(now));
        self.conns.clear();
        self.conns.extend(flows.conns().filter(due).map(|conn| conn.id));
        self.subflows.clear();
        for &conn in &self.conns {
            self.subflows
                .extend(flows.subflows_of(conn).map(|subflow| subflow.id));
        }
        self.links.clear();
        for link in links.iter().filter(|link| link.carrier) {
            let used = |id: &SubflowId| flows.subflow(*id).is_some_and(|subflow| subflow.link == link.id);
            if let Some(ifindex) = link.ifindex.filter(|_| self.subflows.iter().any(used)) {
                self.links.push((link.id, ifindex));
            }
        }
    }

    fn read(&mut self, now: Instant, flows: &mut Flows, host: &mut Host) -> Result<(), DiagError> {
        let (diag, inbox) = (&mut host.sockets.diag, &mut host.outlet.facts);
        for &(link, ifindex) in &self.links {
            let packets = host.counters.received(ifindex);
            inbox.extend(packets.map(|packets| received(link, packets)));
        }
        let (many_subflows, many_conns) = self.many();
        if many_subflows {
            self.list_subflows(diag, flows, inbox)?
        } else {
            self.look_up_subflows(diag, flows, inbox)?
        }
        if many_conns {
            self.list_conns(now, diag, flows, inbox)
        } else {
            self.look_up_conns(now, diag, flows, inbox)
        }
    }

    /// Whether enough subflows, and enough connections, were chosen to list them. No state is kept between
    /// samples, so alternating between the two ways costs nothing.
    pub(crate) const fn many(&self) -> (bool, bool) {
        (self.subflows.len() > self.few.0, self.conns.len() > self.few.1)
    }

    fn look_up_subflows(
        &mut self,
        diag: &mut Diag,
        flows: &mut Flows,
        inbox: &mut VecDeque<Input>,
    ) -> Result<(), DiagError> {
        let Self { subflows, news, .. } = self;
        for &id in subflows.iter() {
            let Some(subflow) = flows.subflow_mut(id) else {
                continue;
            };
            match diag.tcp(&subflow.ends)? {
                Some(socket) => take_subflow(subflow, &socket, inbox, news),
                None => miss(subflow, news),
            }
        }
        Ok(())
    }

    /// Lists all subflows, and also takes those that were not chosen. A list may omit a socket while others
    /// close, so one miss is no proof here either.
    fn list_subflows(
        &mut self,
        diag: &mut Diag,
        flows: &mut Flows,
        inbox: &mut VecDeque<Input>,
    ) -> Result<(), DiagError> {
        let Self { news, listed, .. } = self;
        let found = &mut listed.subflows;
        found.clear();
        diag.each_tcp(States::CONNECTED, |socket| {
            let ends = Ends {
                local: socket.local,
                remote: socket.remote,
                ifindex: socket.ifindex,
            };
            if let Some(subflow) = flows.find(&ends).and_then(|id| flows.subflow_mut(id)) {
                take_subflow(subflow, socket, inbox, news);
                found.push(subflow.id);
            }
        })?;
        found.sort_unstable();
        for id in &self.subflows {
            if let Some(subflow) = flows
                .subflow_mut(*id)
                .filter(|_| found.binary_search(id).is_err())
            {
                miss(subflow, news);
            }
        }
        Ok(())
    }

    fn look_up_conns(
        &mut self,
        now: Instant,
        diag: &mut Diag,
        flows: &mut Flows,
        inbox: &mut VecDeque<Input>,
    ) -> Result<(), DiagError> {
        let Self { conns, news, .. } = self;
        for &id in conns.iter() {
            match diag.mptcp(Token(id.0))? {
                Some(socket) => take_conn(now, id, flows, &socket, inbox, news),
                None => news.push(News::Gone(id)),
            }
        }
        Ok(())
    }

    fn list_conns(
        &mut self,
        now: Instant,
        diag: &mut Diag,
        flows: &mut Flows,
        inbox: &mut VecDeque<Input>,
    ) -> Result<(), DiagError> {
        let Self { news, listed, .. } = self;
        let found = &mut listed.conns;
        found.clear();
        diag.each_mptcp(States::ALL, |socket| {
            if let Some(token) = socket.info.token {
                take_conn(now, ConnId(token.0), flows, socket, inbox, news);
                found.push(ConnId(token.0));
            }
        })?;
        found.sort_unstable();
        for &id in self.conns.iter().filter(|id| found.binary_search(id).is_err()) {
            if diag.mptcp(Token(id.0))?.is_none() {
                news.push(News::Gone(id));
            }
        }
        Ok(())
    }
}

const fn received(link: LinkId, packets: u64) -> Input {
    Input::Link(link, LinkEvent::Received { packets })
}

fn take_subflow(
    subflow: &mut Subflow,
    socket: &TcpSocket,
    inbox: &mut VecDeque<Input>,
    news: &mut Vec<News>,
) {
    let (Some(info), Some(mptcp)) = (socket.info.filter(|_| socket.state.connected()), socket.subflow) else {
        return miss(subflow, news);
    };
    subflow.misses = 0;
    let sample = SubflowSample {
        segs_in: info.segs_in.into(),
        bytes_received: info.bytes_received,
        bytes_acked: info.bytes_acked,
        unacked: info.unacked,
        unsent: info.notsent,
        retransmits: info.total_retrans.into(),
        last_ack: info.last_ack_recv,
        srtt: info.rtt,
        min_rtt: info.min_rtt.unwrap_or_default(),
        data_rtt: info.rcv_rtt.unwrap_or_default(),
        disordered: info.rcv_ooopack.into(),
        cwnd: info.snd_cwnd,
        backup: is_backup(mptcp.flags),
    };
    subflow.sample = sample;
    match subflow.standing {
        Standing::Proven => inbox.push_back(Input::Subflow(subflow.id, SubflowEvent::Sample(sample))),
        // A refused subflow carries no payload and no acknowledgements of it.
        _ if mptcp.flags.fully_established() || info.bytes_received > Bytes::ZERO => {
            news.push(News::Proven(subflow.id));
        }
        _ => {}
    }
}

/// A socket that was not found, or is closing: its event is still to come, or was lost.
fn miss(subflow: &mut Subflow, news: &mut Vec<News>) {
    subflow.misses = subflow.misses.saturating_add(1);
    if subflow.misses == MISSES {
        news.push(News::Missing(subflow.id));
    }
}

fn take_conn(
    now: Instant,
    id: ConnId,
    flows: &mut Flows,
    socket: &MptcpSocket,
    inbox: &mut VecDeque<Input>,
    news: &mut Vec<News>,
) {
    let segments: u64 = flows.subflows_of(id).map(|subflow| subflow.sample.segs_in).sum();
    let arrived = flows.arrived(id);
    let Some(conn) = flows.conn_mut(id).filter(|conn| conn.phase == Phase::Open) else {
        return;
    };
    if socket.info.fallback {
        news.push(News::FellBack(id));
        return;
    }
    if is_closing(socket) {
        news.push(News::Closing(id));
        return;
    }
    let info = &socket.info;
    conn.motion.look(
        now,
        segments.wrapping_add(info.write_seq).wrapping_add(info.rcv_nxt),
    );
    conn.sample = ConnSample {
        bytes_received: info.bytes_received,
        bytes_acked: info.bytes_acked,
        backlog: Bytes::new(info.write_seq.wrapping_sub(info.snd_una)),
        held: conn.held.look(arrived, info.bytes_received, socket.receive_queue),
    };
    inbox.push_back(Input::Conn(id, ConnEvent::Sample(conn.sample)));
}

/// Reads the packets received over one link, of any protocol.
pub(crate) fn look_at(link: LinkId, host: &mut Host, links: &Links) {
    let ifindex = links.get(link).and_then(|link| link.ifindex);
    let packets = ifindex.and_then(|ifindex| host.counters.received(ifindex));
    host.outlet
        .facts
        .extend(packets.map(|packets| received(link, packets)));
}

/// Handles a subflow that lookups miss. Its socket may be bound to the link: events do not say so, and only a
/// lookup with the interface index finds it.
fn missing(id: SubflowId, conns: &mut Conns, host: &mut Host, links: &Links) {
    let Some(subflow) = conns.flows.subflow(id).filter(|subflow| subflow.living()) else {
        return;
    };
    let ifindex = links.get(subflow.link).and_then(|link| link.ifindex);
    let bound = Ends {
        ifindex,
        ..subflow.ends
    };
    if subflow.ends.ifindex.is_none() && matches!(host.sockets.diag.tcp(&bound), Ok(Some(_))) {
        conns.flows.rebind(id, bound);
    } else {
        conns.subflow_gone(id, None, host, links);
    }
}

fn watched(flows: &Flows, now: Instant, in_doubt: bool) -> Watched {
    let unproven = flows.wake_at().is_some();
    let open = flows.conns().filter(|conn| conn.phase == Phase::Open);
    let busy = |busy, conn: &Conn| {
        if conn.motion.is_busy(now) {
            Watched::Busy
        } else {
            busy
        }
        .max(Watched::Idle)
    };
    match open.fold(Watched::Nothing, |most, conn| most.max(busy(most, conn))) {
        Watched::Idle | Watched::Busy if in_doubt || unproven => Watched::Doubtful,
        watched => watched,
    }
}
