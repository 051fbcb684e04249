//! Each lever on its own: the sender's queue really shrinks, and grows again after release.

use super::felt::{
    BOUNDED, DEEP, SMALL, UNSENT, limited_to, most_beside, queued, settles_within, unsent, without_bpf,
    without_walks,
};
use super::flow::{Download, Source, Upload};
use super::net::Net;
use super::rig::{Manual, PATIENCE};
use crate::bpf::{Pass, WindowKind, WindowLever, restore_subflows};
use crate::daemon::act::error::ActError;
use crate::daemon::queues::levers::LeverError;
use crate::journal::Change;
use crate::rtnl::Rtnl;
use crate::testing::{Patience, index, output};
use policy::{Action, Ahead, ConnId, SubflowId};
use std::time::{Duration, Instant};
use units::{Bitrate, Bytes};

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
        daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
        settles_within(BOUNDED, || most_beside(&mut daemon, || queued(&net.server)));
        let report = daemon.daemon.world.conns.bounds.levers.report(None);
        assert_eq!(report.window.as_ref(), Ok(&kind));
        daemon.act(Action::Window(conn, None)).unwrap();
        let mut until = Patience::of(PATIENCE);
        while daemon.daemon.world.conns.bounds.levers.wake_at().is_some() {
            assert!(until.lasts(), "the sockets are not walked");
            daemon.for_a_while(Duration::from_millis(5));
        }
        // Later, autotuning of the receive buffer would have lifted a clamp too.
        assert_eq!(restore_subflows().unwrap(), Pass::default());
        deep(&mut daemon, "the server queues far ahead again");
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn the_servers_queue_is_limited_by_the_egress_program() {
    the_servers_queue_shrinks_and_grows_again(WindowKind::Egress);
}

#[test]
fn the_servers_queue_is_limited_by_a_clamp() {
    the_servers_queue_shrinks_and_grows_again(WindowKind::Clamp);
}

#[test]
fn without_programs_new_connections_get_a_small_buffer_and_that_is_reported() {
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
        without_bpf(|| daemon.act(Action::Window(conn, Some(SMALL.into())))).unwrap();
        let report = daemon
            .daemon
            .world
            .conns
            .bounds
            .levers
            .report(daemon.daemon.world.host.settings.buffer());
        assert!(
            report.window.as_ref().unwrap_err().contains("CAP_BPF"),
            "{report:?}"
        );
        assert!(report.new_connections.is_some());
        // Room for out-of-order bytes behind a loss is of no use to future connections.
        let missed = Bytes::from_kib(2_048);
        let window = SMALL + missed;
        daemon
            .act(Action::Window(conn, Some(Ahead { window, missed })))
            .unwrap();
        assert_eq!(daemon.daemon.world.host.settings.buffer(), report.new_connections);
        drop(first);
        let mut until = Patience::of(PATIENCE);
        while daemon.daemon.world.conns.flows.living().next().is_some() || queued(&net.server) > 0 {
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
fn unsent_bytes_are_limited_on_every_subflow_of_an_upload() {
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
        // A subflow that joins later gets the limit too.
        daemon.join(2);
        daemon.until("little waits", |_, _| unsent(&net.client) <= UNSENT);
        let read = upload.read();
        let most = most_beside(&mut daemon, || unsent(&net.client));
        assert!(
            most <= UNSENT,
            "{most} bytes wait on a subflow although {SMALL} may"
        );
        assert!(upload.read() > read + DEEP, "the upload continues");
        daemon.act(Action::Unsent(conn, None)).unwrap();
        far(&mut daemon, "much waits unsent again");
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_connection_that_is_left_alone_loses_its_unsent_limit() {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        let mut daemon = Manual::start(2);
        let _upload = Upload::start(&net);
        let conn = daemon.conn();
        daemon.join(1);
        daemon.until("much waits unsent", |_, _| {
            unsent(&net.client) > UNSENT + DEEP / 4
        });
        daemon.act(Action::Unsent(conn, Some(SMALL))).unwrap();
        daemon.until("little waits", |_, _| unsent(&net.client) <= UNSENT);
        daemon.leave_alone(conn);
        daemon.until("much waits unsent again", |_, _| {
            unsent(&net.client) > UNSENT + DEEP / 4
        });
        assert_eq!(limited_to(SMALL), 0);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_connection_that_is_left_alone_loses_its_clamp() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::bounding(2, Some(WindowKind::Clamp));
        let _download = Download::start(&net);
        let conn = daemon.conn();
        daemon.join(1);
        daemon.until("the server has queued far ahead", |_, _| {
            queued(&net.server) > DEEP
        });
        daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
        daemon.until("its queue is short", |_, _| queued(&net.server) <= BOUNDED);
        daemon.leave_alone(conn);
        daemon.until("the sockets are walked", |daemon, _| {
            daemon.world.conns.bounds.levers.wake_at().is_none()
        });
        assert_eq!(limited_to(SMALL), 0);
        daemon.until("the server queues far ahead again", |_, _| {
            queued(&net.server) > DEEP
        });
    });
}

/// As many programs as the kernel accepts on one side of an interface.
fn crowd(ifindex: u32) -> Vec<WindowLever> {
    const MORE_THAN_IT_TAKES: usize = 100;
    let attached = || {
        let mut lever = WindowLever::load_kind(WindowKind::Egress).unwrap();
        lever.attach(ifindex).ok().map(|()| lever)
    };
    let crowd = Vec::from_iter(std::iter::from_fn(attached).take(MORE_THAN_IT_TAKES));
    assert!(crowd.len() < MORE_THAN_IT_TAKES, "this kernel takes any number");
    crowd
}

/// One test for both ways, because the crowd takes seconds to attach.
#[test]
fn if_a_used_link_takes_no_program_windows_are_limited_otherwise_and_that_is_reported() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let second = index(&mut Rtnl::open().unwrap(), "w1");
        let _crowd = crowd(second);
        new_connections_are_bounded_where_nothing_can_be_clamped(&net, second);
        windows_are_clamped(&net, second);
    });
}

