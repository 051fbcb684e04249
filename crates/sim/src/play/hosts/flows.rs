//! Applications of a run: when they connect, over which link, and what they have read.
//!
//! # Where we differ, and why
//! 1. A plain TCP client connects again and asks for the rest if nothing has arrived for 1 s, as in the lab.
//!    Its link must be usable. Without that, the back-off of time-outs would make the baseline look weak.
//! 2. A client of a swarm waits longer: silence is usual where many connections share a slow link.
//! 3. A client without a route waits for one. In the lab it tries again every 20 ms.
//!
//! # Checked by
//! `tests/host_plays.rs`.

use super::lane::Lane;
use super::others::{Openers, Others};
use super::stage::configs;
use crate::hosts::{App, Fetch, Limited, OnOff, Ranges, Replies, Schedule};
use crate::mptcp::{Config, Connection};
use crate::play::error::CastError;
use blocks::{Blocks, Time};
use links::LinkId;
use policy::flow::{FlowId, PeerId};
use scenario::{Plan, Transport, Work};
use trace::{FlowMeter, Playback, PolicyName, Stall, TimesMs};
use units::{Bitrate, Bytes, Duration, Instant};

/// A plain TCP client connects again after this silence.
const TOO_LONG: Duration = Duration::from_secs(1);
/// All flows, and the flow of each connection.
#[derive(Debug)]
pub(super) struct Flows {
    pub(super) all: Vec<Flow>,
    owners: Vec<Owner>,
    /// Those that fetch a file in blocks.
    in_blocks: Vec<usize>,
    /// How many connections the engine was asked for.
    called: u64,
}

/// A flow, and a lane of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) flow: usize,
    pub(super) lane: usize,
}

