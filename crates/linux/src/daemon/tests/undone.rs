//! However a daemon ends, nothing of it stays.

use super::felt::{
    BOUNDED_BY_ENGINE, DEEP, SETTLED, SMALL, eventually, most, queued, settles_within, unsent, without_bpf,
};
use super::flow::{Download, Source, Upload};
use super::net::Net;
use super::objects::{Objects, Pins, on_the_way_out, with_own_bpffs};
use super::rig::{self, Manual, PATIENCE, Record, Running};
use crate::bpf::{PacedSubflow, Pass, UnsentLever, WindowKind, WindowLever, restore_subflows};
use crate::daemon::queues::caps::Cap;
use crate::daemon::recover;
use crate::diag::{Diag, States};
use crate::journal::{Change, Journal};
use crate::netns::Netns;
use crate::rtnl::Rtnl;
use crate::sysctl::{self, Key};
use crate::testing::{Patience, index, output};
use policy::{Action, ConnId, LinkId, Policy};
use std::collections::BTreeSet;
use std::process::Child;
use std::time::Duration;
use units::{Bitrate, Bytes, Ratio};

/// Tell the process that the crash tests kill where its journal is, and how to limit windows.
const VICTIM: &str = "SLOWHAND_TEST_LEVER_JOURNAL";
const VICTIM_WAY: &str = "SLOWHAND_TEST_LEVER_WAY";
/// Tells the process that cannot limit windows where its journal is.
const POOR: &str = "SLOWHAND_TEST_LEVER_POOR_JOURNAL";
/// Tells the process that has set every lever where its journal is.
const LOADED: &str = "SLOWHAND_TEST_LEVER_LOADED_JOURNAL";

/// A daemon in its own process, with windows limited in this way.
fn victim_over(net: &Net, record: &Record, way: WindowKind) -> Child {
    let way = format!("{way:?}");
    let wishes = [(VICTIM, record.0.as_os_str()), (VICTIM_WAY, way.as_ref())];
    rig::victim(net, "daemon::tests::undone::victim", &wishes)
}

/// Not a test of its own: the process to be killed.
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

/// A download over two links, with a victim that has limited the server's queue.
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
    let links = net.in_client(|| ["w0", "w1"].map(|link| index(&mut Rtnl::open().unwrap(), link)));
    let attached = || net.in_client(|| links.map(on_the_way_out));
    // Both ways attach the programs that mark.
    let before = attached();
    assert!(before.iter().all(|&programs| programs > 0), "{before:?}");
    kill(victim);
    assert_eq!(attached(), [0; 2], "they are gone with the process");
    then(&net, &record);
    download.expect_more(DEEP, PATIENCE);
}

#[test]
fn a_killed_daemon_releases_the_window_at_once() {
    with_bounded_download("egress", WindowKind::Egress, |net, _| {
        eventually("a queue as deep as the kernels like", &net.server, |bytes| {
            bytes > DEEP
        });
    });
}

#[test]
fn a_clamp_left_by_a_killed_daemon_is_removed_by_the_next() {
    with_bounded_download("clamp", WindowKind::Clamp, |net, record| {
        let mut next = Running::start(net, Policy::SlowhandNoWindow, 2, Some(record.0.clone()));
        nothing_is_left_on_sockets(net);
        eventually("a queue as deep as the kernels like", &net.server, |bytes| {
            bytes > DEEP
        });
        next.stop();
    });
}

/// Asserts that no limit is left on sockets. A growing queue would not show that: autotuning lifts a clamp
/// that stays.
fn nothing_is_left_on_sockets(net: &Net) {
    assert_eq!(net.in_client(|| restore_subflows().unwrap()), Pass::default());
}

#[test]
fn an_unsent_limit_left_by_a_killed_daemon_is_removed_by_the_next() {
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
    let on_record = std::fs::read_to_string(&record.0).unwrap();
    assert!(
        on_record.lines().any(|line| line == "socket-limits"),
        "{on_record}"
    );
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
fn a_daemon_that_stops_releases_everything() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    for way in [WindowKind::Egress, WindowKind::Clamp] {
        let record = Record::new(&format!("stop-{way:?}"));
        let mut daemon = Running::bounding(&net, 2, record.0.clone(), way);
        let download = Download::start(&net);
        let bounded = |action: &Action| matches!(action, Action::Window(_, Some(_)));
        daemon.until("the window is bounded", |seen| seen.done.iter().any(bounded));
        download.expect_more(SETTLED, PATIENCE);
        let links = net.in_client(|| ["w0", "w1"].map(|link| index(&mut Rtnl::open().unwrap(), link)));
        let attached = || net.in_client(|| links.map(on_the_way_out));
        assert!(attached().iter().all(|&programs| programs > 0));
        daemon.stop();
        assert_eq!(attached(), [0; 2]);
        nothing_is_left_on_sockets(&net);
        eventually("a queue as deep as the kernels like", &net.server, |bytes| {
            bytes > DEEP
        });
    }
}

