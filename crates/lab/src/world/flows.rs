//! The applications of a run: one thread per flow, in the namespace of the client or of another walker.

use super::PlayError;
use super::controllers::Controllers;
use super::glue::Glue;
use super::note::Note;
use super::others;
use super::paths::FlowName;
use super::relay::has_agent;
use super::walkers::Walkers;
use crate::clock::Clock;
use crate::hosts::{Addressing, Hosts, SERVER_V6};
use crate::stop::Stop;
use crate::traffic::{self, Assigned, Bound, End, Place, Server, Task, Via, Watchlist};
use scenario::{AccessPoint, LinkKind, Pace, Plan, Transport, Way, Work};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use trace::PolicyName;
use units::{Bitrate, Bytes, Duration, Instant, Rng};

/// Headers of UDP and IPv4.
const HEADERS: Bytes = Bytes::new(28);

/// What all flows of a run share.
pub(super) struct Common<'c> {
    pub(super) plan: &'c Plan,
    pub(super) policy: &'c PolicyName,
    pub(super) seed: u64,
    pub(super) interfaces: &'c [String],
    pub(super) glue: &'c Glue,
    pub(super) assigned: &'c Assigned,
    pub(super) controllers: &'c Controllers,
    pub(super) hosts: &'c Hosts,
    pub(super) walkers: &'c Walkers,
    pub(super) addressing: &'c Addressing,
    pub(super) server: Arc<Server>,
    pub(super) clock: Clock,
    pub(super) stop: &'c Stop,
    pub(super) notes: Sender<Note>,
    pub(super) watchlist: Watchlist,
}

/// The names of flows in polls, traces and results.
pub(super) fn names(plan: &Plan, policy: &PolicyName, seed: u64) -> Vec<FlowName> {
    let name = |flow: &scenario::Flow| FlowName {
        seed: content_seed(seed, &flow.name),
        name: flow.name.clone(),
        sender: match flow.work {
            Work::Upload { .. } | Work::OnOff { up: true, .. } | Work::Datagrams { way: Way::Up, .. } => {
                End::Client
            }
            Work::Download { .. }
            | Work::OnOff { .. }
            | Work::Requests { .. }
            | Work::Stripe { .. }
            | Work::Swarm { .. }
            | Work::Datagrams { .. } => End::Server,
        },
        by: flow.by,
        multipath: flow.transport == Transport::Mptcp
            && link_of(flow, plan, policy).is_none()
            && !is_carried(flow, plan, policy),
    };
    plan.flows.iter().map(name).collect()
}

/// The content seeds of all flows, in their order.
pub(super) fn content_seeds(plan: &Plan, seed: u64) -> impl Iterator<Item = u64> {
    plan.flows.iter().map(move |flow| content_seed(seed, &flow.name))
}

/// The seed of a flow's own content. It identifies the flow on the wire.
fn content_seed(seed: u64, flow: &str) -> u64 {
    Rng::named(seed, &format!("flow/{flow}")).next_u64()
}

/// The only link that a flow is bound to, as plain TCP: by the scenario or, for the client's other flows, by
/// the policy.
fn link_of(flow: &scenario::Flow, plan: &Plan, policy: &PolicyName) -> Option<usize> {
    match flow.transport {
        Transport::Tcp { over } | Transport::Udp { over } => Some(over),
        Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } if flow.by == 0 => {
            policy.only_link().and_then(|link| plan.link_index(link))
        }
        Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } => None,
    }
}

/// Whether an agent takes the connections of a flow.
pub(super) fn is_carried(flow: &scenario::Flow, plan: &Plan, policy: &PolicyName) -> bool {
    let is_mptcp = flow.transport == Transport::Mptcp;
    is_mptcp && flow.by == 0 && link_of(flow, plan, policy).is_none() && has_agent(plan, policy)
}

impl Common<'_> {
    /// Starts all flows except those that the models carry. Each waits for its own start.
    pub(super) fn start(&self) -> Result<Vec<JoinHandle<()>>, PlayError> {
        let own =
            (0..self.plan.flows.len()).filter(|&index| !others::has(self.plan, &self.plan.flows[index]));
        own.map(|index| self.start_one(index)).collect()
    }

    fn start_one(&self, index: usize) -> Result<JoinHandle<()>, PlayError> {
        let flow = &self.plan.flows[index];
        let task = self.task(index);
        let begin = Instant::ZERO + flow.start;
        let (server, notes) = (Arc::clone(&self.server), self.notes.clone());
        let place = self.walkers.place(flow.by);
        let netns = place.map_or(&self.hosts.client, |place| &self.hosts.others[place].netns);
        let netns = netns.try_clone().map_err(PlayError::Thread)?;
        let work = move || {
            wait_until(begin, &task);
            let tell = |now, told| drop(notes.send(Note::Flow(index, now, told)));
            let outcome = match netns.enter() {
                Ok(()) => traffic::run(&task, &server, &tell),
                Err(error) => Err(error.into()),
            };
            // Nobody listens if the run was aborted.
            let _ = notes.send(Note::FlowEnded(index, Box::new(outcome)));
        };
        let thread = std::thread::Builder::new().name("lab-flow".into());
        thread.spawn(work).map_err(PlayError::Thread)
    }

    fn task(&self, index: usize) -> Task {
        let flow = &self.plan.flows[index];
        let via = match (link_of(flow, self.plan, self.policy), flow.transport) {
            (only, Transport::EachLink) => Via::Several(self.over_links(only)),
            (only, Transport::EachPeer { peers }) => Via::Several(self.to_peers(index, peers, only)),
            (None, _) if is_carried(flow, self.plan, self.policy) => Via::Agent,
            (None, _) => Via::Mptcp,
            (Some(link), Transport::Udp { .. }) => Via::Udp {
                device: self.interface(flow.by, link).0,
            },
            (Some(link), _) => {
                let (device, usable) = self.interface(flow.by, link);
                Via::Tcp { device, usable }
            }
        };
        Task {
            name: flow.name.clone(),
            work: paced(flow, self.plan),
            via,
            server: self.destination(link_of(flow, self.plan, self.policy)),
            cc: self.controllers.of_flow(self.plan, flow).to_owned(),
            seed: content_seed(self.seed, &flow.name),
            clock: self.clock,
            until: Instant::ZERO + self.plan.duration,
            stop: self.stop.flag(),
            watchlist: self.watchlist.clone(),
        }
    }
}

