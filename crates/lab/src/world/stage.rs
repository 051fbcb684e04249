//! Prepares everything that a run needs before time zero.

use super::brain::{Brain, Wiring};
use super::choice::{engine_config, engine_policy, shared_channels};
use super::controllers::{Controllers, is_upload};
use super::flows::content_seeds;
use super::glue::Glue;
use super::note::Note;
use super::relay::{self, Detour};
use super::walkers::{self, Ground, Walkers};
use super::{Advised, Play, PlayError, network_config};
use crate::clock::Clock;
use crate::emulator::LinkSample;
use crate::hosts::{
    Addressing, BuildError, HostLink, Hosts, HostsConfig, Plugs, Port, SERVER_V6, interface_name,
};
use crate::monitor::{Feed, Monitor};
use crate::traffic::{Answers, Assigned, Server};
use links::{LinkConfig, LinkId, LinkState, Network, NetworkConfig};
use linux::capture::{Aliases, Beacons, Capture, Listener as Ears, Reports};
use linux::cla::Listener;
use linux::daemon::{DeclaredLink, InletSender, SignalReports, inlet};
use policy::Tariff;
use policy::estimate::bandwidth::Sight;
use record::Recording;
use scenario::{Plan, ServerFamilies};
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use trace::Observer;
use units::Duration;

/// The port of our server.
const PORT: u16 = 5_001;
/// How far ahead time zero is when the daemon starts: enough for it to load its programs and to find its
/// links. Being late harms only the first moments of the run.
const RUN_UP: Duration = Duration::from_millis(400);
/// Replaces [`RUN_UP`] on a busy machine: a multiple of the time that building the hosts took.
const RUN_UP_FOR_BUILDING: u32 = 4;
const LONGEST_RUN_UP: Duration = Duration::from_secs(10);

/// A run before time zero. Fields are dropped in this order, so users of a field precede it.
pub(super) struct Stage {
    pub(super) brain: Brain,
    pub(super) walkers: Walkers,
    /// The relay and the client's agent, if it has one.
    pub(super) detour: Option<Detour>,
    pub(super) server: Option<Arc<Server>>,
    pub(super) glue: Glue,
    /// Links that the engine assigns to peers.
    pub(super) assigned: Assigned,
    pub(super) ports: Vec<Port>,
    pub(super) hosts: Hosts,
    /// The link models, until the emulator has them.
    pub(super) network: Option<Network>,
    pub(super) config: NetworkConfig,
    pub(super) addressing: Addressing,
    pub(super) interfaces: Vec<String>,
    pub(super) clock: Clock,
    pub(super) notes: Receiver<Note>,
    pub(super) tell: Sender<Note>,
    /// The server's listener for the client's signals, if it has one.
    pub(super) listener: Option<Listener>,
    pub(super) controllers: Controllers,
    /// The client's monitor interfaces, until the emulator has them.
    pub(super) monitor: Option<Feed>,
    /// The listener on these interfaces.
    pub(super) ears: Option<Ears>,
}

impl Stage {
    pub(super) fn build(what: &Play<'_>) -> Result<Self, PlayError> {
        let plan = what.plan;
        let policy = engine_policy(&what.policy, plan)?;
        let mut config = network_config(plan, what.seed)?;
        config.monitor = plan.access_points().next().is_some();
        let network = Network::new(what.seed, config.clone()).map_err(super::PlanError::from)?;
        let mut addressing = addressing(plan);
        let interfaces = interfaces(plan);
        let controllers = Controllers::prepare(plan)?;
        let building = std::time::Instant::now();
        let (hosts, ports) = build_hosts(plan, &controllers, &mut addressing, &interfaces)?;
        let run_up = run_up(building.elapsed());
        let detour = detour(what, &hosts, &interfaces)?;
        let (sender, receiver) = inlet().map_err(PlayError::Inlet)?;
        let glue = glue(plan, &hosts, &ports, &addressing, sender)?;
        let monitor = config.monitor.then(|| monitor(&hosts, &config)).transpose()?;
        let ears = match &monitor {
            Some(monitor) if policy.uses_frames() => ears(plan, &hosts, monitor, &glue)?,
            _ => None,
        };
        let monitor = monitor.map(Feed::start).transpose().map_err(PlayError::Thread)?;
        let clock = Clock::starting_in(run_up);
        let server = server(what, &hosts, &addressing, &controllers, clock)?;
        let (listener, reports) = listening(what, &hosts, &addressing, &controllers)?.unzip();
        let (tell, notes) = channel();
        let answers = Answers::default();
        let wiring = Wiring {
            engine: engine_config(policy, plan),
            links: declared(plan, &addressing, &interfaces),
            first_link: 0,
            epoch_ns: clock.epoch_ns(),
            inlet: receiver,
            answers: answers.clone(),
            sender: controllers.sender(plan).filter(|_| !what.unadvised),
            reports,
            observer: Some(observer(plan)),
            notes: tell.clone(),
            window: what.window,
            record: recording(what),
        };
        let assigned = Assigned::new(answers, glue.inlet());
        let brain = Brain::start(&hosts.client, wiring)?;
        let ground = Ground {
            hosts: &hosts,
            ports: &ports,
            addressing: &addressing,
            clock,
            tell: &tell,
        };
        let walkers = Walkers::build(plan, &ground)?;
        Ok(Self {
            brain,
            walkers,
            detour,
            server,
            glue,
            assigned,
            ports,
            hosts,
            network: Some(network),
            config,
            addressing,
            interfaces,
            clock,
            notes,
            tell,
            listener,
            controllers,
            monitor,
            ears,
        })
    }

