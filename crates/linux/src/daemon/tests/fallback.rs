//! Connections that fell back to plain TCP: left alone, or limited on request, as measured at the server.

use super::felt::{DEEP, SMALL, in_flight, most, most_beside, settles_within};
use super::flow::{Download, Source};
use super::net::{Net, SERVER};
use super::rig::{self, Manual, PATIENCE, Record, Running};
use crate::bpf::{Pass, restore_subflows};
use crate::daemon::flows::book::Phase;
use crate::daemon::host::controllers::Controllers;
use crate::daemon::{ConnReport, FallbackCause, FallbackReport, LeftAlone};
use crate::netns::Netns;
use crate::sysctl::{self, Key};
use crate::testing::{Patience, abort, output};
use policy::{Action, LinkId, Policy};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Bytes;

/// Without a limit, more than this is in flight on one link of 40 Mb/s.
const FREE: u64 = 100_000;
/// A program's own clamp, smaller than ours.
const OWN: Bytes = Bytes::from_kib(16);
/// Tells the process that the crash test kills where its journal is.
const VICTIM: &str = "SLOWHAND_TEST_FALLBACK_JOURNAL";

/// Adds a route to the server for the time without a daemon.
fn without_daemon(net: &Net) {
    net.in_client(|| output("ip route add default via 10.0.0.2 dev w0 metric 100"));
}

/// Gives sockets their largest buffers at once, so that autotuning does not lift clamps. The daemon sets a
/// lifted clamp again with its next walk, and until then more is in flight.
fn without_autotuning(net: &Net) {
    net.in_client(|| {
        sysctl::write(&Key::new("net.ipv4.tcp_moderate_rcvbuf"), "0").unwrap();
        sysctl::write(&Key::new("net.ipv4.tcp_rmem"), "4096\t1048576\t6291456").unwrap();
    });
}

/// State that shows why a test failed.
fn sockets(net: &Net) -> String {
    let show = || output("ss -tinmH");
    [net.in_client(show), net.in_server(show)].concat()
}

