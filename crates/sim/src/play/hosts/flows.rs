//! Applications of a run: when they connect, over which link, and what they have read.
//!
//! # Where we differ, and why
//! 1. A plain TCP client connects again and asks for the rest if nothing has arrived for 1 s, as in the lab.
//!    Its link must be usable. Without that, the back-off of time-outs would make the baseline look weak.
//! 2. A client without a route waits for one. In the lab it tries again every 20 ms.
//!
//! # Checked by
//! `tests/host_plays.rs`.

use super::others::{Openers, Others};
use super::stage::configs;
use crate::hosts::{App, Limited, Replies, Schedule};
use crate::mptcp::{Config, Connection};
use crate::play::error::CastError;
use links::LinkId;
use scenario::{Plan, Transport, Work};
use trace::{FlowMeter, PolicyName, Stall};
use units::{Bitrate, Bytes, Duration, Instant};

/// Time-out of an attempt to connect.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// A plain TCP client connects again after this silence.
const TOO_LONG: Duration = Duration::from_secs(1);

/// All flows, and the flow of each connection.
#[derive(Debug)]
pub(super) struct Flows {
    pub(super) all: Vec<Flow>,
    owners: Vec<usize>,
}

/// One flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    work: Work,
    /// The host that opens its connections: 0 is the client.
    pub(super) host: usize,
    /// The link that its plain TCP is bound to. `None`: MPTCP over what the policy chooses.
    pub(super) over: Option<LinkId>,
    start: Instant,
    /// Configuration of the client's end, and of the server's.
    configs: [Config; 2],
    pub(super) meter: FlowMeter,
    /// The present connection of the flow, and when it was opened.
    attempt: Option<(u32, Instant)>,
    /// All connections of the flow so far.
    pub(super) conns: Vec<u32>,
    /// Bytes read by earlier connections.
    base: u64,
    /// Bytes last written to the trace.
    reported: u64,
    asked: u64,
    answered: u64,
    done: bool,
    /// Whether a connection of it could not use MPTCP.
    pub(super) fell_back: bool,
    /// The way that the agent took for its last connection, and why. `None` without an agent.
    pub(super) way: Option<&'static str>,
}

/// What a flow's next connection needs.
pub(super) struct Opening {
    pub(super) conn: u32,
    pub(super) configs: [Config; 2],
    /// Application of the client, and of the server.
    pub(super) apps: [App; 2],
}

impl Flows {
    /// The flows of a plan under this policy. `ecn`: whether the client asks for ECN.
    pub(super) fn new(
        plan: &Plan,
        policy: &PolicyName,
        ecn: bool,
        others: &Others,
    ) -> Result<Self, CastError> {
        let only = policy.only_link().and_then(|link| plan.link_index(link));
        let flow = |flow: &scenario::Flow| {
            // Only walkers that send no more than datagrams over the air have none.
            let host = others.host_of(flow.by).unwrap_or(0);
            let over = match flow.transport {
                Transport::Tcp { over } | Transport::Udp { over } => Some(over),
                Transport::Mptcp => only.filter(|_| host == 0),
            };
            let start = Instant::ZERO + flow.start;
            Ok(Flow {
                name: flow.name.clone(),
                work: flow.work,
                host,
                over: over.and_then(|link| others.link_of(host, link)),
                start,
                configs: configs(plan, flow, over.is_none(), ecn && host == 0)?,
                meter: FlowMeter::new(&flow.name, start).counting_after(Instant::ZERO + plan.warmup),
                attempt: None,
                conns: Vec::new(),
                base: 0,
                reported: 0,
                asked: 0,
                answered: 0,
                done: false,
                fell_back: false,
                way: None,
            })
        };
        Ok(Self {
            all: plan.flows.iter().map(flow).collect::<Result<_, CastError>>()?,
            owners: Vec::new(),
        })
    }

    /// The flow of a connection.
    pub(super) fn owner(&self, conn: u32) -> Option<usize> {
        self.owners.get(conn as usize).copied()
    }

