//! At least 1,000 connections are opened and closed with changing subflows, while their controllers are
//! loaded, switched and unloaded. Every controller is used, nothing leaks, nothing gets stuck, and the kernel
//! logs no complaints.
//!
//! Linux 6.18 itself never frees a closed connection that loses its last subflow with an endpoint
//! (docs/kernel.md). So this removes endpoints as the daemon does, with `linux::orphans`, and closes no
//! connection between the two steps. The kernel also stalls a connection occasionally. Such stalls are
//! counted, after a check that the kernel caused them (`standstill`).
//!
//! Needs root, MPTCP and iproute2. `cargo test -p linux --test soak`.

#[path = "../../src/testing/abort.rs"]
mod abort;
#[path = "../cc/mptcp_sockets.rs"]
mod mptcp_sockets;
#[expect(dead_code, reason = "shared with the tests of the levers")]
#[path = "../bpf/net.rs"]
mod net;

mod connections;
mod kernel;
mod objects;
mod standstill;

use connections::{Ending, Listener, Way, transfer};
use kernel::{Log, mptcp_count, said_of, sockets};
use linux::bpf::CountRunTime;
use linux::bpf::cc::{self, Controller, ControllerName, Coupled};
use linux::orphans;
use net::{Hosts, eventually, holds_within, run};
use objects::Objects;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

/// Fewest connections. More are opened until enough controllers and subflows were changed.
const CONNECTIONS: usize = 1_000;
const LOADS: usize = 2 * Coupled::ALL.len();
const REMOVALS: usize = 50;
/// Concurrent connections.
const WORKERS: usize = 8;
const LINKS: u8 = 4;
/// Interval of controller changes. It is long enough for some hundred connections to use a controller, and
/// short enough to change under most of them.
const CHANGE: Duration = Duration::from_millis(100);
/// Time limit for closed connections to be freed.
const CLOSED: Duration = Duration::from_secs(20);
/// Time limit if both ends closed a connection during a stall (`standstill`). The kernel frees it after 60 s
/// regardless of `close_timeout` (`mptcp_close_timeout`). A stuck one is never freed.
const CLOSED_IN_A_STANDSTILL: Duration = Duration::from_secs(80);

struct Soak {
    hosts: Hosts,
    /// The default of new sockets, to which open ones are switched.
    chosen: Mutex<String>,
    begun: AtomicUsize,
    loads: AtomicUsize,
    removals: AtomicUsize,
    switched: AtomicUsize,
    stood: AtomicUsize,
    /// How often each controller computed a window while it was the default.
    runs: Mutex<BTreeMap<Coupled, u64>>,
    objects: Mutex<Objects>,
    failed: AtomicBool,
    /// Read-locked to close a connection, write-locked to remove an endpoint.
    closing: RwLock<()>,
}

impl Soak {
    fn new() -> Self {
        let hosts = Hosts::joined(LINKS, 100);
        for host in [&hosts.client, &hosts.server] {
            // How long a connection without subflows waits for another, in seconds. The default is 60.
            run(host, "sysctl -qw net.mptcp.close_timeout=2");
            // The same for a subflow that was closed while its peer's window was zero. It probes for 100 s,
            // and longer if each probe is answered.
            run(host, "sysctl -qw net.ipv4.tcp_orphan_retries=3");
            run(host, "sysctl -qw net.ipv4.tcp_rto_max_ms=1000");
        }
        Self {
            hosts,
            chosen: Mutex::new("reno".to_owned()),
            begun: AtomicUsize::new(0),
            loads: AtomicUsize::new(0),
            removals: AtomicUsize::new(0),
            switched: AtomicUsize::new(0),
            stood: AtomicUsize::new(0),
            runs: Mutex::default(),
            objects: Mutex::default(),
            failed: AtomicBool::new(false),
            closing: RwLock::new(()),
        }
    }

    fn continues(&self) -> bool {
        let counts = [
            (&self.begun, CONNECTIONS),
            (&self.loads, LOADS),
            (&self.removals, REMOVALS),
        ];
        let lacks = counts
            .iter()
            .any(|(count, enough)| count.load(Ordering::Relaxed) < *enough);
        lacks && !self.failed.load(Ordering::Relaxed)
    }