/// One flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    work: Work,
    /// The host that opens its connections: 0 is the client.
    pub(super) host: usize,
    /// Whether it asks for MPTCP over what the policy chooses. Otherwise its lanes are bound to links.
    pub(super) is_mptcp: bool,
    start: Instant,
    /// Configuration of the client's end, and of the server's.
    configs: [Config; 2],
    pub(super) meter: FlowMeter,
    /// Its connections.
    pub(super) lanes: Vec<Lane>,
    /// The file that they fetch in blocks.
    blocks: Option<Blocks>,
    /// Bytes last written to the trace.
    reported: u64,
    asked: u64,
    answered: u64,
    /// From when each request was due until its reply was complete.
    replies: Vec<(Instant, Duration)>,
    /// Whether its source pauses and nothing is in flight.
    idles: bool,
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
    /// Lets the senders of all flows keep their round-trip times.
    pub(super) fn keep_round_trips(&mut self) {
        for config in self.all.iter_mut().flat_map(|flow| &mut flow.configs) {
            config.sender.keeps_round_trips = true;
        }
    }

    /// The flows of a plan under this policy. `ecn`: whether the client asks for ECN.
    pub(super) fn new(
        plan: &Plan,
        policy: &PolicyName,
        ecn: bool,
        others: &Others,
    ) -> Result<Self, CastError> {
        let only = policy.only_link().and_then(|link| plan.link_index(link));
        let flow = |(index, flow): (usize, &scenario::Flow)| {
            // Only walkers that send no more than datagrams over the air have none.
            let host = others.host_of(flow.by).unwrap_or(0);
            let only = only.filter(|_| host == 0);
            let over = |link| Lane::over(others.link_of(host, link));
            let lanes: Vec<Lane> = match (flow.transport, only) {
                (Transport::Tcp { over: link } | Transport::Udp { over: link }, _) => vec![over(link)],
                (Transport::EachPeer { peers }, Some(link)) => (0..peers).map(|_| over(link)).collect(),
                (Transport::EachPeer { peers }, None) => (0..peers)
                    .map(|peer| Lane::to(blocks::peer(index, peer)))
                    .collect(),
                (Transport::Mptcp | Transport::EachLink, Some(link)) => vec![over(link)],
                (Transport::Mptcp, None) => vec![Lane::default()],
                (Transport::EachLink, None) => (0..plan.links.len()).map(over).collect(),
            };
            let is_mptcp = flow.transport == Transport::Mptcp && only.is_none();
            let start = Instant::ZERO + flow.start;
            Ok(Flow {
                name: flow.name.clone(),
                work: flow.work,
                host,
                is_mptcp,
                start,
                configs: configs(plan, flow, is_mptcp, ecn && host == 0)?,
                meter: FlowMeter::new(&flow.name, start)
                    .counting_after(Instant::ZERO + plan.warmup)
                    .sent_every(flow.work.interval()),
                blocks: Blocks::of(flow.work, &links_of(&lanes)),
                lanes,
                reported: 0,
                asked: 0,
                answered: 0,
                replies: Vec::new(),
                idles: false,
                done: false,
                fell_back: false,
                way: None,
            })
        };
        let flows = plan.flows.iter().enumerate();
        let all: Vec<Flow> = flows.map(flow).collect::<Result<_, CastError>>()?;
        let in_blocks = (0..all.len()).filter(|&flow| all[flow].blocks.is_some());
        Ok(Self {
            in_blocks: in_blocks.collect(),
            all,
            owners: Vec::new(),
            called: 0,
        })
    }

    /// The flow of a connection.
    pub(super) fn owner(&self, conn: u32) -> Option<usize> {
        self.owners.get(conn as usize).map(|owner| owner.flow)
    }

    /// How many connections there have been.
    pub(super) const fn count(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Flows whose applications write requests, which a timer may cause.
    pub(super) fn asking(&self) -> impl Iterator<Item = usize> {
        let flows = self.all.iter().enumerate();
        flows
            .filter(|(_, flow)| matches!(flow.work, Work::Requests { .. } | Work::OnOff { .. }))
            .map(|(index, _)| index)
    }

    /// A lane that can connect now, and the link to use.
    pub(super) fn wanting(&self, now: Instant, openers: Openers<'_>) -> Option<(Owner, LinkId)> {
        let flows = self.all.iter().enumerate();
        flows
            .filter(|(_, flow)| flow.wants(now))
            .find_map(|(index, flow)| {
                flow.lanes.iter().enumerate().find_map(|(lane, of)| {
                    let link = of.starts(openers.route(flow.host))?;
                    let wants = of.conn().is_none() && openers.is_usable(flow.host, link);
                    wants.then_some((Owner { flow: index, lane }, link))
                })
            })
    }

    /// A peer for which the engine has to assign a link, and what the engine calls the flow to it.
    pub(super) fn unheard(&mut self, now: Instant) -> Option<(FlowId, PeerId)> {
        let id = FlowId(self.called);
        let peer = self.in_blocks.iter().find_map(|&flow| {
            let flow = Some(&mut self.all[flow]).filter(|flow| flow.wants(now))?;
            let mut peers = flow.lanes.iter_mut().filter_map(|lane| lane.peer.as_mut());
            let peer = peers.find(|peer| peer.flow.is_none())?;
            peer.flow = Some(id);
            Some(peer.id)
        })?;
        self.called += 1;
        Some((id, peer))
    }

    /// The lane whose flow the engine calls this.
    pub(super) fn called(&self, id: FlowId) -> Option<Owner> {
        self.all.iter().enumerate().find_map(|(flow, of)| {
            let is = |lane: &Lane| lane.peer.is_some_and(|peer| peer.flow == Some(id));
            let lane = of.lanes.iter().position(is)?;
            Some(Owner { flow, lane })
        })
    }

    /// Leaves the connection of a lane, and returns it.
    pub(super) fn leave(&mut self, owner: Owner) -> Option<u32> {
        self.all[owner.flow].leave(owner.lane)
    }

    /// Numbers the next connection of a lane.
    pub(super) fn begin(&mut self, now: Instant, owner: Owner) -> Opening {
        let conn = self.owners.len() as u32;
        self.owners.push(owner);
        let flow = &mut self.all[owner.flow];
        flow.lanes[owner.lane].begin(now, conn);
        Opening {
            conn,
            configs: flow.configs,
            apps: flow.apps(),
        }
    }

    /// A connection that its flow leaves now, to connect again, and its host.
    pub(super) fn left(&mut self, now: Instant, openers: Openers<'_>) -> Option<(usize, u32)> {
        self.all.iter_mut().find_map(|flow| flow.left(now, openers))
    }

    /// When a flow next has something to do by itself.
    pub(super) fn wake_at(&self, now: Instant, openers: Openers<'_>) -> Option<Instant> {
        let waiting = self.all.iter().filter(|flow| !flow.done);
        let due = waiting.flat_map(|flow| {
            let lanes = flow.lanes.iter().enumerate();
            lanes.filter_map(move |(lane, of)| match of.conn() {
                None => Some(flow.start),
                Some(_) => of.wake_at(openers, flow.host, |connection| flow.silent_at(lane, connection)),
            })
        });
        // What is due and waits for its link is checked with every event.
        due.filter(|at| *at > now).min()
    }

    /// A request for a block that a lane sends now: its host, its connection, and the bytes that it is about.
    pub(super) fn request(&mut self, now: Instant, openers: Openers<'_>) -> Option<(usize, u32, Bytes)> {
        let mut flows = self.in_blocks.iter();
        flows.find_map(|&flow| self.all[flow].request(now, openers))
    }
}