    /// If there is a listener on the monitor interfaces, also reports a driver's counters of the channel's
    /// air.
    pub(super) fn survey(&self, samples: &[LinkSample]) {
        if self.ears.is_none() {
            return;
        }
        for (index, sample) in samples.iter().enumerate() {
            let LinkConfig::Wifi(own) = &self.config.links[index] else {
                continue;
            };
            let on_channel =
                |link: &LinkConfig| matches!(link, LinkConfig::Wifi(wifi) if wifi.channel == own.channel);
            let members = self
                .config
                .links
                .iter()
                .zip(samples)
                .filter(|(link, _)| on_channel(link));
            let sight = members.fold(Sight::default(), |sum, (_, member)| Sight {
                received: sample.down,
                busy: sum.busy + member.counters.airtime,
                exchanges: sum.exchanges + member.counters.frames,
            });
            self.glue.survey(index, sight);
        }
    }

    /// What the senders' `cla` has received so far.
    pub(super) fn advised(&self, plan: &Plan) -> Option<Advised> {
        let heard = self.listener.as_ref().map(Listener::heard);
        let orders = self.controllers.orders(plan)?.given();
        Some(Advised { orders, heard })
    }

    /// Plugs in the links that are up from the start: cables and cells. Returns the states of the client's
    /// links.
    pub(super) fn plug_in_what_is_up(&mut self) -> Result<Vec<LinkState>, PlayError> {
        let state = |link| {
            self.network
                .as_ref()
                .map_or(LinkState::Down, |network| network.state(LinkId(link as u16)))
        };
        let mut states: Vec<LinkState> = (0..self.ports.len()).map(state).collect();
        for (link, &state) in states.iter().enumerate() {
            if state == LinkState::Down {
                continue;
            }
            match self.interfaces.get(link) {
                Some(_) => self.glue.state(link, state)?,
                None => self.walkers.plug_in(link, state)?,
            }
        }
        states.truncate(self.interfaces.len());
        Ok(states)
    }
}

/// Builds the hosts. With a relay, the server is on the Internet.
fn build_hosts(
    plan: &Plan,
    controllers: &Controllers,
    addressing: &mut Addressing,
    interfaces: &[String],
) -> Result<(Hosts, Vec<Port>), BuildError> {
    let relay = plan.relay.map(|_| addressing.on_the_internet());
    let config = hosts_config(plan, controllers, addressing, interfaces);
    Hosts::build(&HostsConfig { relay, ..config })
}

/// Starts the relay and the client's agent, if it has one.
fn detour(what: &Play<'_>, hosts: &Hosts, interfaces: &[String]) -> Result<Option<Detour>, PlayError> {
    match relay::has_agent(what.plan, &what.policy) {
        true => Ok(Detour::start(hosts, interfaces)?),
        false => Ok(None),
    }
}

/// The recording of the engine's inputs and actions, if requested.
fn recording(what: &Play<'_>) -> Option<Recording> {
    what.record.as_ref().map(|buffer| Recording {
        about: format!("{}, lab, {}", what.plan.name, what.policy),
        seed: Some(what.seed),
        texts: true,
        out: Box::new(buffer.clone()),
    })
}

/// Connects the client's links to its kernel. They come first among the ports.
fn glue(
    plan: &Plan,
    hosts: &Hosts,
    ports: &[Port],
    addressing: &Addressing,
    sender: InletSender,
) -> Result<Glue, PlayError> {
    let own = ..plan.links.len();
    let plugs = Plugs::open(hosts, &ports[own], &addressing.links[own])?;
    let links = plan
        .links
        .iter()
        .map(|link| (radio::spec(link), radio::phy(link)));
    Ok(Glue::new(plugs, links.collect(), sender))
}

/// How far ahead time zero is if building the hosts took this long.
fn run_up(building: Duration) -> Duration {
    (building * RUN_UP_FOR_BUILDING).clamp(RUN_UP, LONGEST_RUN_UP)
}

/// Starts the server's listener for the client's signals, if the run has one.
fn listening(
    what: &Play<'_>,
    hosts: &Hosts,
    addressing: &Addressing,
    controllers: &Controllers,
) -> Result<Option<(Listener, SignalReports)>, PlayError> {
    if what.unadvised {
        return Ok(None);
    }
    controllers.listen(what.plan, what.seed, hosts, addressing.server.into())
}

