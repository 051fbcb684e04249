//! A client whose links are routed by hand, as with the kernel's own path manager.
#![allow(dead_code, reason = "not every test uses everything")]

use lab::clock::Clock;
use lab::emulator::{Emulator, Event, Setup, Tuning};
use lab::hosts::{Addressing, HostLink, Hosts, HostsConfig, Plugs};
use lab::traffic::{self, Outcome, Server, Task, Via, Watchlist};
use links::{LinkConfig, Network, NetworkConfig, Scheduled};
use linux::mptcp_pm::{self, Endpoint, EndpointFlags, Limits};
use linux::rtnl::{Prefix, Route, Rtnl, Rule, Table};
use scenario::Work;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use units::{Bytes, Duration};

pub const PORT: u16 = 5_001;

pub type Asked = Option<(Ipv4Addr, u8)>;

/// The setup that a test needs.
pub struct Want {
    pub links: Vec<LinkConfig>,
    pub subnets: Vec<Asked>,
    pub schedule: Vec<Scheduled>,
    pub server_subflows: u8,
    pub tuning: Tuning,
}

impl Want {
    pub fn links(links: Vec<LinkConfig>) -> Self {
        Self {
            subnets: vec![None; links.len()],
            links,
            schedule: Vec::new(),
            server_subflows: 8,
            tuning: Tuning::default(),
        }
    }
}

pub struct Bench {
    pub hosts: Hosts,
    pub plugs: Plugs,
    pub emulator: Emulator,
    pub events: Receiver<Event>,
    pub clock: Clock,
    pub addressing: Addressing,
}

impl Bench {
    /// Sets everything up: every link has carrier, address, routes and an endpoint.
    pub fn start(want: Want) -> Self {
        let addressing = Addressing::new(&want.subnets);
        let names: Vec<String> = want.links.iter().map(|link| link.name().to_owned()).collect();
        let config = HostsConfig {
            links: names
                .iter()
                .zip(&addressing.links)
                .map(|(name, addresses)| HostLink {
                    interface: name.clone(),
                    addresses: *addresses,
                })
                .collect(),
            others: Vec::new(),
            server: addressing.server,
            server_mptcp: true,
            relay: None,
            announced: None,
            client_cc: "reno".into(),
            server_cc: "reno".into(),
            server_subflows: want.server_subflows,
        };
        let (hosts, ports) = Hosts::build(&config).unwrap();
        let mut plugs = Plugs::open(&hosts, &ports, &addressing.links).unwrap();
        for link in 0..names.len() {
            plugs.carrier(link, true).unwrap();
            plugs.give_address(link).unwrap();
        }
        let used: Vec<IpAddr> = (0..names.len())
            .map(|link| plugs.address(link).unwrap())
            .collect();
        hosts
            .client
            .run(|| route_inside(&hosts.client_ifindex, &used))
            .unwrap();
        // Time starts when everything is ready.
        let clock = Clock::start();
        let setup = Setup {
            background: lab::emulator::Background::none(),
            monitor: None,
            clock,
            network: Network::new(1, NetworkConfig::from(want.links)).unwrap(),
            ports,
            schedule: want.schedule,
            tuning: want.tuning,
        };
        let (told, events) = channel();
        let emulator = Emulator::start(setup, move |event| drop(told.send(event))).unwrap();
        Self {
            hosts,
            plugs,
            emulator,
            events,
            clock,
            addressing,
        }
    }

    pub fn server(&self) -> SocketAddr {
        (self.addressing.server, PORT).into()
    }

    /// Downloads over MPTCP for at most this long.
    pub fn download(&self, size: Option<Bytes>, patience: Duration) -> Outcome {
        self.transfer(Work::Download { size, limit: None }, Via::Mptcp, patience)
    }

    pub fn transfer(&self, work: Work, via: Via, patience: Duration) -> Outcome {
        let server = Server::start(&self.hosts.server, self.server(), "reno", self.clock).unwrap();
        let task = Task {
            name: "test".into(),
            work,
            via,
            server: self.server(),
            cc: "reno".into(),
            seed: 7,
            clock: self.clock,
            until: self.clock.now() + patience,
            stop: Arc::new(AtomicBool::new(false)),
            watchlist: Watchlist::default(),
        };
        self.hosts
            .client
            .run(|| traffic::run(&task, &server, &|_, _| {}))
            .unwrap()
            .unwrap()
    }
}

fn route_inside(ifindex: &[u32], addresses: &[IpAddr]) {
    let mut rtnl = Rtnl::open().unwrap();
    let mut commands = mptcp_pm::Commands::open().unwrap();
    commands
        .set_limits(Limits {
            subflows: 8,
            add_addr_accepted: 8,
        })
        .unwrap();
    for (link, (&ifindex, &address)) in ifindex.iter().zip(addresses).enumerate() {
        let table = Table(100 + link as u32);
        default_route(&mut rtnl, table, ifindex);
        if link == 0 {
            default_route(&mut rtnl, Table::MAIN, ifindex);
        }
        rtnl.add_rule(&Rule::from(Prefix::host(address), 1_000 + link as u32, table))
            .unwrap();
        let mut endpoint = Endpoint::new(address, EndpointFlags::SUBFLOW);
        endpoint.ifindex = Some(ifindex);
        commands.add_endpoint(&endpoint).unwrap();
    }
}

fn default_route(rtnl: &mut Rtnl, table: Table, ifindex: u32) {
    let mut route = Route::new(table, Prefix::ANY_V4);
    route.oif = Some(ifindex);
    rtnl.add_route(&route).unwrap();
}
