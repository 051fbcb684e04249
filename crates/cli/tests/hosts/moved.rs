//! What a link's silent death changes, and what it must not.
//!
//! The preferred link loses everything while an MPTCP connection moves data over both. That is evidence, so
//! new connections use the other link. Connections bound to the lost link's addresses stay there, and
//! continue when the link delivers again.

use crate::daemon::Slowhand;
use crate::may_run;
use crate::reach::{Probe, Talk};
use crate::serve::STREAM_PORT;
use crate::shapes::{two_providers, variants};
use crate::site::{HOST, SERVER, Site};
use crate::snapshot::{Snapshot, difference};
use crate::twins::Build;
use crate::uplink::{ETH0, Provider, WLAN0};
use crate::wait;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A lost SYN or two more than there should be.
const ANSWER: Duration = Duration::from_millis(3_500);
/// How long a stalled connection may take to continue: its sender doubles the time between retries.
const GOES_ON: Duration = Duration::from_secs(10);

/// A download over MPTCP, until it is dropped.
struct Download(Arc<AtomicBool>);

impl Download {
    fn start(site: &Site) -> Self {
        let server = SocketAddr::new(SERVER[0].parse().unwrap(), STREAM_PORT);
        let open = || Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
        let mut socket = site.host().run(open).unwrap();
        socket.connect_timeout(&server.into(), ANSWER).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while !is_over.load(Ordering::Relaxed) {
                // What is not there yet is no end.
                let _ = socket.read(&mut buffer);
            }
        });
        Self(over)
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A host whose preferred link has died in silence, so that new connections use the other one.
struct Moved {
    site: Site,
    slowhand: Slowhand,
    before: Snapshot,
    download: Option<Download>,
}

impl Moved {
    /// `open` is done before the link dies.
    fn new<T>(name: &str, build: Build, open: impl FnOnce(&mut Site) -> T) -> (Self, T) {
        let mut site = Site::new();
        build(&mut site);
        site.await_all_addresses();
        let before = Snapshot::of(site.host()).unwrap();
        let mut slowhand = Slowhand::on(&site);
        slowhand.start();
        let opened = open(&mut site);
        let download = Download::start(&site);
        wait::until("the download has a subflow over each link", || {
            let status = slowhand.json("status");
            let connections = status["connections"].as_array().unwrap();
            connections
                .iter()
                .any(|one| one["subflows"].as_array().unwrap().len() >= 2)
        });
        let lost = site.uplinks[0].link.clone();
        assert_eq!(slowhand.stars(), [lost], "{name}: what the user prefers");
        site.silence(0);
        let moved = Self {
            site,
            slowhand,
            before,
            download: Some(download),
        };
        moved.await_star(1);
        (moved, opened)
    }

    /// Waits until `status` says that new connections begin on this link, and they do.
    fn await_star(&self, uplink: usize) {
        let link = &self.site.uplinks[uplink].link;
        wait::until(&format!("the star is on {link}"), || {
            self.slowhand.stars() == [link.clone()]
        });
        for to in &self.site.destinations {
            let seen = self.asks(&Probe::plain(*to));
            let own = self.site.addresses();
            let used = own.iter().find(|(_, address)| Some(*address) == seen);
            assert_eq!(used.map(|(name, _)| name), Some(link), "{to}: {seen:?}");
        }
    }

    /// The address that the server sees, if it is reached.
    fn asks(&self, probe: &Probe) -> Option<IpAddr> {
        probe.connect(&self.site, ANSWER).ok()?.ask().ok()
    }

    /// Ends slowhand; everything of it is gone.
    fn end(mut self) {
        self.site.hear_all();
        drop(self.download.take());
        let (code, words) = self.slowhand.down();
        assert_eq!(code, Some(0), "{words}");
        let after = Snapshot::of(self.site.host()).unwrap();
        let nothing = Vec::<String>::new();
        assert_eq!(difference(&self.before.whole(), &after.whole(), 9), nothing);
    }
}

/// A link with every kind of address that a link can have beside its first one.
fn many_addresses(site: &mut Site) {
    two_providers(site);
    site.nft(
        crate::site::INTERNET,
        "insert rule inet gate source iifname p-eth0 ip saddr 192.0.9.0/24 accept",
    );
    site.ip(crate::site::INTERNET, "address add 192.0.9.1/24 dev p-eth0");
    site.ip(
        HOST,
        "address add 192.0.2.77/24 dev eth0
         address add 192.0.9.2/24 dev eth0
         address add 2001:db8:1::aaaa/64 dev eth0
         address add 2001:db8:1::dddd/64 dev eth0 preferred_lft 0",
    );
}

/// What a provider does.
type Change = fn(&Site);

/// Every address of the preferred link.
const OWN: [&str; 6] = [
    "192.0.2.2",
    "192.0.2.77",
    "192.0.9.2",
    "2001:db8:1::2",
    "2001:db8:1::aaaa",
    "2001:db8:1::dddd",
];