fn windows_are_clamped(net: &Net, second: u32) {
    let mut daemon = Manual::start(2);
    let _download = Download::start(net);
    let conn = daemon.conn();
    daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
    let report = daemon.report();
    assert_eq!(
        report.window,
        Ok(WindowKind::Egress),
        "nobody uses the other link"
    );
    assert!(report.unattached[&second].contains("attaching BPF"), "{report:?}");
    daemon.join(1);
    let report = daemon.report();
    assert_eq!(report.window, Ok(WindowKind::Clamp), "{report:?}");
    assert!(report.window_refused.unwrap().contains("attaching BPF"));
    assert_eq!(report.new_connections, None);
    settles_within(BOUNDED, || most_beside(&mut daemon, || queued(&net.server)));
    daemon.act(Action::Window(conn, None)).unwrap();
    daemon.until("the server queues far ahead again", |_, _| {
        queued(&net.server) > DEEP
    });
}

fn new_connections_are_bounded_where_nothing_can_be_clamped(net: &Net, second: u32) {
    let before = output("sysctl net.ipv4.tcp_rmem");
    let mut daemon = Manual::start(2);
    let _download = Download::start(net);
    let conn = daemon.conn();
    daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
    assert_eq!(
        daemon.report().new_connections,
        None,
        "nobody uses the other link"
    );
    without_bpf(|| daemon.join(1));
    let report = daemon.report();
    assert_eq!(report.window, Ok(WindowKind::Egress), "the first link takes it");
    assert!(report.unattached.contains_key(&second), "{report:?}");
    assert!(report.no_other_way.unwrap().contains("CAP_BPF"));
    let narrow = report.new_connections.unwrap();
    assert_ne!(output("sysctl net.ipv4.tcp_rmem"), before);
    // A window requested later applies too.
    let wider = Bytes::new(4 * narrow.get());
    daemon.act(Action::Window(conn, Some(wider.into()))).unwrap();
    assert!(daemon.report().new_connections.unwrap() > narrow);
    drop(daemon);
    assert_eq!(output("sysctl net.ipv4.tcp_rmem"), before);
}

fn bounds(conn: ConnId) -> [Action; 2] {
    [
        Action::Window(conn, Some(SMALL.into())),
        Action::Unsent(conn, Some(SMALL)),
    ]
}

/// Asserts that limits are ignored if the connection ended before the engine was told.
fn nothing_is_bounded_after(end: fn(&mut Manual, ConnId)) {
    let Some(net) = Net::with_links(1) else { return };
    let conn = ConnId(1);
    let bound = |daemon: &mut Manual| bounds(conn).map(|bound| daemon.act(bound));
    let is_gone = |result: Result<(), ActError>| matches!(result, Err(ActError::NoConnection));
    net.in_client(|| {
        let mut daemon = Manual::bounding(1, Some(WindowKind::Clamp));
        daemon.pretend_open(conn);
        assert!(bound(&mut daemon).iter().all(Result::is_ok));
        end(&mut daemon, conn);
        assert!(bound(&mut daemon).into_iter().all(is_gone));
        assert_eq!(
            daemon.daemon.world.conns.bounds.levers.bounds_of(conn),
            (None, None)
        );
    });
    net.in_client(|| {
        let mut daemon = Manual::bounding(1, None);
        daemon.pretend_open(conn);
        end(&mut daemon, conn);
        without_bpf(|| assert!(bound(&mut daemon).into_iter().all(is_gone)));
        assert_eq!(daemon.daemon.world.host.settings.buffer(), None);
    });
}

#[test]
fn decisions_on_a_closed_connection_are_not_executed() {
    nothing_is_bounded_after(|daemon, conn| daemon.closed(conn));
}

#[test]
fn decisions_on_a_connection_that_is_left_alone_are_not_executed() {
    nothing_is_bounded_after(|daemon, conn| daemon.leave_alone(conn));
}

