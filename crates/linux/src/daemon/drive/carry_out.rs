//! Executes the engine's actions.
//!
//! Each action is executed or handed to the kernel before the next one starts, so the peer sees them in the
//! engine's order. Failures are reported as observations. If the engine waits for an outcome (a join), it is
//! told about the failure too.

use crate::bpf::Hook;
use crate::daemon::act::error::ActError;
use crate::daemon::act::join::Wanted;
use crate::daemon::api::setup::{Assignment, Association};
use crate::daemon::ask::probes::ProbeError;
use crate::daemon::drive::world::World;
use crate::daemon::flows::book::Flows;
use policy::flow::FlowId;
use policy::slot::Slot;
use policy::{Action, ConnId, LinkId, Note, Reason};
use units::{Instant, Ratio};

impl World {
    /// Executes one action.
    pub(crate) fn carry_out(&mut self, now: Instant, action: &Action) -> Result<(), ActError> {
        let changed = changes_subflows_of(&self.conns.flows, action);
        if changed.is_some_and(|conn| self.conns.is_left_in_peace(conn, &mut self.host)) {
            return Ok(());
        }
        match *action {
            Action::Associate(link) => self.hand_over(Association::Join(link)),
            Action::Leave(link) => self.hand_over(Association::Leave(link)),
            Action::DefaultRoute(family, link) => {
                self.begin_connections_on(now, family, link);
                Ok(())
            }
            Action::Endpoint(link, wanted) => {
                let (links, ids) = (&self.links, &mut self.conns.ids);
                Ok(self.endpoints.set(&mut self.host, links, ids, (link, wanted))?)
            }
            Action::Join {
                conn,
                link,
                remote,
                backup,
            } => {
                let wanted = Wanted::new((conn, link), remote, backup);
                self.conns.join(now, wanted, &mut self.host, &self.links)
            }
            Action::SetBackup { subflow, backup } => {
                self.conns.set_backup(now, subflow, backup, &mut self.host)
            }
            Action::Destroy(subflow) => self.conns.destroy(subflow, &mut self.host),
            Action::Withdraw(subflow) => self.conns.withdraw(now, subflow, &mut self.host),
            Action::Probe { link, conn, probe } => self.probe(now, link, conn, probe),
            Action::Ask {
                link,
                host,
                probe,
                gently,
            } => {
                let asked = (host, (probe, gently));
                let means = (&self.links, &mut self.probes);
                self.idle.ask(now, link, asked, means, &mut self.host);
                Ok(())
            }
            Action::Check(link) => self.check(link),
            Action::Window(conn, window) => {
                self.conns.bound_window(conn, window, &mut self.host, &self.links)
            }
            Action::Unsent(conn, unsent) => self.conns.bound_unsent(conn, unsent, &mut self.host),
            Action::CapPacing { subflow, rate, lasts } => {
                self.conns.cap_pacing(subflow, rate, now + lasts, &mut self.host)
            }
            Action::Mark(link, rate) => self.mark(link, rate, Hook::Ingress),
            Action::MarkSent(link, rate) => self.mark(link, rate, Hook::Egress),
            Action::Outlook(link, ref outlook) => {
                let (flows, outlet) = (&self.conns.flows, &mut self.host.outlet);
                self.conns.cla.outlook(now, (link, outlook), flows, outlet);
                Ok(())
            }
            Action::HandedOff(link) => {
                let (flows, outlet) = (&self.conns.flows, &mut self.host.outlet);
                self.conns.cla.roamed(link, flows, outlet);
                Ok(())
            }
            Action::Note(ref note) => {
                self.remember(note);
                Ok(())
            }
            Action::Assign(flow, _) | Action::Move(flow, _) | Action::Hold(flow) | Action::EndFlow(flow) => {
                self.carry(now, flow, action)
            }
            Action::Slots(_, ref slots) => self.take_turns(slots),
        }
    }