impl Flow {
    /// Whether the client sends.
    pub(super) const fn goes_up(&self) -> bool {
        matches!(self.work, Work::Upload { .. } | Work::OnOff { up: true, .. })
    }

    /// Whether the server's application sends in turns.
    pub(super) const fn is_paced_by_server(&self) -> bool {
        matches!(self.work, Work::OnOff { up: false, .. })
    }

    /// Whether it has begun and needs connections.
    const fn wants(&self, now: Instant) -> bool {
        self.start.as_nanos() <= now.as_nanos() && !self.done && self.connects()
    }

    /// Whether it needs connections.
    const fn connects(&self) -> bool {
        !matches!(self.work, Work::Datagrams { .. })
    }

    /// Bytes that the flow moves, if it ends before the run.
    const fn size(&self) -> Option<Bytes> {
        match self.work {
            Work::Download { size, .. } | Work::Upload { size, .. } => size,
            Work::Stripe { size, .. } | Work::Swarm { size, .. } => Some(size),
            Work::OnOff { .. } | Work::Requests { .. } | Work::Datagrams { .. } => None,
        }
    }

    /// What its player did until now, if it has one. Gaps count from `counts` on.
    pub(super) fn playback(&self, counts: Instant, now: Instant) -> Option<Playback> {
        let time = Time {
            from: self.start,
            counts,
            until: now,
        };
        self.blocks.as_ref()?.playback(time)
    }

    /// Whether all of it has arrived, or it has no end. `None` for datagrams, which may be lost.
    pub(super) fn is_intact(&self) -> Option<bool> {
        let fits = || self.size().is_none_or(|size| self.meter.bytes() <= size);
        self.connects().then(fits)
    }

    fn apps(&self) -> [App; 2] {
        match self.work {
            Work::Download { limit, .. } => [App::Sink, self.source(limit)],
            Work::Upload { limit, .. } => [self.source(limit), App::Sink],
            Work::OnOff { up, turns } => {
                let source = App::OnOff(OnOff::new(turns));
                if up {
                    [source, App::Sink]
                } else {
                    [App::Sink, source]
                }
            }
            Work::Requests {
                every,
                request,
                reply,
            } => {
                let (request, reply) = (request.get(), reply.get());
                let asks = Schedule::new(every, request, reply);
                [App::Schedule(asks), App::Replies(Replies::new(request, reply))]
            }
            Work::Stripe { .. } | Work::Swarm { .. } => {
                [App::Fetch(Fetch::default()), App::Ranges(Ranges::default())]
            }
            // They need no connection.
            Work::Datagrams { .. } => [App::Sink, App::Sink],
        }
    }

    /// What is left to send.
    fn source(&self, limit: Option<Bitrate>) -> App {
        let left = self.size().map(|size| size.get() - self.meter.bytes().get());
        match (limit, left) {
            (Some(rate), left) => App::Limited(Limited::new(rate, left)),
            (None, Some(left)) => App::Object(left),
            (None, None) => App::Bulk,
        }
    }

    /// When the connection of a lane has been silent for too long. `None`: it awaits nothing.
    fn silent_at(&self, lane: usize, connection: &Connection) -> Option<Instant> {
        if matches!(self.work, Work::OnOff { .. } | Work::Requests { .. }) {
            return None;
        }
        let (heard, awaits) = connection.first_heard()?;
        if let Some(blocks) = &self.blocks {
            let since = blocks.waits_since(lane);
            return since.map(|since| since.max(heard) + blocks::patience(self.work));
        }
        (awaits || !self.goes_up()).then(|| heard + TOO_LONG)
    }