fn eventually(net: &Net, what: &str, mut holds: impl FnMut(u64) -> bool) {
    let mut until = Patience::of(PATIENCE);
    loop {
        let bytes = in_flight(&net.server);
        if holds(bytes) {
            return;
        }
        assert!(
            until.lasts(),
            "waited too long for {what}: {bytes} bytes in flight\n{}",
            sockets(net)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn free_again(net: &Net) {
    eventually(net, "as much in flight as the kernels like", |bytes| bytes > FREE);
}

/// Asserts that the server's bytes in flight fall to `bound` and stay there.
fn bounded_to(net: &Net, bound: u64) {
    settles_within(bound, || most(|| in_flight(&net.server), std::thread::sleep));
}

/// The daemon's report once this many connections are limited.
fn reported(daemon: &Running, count: usize) -> Vec<FallbackReport> {
    let mut until = Patience::of(PATIENCE);
    loop {
        let report = daemon.inlet.report(PATIENCE).unwrap();
        let bounded = report
            .fallbacks
            .iter()
            .filter(|fallback| fallback.bound.as_ref().is_some_and(|bound| bound.done.is_ok()));
        if bounded.count() == count {
            return report.fallbacks;
        }
        assert!(until.lasts(), "{:#?}", report.fallbacks);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client that reads without checking: a connection that loses its MPTCP options may carry bytes twice.
struct Reader {
    socket: Arc<Socket>,
    read: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn start(net: &Net) -> Self {
        let address = SockAddr::from(net.address());
        let socket = net.in_client(|| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
            socket.connect(&address).unwrap();
            socket
        });
        let (socket, read) = (Arc::new(socket), Arc::new(AtomicU64::new(0)));
        let (from, count) = (Arc::clone(&socket), Arc::clone(&read));
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = (&mut &*from).read(&mut buffer) {
                count.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
        let reader = Self {
            socket,
            read,
            thread: Some(thread),
        };
        reader.speak();
        reader
    }

    fn speak(&self) {
        (&mut &*self.socket).write_all(b"!").unwrap();
    }

    fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Sets a clamp, as a program may on a socket that fell back.
    fn clamp(&self, window: Bytes) {
        let value = libc::c_int::try_from(window.get()).unwrap();
        // SAFETY: the option's value is an int, and lives through the call.
        let code = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_WINDOW_CLAMP,
                (&raw const value).cast(),
                size_of_val(&value) as u32,
            )
        };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It may already be reset. This only wakes the thread.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            assert!(joined.is_ok() || std::thread::panicking(), "the reader panicked");
        }
        abort(&self.socket);
    }
}

#[test]
fn a_connection_that_fell_back_to_plain_tcp_is_not_limited() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::plain(&net.server);
    let daemon = Running::start(&net, Policy::Slowhand, 2, None);
    let download = Download::start(&net);
    download.expect_more(4 * DEEP, PATIENCE);
    free_again(&net);
    let report = daemon.inlet.report(PATIENCE).unwrap();
    let bounded = |conn: &ConnReport| conn.window.is_some() || conn.unsent.is_some();
    assert!(!report.conns.iter().any(bounded), "{report:#?}");
    let [ref found] = report.fallbacks[..] else {
        panic!("one connection: {report:#?}")
    };
    assert_eq!(
        (found.link, found.remote, &found.bound),
        (LinkId(0), net.address(), &None)
    );
    assert_eq!(found.cause, FallbackCause::NotAgreed);
    drop(download);
    let mut until = Patience::of(PATIENCE);
    while !daemon.inlet.report(PATIENCE).unwrap().fallbacks.is_empty() {
        assert!(until.lasts(), "what is closed is still reported");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn on_request_a_fallback_is_limited_until_the_daemon_stops() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::plain(&net.server);
    without_daemon(&net);
    without_autotuning(&net);
    let record = Record::new("fallback-stop");
    let mut daemon = Running::bounding_fallbacks(&net, record.0.clone(), SMALL);
    let download = Download::start(&net);
    let [ref found] = reported(&daemon, 1)[..] else {
        panic!("one connection")
    };
    assert_eq!((found.link, found.remote), (LinkId(0), net.address()));
    let asked = found.bound.as_ref().map(|bound| bound.asked);
    assert_eq!((asked, found.conn.is_some()), (Some(SMALL), true));
    bounded_to(&net, SMALL.get());
    download.expect_more(DEEP, PATIENCE);
    assert_eq!(daemon.seen().failed, [""; 0]);
    daemon.stop();
    free_again(&net);
    drop(download);
}

#[test]
fn closed_fallbacks_are_forgotten() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::plain(&net.server);
    let record = Record::new("fallback-closed");
    let daemon = Running::bounding_fallbacks(&net, record.0.clone(), SMALL);
    let download = Download::start(&net);
    reported(&daemon, 1);
    drop(download);
    assert_eq!(reported(&daemon, 0), []);
}

/// The kernel stops asking for MPTCP if SYNs with MPTCP options are dropped. Such connections have no token.
#[test]
fn connections_without_a_token_are_limited_one_by_one() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.drop_mptcp();
    net.in_client(|| output("sysctl -qw net.mptcp.blackhole_timeout=3600"));
    without_daemon(&net);
    without_autotuning(&net);
    let record = Record::new("fallback-token");
    let mut daemon = Running::bounding_fallbacks(&net, record.0.clone(), SMALL);
    let first = Download::start(&net);
    first.expect_more(1, PATIENCE);
    let mapped = SERVER.to_ipv6_mapped();
    let later =
        [net.address().ip(), mapped.into()].map(|ip| Download::from(&net, (ip, net.address().port()).into()));
    let found = reported(&daemon, 3);
    let tokens = found.iter().filter(|fallback| fallback.conn.is_some());
    assert_eq!(tokens.count(), 1, "{found:#?}");
    assert!(
        found.iter().all(|fallback| fallback.remote == net.address()),
        "{found:#?}"
    );
    bounded_to(&net, 3 * SMALL.get());
    later
        .iter()
        .for_each(|download| download.expect_more(DEEP, PATIENCE));
    assert_eq!(daemon.seen().failed, [""; 0]);
    daemon.stop();
    eventually(&net, "more than was ever allowed", |bytes| {
        bytes > 3 * SMALL.get() + SMALL.get()
    });
}