fn from_each_address(site: &mut Site) -> Vec<(Probe, Talk)> {
    let parsed = OWN.map(|address| address.parse::<IpAddr>().unwrap());
    let server = |from: IpAddr| SERVER[usize::from(from.is_ipv6())].parse().unwrap();
    let probes = parsed.map(|from| Probe::from(from, server(from)));
    let talk = |probe: Probe| {
        let mut talk = probe.connect(site, GOES_ON).unwrap();
        assert_eq!(
            talk.ask().ok().map(|seen| Probe::from(seen, probe.to)),
            Some(probe.clone())
        );
        (probe, talk)
    };
    probes.into_iter().map(talk).collect()
}

#[test]
fn connections_from_every_address_of_a_link_survive_with_the_link() {
    if !may_run() {
        return;
    }
    let (moved, mut talks) = Moved::new("addresses", many_addresses, from_each_address);
    moved.site.hear_all();
    let still: Vec<String> = std::thread::scope(|scope| {
        let asks: Vec<_> = talks
            .iter_mut()
            .map(|(probe, talk)| (probe, scope.spawn(|| talk.ask().is_ok())))
            .collect();
        let silent = asks
            .into_iter()
            .filter_map(|(probe, ask)| (!ask.join().unwrap()).then_some(probe));
        silent.map(|probe| probe.to_string()).collect()
    });
    assert_eq!(still, Vec::<String>::new(), "these stand still");
    moved.end();
}

#[test]
fn addresses_may_change_on_the_link_of_the_moved_default() {
    if !may_run() {
        return;
    }
    let changes: [(&str, Change); 3] = [
        ("IPv4", |site| {
            site.ip(
                HOST,
                "address del 198.51.100.2/24 dev wlan0
                 address add 198.51.100.9/24 dev wlan0
                 route replace default via 198.51.100.1 dev wlan0 metric 600",
            );
        }),
        ("IPv6", |site| {
            site.ip(
                HOST,
                "address del 2001:db8:2::2/64 dev wlan0
                 address add 2001:db8:2::9/64 dev wlan0
                 route replace default via 2001:db8:2::1 dev wlan0 metric 600",
            );
        }),
        ("new before old", |site| {
            site.ip(HOST, "address add 198.51.100.9/24 dev wlan0");
            site.ip(
                HOST,
                "address del 198.51.100.2/24 dev wlan0
                 address add 198.51.100.9/24 dev wlan0
                 route replace default via 198.51.100.1 dev wlan0 metric 600",
            );
        }),
    ];
    side_by_side(&changes, |name, change| {
        let (moved, ()) = Moved::new(name, two_providers, |_| ());
        let ear = wait::RouteMonitor::on(moved.site.host());
        change(&moved.site);
        moved.site.await_addresses(HOST);
        ear.until_quiet();
        moved.await_star(1);
        // The user's addresses are others now: what is compared at the end is everything else.
        drop(moved);
    });
}

/// IPv4 alone: of two IPv6 routes without a metric the kernel makes one with two next hops.
fn metric_0(site: &mut Site) {
    site.provider(&Provider {
        v6: None,
        metric: "",
        ..ETH0
    });
    let last = Provider {
        v6: None,
        metric: "",
        ..WLAN0
    };
    site.provider_with(&last, |uplink| {
        uplink.lines = uplink.lines.replace("route replace", "route append")
    });
    site.destinations.retain(IpAddr::is_ipv4);
}

/// Only the preferred route has no metric.
fn one_metric_0(site: &mut Site) {
    site.provider(&Provider {
        v6: None,
        metric: "",
        ..ETH0
    });
    site.provider(&Provider { v6: None, ..WLAN0 });
    site.destinations.retain(IpAddr::is_ipv4);
}

#[test]
fn a_default_of_metric_0_is_left_when_its_link_dies() {
    if !may_run() {
        return;
    }
    let shapes: [(&str, Build); 3] = [
        ("metric 0", metric_0),
        ("one metric 0", one_metric_0),
        ("pppd dies", variants::pppd),
    ];
    side_by_side(&shapes, |name, build| Moved::new(name, *build, |_| ()).0.end());
}

#[test]
fn a_default_of_a_later_ip_version_is_moved_too() {
    if may_run() {
        let later = |site: &mut Site| {
            let ear = wait::RouteMonitor::on(site.host());
            variants::ipv4_comes(site);
            ear.until_quiet();
        };
        let (moved, ()) = Moved::new("IPv4 late", variants::ipv6_first, later);
        drop(moved);
    }
}

/// Runs each of these on a thread of its own.
fn side_by_side<T: Sync>(all: &[(&str, T)], run: impl Fn(&str, &T) + Sync) {
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = all
            .iter()
            .map(|(name, one)| scope.spawn(move || run(name, one)))
            .collect();
        let failed = threads
            .into_iter()
            .filter_map(|thread| thread.join().err())
            .count();
        assert_eq!(failed, 0, "see above");
    });
}