#[test]
fn a_daemon_that_stops_removes_its_unsent_limits() {
    let Some(net) = Net::with_links(2) else { return };
    let record = Record::new("stop-unsent");
    let mut daemon = Running::bounding(&net, 2, record.0.clone(), WindowKind::Egress);
    let upload = Upload::start(&net);
    let bounded = |action: &Action| matches!(action, Action::Unsent(_, Some(_)));
    daemon.until("what waits unsent is bounded", |seen| {
        seen.done.iter().any(bounded)
    });
    let mut until = Patience::of(PATIENCE);
    while upload.read() < SETTLED {
        assert!(until.lasts(), "{} bytes sent", upload.read());
        std::thread::sleep(Duration::from_millis(20));
    }
    let most = most(|| unsent(&net.client), std::thread::sleep);
    assert!(most < DEEP, "{most} bytes wait unsent");
    daemon.stop();
    eventually("more unsent than the limit ever allowed", &net.client, |_| {
        unsent(&net.client) > most + DEEP / 4
    });
}

/// Not a test of its own: a process that sets every lever and is killed.
#[test]
fn loaded_victim() {
    let Some(record) = std::env::var_os(LOADED) else {
        return;
    };
    let (conn, link, rate) = (ConnId(1), LinkId(0), Ratio::from_ppm(20_000));
    let mut daemon = Manual::on_record(1, record.into());
    daemon.pretend_open(conn);
    for action in [
        Action::Window(conn, Some(SMALL.into())),
        Action::Unsent(conn, Some(SMALL)),
        Action::Mark(link, rate),
        Action::MarkSent(link, rate),
    ] {
        daemon.act(action).unwrap();
    }
    let world = &mut daemon.daemon.world;
    let cap = Cap {
        subflow: PacedSubflow { conn, local_port: 1 },
        rate: Bitrate::from_mbps(1),
        until: world.host.outlet.now + units::Duration::from_secs(60),
    };
    let capped = world
        .conns
        .bounds
        .levers
        .cap_pacing(cap, &mut world.host.settings.journal);
    capped.unwrap();
    rig::live_on();
}

