//! All limits together: attaches them to interfaces as these come and go, and releases them with their
//! connections.

use crate::bpf::WindowKind;
use crate::daemon::api::error::StartError;
use crate::daemon::api::observe::Observation;
use crate::daemon::flows::book::{Flows, Subflow};
use crate::daemon::host::Host;
use crate::daemon::host::counters::Moved;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::queues::fallbacks::Fallbacks;
use crate::daemon::queues::levers::Levers;
use crate::daemon::queues::marking::Marking;
use crate::rtnl::IfName;
use policy::{ConnId, LinkId};
use std::time::Duration;
use units::{Bytes, Instant};

/// Interval at which packet counts are compared, while counters are sampled at all.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// All levers, limits of fallbacks, and marks.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) levers: Levers,
    pub(crate) fallbacks: Fallbacks,
    pub(crate) marks: Marking,
    looks: Looks,
}

/// When packet counts are compared next, and on which interfaces. Reuses its buffer, so a comparison
/// allocates nothing once it has grown.
#[derive(Debug, Default)]
struct Looks {
    next: Instant,
    interfaces: Vec<(u32, IfName)>,
}

impl Looks {
    fn due(&mut self, now: Instant) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + LOOK_EVERY;
        }
        due
    }
}

impl Bounds {
    /// Limits windows in this way, and windows of connections that fell back to this size.
    pub(crate) fn new(
        window: Option<WindowKind>,
        fallback_window: Option<Bytes>,
    ) -> Result<Self, StartError> {
        Ok(Self {
            levers: Levers::new(window),
            fallbacks: Fallbacks::new(fallback_window)?,
            marks: Marking::default(),
            looks: Looks::default(),
        })
    }

    /// Loads the programs now, not while the first connection runs.
    pub(crate) fn load(&mut self, outlet: &mut Outlet) {
        for error in self.levers.load() {
            outlet.trouble("limiting windows on a link", &error);
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let times = [self.levers.wake_at(), self.fallbacks.wake_at()];
        times.into_iter().flatten().min()
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now: Instant, flows: &Flows, links: &Links, host: &mut Host) {
        if let Err(error) = self.levers.tick(now) {
            host.outlet.trouble("limiting unsent bytes", &error);
        }
        self.fallbacks.mind(now, flows, links, host);
    }

    /// Attaches the levers to a new interface.
    pub(crate) fn attach(&mut self, link: LinkId, ifindex: u32, links: &Links, outlet: &mut Outlet) {
        if let Err(error) = self.levers.attach(ifindex) {
            outlet.trouble_on(&links.name_of(link), "limiting windows", &error);
        }
        if !links.ask_for_ecn() {
            return;
        }
        if let Err(error) = self.marks.prepare(link, ifindex) {
            outlet.trouble_on(&links.name_of(link), "preparing to mark packets", &error);
        }
    }

    /// Detaches the levers from an interface that is gone or no longer managed.
    pub(crate) fn detach(&mut self, ifindex: u32, outlet: &mut Outlet) {
        self.levers.detach(ifindex);
        for error in self.marks.detach(ifindex) {
            outlet.trouble("removing marks from a link", &error);
        }
    }

    /// If a subflow goes over an interface that cannot be attached, limits windows the other way. If there is
    /// no other way, limits those of new connections.
    pub(crate) fn mind_unattached(&mut self, flows: &Flows, links: &Links, host: &mut Host) {
        if !self.levers.has_unattached() {
            return;
        }
        let over = |subflow: &Subflow| links.get(subflow.link).and_then(|link| link.ifindex);
        let used = flows.living().filter_map(over);
        if let Err(error) = self.levers.used(used, &mut host.settings.journal) {
            host.outlet
                .trouble("limiting windows by the other method", &error);
        }
        let mut unbounded = self.levers.unbounded();
        let bounded =
            unbounded.try_for_each(|(conn, window)| host.settings.bound_new_connections(conn, window));
        drop(unbounded);
        if let Err(error) = bounded {
            host.outlet
                .trouble("limiting the windows of new connections", &error);
        }
    }

    /// Releases the limits of a closed connection.
    pub(crate) fn release(&mut self, conn: ConnId, outlet: &mut Outlet) {
        if let Err(error) = self.levers.release(conn) {
            outlet.trouble("removing a closed connection's limits", &error);
        }
    }

    /// Releases the limits of a connection that is left alone.
    pub(crate) fn leave_alone(&mut self, conn: ConnId, outlet: &mut Outlet) {
        if let Err(error) = self.levers.leave_alone(conn) {
            let doing = "releasing the bounds of a connection that is left alone";
            outlet.trouble(doing, &error);
        }
    }

    /// Compares the packets that interfaces carry with those that reach our programs, when it is due.
    pub(crate) fn mind_passage(&mut self, now: Instant, flows: &Flows, links: &Links, host: &mut Host) {
        if !self.looks.due(now) {
            return;
        }
        let mut interfaces = std::mem::take(&mut self.looks.interfaces);
        let carrying = links.iter().filter(|link| link.carrier);
        interfaces.extend(carrying.filter_map(|link| Some((link.ifindex?, link.interface?))));
        for (ifindex, name) in interfaces.drain(..) {
            if let Some(packets) = host.counters.moved(ifindex) {
                self.mind_interface((ifindex, name), packets, flows, links, host);
            }
        }
        self.looks.interfaces = interfaces;
    }

    fn mind_interface(
        &mut self,
        (ifindex, name): (u32, IfName),
        packets: Moved,
        flows: &Flows,
        links: &Links,
        host: &mut Host,
    ) {
        let arriving = self.marks.arriving.mind_passage(ifindex, name, packets.received);
        let leaving = self.marks.sent.mind_passage(ifindex, name, packets.sent);
        for why in [arriving, leaving].into_iter().flatten() {
            observe_blocked(&mut host.outlet, "marking packets", &why);
        }
        if let Some(why) = self.levers.mind_passage(ifindex, name, packets.sent) {
            observe_blocked(&mut host.outlet, "limiting windows on a link", &why);
            self.mind_unattached(flows, links, host);
        }
    }
}

fn observe_blocked(outlet: &mut Outlet, what: &str, why: &str) {
    outlet.observe(Observation::Trouble { what, why });
}