    fn chosen(&self) -> String {
        self.chosen.lock().expect("no thread has failed").clone()
    }

    fn choose(&self, name: &str) {
        for host in [&self.hosts.client, &self.hosts.server] {
            run(
                host,
                &format!("sysctl -qw net.ipv4.tcp_congestion_control={name}"),
            );
        }
        name.clone_into(&mut self.chosen.lock().expect("no thread has failed"));
    }

    fn work(&self, worker: u16) {
        let _failure = EndsAll(&self.failed);
        let listener = Listener::start(&self.hosts, self.hosts.server_address(7_300 + worker));
        while self.continues() {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            let way = Way {
                ending: Ending::of(number),
                download: number.is_multiple_of(2),
                closing: &self.closing,
                switched: &self.switched,
                stood: &self.stood,
            };
            transfer(&self.hosts, &listener, &way, || self.chosen());
        }
    }

    /// Closes and opens the subflows of one link after the other.
    fn open_and_close_subflows(&self) {
        let _failure = EndsAll(&self.failed);
        for link in (2..=LINKS).cycle() {
            if !self.continues() {
                return;
            }
            let id = link - 1;
            self.remove_endpoint(id, IpAddr::from([10, 77, link, 1]));
            thread::sleep(CHANGE / 4);
            run(
                &self.hosts.client,
                &format!("ip mptcp endpoint add 10.77.{link}.1 dev l{link} id {id} subflow"),
            );
        }
    }

    fn remove_endpoint(&self, id: u8, address: IpAddr) {
        let _nobody_closes = self.closing.write().expect("no thread has failed");
        let released = || {
            self.hosts
                .client
                .run(|| orphans::release(address))
                .expect("enter the client")
        };
        // The machine may be busier than the daemon allows for.
        let all = || match released() {
            Err(orphans::OrphansError::Left { .. }) => false,
            other => other.map(|()| true).expect("look at its sockets"),
        };
        eventually("released", all, || said_of(&self.hosts.client));
        run(&self.hosts.client, &format!("ip mptcp endpoint delete id {id}"));
        self.removals.fetch_add(1, Ordering::Relaxed);
    }

    /// Loads each controller while the previous one is in use. Its sockets outlive its registration.
    fn load_and_unload(&self) {
        let _failure = EndsAll(&self.failed);
        let mut last: Option<Controller> = None;
        for coupled in Coupled::ALL.into_iter().cycle() {
            if !self.continues() {
                break;
            }
            let next = load(coupled);
            self.objects.lock().expect("no thread has failed").note_held();
            self.choose(next.name().as_str());
            last.replace(next).iter().for_each(|last| self.count(last));
            self.loads.fetch_add(1, Ordering::Relaxed);
            thread::sleep(CHANGE);
        }
        last.iter().for_each(|last| self.count(last));
        // Drop it while it is still the default.
        drop(last);
        self.choose("reno");
    }

    fn count(&self, controller: &Controller) {
        let counted = controller.run_time().expect("the kernel counts");
        let mut runs = self.runs.lock().expect("no thread has failed");
        *runs.entry(controller.coupled()).or_default() += counted.runs;
    }
}

/// Ends the other threads if one fails.
struct EndsAll<'a>(&'a AtomicBool);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn own_name(coupled: Coupled) -> ControllerName {
    let digit = |place: u32| char::from_digit(std::process::id() / place % 36, 36).expect("under 36");
    let suffix: String = ['s', digit(36 * 36), digit(36), digit(1)].into_iter().collect();
    ControllerName::with_suffix(coupled, &suffix).expect("four letters and digits fit")
}

/// Loads a controller. The previous one of this name may take a moment to disappear.
fn load(coupled: Coupled) -> Controller {
    let name = own_name(coupled);
    let refusal = RefCell::new(String::new());
    let mut loaded = None;
    let mut try_it = || {
        match Controller::load(coupled, &name) {
            Ok(controller) => loaded = Some(controller),
            Err(error) => *refusal.borrow_mut() = error.to_string(),
        }
        loaded.is_some()
    };
    eventually("loaded", &mut try_it, || format!("{name}: {}", refusal.borrow()));
    loaded.expect("it is loaded by now")
}