#[test]
fn a_killed_daemon_leaves_no_loaded_or_pinned_program() {
    let Some(net) = Net::with_links(1) else { return };
    let record = Record::new("pins");
    let wishes = [(LOADED, record.0.as_os_str())];
    let test = "daemon::tests::undone::loaded_victim";
    let victim = rig::victim_where(&net, test, &wishes, with_own_bpffs);
    let all = BTreeSet::from(["marker", "pacing", "unsent", "window"].map(str::to_owned));
    let mut until = Patience::of(PATIENCE);
    let objects = loop {
        let objects = Objects::of(victim.id());
        if objects.programs().is_superset(&all) {
            break objects;
        }
        assert!(until.lasts(), "it has loaded {:?} only", objects.programs());
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(!objects.maps().is_empty());
    let pins = Pins::of(victim.id());
    assert!(pins.would_be_seen());
    assert!(pins.list().is_empty(), "{:?}", pins.list());
    kill(victim);
    assert!(pins.list().is_empty(), "{:?}", pins.list());
    let left = || (objects.programs(), objects.maps());
    let mut until = Patience::of(PATIENCE);
    while left() != Default::default() {
        assert!(until.lasts(), "the kernel still has {:?}", left());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn receive_buffer() -> String {
    sysctl::read(&Key::new("net.ipv4.tcp_rmem")).unwrap()
}

/// Not a test of its own: a process that cannot load a program, limits what the peers of new connections may
/// queue, and is killed.
#[test]
fn poor_victim() {
    let Some(record) = std::env::var_os(POOR) else {
        return;
    };
    without_bpf(|| {
        let mut daemon = Manual::on_record(1, record.into());
        daemon.pretend_open(ConnId(1));
        daemon.act(Action::Window(ConnId(1), Some(SMALL.into()))).unwrap();
        rig::live_on();
    });
}

#[test]
fn a_receive_buffer_left_by_a_killed_daemon_is_restored_by_the_next_start() {
    let Some(net) = Net::with_links(1) else { return };
    let record = Record::new("rmem");
    let before = net.in_client(receive_buffer);
    let wishes = [(POOR, record.0.as_os_str())];
    let victim = rig::victim(&net, "daemon::tests::undone::poor_victim", &wishes);
    let mut until = Patience::of(PATIENCE);
    while net.in_client(receive_buffer) == before {
        assert!(until.lasts(), "the buffer of new connections is not bounded");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(victim);
    assert_ne!(
        net.in_client(receive_buffer),
        before,
        "nobody has put it back yet"
    );
    let mut next = Running::start(&net, Policy::SlowhandNoWindow, 1, Some(record.0.clone()));
    assert_eq!(net.in_client(receive_buffer), before);
    next.stop();
    assert_eq!(net.in_client(receive_buffer), before);
}

/// The token of the only connection.
fn token() -> ConnId {
    let mut found = None;
    Diag::open()
        .unwrap()
        .each_tcp(States::CONNECTED, |socket| {
            found = found.or(socket.subflow.map(|subflow| ConnId(subflow.token.0)));
        })
        .unwrap();
    found.unwrap()
}

/// A size other than [`SMALL`], and smaller than a new socket's.
const CLAMP: Bytes = Bytes::from_kib(48);

/// A clamp and an unsent limit on the only connection's subflow.
struct Limits(WindowLever, UnsentLever);

impl Limits {
    fn set() -> Self {
        let mut levers = Self(
            WindowLever::load_kind(WindowKind::Clamp).unwrap(),
            UnsentLever::load().unwrap(),
        );
        levers.0.set(token(), CLAMP).unwrap();
        levers.1.set(token(), SMALL).unwrap();
        assert_eq!(levers.walk().each_ref().map(Pass::changed), [1, 1]);
        levers
    }

    fn walk(&mut self) -> [Pass; 2] {
        [self.0.apply().unwrap(), self.1.apply().unwrap()]
    }

    /// The subflow's limits. The walk that reads them sets them again.
    fn found(&mut self) -> [Bytes; 2] {
        self.walk().map(|pass| pass.subflows[0].before)
    }
}

/// Runs `then` in the client's namespace, beside an upload over one link.
fn beside_upload(then: impl FnOnce() + Send) {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| output("ip route add default via 10.0.0.2 dev w0"));
    let _upload = Upload::start(&net);
    net.in_client(then);
}

#[test]
fn limits_on_sockets_are_removed_if_nothing_else_is_on_record() {
    let record = Record::new("only-limits");
    beside_upload(|| {
        let mut limits = Limits::set();
        drop(Manual::on_record(1, record.0.clone()));
        assert_eq!(
            limits.found(),
            [CLAMP, SMALL],
            "nobody has said that there are any"
        );
        let mut journal = Journal::open(&record.0).unwrap().0;
        journal.will(Change::SocketLimits).unwrap();
        // A crash: nothing is undone.
        drop((limits, journal));
        let next = Manual::on_record(1, record.0.clone());
        assert_eq!(
            restore_subflows().unwrap(),
            Pass::default(),
            "nothing is left to take off"
        );
        assert_eq!(next.failures(), [""; 0]);
    });
}

#[test]
fn limits_are_removed_although_the_user_has_changed_all_else_on_record() {
    let record = Record::new("all-left");
    beside_upload(|| {
        let limits = Limits::set();
        let key = Key::new("net.ipv4.ip_default_ttl");
        let mut journal = Journal::open(&record.0).unwrap().0;
        journal.will(Change::SocketLimits).unwrap();
        journal.set_sysctl(&key, "71").unwrap();
        // A crash: neither is undone.
        drop((limits, journal));
        sysctl::write(&key, "100").unwrap();
        let undone = recover(&record.0).unwrap();
        assert_eq!(undone.done, 1, "the user's value stays");
        let [left] = &undone.left[..] else {
            panic!("{undone:?}")
        };
        assert!(
            left.to_string().contains("somebody has set it to `100`"),
            "{left}"
        );
        assert_eq!(
            restore_subflows().unwrap(),
            Pass::default(),
            "nothing is left to take off"
        );
    });
}

#[test]
fn limits_that_cannot_be_removed_are_an_error() {
    let record = Record::new("limits-left");
    beside_upload(|| {
        let mut journal = Journal::open(&record.0).unwrap().0;
        journal.will(Change::SocketLimits).unwrap();
        drop(journal);
        let error = without_bpf(|| recover(&record.0)).unwrap_err().to_string();
        assert!(
            error.contains("open connections") && error.contains("CAP_BPF"),
            "{error}"
        );
    });
}

#[test]
fn fallback_clamps_that_cannot_be_removed_are_an_error_that_names_all_else() {
    let record = Record::new("fallbacks-left");
    beside_upload(|| {
        let key = Key::new("net.ipv4.ip_default_ttl");
        let mut journal = Journal::open(&record.0).unwrap().0;
        journal.will(Change::FallbackWindow(SMALL)).unwrap();
        journal.set_sysctl(&key, "71").unwrap();
        drop(journal);
        sysctl::write(&key, "100").unwrap();
        let error = without_bpf(|| recover(&record.0)).unwrap_err().to_string();
        for part in ["open connections", "CAP_BPF", "somebody has set it to `100`"] {
            assert!(error.contains(part), "{part} in {error}");
        }
    });
}

#[test]
fn only_limits_that_stay_on_sockets_are_on_record_as_such() {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| {
        for way in [WindowKind::Egress, WindowKind::Clamp] {
            let mut daemon = Manual::bounding(1, Some(way));
            daemon.pretend_open(ConnId(1));
            let on_record = |daemon: &Manual| {
                let changes = daemon.daemon.world.host.settings.journal.changes();
                changes.contains(&Change::SocketLimits)
            };
            assert!(!on_record(&daemon), "nothing is limited yet");
            daemon.act(Action::Window(ConnId(1), Some(SMALL.into()))).unwrap();
            assert_eq!(on_record(&daemon), way == WindowKind::Clamp);
            daemon.act(Action::Window(ConnId(1), None)).unwrap();
            daemon.act(Action::Unsent(ConnId(1), Some(SMALL))).unwrap();
            assert!(on_record(&daemon));
        }
    });
}