/// Delays the server's retransmissions at the data level. It normally retransmits unacknowledged data when
/// the subflow's own timer would expire: the tail loss probe, two round trips. After such a retransmission it
/// ends a connection that falls back (docs/kernel.md). With this delay it learns about the fallback first.
fn slow_to_repeat(net: &Net) {
    net.in_server(|| {
        sysctl::write(&Key::new("net.ipv4.tcp_early_retrans"), "0").unwrap();
        sysctl::write(&Key::new("net.ipv4.tcp_rto_min_us"), "5000000").unwrap();
    });
}

/// Waits until the client's kernel has fallen back. The server learns it from the client's segments.
fn fell_back(net: &Net) {
    let mut until = Patience::of(PATIENCE);
    while net.client_counter("DssFallback") == 0 {
        assert!(until.lasts(), "it has not fallen back");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_connection_that_falls_back_with_a_limited_window_ends_with_the_requested_limit() {
    let Some(net) = Net::with_links(1) else { return };
    slow_to_repeat(&net);
    without_autotuning(&net);
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::bounding_fallbacks(1, SMALL);
        let reader = Reader::start(&net);
        let conn = daemon.conn();
        let wide = Bytes::new(3 * SMALL.get());
        daemon.act(Action::Window(conn, Some(wide.into()))).unwrap();
        settles_within(wide.get(), || most_beside(&mut daemon, || in_flight(&net.server)));
        assert_eq!(daemon.fallbacks(&Controllers::default()), []);
        net.strip_mptcp();
        fell_back(&net);
        reader.speak();
        daemon.until("it is left alone", |daemon, _| {
            let conn = daemon.world.conns.flows.conn(conn);
            conn.is_some_and(|conn| conn.phase == Phase::LeftAlone(LeftAlone::FellBack))
        });
        daemon.until("it is bounded", |daemon, _| {
            daemon.world.conns.bounds.fallbacks.bound_of(conn) == Some(SMALL)
        });
        let reported = daemon.fallbacks(&Controllers::default());
        assert_eq!(reported[0].cause, FallbackCause::Later);
        settles_within(SMALL.get(), || {
            most_beside(&mut daemon, || in_flight(&net.server))
        });
        let read = reader.read();
        daemon.until("the download continues", |_, _| reader.read() > read + DEEP);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_programs_own_smaller_clamp_is_kept() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::plain(&net.server);
    without_daemon(&net);
    without_autotuning(&net);
    let record = Record::new("fallback-own");
    let mut daemon = Running::bounding_fallbacks(&net, record.0.clone(), SMALL);
    let reader = Reader::start(&net);
    reported(&daemon, 1);
    bounded_to(&net, SMALL.get());
    reader.clamp(OWN);
    bounded_to(&net, OWN.get());
    daemon.stop();
    bounded_to(&net, OWN.get());
    // The start after a crash keeps it too.
    assert_eq!(net.in_client(|| restore_subflows().unwrap()), Pass::default());
    bounded_to(&net, OWN.get());
    assert!(reader.read() > 0);
}

/// Not a test of its own: the process to be killed.
#[test]
fn victim() {
    let Some(record) = std::env::var_os(VICTIM) else {
        return;
    };
    let client = Netns::current().unwrap();
    let net = Net {
        server: client.try_clone().unwrap(),
        client,
    };
    let _running = Running::bounding_fallbacks(&net, record.into(), SMALL);
    rig::live_on();
}

#[test]
fn a_limit_left_by_a_killed_daemon_is_removed_by_the_next() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::plain(&net.server);
    let record = Record::new("fallback-killed");
    without_daemon(&net);
    without_autotuning(&net);
    let download = Download::start(&net);
    free_again(&net);
    let wishes = [(VICTIM, record.0.as_os_str())];
    let mut victim = rig::victim(&net, "daemon::tests::fallback::victim", &wishes);
    bounded_to(&net, SMALL.get());
    victim.kill().unwrap();
    victim.wait().unwrap();
    let left = most(|| in_flight(&net.server), std::thread::sleep);
    assert!(
        left <= SMALL.get(),
        "nobody has taken it off yet: {left} bytes in flight"
    );
    let mut next = Running::start(&net, Policy::SlowhandNoWindow, 2, Some(record.0.clone()));
    free_again(&net);
    next.stop();
    download.expect_more(DEEP, PATIENCE);
}
