//! Each lever by itself, felt where it should be: the queue of whoever sends really shrinks, grows again when it is let go, and whatever way a
//! daemon ends, nothing stays.

use super::flow::{Download, Source, Upload};
use super::net::Net;
use super::rig::{self, Manual, PATIENCE, Running};
use crate::bpf::WindowKind;
use crate::diag::{Diag, States};
use crate::netns::Netns;
use crate::testing::{Patience, output};
use policy::{Action, ConnId, Policy};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};
use units::Bytes;

/// Small beside what a stock sender queues.
const SMALL: Bytes = Bytes::from_kib(32);
/// A stock sender queues more than this within seconds on two links of 40 Mb/s, however short their round trips.
const DEEP: u64 = 400_000;
/// What was sent twice counts twice, and a burst may pass the limit.
const BOUNDED: u64 = 150_000;
/// The small limit and a burst that may pass it. What is under way is not in it: that a queue before the link may hold, whatever the limit.
const UNSENT: u64 = 100_000;
/// What the engine allows on these links is the least that it ever sets, and a quarter more for a while.
const BOUNDED_BY_ENGINE: u64 = 300_000;
/// So much is moved before a window has come down.
const SETTLED: u64 = 8_000_000;
/// Long enough for a queue to grow again where it may.
const A_WHILE: Duration = Duration::from_secs(1);

/// The process that the crash tests kill looks for these.
const VICTIM: &str = "SLOWHAND_TEST_LEVER_JOURNAL";
const VICTIM_WAY: &str = "SLOWHAND_TEST_LEVER_WAY";

/// What this host's senders have assigned to their subflows and not got acknowledged.
fn queued(host: &Netns) -> u64 {
    host.run(|| {
        let mut sum = 0;
        let mut diag = Diag::open().unwrap();
        let add = |socket: &crate::diag::TcpSocket| {
            if let Some(info) = socket.info.filter(|_| socket.subflow.is_some()) {
                let in_flight = info.bytes_sent - info.bytes_retrans - info.bytes_acked;
                sum += (info.notsent + in_flight).get();
            }
        };
        diag.each_tcp(States::CONNECTED, add).unwrap();
        sum
    })
    .unwrap()
}

/// The most that waits unsent on one of this host's subflows.
fn unsent(host: &Netns) -> u64 {
    host.run(|| {
        let mut most = 0;
        let look = |socket: &crate::diag::TcpSocket| {
            if let Some(info) = socket.info.filter(|_| socket.subflow.is_some()) {
                most = most.max(info.notsent.get());
            }
        };
        Diag::open().unwrap().each_tcp(States::CONNECTED, look).unwrap();
        most
    })
    .unwrap()
}