fn soak() -> Soak {
    let soak = Soak::new();
    thread::scope(|scope| {
        let shared = &soak;
        scope.spawn(|| shared.open_and_close_subflows());
        scope.spawn(|| shared.load_and_unload());
        for worker in 0..WORKERS {
            scope.spawn(move || shared.work(worker as u16));
        }
    });
    soak
}

fn none_of_ours_is_left(objects: &Objects) {
    assert!(objects.files() >= LOADS, "{objects:?}");
    let ours = Coupled::ALL.map(own_name);
    let left = || {
        let mut loaded = cc::loaded().expect("list what is loaded");
        loaded.retain(|loaded| ours.contains(&loaded.name));
        loaded
    };
    eventually("freed", || left().is_empty(), || format!("{:?}", left()));
    let left = || objects.left();
    eventually("freed", || left().is_empty(), || format!("{:?}", left()));
}

/// Checks the number of connections that the kernel has stalled: while they were read, or after both ends had
/// closed them, which keeps their sockets longer.
fn few_stood_still(soak: &Soak, begun: usize) {
    let read = soak.stood.load(Ordering::Relaxed);
    let hosts = [&soak.hosts.client, &soak.hosts.server];
    let all_gone = || hosts.iter().all(|host| sockets(host).is_empty());
    let closed = if holds_within(CLOSED, all_gone) {
        0
    } else {
        connections_left(&soak.hosts)
    };
    println!("{read} stalled while their subflows carried data, {closed} after they were closed");
    assert!(
        read + closed <= begun / standstill::ONE_OF,
        "{read} and {closed} of {begun} connections stalled; {}",
        sockets_of_both(&soak.hosts)
    );
    let all_freed = holds_within(CLOSED_IN_A_STANDSTILL, all_gone);
    assert!(all_freed, "never closed: {}", sockets_of_both(&soak.hosts));
}

/// Number of connections left, on the host with more of them. Subflows without a connection are an error, not
/// a stall.
fn connections_left(hosts: &Hosts) -> usize {
    let left = [&hosts.client, &hosts.server].map(sockets);
    let most = left.iter().filter_map(|left| left.get("MPTCP")).max();
    assert!(
        most.is_some() || left.iter().all(BTreeMap::is_empty),
        "subflows without a connection: {}",
        sockets_of_both(hosts)
    );
    usize::try_from(most.copied().unwrap_or_default()).expect("few are left")
}

fn sockets_of_both(hosts: &Hosts) -> String {
    let host = |name, host| format!("{name}: {:?}\n{}\n", sockets(host), said_of(host));
    host("client", &hosts.client) + &host("server", &hosts.server)
}

fn all_were_used(soak: &Soak) {
    let switched = soak.switched.load(Ordering::Relaxed);
    let runs = soak.runs.lock().expect("no thread has failed");
    println!("{switched} senders switched; runs: {runs:?}");
    assert!(switched > 0, "no sender changed its controller");
    for coupled in Coupled::ALL {
        let used = runs.get(&coupled).is_some_and(|&count| count > 0);
        assert!(used, "no connection used {}: {runs:?}", coupled.id());
    }
}

#[test]
fn a_thousand_connections_leave_nothing() {
    // SAFETY: no arguments, no memory.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: needs root for network namespaces and BPF");
        return;
    }
    let log = Log::from_now();
    let counting = CountRunTime::start().expect("count what programs run");
    let soak = soak();
    drop(counting);
    let [begun, loads] = [&soak.begun, &soak.loads].map(|count| count.load(Ordering::Relaxed));
    let joined = mptcp_count(&soak.hosts.server, "MPJoinAckRx");
    let removed = mptcp_count(&soak.hosts.client, "RmSubflow");
    println!("{begun} connections, {joined} joined subflows, {removed} removed, {loads} loads");
    assert!(joined >= CONNECTIONS as u64, "only {joined} subflows joined");
    assert!(removed >= REMOVALS as u64, "only {removed} subflows were removed");
    all_were_used(&soak);
    few_stood_still(&soak, begun);
    let objects = std::mem::take(&mut *soak.objects.lock().expect("no thread has failed"));
    drop(soak);
    none_of_ours_is_left(&objects);
    assert_eq!(log.complaints(), [""; 0]);
}