    fn remember(&mut self, note: &Note) {
        self.conns.bounds.marks.remember(note);
        if let (Some(networks), Reason::Flow(flow, why)) = (&mut self.networks, &note.reason) {
            networks.because(*flow, *why);
        }
    }

    /// Executes an action for a flow that cannot use several links.
    fn carry(&mut self, now: Instant, flow: FlowId, action: &Action) -> Result<(), ActError> {
        if self.assign(flow, action) {
            return Ok(());
        }
        let Some(networks) = &mut self.networks else {
            return Ok(());
        };
        let outlet = &mut self.host.outlet;
        Ok(match *action {
            Action::Assign(_, link) => networks.assign(now, flow, Some(link), outlet),
            Action::Hold(_) => networks.assign(now, flow, None, outlet),
            Action::Move(_, link) => networks.move_to(now, flow, link),
            _ => networks.end(flow, outlet),
        }?)
    }

    /// Passes an answer about a flow on to the program that asked. `false`: none did.
    fn assign(&mut self, flow: FlowId, action: &Action) -> bool {
        let assignment = match *action {
            Action::Assign(_, link) | Action::Move(_, link) => Assignment::To(link),
            Action::Hold(_) => Assignment::Held,
            _ => Assignment::Ended,
        };
        self.assign
            .as_mut()
            .is_some_and(|assign| assign(flow, assignment))
    }

    /// Checks a link for a captive portal.
    fn check(&mut self, link: LinkId) -> Result<(), ActError> {
        let (links, outlet) = (&self.links, &mut self.host.outlet);
        self.checks.check(link, links, &self.idle, outlet);
        Ok(())
    }

    /// Hands the request to the program that associates with access points. Without one, it holds only if
    /// another program has done it already.
    fn hand_over(&mut self, wanted: Association) -> Result<(), ActError> {
        let (link, connected) = match wanted {
            Association::Join(link) => (link, true),
            Association::Leave(link) => (link, false),
        };
        let carrier = self.links.get(link).is_some_and(|managed| managed.carrier);
        let program = self.associate.as_mut();
        if program.is_some_and(|program| (program.carry_out)(wanted)) || carrier == connected {
            return Ok(());
        }
        Err(ActError::NotOurs)
    }

    /// Divides a radio's time. Drivers of real radios cannot, and no real host reports such a radio.
    fn take_turns(&mut self, slots: &[Slot]) -> Result<(), ActError> {
        let divides = self
            .associate
            .as_mut()
            .and_then(|program| program.take_turns.as_mut());
        let take_turns = divides.ok_or(ActError::NotHere("divide a radio's time"))?;
        take_turns(slots);
        Ok(())
    }

    /// Sets the share of a link's packets to mark, received or sent. A link without an interface carries
    /// nothing.
    fn mark(&mut self, link: LinkId, rate: Ratio, hook: Hook) -> Result<(), ActError> {
        let ifindex = self.links.get(link).and_then(|managed| managed.ifindex);
        match ifindex {
            Some(ifindex) => Ok(self.conns.bounds.marks.set(link, ifindex, rate, hook)?),
            None if rate == Ratio::ZERO => Ok(()),
            None => Err(ActError::NoWay),
        }
    }

    fn probe(&mut self, now: Instant, link: LinkId, conn: ConnId, probe: u32) -> Result<(), ActError> {
        let managed = self.links.get(link).ok_or(ActError::NoWay)?;
        let peer = self.conns.peer_over(conn, managed)?;
        let way = managed.way(peer.is_ipv6()).ok_or(ActError::NoWay)?;
        let sent = self.probes.ask(now, (link, &way), peer, Some(probe));
        Ok(sent.map_err(ProbeError::from)?)
    }
}

/// Returns the connection whose subflows an action would change.
fn changes_subflows_of(flows: &Flows, action: &Action) -> Option<ConnId> {
    match *action {
        Action::Join { conn, .. } => Some(conn),
        Action::SetBackup { subflow, .. } | Action::Destroy(subflow) | Action::Withdraw(subflow) => {
            Some(flows.subflow(subflow)?.conn)
        }
        _ => None,
    }
}