#[test]
fn a_failed_walk_is_repeated_a_second_later() {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| {
        let mut daemon = Manual::bounding(1, Some(WindowKind::Clamp));
        let conn = ConnId(1);
        daemon.pretend_open(conn);
        let unbound = [Action::Window(conn, None), Action::Unsent(conn, None)];
        for (bound, unbound) in bounds(conn).into_iter().zip(unbound) {
            daemon.act(bound).unwrap();
            let (now, levers) = (
                daemon.daemon.world.host.outlet.now,
                &mut daemon.daemon.world.conns.bounds.levers,
            );
            let failed = without_walks(|| levers.tick(now));
            assert!(matches!(failed, Err(LeverError::Walk(_))), "{failed:?}");
            assert_eq!(levers.wake_at(), Some(now + Duration::from_secs(1)));
            daemon.act(unbound).unwrap();
            let levers = &mut daemon.daemon.world.conns.bounds.levers;
            levers.tick(now + Duration::from_secs(1)).unwrap();
            assert_eq!(levers.wake_at(), None, "nothing is set any more");
        }
    });
}

#[test]
fn a_closed_connection_leaves_no_limit_behind() {
    let Some(net) = Net::with_links(2) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(2);
        let download = Download::start(&net);
        let conn: ConnId = daemon.conn();
        daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
        daemon.act(Action::Unsent(conn, Some(SMALL))).unwrap();
        assert_eq!(
            daemon.daemon.world.conns.bounds.levers.bounds_of(conn),
            (Some(SMALL), Some(SMALL))
        );
        drop(download);
        daemon.until("the connection is gone", |daemon, _| {
            daemon.world.conns.bounds.levers.bounds_of(conn) == (None, None)
        });
    });
}

/// Subflows of this host whose pacing is capped, as `ss` shows them.
fn capped() -> usize {
    let listing = output("ss -tinHO state established");
    let has_cap = |line: &&str| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "pacing_rate");
        words.nth(1).is_some_and(|rate| rate.contains('/'))
    };
    listing.lines().filter(has_cap).count()
}

fn cap(subflow: SubflowId, lasts_ms: u64) -> Action {
    Action::CapPacing {
        subflow,
        rate: Bitrate::from_mbps(2),
        lasts: units::Duration::from_millis(lasts_ms),
    }
}

/// Caps an upload with bbr for longer than any test lasts, then lets `end` end the cap.
fn an_end_of_a_cap(end: impl FnOnce(&mut Manual, ConnId) + Send) {
    let Some(net) = Net::with_links(1) else { return };
    net.in_client(|| {
        output("sysctl -qw net.ipv4.tcp_congestion_control=bbr");
        let mut daemon = Manual::start(1);
        let _upload = Upload::start(&net);
        let (conn, subflow) = (daemon.conn(), daemon.subflow(0));
        daemon.act(cap(subflow, 600_000)).unwrap();
        daemon.until("it is capped", |_, _| capped() == 1);
        end(&mut daemon, conn);
        daemon.until("it is not any more", |_, _| capped() == 0);
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_pacing_cap_is_on_record_and_ends_in_time() {
    let Some(net) = Net::with_links(2) else { return };
    net.in_client(|| {
        output("sysctl -qw net.ipv4.tcp_congestion_control=bbr");
        let mut daemon = Manual::start(2);
        let _upload = Upload::start(&net);
        let subflow = daemon.subflow(0);
        daemon.join(1);
        assert_eq!(capped(), 0);
        let begins = Instant::now();
        daemon.act(cap(subflow, 300)).unwrap();
        let journal = &daemon.daemon.world.host.settings.journal;
        assert!(journal.changes().contains(&Change::SocketLimits));
        daemon.until("one is capped", |_, _| capped() == 1);
        daemon.until("its time is over", |_, _| capped() == 0);
        // The daemon's time is that of its latest turn.
        assert!(begins.elapsed() >= Duration::from_millis(250));
        assert_eq!(daemon.failures(), [""; 0]);
    });
}

#[test]
fn a_stop_removes_a_cap_before_its_end() {
    an_end_of_a_cap(|daemon, _| {
        daemon.daemon.world.conns.bounds.levers.release_all().unwrap();
        assert_eq!(capped(), 0);
    });
}

#[test]
fn a_connection_that_is_left_alone_loses_its_cap() {
    an_end_of_a_cap(|daemon, conn| {
        let subflow = daemon.subflow(0);
        daemon.leave_alone(conn);
        let refused = daemon.act(cap(subflow, 300));
        assert!(matches!(refused, Err(ActError::NoConnection)));
    });
}

#[test]
fn a_connection_closed_by_its_program_sends_the_rest_without_a_cap() {
    // As if the kernel had reported the close while its socket still sends.
    an_end_of_a_cap(|daemon, conn| daemon.daemon.world.conns.bounds.levers.release(conn).unwrap());
}