/// Starts our own server, unless the user's programs replace it.
fn server(
    what: &Play<'_>,
    hosts: &Hosts,
    addressing: &Addressing,
    controllers: &Controllers,
    clock: Clock,
) -> Result<Option<Arc<Server>>, PlayError> {
    if what.programs.is_some() {
        return Ok(None);
    }
    let plan = what.plan;
    // One socket for both families: a connection can have subflows of both only if its socket is IPv6.
    let address = match plan.uses_v6() {
        true => (Ipv6Addr::UNSPECIFIED, PORT).into(),
        false => (addressing.server, PORT).into(),
    };
    let start = match plan.server {
        scenario::Server::Legacy => Server::start_legacy,
        scenario::Server::Stock | scenario::Server::Slowhand => Server::start,
    };
    let server = start(&hosts.server, address, controllers.at_server(plan), clock)?;
    for (flow, seed) in plan.flows.iter().zip(content_seeds(plan, what.seed)) {
        if !is_upload(flow) {
            server.choose(seed, controllers.of_flow(plan, flow));
        }
    }
    Ok(Some(Arc::new(server)))
}

fn monitor(hosts: &Hosts, config: &NetworkConfig) -> Result<Monitor, PlayError> {
    let stations = config.stations().map_err(super::PlanError::from)?;
    let made = hosts.client.run(|| Monitor::plug(config, stations));
    Ok(made.map_err(BuildError::from)??)
}

/// Listens to the monitor interfaces as on a real host, on each channel with several access points. On any
/// other channel there is nothing to compare, and each frame would cost a message to the daemon.
fn ears(plan: &Plan, hosts: &Hosts, monitor: &Monitor, glue: &Glue) -> Result<Option<Ears>, PlayError> {
    let channels = shared_channels(plan);
    if channels.is_empty() {
        return Ok(None);
    }
    let listen = || {
        let devices = monitor.devices_on(&channels);
        devices
            .map(|(device, us)| Capture::open(device, &[us]))
            .collect::<Result<Vec<_>, _>>()
    };
    let captures = hosts.client.run(listen).map_err(BuildError::from)??;
    let reports = Reports {
        links: monitor.transmitters(),
        beacons: Beacons::Elsewhere,
        aliases: Aliases::default(),
        newcomers: false,
    };
    let ears = Ears::start(captures, reports, glue.inlet());
    ears.map(Some).map_err(PlayError::Thread)
}

fn observer(plan: &Plan) -> Observer {
    Observer::new(plan.links.iter().map(|link| link.name.clone()).collect())
}

/// Addresses of the client's links, then of those of other walkers.
fn addressing(plan: &Plan) -> Addressing {
    let asked = plan
        .links
        .iter()
        .map(|link| link.subnet.map(|subnet| (subnet.network, subnet.prefix)));
    let others: Vec<usize> = walkers::residents(plan)
        .flat_map(|resident| resident.links)
        .collect();
    let families = plan.links.iter().map(|link| link.families);
    let of_others = others.iter().map(|&link| plan.links[link].families);
    Addressing::new(&asked.chain(others.iter().map(|_| None)).collect::<Vec<_>>())
        .of_families(families.chain(of_others))
}

fn interfaces(plan: &Plan) -> Vec<String> {
    plan.links
        .iter()
        .enumerate()
        .map(|(index, link)| interface_name(index, &link.name))
        .collect()
}

fn hosts_config(
    plan: &Plan,
    controllers: &Controllers,
    addressing: &Addressing,
    interfaces: &[String],
) -> HostsConfig {
    let apart = walkers::interfaces(plan);
    let names = interfaces.iter().chain(&apart).cloned();
    let all = names.zip(addressing.links.iter().copied());
    let mut all = all.map(|(interface, addresses)| HostLink { interface, addresses });
    HostsConfig {
        links: all.by_ref().take(interfaces.len()).collect(),
        others: walkers::residents(plan)
            .map(|resident| all.by_ref().take(resident.links.len()).collect())
            .collect(),
        server: addressing.server,
        server_mptcp: plan.server != scenario::Server::Legacy,
        relay: None,
        announced: match plan.server_families {
            ServerFamilies::V4 | ServerFamilies::V6 => None,
            ServerFamilies::V4First => Some(SERVER_V6.into()),
            ServerFamilies::V6First => Some(addressing.server.into()),
        },
        client_cc: controllers.at_client(plan).to_owned(),
        server_cc: controllers.at_server(plan).to_owned(),
        server_subflows: plan.server_subflows,
    }
}

fn declared(plan: &Plan, addressing: &Addressing, interfaces: &[String]) -> Vec<DeclaredLink> {
    let links = plan
        .links
        .iter()
        .zip(&addressing.links)
        .zip(interfaces)
        .enumerate();
    let declare = |(index, ((link, addresses), interface)): (
        usize,
        ((&scenario::Link, &crate::hosts::LinkAddresses), &String),
    )| DeclaredLink {
        id: policy::LinkId(index as u16),
        interface: interface.clone(),
        spec: radio::spec(link),
        gateway: Some(addresses.gateway()),
        tariff: Tariff::Flat,
    };
    links.map(declare).collect()
}
