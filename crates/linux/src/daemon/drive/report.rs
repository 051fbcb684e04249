//! Builds the report of the daemon's whole state.

use crate::daemon::api::report::{ConnReport, LeverReport, LinkReport, MarkReport, Report, SubflowReport};
use crate::daemon::api::sender::default_controller;
use crate::daemon::drive::world::World;
use crate::daemon::flows::book::{Conn, Phase, Standing, Subflow};
use crate::daemon::host::controllers::Controllers;
use crate::daemon::links::managed::Managed;
use crate::daemon::networks::Networks;
use crate::rtnl::Rtnl;
use crate::sysctl;
use policy::{ConnExplanation, Engine};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::{Duration, Instant};

/// Addresses that only a default route leads to (`a.root-servers.net`). Used for route lookups only: no
/// packet is sent there.
const ANYWHERE: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(198, 41, 0, 4)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30)),
];

impl World {
    /// Builds the report. The reasons in it are the engine's.
    pub(crate) fn report(&self, at: Instant, since: Instant, cpu: Duration, engine: &Engine) -> Report {
        let bounded = engine.explain_connections();
        let controllers = Controllers::read();
        Report {
            at,
            since,
            links: self.report_links(engine),
            conns: self
                .conns
                .flows
                .conns()
                .map(|conn| self.report_conn(conn, &bounded, &controllers))
                .collect(),
            fallbacks: self
                .conns
                .bounds
                .fallbacks
                .report(&self.conns.flows, &self.links, &controllers),
            networks: self.networks.as_ref().map(Networks::report),
            levers: self.report_levers(),
            cc: sysctl::read(&default_controller()).unwrap_or_default(),
            why: engine.explain(),
            cpu,
        }
    }

    fn report_levers(&self) -> LeverReport {
        let levers = self.conns.bounds.levers.report(self.host.settings.buffer());
        let marking = self.conns.bounds.marks.arriving.run_time() + self.conns.bounds.marks.sent.run_time();
        LeverReport {
            run_time: levers.run_time + self.conns.bounds.fallbacks.run_time() + marking,
            ..levers
        }
    }

    fn report_links(&self, engine: &Engine) -> Vec<LinkReport> {
        let begins = Rtnl::open().map_or([None; 2], |mut rtnl| {
            ANYWHERE.map(|address| rtnl.lookup(address, None).and_then(|route| route.oif))
        });
        let links = self.links.iter();
        links.map(|link| self.report_link(link, begins, engine)).collect()
    }

    fn report_link(&self, link: &Managed, begins: [Option<u32>; 2], engine: &Engine) -> LinkReport {
        let marked_because = self.conns.bounds.marks.reasons.get(&link.id);
        let begins = begins.map(|ifindex| link.carrier && ifindex.is_some() && ifindex == link.ifindex);
        LinkReport {
            id: link.id,
            spec: link.spec.clone(),
            interface: link.interface.map(|name| name.to_string()),
            ifindex: link.ifindex,
            wifi: self.radio.report(link.id),
            carrier: link.carrier,
            addresses: link.ways().map(|way| way.address.addr()).collect(),
            gateways: link.ways().map(|way| way.gateway).collect(),
            default_route: begins[0] || begins[1],
            default_v4: begins[0],
            default_v6: begins[1],
            marks: self.conns.bounds.marks.arriving.of(link.id).map(MarkReport::from),
            sent_marks: self.conns.bounds.marks.sent.of(link.id).map(MarkReport::from),
            marks_blocked: self
                .conns
                .bounds
                .marks
                .arriving
                .blocked(link.id)
                .map(str::to_owned),
            sent_marks_blocked: self.conns.bounds.marks.sent.blocked(link.id).map(str::to_owned),
            marks_why: marked_because.map(|reason| engine.sentence(reason)),
        }
    }

    fn report_conn(&self, conn: &Conn, why: &[ConnExplanation], controllers: &Controllers) -> ConnReport {
        let (window, unsent) = self.conns.bounds.levers.bounds_of(conn.id);
        let left_alone = match conn.phase {
            Phase::LeftAlone(why) => Some(why),
            Phase::Fresh | Phase::Open => None,
        };
        let why = why.iter().find(|why| why.conn == conn.id);
        ConnReport {
            id: conn.id,
            remote: conn.remote,
            left_alone,
            sample: conn.sample,
            window: window.or_else(|| self.conns.bounds.fallbacks.bound_of(conn.id)),
            window_why: why.and_then(|why| why.window.clone()),
            unsent,
            unsent_why: why.and_then(|why| why.unsent.clone()),
            roles: why.map(|why| why.roles.clone()).unwrap_or_default(),
            controllers: controllers.of_conn(conn.id),
            subflows: self
                .conns
                .flows
                .subflows_of(conn.id)
                .map(|subflow| report_subflow(subflow, controllers))
                .collect(),
        }
    }
}

fn report_subflow(subflow: &Subflow, controllers: &Controllers) -> SubflowReport {
    SubflowReport {
        id: subflow.id,
        link: subflow.link,
        local: subflow.ends.local,
        remote: subflow.ends.remote,
        address_id: subflow.address_id,
        initial: subflow.initial,
        proven: subflow.standing == Standing::Proven,
        sample: subflow.sample,
        controller: controllers.of_socket(subflow.ends.local, subflow.ends.remote),
    }
}