impl Common<'_> {
    /// The interface of a link at the host of a flow, and whether it is usable now.
    fn interface(&self, by: usize, link: usize) -> (String, Arc<AtomicBool>) {
        let apart = self.walkers.interface(by, link);
        apart.unwrap_or_else(|| (self.interfaces[link].clone(), self.glue.usable(link)))
    }

    /// A link of the client, for a connection that is bound to it.
    fn bound(&self, link: usize) -> Bound {
        let (device, usable) = self.interface(0, link);
        Bound {
            link: policy::LinkId(link as u16),
            device,
            usable,
            server: self.destination(Some(link)),
        }
    }

    /// The places of a flow with a connection over each link, or over the only one.
    fn over_links(&self, only: Option<usize>) -> Vec<Place> {
        let links = only.map_or(0..self.plan.links.len(), |link| link..link + 1);
        links.map(|link| Place::Link(self.bound(link))).collect()
    }

    /// The places of a flow with a connection to each peer, on links that the engine assigns, or on the only
    /// one.
    fn to_peers(&self, flow: usize, peers: u16, only: Option<usize>) -> Vec<Place> {
        if let Some(link) = only {
            return (0..peers).map(|_| Place::Link(self.bound(link))).collect();
        }
        let links: Arc<[Bound]> = (0..self.plan.links.len()).map(|link| self.bound(link)).collect();
        let place = |peer: u16| Place::Peer {
            peer: blocks::peer(flow, peer),
            links: Arc::clone(&links),
            assigned: self.assigned.clone(),
        };
        (0..peers).map(place).collect()
    }

    /// The server's address for connections, or for plain TCP over this link. In a scenario with IPv6,
    /// programs open IPv6 sockets for both families, so that a connection can have both.
    fn destination(&self, link: Option<usize>) -> SocketAddr {
        let families = self.plan.server_families;
        let over = link.and_then(|link| families.over(self.plan.links[link].families));
        let v6 = over.unwrap_or(families.begins_in_v6());
        let v4 = self.addressing.server;
        let address: IpAddr = match v6 {
            true => SERVER_V6.into(),
            false if self.plan.uses_v6() => v4.to_ipv6_mapped().into(),
            false => v4.into(),
        };
        (address, self.server.address().port()).into()
    }
}

/// Sets the rate of a saturated sender of datagrams. It offers a tenth more than the slowest bottleneck
/// behind it takes, to keep the queue there full.
fn paced(flow: &scenario::Flow, plan: &Plan) -> Work {
    match (flow.transport, flow.work) {
        (
            Transport::Udp { over },
            Work::Datagrams {
                way,
                pace: Pace::Saturated,
                payload,
            },
        ) => {
            let offered = taken(&plan.links[over].kind, way).percent(110);
            let interval = offered.time_for(payload + HEADERS);
            Work::Datagrams {
                way,
                pace: Pace::Every(interval.unwrap_or(Duration::from_millis(1))),
                payload,
            }
        }
        (_, work) => work,
    }
}

/// The highest rate that a link takes from the sender's side.
fn taken(link: &LinkKind, way: Way) -> Bitrate {
    let up = way == Way::Up;
    match link {
        LinkKind::Wifi(ap) if up => air(ap),
        LinkKind::Wifi(ap) => air(ap).min(ap.backhaul.down),
        LinkKind::Cell(cell) => if up { &cell.up } else { &cell.down }.mean(),
        LinkKind::Cable(cable) => if up { cable.up } else { cable.down }.rate,
    }
}

/// The highest rate over the air.
fn air(ap: &AccessPoint) -> Bitrate {
    let fastest = ap.standard.rates_kbps().iter().max();
    fastest.map_or(Bitrate::ZERO, |&kbps| Bitrate::from_kbps(kbps.into()))
}

/// Sleeps in short pieces, so that it notices a stop.
fn wait_until(begin: Instant, task: &Task) {
    const PIECE: units::Duration = units::Duration::from_millis(20);
    while !task.stop.load(std::sync::atomic::Ordering::Relaxed) {
        match begin.since(task.clock.now()) {
            units::Duration::ZERO => return,
            left => std::thread::sleep(left.min(PIECE)),
        }
    }
}