    /// Leaves a connection that has been silent for too long, or was never established.
    fn left(&mut self, now: Instant, openers: Openers<'_>) -> Option<(usize, u32)> {
        if self.done {
            return None;
        }
        let left = |(lane, of): (usize, &Lane)| {
            let silent_at = |connection: &Connection| self.silent_at(lane, connection);
            // Another lane can fetch the rest of a block, even if this link does not come back.
            let awaits_link = self.blocks.is_none();
            Some((lane, of.left(now, openers, self.host, awaits_link, silent_at)?))
        };
        let (lane, conn) = self.lanes.iter().enumerate().find_map(left)?;
        self.leave(lane);
        Some((self.host, conn))
    }

    /// Leaves the connection of a lane, and returns it.
    fn leave(&mut self, lane: usize) -> Option<u32> {
        if let Some(blocks) = &mut self.blocks {
            blocks.lost(lane);
        }
        let conn = self.lanes[lane].conn();
        self.lanes[lane].leave();
        conn
    }

    /// The next request for a block.
    fn request(&mut self, now: Instant, openers: Openers<'_>) -> Option<(usize, u32, Bytes)> {
        let blocks = self.blocks.as_mut().filter(|_| !self.done)?;
        let host = openers.host(self.host);
        let mut lanes = self.lanes.iter().enumerate();
        lanes.find_map(|(lane, of)| {
            let conn = of.conn()?;
            let is_open = host.connection(conn).is_some_and(Connection::is_open);
            let range = is_open.then(|| blocks.request(now, lane))??;
            Some((self.host, conn, Bytes::new(range.end - range.start)))
        })
    }

    /// Records what the present connection of a lane has read in total, and the requests or the turns of its
    /// application. Returns the stalls that have ended.
    pub(super) fn progress(&mut self, now: Instant, lane: usize, read: u64, app: Option<&App>) -> Vec<Stall> {
        let mut stalls = Vec::new();
        let fresh = self.lanes[lane].read(read);
        if let Some(blocks) = &mut self.blocks {
            blocks.read(now, lane, fresh);
        }
        stalls.extend(self.meter.read(now, fresh));
        if let Some(App::Schedule(schedule)) = app.map(App::own) {
            if std::mem::replace(&mut self.answered, schedule.answered()) < schedule.answered() {
                stalls.extend(self.meter.replied(now));
                let from = schedule.answered_from();
                self.replies.push((from, now.since(from)));
            }
            if std::mem::replace(&mut self.asked, schedule.asked()) < schedule.asked() {
                self.meter.requested(now);
            }
        }
        if let Some(App::OnOff(source)) = app.map(App::own) {
            // Nothing is awaited while the source pauses and all of its bytes have been read.
            let idles = !source.is_on() && read == source.written();
            if std::mem::replace(&mut self.idles, idles) != idles {
                match idles {
                    true => stalls.extend(self.meter.replied(now)),
                    false => self.meter.requested(now),
                }
            }
        }
        if self.size().is_some_and(|size| self.meter.bytes() >= size) {
            self.done = true;
            stalls.extend(self.meter.end(now));
        }
        stalls
    }

    /// Times from requests that were due from `counts` on to the ends of their replies, or to the end of the
    /// run, which is `now`.
    pub(super) fn replies(&self, counts: Instant, now: Instant, app: Option<&App>) -> Option<TimesMs> {
        let unanswered = match app.map(App::own) {
            Some(App::Schedule(schedule)) => schedule.unanswered(now).collect(),
            _ => Vec::new(),
        };
        let unanswered = unanswered.into_iter().map(|from| (from, now.since(from)));
        let all = self.replies.iter().copied().chain(unanswered);
        let counted = all.filter(|(from, _)| *from >= counts);
        TimesMs::of(counted.map(|(_, took)| took).collect())
    }

    /// Bytes read, if the trace does not have them yet.
    pub(super) fn news(&mut self) -> Option<u64> {
        let bytes = self.meter.bytes().get();
        (std::mem::replace(&mut self.reported, bytes) != bytes).then_some(bytes)
    }
}

/// The links of these lanes, as the brain calls them.
fn links_of(lanes: &[Lane]) -> Vec<policy::LinkId> {
    let link = |lane: &Lane| policy::LinkId(lane.over.map_or(0, |link| link.0));
    lanes.iter().map(link).collect()
}