fn eventually(what: &str, host: &Netns, mut holds: impl FnMut(u64) -> bool) {
    let mut until = Patience::of(PATIENCE);
    loop {
        let bytes = queued(host);
        if holds(bytes) {
            return;
        }
        assert!(until.lasts(), "waited in vain for {what}: {bytes} bytes queued");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The most that is read within a while of steps.
fn most(read: impl Fn() -> u64, mut step: impl FnMut(Duration)) -> u64 {
    let until = Instant::now() + A_WHILE;
    let mut most = 0;
    while Instant::now() < until {
        step(Duration::from_millis(10));
        most = most.max(read());
    }
    most
}

/// The same beside a daemon that is stepped by hand.
fn most_beside(daemon: &mut Manual, read: impl Fn() -> u64) -> u64 {
    most(read, |time| daemon.for_a_while(time))
}

/// Waits until no more than `bound` is read for a while: what was allowed before is still sent, and a loss makes a long queue look short for a
/// moment. Asserts that it then stays so: more than a stock window passes in such a while.
fn settles_within(bound: u64, mut most: impl FnMut() -> u64) {
    let mut until = Patience::of(PATIENCE);
    loop {
        let most = most();
        if most <= bound {
            break;
        }
        assert!(until.lasts(), "{most} bytes wait, {bound} may");
    }
    let most = most();
    assert!(most <= bound, "{most} bytes wait again, {bound} may");
}

fn the_servers_queue_shrinks_and_grows_again(kind: WindowKind) {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::bounding(2, Some(kind));
        let _download = Download::start(&net);
        let conn = daemon.conn();
        daemon.join(1);
        let deep = |daemon: &mut Manual, what| daemon.until(what, |_, _| queued(&net.server) > DEEP);
        deep(&mut daemon, "the server has queued far ahead");
        daemon.act(Action::Window(conn, Some(SMALL))).unwrap();
        settles_within(BOUNDED, || most_beside(&mut daemon, || queued(&net.server)));
        let report = daemon.daemon.world.levers.report(None);
        assert_eq!(report.window.as_ref(), Ok(&kind));
        daemon.act(Action::Window(conn, None)).unwrap();
        deep(&mut daemon, "the server queues far ahead again");
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn the_servers_queue_is_bounded_on_the_way_out() {
    the_servers_queue_shrinks_and_grows_again(WindowKind::Egress);
}

#[test]
fn the_servers_queue_is_bounded_by_a_clamp() {
    the_servers_queue_shrinks_and_grows_again(WindowKind::Clamp);
}

/// A thread's capabilities: effective, permitted, inheritable; the lower half and the upper.
#[repr(C)]
struct Sets([[u32; 3]; 2]);

fn capabilities(call: libc::c_long, sets: &mut Sets) {
    #[repr(C)]
    struct Header(u32, i32);
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header(VERSION_3, 0);
    // SAFETY: both structures have the layout of the kernel's and live through the call; only this thread is concerned.
    let code = unsafe { libc::syscall(call, &raw const header, &raw mut *sets) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
}

/// Does something that may configure networks, and nothing else that root may.
fn without_bpf<T>(work: impl FnOnce() -> T) -> T {
    const NETWORKS: u32 = 1 << 12 | 1 << 13;
    let mut before = Sets([[0; 3]; 2]);
    capabilities(libc::SYS_capget, &mut before);
    let [low, high] = before.0;
    capabilities(
        libc::SYS_capset,
        &mut Sets([[NETWORKS, low[1], low[2]], [0, high[1], high[2]]]),
    );
    let done = work();
    capabilities(libc::SYS_capset, &mut before);
    done
}

#[test]
fn where_no_program_can_be_loaded_new_connections_get_a_small_buffer_and_it_is_said() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    let before = net.in_client(|| output("sysctl net.ipv4.tcp_rmem"));
    net.in_client(|| {
        let mut daemon = Manual::bounding(2, None);
        let first = Download::start(&net);
        let conn = daemon.conn();
        daemon.join(1);
        daemon.until("the server has queued far ahead", |_, _| {
            queued(&net.server) > DEEP
        });
        without_bpf(|| daemon.act(Action::Window(conn, Some(SMALL)))).unwrap();
        let report = daemon
            .daemon
            .world
            .levers
            .report(daemon.daemon.world.settings.buffer());
        assert!(
            report.window.as_ref().unwrap_err().contains("CAP_BPF"),
            "{report:?}"
        );
        assert!(report.new_connections.is_some());
        drop(first);
        let mut until = Patience::of(PATIENCE);
        while daemon.daemon.world.flows.living().next().is_some() || queued(&net.server) > 0 {
            assert!(until.lasts(), "the first connection does not go");
            daemon.for_a_while(Duration::from_millis(20));
        }
        let _second = Download::start(&net);
        daemon.join(1);
        let most = most_beside(&mut daemon, || queued(&net.server));
        assert!(
            most > 0 && most < DEEP,
            "{most} bytes queued for a new connection"
        );
    });
    assert_eq!(net.in_client(|| output("sysctl net.ipv4.tcp_rmem")), before);
}

#[test]
fn what_waits_unsent_is_bounded_on_every_subflow_of_an_upload() {
    let Some(net) = Net::with_links(3) else { return };
    net.in_client(|| {
        let mut daemon = Manual::start(3);
        let upload = Upload::start(&net);
        let conn = daemon.conn();
        daemon.join(1);
        let far =
            |daemon: &mut Manual, what| daemon.until(what, |_, _| unsent(&net.client) > UNSENT + DEEP / 4);
        far(&mut daemon, "much waits unsent");
        daemon.act(Action::Unsent(conn, Some(SMALL))).unwrap();
        // One that joins later has the limit too.
        daemon.join(2);
        daemon.until("little waits", |_, _| unsent(&net.client) <= UNSENT);
        let read = upload.read();
        let most = most_beside(&mut daemon, || unsent(&net.client));
        assert!(
            most <= UNSENT,
            "{most} bytes wait on a subflow although {SMALL} may"
        );
        assert!(upload.read() > read + DEEP, "the upload goes on");
        daemon.act(Action::Unsent(conn, None)).unwrap();
        far(&mut daemon, "much waits unsent again");
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_connection_that_fell_back_to_plain_tcp_is_not_bounded() {
    let Some(net) = Net::with_links(2) else { return };
    let source = Source::plain(&net.server);
    let daemon = Running::start(&net, Policy::Slowhand, 2, None);
    let download = Download::start(&net);
    download.expect_more(4 * DEEP, PATIENCE);
    let report = daemon.inlet.report(PATIENCE).unwrap();
    assert!(
        report
            .conns
            .iter()
            .all(|conn| conn.window.is_none() && conn.unsent.is_none()),
        "{report:#?}"
    );
    drop((download, source));
}

struct Record(PathBuf);

impl Record {
    fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("slowhand-levers-{}-{test}", std::process::id())))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A daemon in a process of its own, with windows bounded in this way.
fn victim_over(net: &Net, record: &Record, way: WindowKind) -> Child {
    let way = format!("{way:?}");
    let wishes = [(VICTIM, record.0.as_os_str()), (VICTIM_WAY, way.as_ref())];
    rig::victim(net, "daemon::tests::levers::victim", &wishes)
}

/// Not a test of its own: the process that is killed.
#[test]
fn victim() {
    let Some(record) = std::env::var_os(VICTIM) else {
        return;
    };
    let way = match std::env::var(VICTIM_WAY).as_deref() {
        Ok("Clamp") => WindowKind::Clamp,
        _ => WindowKind::Egress,
    };
    let client = Netns::current().unwrap();
    let net = Net {
        server: client.try_clone().unwrap(),
        client,
    };
    let _running = Running::bounding(&net, 2, record.into(), way);
    rig::live_on();
}

fn kill(mut victim: Child) {
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// A download over two links, looked after by a victim that has bounded the server's queue.
fn with_bounded_download(test: &str, way: WindowKind, then: impl FnOnce(&Net, &Record)) {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    let record = Record::new(test);
    let victim = victim_over(&net, &record, way);
    net.wait_for_client("lookup 51831", PATIENCE);
    let download = Download::start(&net);
    eventually("two subflows that carry something", &net.server, |bytes| {
        bytes > 0
    });
    download.expect_more(SETTLED, PATIENCE);
    eventually("a bounded queue", &net.server, |bytes| bytes <= BOUNDED_BY_ENGINE);
    settles_within(DEEP - 1, || most(|| queued(&net.server), std::thread::sleep));
    kill(victim);
    then(&net, &record);
    download.expect_more(DEEP, PATIENCE);
}

#[test]
fn a_killed_daemon_lets_go_of_the_window_at_once() {
    with_bounded_download("egress", WindowKind::Egress, |net, _| {
        eventually("a queue as deep as the kernels like", &net.server, |bytes| {
            bytes > DEEP
        });
    });
}

#[test]
fn a_clamp_that_a_killed_daemon_left_is_taken_off_by_the_next() {
    with_bounded_download("clamp", WindowKind::Clamp, |net, record| {
        let mut next = Running::start(net, Policy::SlowhandNoWindow, 2, Some(record.0.clone()));
        eventually("a queue as deep as the kernels like", &net.server, |bytes| {
            bytes > DEEP
        });
        next.stop();
    });
}

#[test]
fn an_unsent_limit_that_a_killed_daemon_left_is_taken_off_by_the_next() {
    let Some(net) = Net::with_links(2) else { return };
    let record = Record::new("unsent");
    let victim = victim_over(&net, &record, WindowKind::Egress);
    net.wait_for_client("lookup 51831", PATIENCE);
    let upload = Upload::start(&net);
    let mut until = Patience::of(PATIENCE);
    while upload.read() < SETTLED {
        assert!(until.lasts(), "{} bytes sent", upload.read());
        std::thread::sleep(Duration::from_millis(20));
    }
    let bound = 2 * BOUNDED_BY_ENGINE;
    eventually("little waits", &net.client, |bytes| bytes <= bound);
    kill(victim);
    let most = most(|| unsent(&net.client), std::thread::sleep);
    assert!(
        most < DEEP,
        "the limit stays on the sockets: {most} bytes wait unsent"
    );
    let mut next = Running::start(&net, Policy::SlowhandNoWindow, 2, Some(record.0.clone()));
    eventually("more unsent than the limit ever allowed", &net.client, |_| {
        unsent(&net.client) > most + DEEP / 4
    });
    next.stop();
}

#[test]
fn a_daemon_that_stops_gives_everything_back() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    for way in [WindowKind::Egress, WindowKind::Clamp] {
        let record = Record::new(&format!("stop-{way:?}"));
        let mut daemon = Running::bounding(&net, 2, record.0.clone(), way);
        let download = Download::start(&net);
        let bounded = |action: &Action| matches!(action, Action::Window(_, Some(_)));
        daemon.until("the window is bounded", |seen| seen.done.iter().any(bounded));
        download.expect_more(SETTLED, PATIENCE);
        daemon.stop();
        eventually("a queue as deep as the kernels like", &net.server, |bytes| {
            bytes > DEEP
        });
    }
}

#[test]
fn a_closed_connection_leaves_no_bound_behind() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(2);
        let download = Download::start(&net);
        let conn: ConnId = daemon.conn();
        daemon.act(Action::Window(conn, Some(SMALL))).unwrap();
        daemon.act(Action::Unsent(conn, Some(SMALL))).unwrap();
        assert_eq!(
            daemon.daemon.world.levers.bounds_of(conn),
            (Some(SMALL), Some(SMALL))
        );
        drop(download);
        daemon.until("the connection is gone", |daemon, _| {
            daemon.world.levers.bounds_of(conn) == (None, None)
        });
    });
}
