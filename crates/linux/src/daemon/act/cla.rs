//! Passes signal trends to whoever controls a sender's windows: our own congestion controller for uploads,
//! the servers' for downloads.
//!
//! # Checked by
//! `crates/lab/tests/controllers.rs`: a walk from one access point to the next, both ways. `tests` below:
//! roaming.

use crate::bpf::cc::AddressEnd;
use crate::cla::{Advice, Advisor, Teller};
use crate::daemon::api::error::StartError;
use crate::daemon::api::sender::Sender;
use crate::daemon::api::setup::SignalReports;
use crate::daemon::flows::book::Flows;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::managed::Managed;
use crate::mptcp_pm::AddressId;
use policy::{ConnId, LinkId, LinkKind, Outlook, SubflowId};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant, Ratio};

/// A new access point's subflow is a hand-off only if it comes within this time after the fading one's last
/// report.
const HANDOFF_WITHIN: Duration = Duration::from_secs(10);

/// The outlook of a signal that did not fade.
const STEADY: Outlook = Outlook {
    mobility_ppm: 0,
    quality: Ratio::ONE,
    fading: false,
    handoff_in: None,
};

/// Who is notified, and the last report for each fading link.
#[derive(Debug, Default)]
pub(crate) struct Cla {
    advisor: Option<Advisor>,
    teller: Option<Teller>,
    fading: BTreeMap<LinkId, (Instant, Outlook)>,
}

impl Cla {
    pub(crate) fn start(sender: Option<&Sender>, reports: Option<SignalReports>) -> Result<Self, StartError> {
        let ours = sender.and_then(Sender::coupled);
        // The other controllers accept no commands.
        let advisor = ours.and_then(|ours| Advisor::new(ours, AddressEnd::Local).ok());
        let teller = reports.map(|reports| Teller::new(reports.key, reports.port));
        Ok(Self {
            advisor,
            teller: teller.transpose().map_err(StartError::Random)?,
            fading: BTreeMap::new(),
        })
    }

    const fn is_idle(&self) -> bool {
        self.advisor.is_none() && self.teller.is_none()
    }

    /// Passes on the engine's outlook for a link's signal.
    pub(crate) fn outlook(
        &mut self,
        now: Instant,
        (link, outlook): (LinkId, &Outlook),
        flows: &Flows,
        outlet: &mut Outlet,
    ) {
        if self.is_idle() {
            return;
        }
        if outlook.fading {
            self.fading.insert(link, (now, *outlook));
        } else {
            self.fading.remove(&link);
        }
        for (conn, address) in paths(link, flows) {
            self.advise(conn, Advice::of(address, outlook, false), flows, outlet);
        }
    }

    /// Handles a new subflow. It is a hand-off if it goes over one access point while another fades.
    pub(crate) fn maybe_handed_off(
        &mut self,
        id: SubflowId,
        (flows, links): (&Flows, &Links),
        outlet: &mut Outlet,
    ) {
        if self.is_idle() {
            return;
        }
        let Some(subflow) = flows.subflow(id) else {
            return;
        };
        let (conn, link, address) = (subflow.conn, subflow.link, subflow.address_id);
        let is_wifi = |managed: &Managed| managed.spec.kind == LinkKind::Wifi;
        let from = self
            .fading
            .iter()
            .filter(|(other, (at, _))| **other != link && outlet.now.since(*at) <= HANDOFF_WITHIN)
            .map(|(_, (_, outlook))| *outlook)
            .next();
        if let Some(outlook) = from.filter(|_| links.get(link).is_some_and(is_wifi)) {
            self.advise(
                conn,
                Advice::of(AddressId(address), &outlook, true),
                flows,
                outlet,
            );
        }
    }

    /// Handles a hand-off without new subflows: those of this link go over another access point now.
    pub(crate) fn roamed(&mut self, link: LinkId, flows: &Flows, outlet: &mut Outlet) {
        if self.is_idle() {
            return;
        }
        let outlook = self.of_roamed(outlet.now, link);
        for (conn, address) in paths(link, flows) {
            self.advise(conn, Advice::of(address, &outlook, true), flows, outlet);
        }
    }

    /// The outlook from which a link was handed off: of its signal that faded, or of a steady one.
    fn of_roamed(&mut self, now: Instant, link: LinkId) -> Outlook {
        let faded = self.fading.remove(&link);
        let faded = faded.filter(|(at, _)| now.since(*at) <= HANDOFF_WITHIN);
        faded.map_or(STEADY, |(_, outlook)| outlook)
    }

    fn advise(&mut self, conn: ConnId, advice: Advice, flows: &Flows, outlet: &mut Outlet) {
        if let Some(advisor) = &mut self.advisor
            && let Err(error) = advisor.hear(conn, advice)
        {
            outlet.trouble("setting windows before a handover", &error);
        }
        let Some(peer) = flows.conn(conn).map(|conn| conn.remote.ip().to_canonical()) else {
            return;
        };
        let locals: Vec<IpAddr> = flows
            .subflows_of(conn)
            .filter(|subflow| subflow.living())
            .map(|subflow| subflow.ends.local.ip().to_canonical())
            .collect();
        if let Some(teller) = &mut self.teller
            && let Err(error) = teller.tell(conn, peer, &locals, advice)
        {
            outlet.trouble("sending a signal report to a server", &error);
        }
    }

    /// Removes all state of a closed connection.
    pub(crate) fn forget(&mut self, conn: ConnId, outlet: &mut Outlet) {
        if let Some(advisor) = &mut self.advisor
            && let Err(error) = advisor.forget(conn)
        {
            outlet.trouble("removing the windows of a closed connection", &error);
        }
    }
}

/// The living subflows of a link: their connections, and the identifiers of their addresses.
fn paths(link: LinkId, flows: &Flows) -> Vec<(ConnId, AddressId)> {
    let subflows = flows.living().filter(|subflow| subflow.link == link);
    subflows
        .map(|subflow| (subflow.conn, AddressId(subflow.address_id)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roamed_link_is_handed_off_from_what_faded_lately() {
        let link = LinkId(0);
        let fading = Outlook {
            mobility_ppm: -800_000,
            fading: true,
            ..STEADY
        };
        let from = |later| {
            let at = Instant::from_secs(10);
            let mut cla = Cla::default();
            cla.fading.insert(link, (at, fading));
            (cla.of_roamed(at + later, link), cla.fading.len())
        };
        assert_eq!(from(HANDOFF_WITHIN), (fading, 0));
        assert_eq!(from(HANDOFF_WITHIN + Duration::from_millis(1)), (STEADY, 0));
        assert_eq!(Cla::default().of_roamed(Instant::ZERO, link), STEADY);
    }
}
