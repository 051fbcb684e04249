//! The thread that joins access points: sleeps, reads what happened, and does what is due.

mod associate;
mod channels;
#[cfg(test)]
mod faults;
mod names;
mod newcomers;
mod reload;
mod scan;
mod schedule;
mod takeover;
mod tend;
mod visits;

use super::dhcp::Client;
use super::lease::Port;
use super::memory::Memory;
use super::network::Network;
use super::point::Point;
use super::radio::Radio;
use super::supplicant::Supplicant;
use super::view::{PointReport, Stage, View, Views};
use super::{FIRST_LINK, Order, Setup};
use crate::bus::Bus;
use crate::daemon::{Clock, InletSender};
use crate::nl80211::Nl80211;
use crate::rtnl::{IfName, Rtnl};
pub(super) use associate::hex;
use policy::LinkId;
use schedule::Scan;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use takeover::Place;
use units::MacAddr;

/// Pause before something that cannot be had is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// Longest sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// What the thread works with.
pub(super) struct Plan {
    pub(super) setup: Setup,
    pub(super) names: Vec<IfName>,
    pub(super) inlet: InletSender,
    pub(super) orders: Receiver<Order>,
    pub(super) woken: UnixStream,
    pub(super) views: Views,
}

/// Runs until it is told to stop, then leaves all access points.
pub(super) fn run(plan: Plan) {
    let mut worker = Worker::new(plan);
    while worker.obey() {
        let now = Instant::now();
        worker.turn(now);
        worker.plan.views.show(worker.view());
        let sleep = worker.sleep(Instant::now());
        wait(&worker.descriptors(), sleep);
    }
    worker.end();
}

/// The kernel's WiFi stack, its radio and `wpa_supplicant`, while all of them can be had.
struct Means {
    kernel: Nl80211,
    rtnl: Rtnl,
    radio: Radio,
    supplicant: Supplicant,
    bus: Bus,
    /// When they were had.
    since: Instant,
}

struct Worker {
    plan: Plan,
    /// What is known of earlier visits.
    memory: Memory,
    means: Option<Means>,
    started: Instant,
    clock: Clock,
    points: BTreeMap<MacAddr, Point>,
    /// Access points of named networks that must not be joined.
    refused: BTreeMap<MacAddr, PointReport>,
    scan: Scan,
    place: Place,
    /// Networks whose keys have been right.
    proven: BTreeSet<usize>,
    /// Names of networks of which an access point without their earlier security was warned about.
    warned: BTreeSet<String>,
    /// The links over which names may be resolved.
    leading_out: Vec<LinkId>,
    next_link: u16,
    /// Why nothing can be joined.
    trouble: Option<String>,
    /// When to try that again.
    again: Option<Instant>,
}

impl Worker {
    fn new(plan: Plan) -> Self {
        Self {
            memory: Memory::open(&plan.setup.leases),
            plan,
            means: None,
            started: Instant::now(),
            clock: Clock::new(0),
            points: BTreeMap::new(),
            refused: BTreeMap::new(),
            scan: Scan::default(),
            place: Place::default(),
            proven: BTreeSet::new(),
            warned: BTreeSet::new(),
            leading_out: Vec::new(),
            next_link: FIRST_LINK,
            trouble: None,
            again: None,
        }
    }

    /// Carries out the pending orders. Returns whether to continue.
    fn obey(&mut self) -> bool {
        let mut bytes = [0; 64];
        while matches!(self.plan.woken.read(&mut bytes), Ok(count) if count == bytes.len()) {}
        let now = Instant::now();
        loop {
            match self.plan.orders.try_recv() {
                Ok(Order::Join(link)) => self.join(now, link),
                Ok(Order::Leave(link)) => self.leave(now, link),
                Ok(Order::LeadOut(links)) => self.lead_out(links),
                Ok(Order::Newcomer(bssid)) => self.hear_newcomer(now, bssid),
                Ok(Order::Networks(networks)) => self.take_networks(now, networks),
                Ok(Order::Stop) | Err(std::sync::mpsc::TryRecvError::Disconnected) => return false,
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
            }
        }
    }

    fn turn(&mut self, now: Instant) {
        self.notice_suspend(now);
        self.keep_means(now);
        self.read_events(now);
        self.tend(now);
        self.mind_place(now);
        self.look(now);
    }

    /// Renews all leases after the host was suspended.
    fn notice_suspend(&mut self, now: Instant) {
        let Some(slept) = self.clock.slept() else { return };
        let slept = Duration::from_secs_f64(slept.as_secs_f64());
        let stations = self
            .points
            .values_mut()
            .filter_map(|point| point.station.as_mut());
        for (client, _) in stations.filter_map(|station| station.client.as_mut()) {
            client.resumed(now, slept);
        }
    }