    /// How many connections there have been.
    pub(super) const fn count(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Flows whose applications write requests, which a timer may cause.
    pub(super) fn asking(&self) -> impl Iterator<Item = usize> {
        let flows = self.all.iter().enumerate();
        flows
            .filter(|(_, flow)| matches!(flow.work, Work::Requests { .. }))
            .map(|(index, _)| index)
    }

    /// A flow that can connect now, and the link to use.
    pub(super) fn wanting(&self, now: Instant, openers: Openers<'_>) -> Option<(usize, LinkId)> {
        self.all.iter().enumerate().find_map(|(index, flow)| {
            let link = flow.over.or_else(|| openers.route(flow.host))?;
            let link = Some(link).filter(|&link| openers.is_usable(flow.host, link))?;
            let connects = !matches!(flow.work, Work::Datagrams { .. });
            (connects && flow.start <= now && flow.attempt.is_none() && !flow.done).then_some((index, link))
        })
    }

    /// Numbers the next connection of a flow.
    pub(super) fn begin(&mut self, now: Instant, index: usize) -> Opening {
        let conn = self.owners.len() as u32;
        self.owners.push(index);
        let flow = &mut self.all[index];
        flow.attempt = Some((conn, now));
        flow.conns.push(conn);
        Opening {
            conn,
            configs: flow.configs,
            apps: flow.apps(),
        }
    }

    /// A connection that its flow leaves now, to connect again, and its host.
    pub(super) fn left(&mut self, now: Instant, openers: Openers<'_>) -> Option<(usize, u32)> {
        let left = |flow: &Flow| {
            let (conn, since) = flow.attempt.filter(|_| !flow.done)?;
            let connection = openers.host(flow.host).connection(conn)?;
            let silent = |link| {
                let since = flow.silent_at(connection);
                openers.is_usable(flow.host, link) && since.is_some_and(|at| at <= now)
            };
            let leaves = match connection.is_open() {
                false => connection.is_closed() || now - since >= CONNECT_PATIENCE,
                true => flow.over.is_some_and(silent),
            };
            leaves.then_some(conn)
        };
        let (index, conn) = self
            .all
            .iter()
            .enumerate()
            .find_map(|(index, flow)| Some((index, left(flow)?)))?;
        let flow = &mut self.all[index];
        flow.attempt = None;
        flow.base = flow.meter.bytes().get();
        Some((flow.host, conn))
    }

    /// When a flow next has something to do by itself.
    pub(super) fn wake_at(&self, now: Instant, openers: Openers<'_>) -> Option<Instant> {
        let due = |flow: &Flow| {
            let Some((conn, since)) = flow.attempt else {
                return (!flow.done).then_some(flow.start);
            };
            let connection = openers.host(flow.host).connection(conn);
            let connection = connection.filter(|_| !flow.done)?;
            match connection.is_open() {
                false => Some(since + CONNECT_PATIENCE),
                true if flow.over.is_some() => flow.silent_at(connection),
                true => None,
            }
        };
        // What is due and waits for its link is checked with every event.
        self.all.iter().filter_map(due).filter(|at| *at > now).min()
    }
}

impl Flow {
    /// Whether the client sends.
    pub(super) const fn goes_up(&self) -> bool {
        matches!(self.work, Work::Upload { .. })
    }

    /// The present connection of the flow.
    pub(super) fn conn(&self) -> Option<u32> {
        self.attempt.map(|(conn, _)| conn)
    }

    /// Bytes that the flow moves, if it ends before the run.
    const fn size(&self) -> Option<Bytes> {
        match self.work {
            Work::Download { size, .. } | Work::Upload { size, .. } => size,
            Work::Requests { .. } | Work::Datagrams { .. } => None,
        }
    }

    /// Whether all of it has arrived, or it has no end. `None` for datagrams, which may be lost.
    pub(super) fn is_intact(&self) -> Option<bool> {
        let is_reliable = !matches!(self.work, Work::Datagrams { .. });
        is_reliable.then(|| self.size().is_none_or(|size| self.meter.bytes() <= size))
    }

    fn apps(&self) -> [App; 2] {
        match self.work {
            Work::Download { limit, .. } => [App::Sink, self.source(limit)],
            Work::Upload { limit, .. } => [self.source(limit), App::Sink],
            Work::Requests {
                every,
                request,
                reply,
            } => {
                let (request, reply) = (request.get(), reply.get());
                let asks = Schedule::new(every, request, reply);
                [App::Schedule(asks), App::Replies(Replies::new(request, reply))]
            }
            // They need no connection.
            Work::Datagrams { .. } => [App::Sink, App::Sink],
        }
    }

    /// What is left to send.
    fn source(&self, limit: Option<Bitrate>) -> App {
        let left = self.size().map(|size| size.get() - self.base);
        match (limit, left) {
            (Some(rate), left) => App::Limited(Limited::new(rate, left)),
            (None, Some(left)) => App::Object(left),
            (None, None) => App::Bulk,
        }
    }

    /// When a silent connection has been silent for too long. `None`: it awaits nothing.
    fn silent_at(&self, connection: &Connection) -> Option<Instant> {
        if matches!(self.work, Work::Requests { .. }) {
            return None;
        }
        let (heard, awaits) = connection.first_heard()?;
        (awaits || !self.goes_up()).then(|| heard + TOO_LONG)
    }

    /// Records what the present connection has read in total, and the requests of its application. Returns
    /// the stalls that have ended.
    pub(super) fn progress(&mut self, now: Instant, read: u64, app: Option<&App>) -> Vec<Stall> {
        let mut stalls = Vec::new();
        let fresh = (self.base + read).saturating_sub(self.meter.bytes().get());
        stalls.extend(self.meter.read(now, fresh));
        if let Some(App::Schedule(schedule)) = app.map(App::own) {
            if std::mem::replace(&mut self.answered, schedule.answered()) < schedule.answered() {
                stalls.extend(self.meter.replied(now));
            }
            if std::mem::replace(&mut self.asked, schedule.asked()) < schedule.asked() {
                self.meter.requested(now);
            }
        }
        if self.size().is_some_and(|size| self.meter.bytes() >= size) {
            self.done = true;
            stalls.extend(self.meter.end(now));
        }
        stalls
    }

    /// Bytes read, if the trace does not have them yet.
    pub(super) fn news(&mut self) -> Option<u64> {
        let bytes = self.meter.bytes().get();
        (std::mem::replace(&mut self.reported, bytes) != bytes).then_some(bytes)
    }
}
