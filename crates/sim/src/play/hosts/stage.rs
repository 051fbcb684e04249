//! What a plan with TCP flows or faults asks for: its links, the hosts' configuration, and what is refused.
//!
//! # Where we differ, and why
//! 1. Both ends have every controller of [`Control::named`], whatever runs on the server. A server that runs
//!    slowhand does nothing else here: it would only listen to signals for `cla`, which is refused.

use crate::mptcp::{Config, Joins, ReceiveBuffer, SchedulerKind};
use crate::play::cast::has_needed_beacons;
use crate::play::error::CastError;
use crate::tcp::{self, Control, Timeout};
use links::{Medium, NetworkConfig};
use scenario::{
    Change, Flow, Growth, Plan, Rto, Scheduler, Server, Syns, Target, Tcp, Transport, Walker, models,
};

/// Whether a plan needs hosts: it has flows of TCP or MPTCP, an engine whose actions matter to datagrams, or
/// faults, which happen to the links between hosts.
pub(in crate::play) fn has(plan: &Plan) -> bool {
    plan.sends_by_tcp() || plan.client().radio.is_some() || !plan.faults.is_empty()
}

/// Checks that hosts can play a plan.
pub(in crate::play) fn check(plan: &Plan) -> Result<(), CastError> {
    has_ipv4_for_datagrams(plan)?;
    has_needed_beacons(plan)?;
    stays_up(plan)?;
    let connections = plan
        .flows
        .iter()
        .filter(|flow| !matches!(flow.transport, Transport::Udp { .. }));
    connections
        .map(|flow| control(plan, flow))
        .try_for_each(|known| known.map(drop))?;
    let residents = models::residents(plan).filter(|resident| resident.has_radio(plan));
    let stations = models::background_flows(plan).map(|(_, flow)| flow.by);
    residents
        .map(|resident| resident.by)
        .chain(stations.filter(|&by| by != 0))
        .try_for_each(|by| is_awake(&plan.walkers[by]))?;
    Ok(())
}

/// Checks that no fault takes down an access point that nobody could join again.
fn stays_up(plan: &Plan) -> Result<(), CastError> {
    let downs = plan
        .faults
        .iter()
        .filter(|fault| matches!(fault.change, Change::Down { .. }));
    let is_hit = |link: usize| {
        downs.clone().any(|fault| match &fault.target {
            Target::Links(links) => links.contains(&link),
            Target::Busiest => true,
        })
    };
    let mut all = plan.access_points().filter(|(_, ap)| !ap.management);
    match all.find(|(link, _)| is_hit(*link)) {
        None => Ok(()),
        Some((link, _)) => Err(CastError::Unmanaged(plan.links[link].name.clone())),
    }
}

/// Checks that datagrams need no IPv6, as in the lab.
fn has_ipv4_for_datagrams(plan: &Plan) -> Result<(), CastError> {
    let mut flows = plan.flows.iter();
    match flows.find(|flow| plan.uses_v6() && matches!(flow.work, scenario::Work::Datagrams { .. })) {
        Some(flow) => Err(CastError::DatagramsOverV6(flow.name.clone())),
        None => Ok(()),
    }
}

/// Checks that the radio of a walker beside the client can be played beside hosts.
fn is_awake(walker: &Walker) -> Result<(), CastError> {
    if walker.power_save {
        return Err(CastError::OtherSleeps(walker.name.clone()));
    }
    Ok(())
}

/// The congestion control of a flow's sender.
fn control(plan: &Plan, flow: &Flow) -> Result<Control, CastError> {
    let name = flow.cc.as_deref().unwrap_or(&plan.cc);
    Control::named(name).map_err(|source| CastError::Control {
        flow: flow.name.clone(),
        source,
    })
}

/// Configurations of the client and of the server for a flow's connections. `ecn`: whether the client asks
/// for ECN. A stock server agrees to it.
pub(super) fn configs(plan: &Plan, flow: &Flow, mptcp: bool, ecn: bool) -> Result<[Config; 2], CastError> {
    let host = host(control(plan, flow)?, &plan.tcp);
    let client = Config { mptcp, ecn, ..host };
    let server = Config {
        mptcp: plan.server != Server::Legacy,
        ecn: true,
        most_joins: plan.server_subflows,
        ..host
    };
    Ok([client, server])
}

/// A host with this congestion control, and with what the scenario says of TCP.
fn host(control: Control, tcp: &Tcp) -> Config {
    let stock = Config::stock(control, true);
    Config {
        sender: tcp::Config {
            growth: match tcp.growth {
                Growth::PerSegment => tcp::Growth::PerSegment,
                Growth::PerAck => tcp::Growth::PerAck,
            },
            timeout: match tcp.rto {
                Rto::Linux => Timeout::Linux,
                Rto::Rfc6298 => Timeout::Rfc6298,
            },
            initial_window: tcp.initial_window,
            ssthresh: tcp.initial_ssthresh,
            ..stock.sender
        },
        receive_buffer: tcp
            .receive_window
            .map_or(stock.receive_buffer, ReceiveBuffer::Window),
        scheduler: match tcp.scheduler {
            Scheduler::Linux => SchedulerKind::LinuxDefault,
            Scheduler::LowestRtt => SchedulerKind::LowestRtt,
            Scheduler::RoundRobin => SchedulerKind::RoundRobin,
            Scheduler::Redundant => SchedulerKind::Redundant,
            Scheduler::Blest => SchedulerKind::Blest,
            Scheduler::Ecf => SchedulerKind::Ecf,
        },
        metrics_cache: tcp.metrics_cache,
        rescue: tcp.opportunistic_retransmission,
        joins: match tcp.syns {
            Syns::OneByOne => Joins::Confirmed,
            Syns::AtOnce => Joins::AtOnce,
        },
        ..stock
    }
}

/// Configurations of a relay in front of a server: as a server of its clients, and as a client of the server.
pub(super) const fn relay(server: Config) -> [Config; 2] {
    let mptcp = true;
    [
        Config { mptcp, ..server },
        Config {
            mptcp,
            ecn: false,
            ..server
        },
    ]
}

/// The links of a run with this seed: every frame of the air, unless the plan wants the coarse medium.
/// `monitor`: whether something uses the frames that the client's radios hear.
pub(super) fn network(plan: &Plan, seed: u64, monitor: bool) -> NetworkConfig {
    NetworkConfig {
        medium: match plan.medium {
            scenario::Medium::Wfq => Medium::Weighted,
            scenario::Medium::Dcf | scenario::Medium::Exact => Medium::Frames,
        },
        monitor: monitor && plan.access_points().next().is_some(),
        background: models::background(plan),
        hosts: models::residents(plan)
            .map(|resident| models::other_host(plan, &resident))
            .collect(),
        ..models::network(plan, seed)
    }
}