    /// Gets what is missing, and gives up what is broken.
    fn keep_means(&mut self, now: Instant) {
        if let Some(means) = &mut self.means {
            if means.supplicant.lives() {
                return;
            }
            let had_lasted = now.duration_since(means.since) >= AGAIN;
            let why = "`wpa_supplicant` has ended or does not answer; it is started again";
            self.break_off(now, why.to_owned());
            if had_lasted {
                self.again = None;
            }
        }
        if self.again.is_some_and(|again| now < again) {
            return;
        }
        match means(&self.plan.setup, now) {
            Ok(means) => {
                self.means = Some(means);
                (self.trouble, self.again) = (None, None);
                self.scan = Scan::default();
            }
            Err(error) => self.break_off(now, error.to_string()),
        }
    }

    /// Gives up the means and every association. Says why once.
    fn break_off(&mut self, now: Instant, why: String) {
        self.again = Some(now + AGAIN);
        for bssid in Vec::from_iter(self.points.keys().copied()) {
            self.close(bssid);
        }
        if let Some(mut means) = self.means.take() {
            scan::remove_scanner(&mut means);
        }
        self.complain(why);
    }

    /// Says once why nothing can be joined.
    fn complain(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            tracing::warn!("access points cannot be joined: {why}");
            self.trouble = Some(why);
        }
    }

    fn network(&self, point: &Point) -> &Network {
        &self.plan.setup.networks[point.network]
    }

    fn bssid_of(&self, link: LinkId) -> Option<MacAddr> {
        let is_it = |point: &&Point| point.link.is_some_and(|(of, _)| of == link);
        self.points.values().find(is_it).map(|point| point.bss.bssid)
    }

    /// What others may see. A named network without an access point has an entry, too.
    fn view(&self) -> View {
        let joined = self.points.values();
        let mut points = Vec::from_iter(joined.map(|point| point.report(&self.network(point).ssid)));
        points.extend(self.refused.values().cloned());
        for network in &self.plan.setup.networks {
            if points.iter().all(|point| point.ssid != network.ssid) {
                points.push(PointReport {
                    ssid: network.ssid.clone(),
                    bssid: None,
                    mhz: None,
                    signal: None,
                    interface: None,
                    portal: None,
                    resolvers: Vec::new(),
                    relay: None,
                    stage: Stage::Absent,
                    why: Some("no access point of this name is heard".to_owned()),
                });
            }
        }
        View {
            points,
            trouble: self.trouble.clone(),
            taken_over: self.place.taken().map(|name| name.to_string()),
        }
    }

    /// The DHCP clients that have work: those of lost access points have none, whatever arrives.
    fn clients(&self) -> impl Iterator<Item = &(Client, Port)> {
        let stations = self.points.values().filter_map(|point| point.station.as_ref());
        let living = stations.filter(|station| station.stage != Stage::Lost);
        living.filter_map(|station| station.client.as_ref())
    }

    fn descriptors(&self) -> Vec<RawFd> {
        let mut all = vec![self.plan.woken.as_raw_fd()];
        all.extend(self.means.as_ref().map(|means| means.supplicant.as_raw_fd()));
        let listening = self.clients().filter(|(client, _)| client.listens());
        all.extend(listening.flat_map(|(_, port)| port.descriptors()));
        all
    }

    fn sleep(&self, now: Instant) -> Duration {
        let clients = self.clients().map(|(client, _)| client.wake_at());
        let alone = self.is_nothing_joined();
        let deadlines = self.points.values().filter_map(|point| point.deadline(alone));
        let means = self.means.as_ref();
        let check = means.map(|means| means.supplicant.check_at());
        let scanner = self.scan.check_at(now);
        let own = [
            self.again,
            means.and(self.scan.due()),
            check,
            scanner,
            self.place.due(),
        ];
        let next = own.into_iter().flatten().chain(clients).chain(deadlines).min();
        let sleep = next.map_or(LONGEST_SLEEP, |next| next.saturating_duration_since(now));
        sleep.clamp(Duration::from_millis(1), LONGEST_SLEEP)
    }

    /// Leaves all access points, and removes all interfaces.
    fn end(&mut self) {
        for bssid in Vec::from_iter(self.points.keys().copied()) {
            self.close(bssid);
        }
        if let Some(mut means) = self.means.take() {
            scan::remove_scanner(&mut means);
        }
    }
}

fn means(setup: &Setup, now: Instant) -> Result<Means, Box<dyn Error>> {
    let mut kernel = Nl80211::open()?;
    let radio = Radio::find(&mut kernel, setup)?;
    Ok(Means {
        kernel,
        rtnl: Rtnl::open()?,
        radio,
        supplicant: Supplicant::start(&setup.directory)?,
        bus: Bus::default(),
        since: now,
    })
}

/// Waits until one of the descriptors is readable, for at most `patience`.
fn wait(descriptors: &[RawFd], patience: Duration) {
    let mut all = Vec::from_iter(descriptors.iter().map(|&fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }));
    let milliseconds = patience.as_millis().clamp(1, 60_000) as libc::c_int;
    // SAFETY: the list is valid for the call, and its length is passed with it. An error only ends the wait.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, milliseconds) };
}
