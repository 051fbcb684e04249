//! The window lever limits the server's queue, and only for selected connections.

use crate::can_run;
use crate::net::{Hosts, eventually, run};
use crate::relay::{Relay, Seen, Wire};
use crate::tcp::{Direction, Ends, Info, MPTCP, Transfer, announced_window};
use linux::bpf::{CountRunTime, WindowCounters, WindowKind, WindowLever};
use policy::ConnId;
use socket2::Protocol;
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;
use units::Bytes;

const TUN_IPV4: [&str; 2] = ["10.78.0.1", "10.78.0.2"];
const TUN_IPV6: [&str; 2] = ["fd78::1", "fd78::2"];

const WINDOW: Bytes = Bytes::from_kib(16);

/// A lever on all of a client's links.
fn egress_lever(hosts: &Hosts) -> WindowLever {
    let load = || {
        let mut lever = WindowLever::load_kind(WindowKind::Egress).expect("this kernel has tcx");
        for ifindex in hosts.client_interfaces() {
            lever.attach(ifindex).expect("attach");
        }
        lever
    };
    hosts.client.run(load).expect("enter the client")
}

fn download(hosts: &Hosts) -> Transfer {
    let server = hosts.server_address(5001);
    Transfer::start(&hosts.client, &hosts.server, server, MPTCP, Direction::Download)
}

fn counters(lever: &WindowLever, conn: ConnId) -> WindowCounters {
    lever
        .counters(conn)
        .expect("read the counters")
        .expect("the window is set")
}

#[test]
fn the_best_lever_of_this_kernel_is_the_egress_program() {
    if !can_run() {
        return;
    }
    let lever = WindowLever::load().expect("a lever");
    assert_eq!(lever.kind(), WindowKind::Egress, "{:?}", lever.refused());
}

#[test]
fn a_download_is_limited_while_the_window_is_set() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(2, 20);
    let mut lever = egress_lever(&hosts);
    let download = download(&hosts);
    let outstanding = || download.outstanding(Direction::Download);
    let state = || format!("{} bytes outstanding", outstanding());
    eventually(
        "a deep queue at the server",
        || outstanding() > 4 * WINDOW.get(),
        state,
    );

    lever.set(download.conn(), WINDOW).expect("set");
    eventually("a bounded queue", || outstanding() <= WINDOW.get(), state);
    let before = download.received();
    let enough = before + 16 * WINDOW.get();
    let mut most = 0;
    eventually(
        "sixteen windows of data",
        || {
            most = most.max(outstanding());
            download.received() >= enough
        },
        state,
    );
    assert!(
        most <= WINDOW.get(),
        "{most} bytes outstanding under a window of {WINDOW}"
    );
    let counted = counters(&lever, download.conn());
    assert!(
        counted.lowered > 0 && counted.lowered <= counted.segments,
        "{counted:?}"
    );

    lever.clear(download.conn()).expect("clear");
    assert_eq!(lever.counters(download.conn()).expect("read"), None);
    eventually("a deep queue again", || outstanding() > 4 * WINDOW.get(), state);
}

#[test]
fn nothing_leaves_on_a_parting_subflow_until_the_window_is_set_again() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    let mut lever = egress_lever(&hosts);
    let download = download(&hosts);
    let address = download.client.local_addr().expect("a local address");
    let port = address.as_socket().expect("of the internet").port();
    lever.set(download.conn(), WINDOW).expect("set");
    let kept = || counters(&lever, download.conn()).kept;
    assert_eq!(kept(), 0);

    lever.part(download.conn(), WINDOW, port).expect("part");
    let kept = || counters(&lever, download.conn()).kept;
    let state = || format!("{} segments kept, {} bytes received", kept(), download.received());
    eventually("an acknowledgement is kept", || kept() > 0, state);
    // Without acknowledgements at most one more window can follow.
    let most = download.received() + 2 * WINDOW.get();
    let again = kept() + 2;
    eventually("more are kept", || kept() >= again, state);
    assert!(download.received() <= most, "{}", state());

    lever.set(download.conn(), WINDOW).expect("set");
    let enough = download.received() + 4 * WINDOW.get();
    eventually(
        "the transfer resumes",
        || download.received() >= enough,
        || format!("{} bytes received", download.received()),
    );
}

#[test]
fn segments_of_an_idle_backup_do_not_widen_the_window() {
    /// The window that the backup announced last.
    const WIDE: Bytes = Bytes::from_kib(1024);
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(3, 20);
    let mut lever = egress_lever(&hosts);
    let download = download(&hosts);
    lever.set(download.conn(), WIDE).expect("set");
    let outstanding = || download.outstanding(Direction::Download);
    let deep = || outstanding() > WIDE.get() / 2;
    eventually("a deep queue", deep, || outstanding().to_string());
    // The kernel sends it on the connection's first subflow.
    run(&hosts.client, "ip mptcp endpoint add 10.77.1.1 dev l1 id 9");
    run(&hosts.client, "ip mptcp endpoint change id 9 backup");
    let carried = || run(&hosts.client, "ip -s link show l1");
    let is_idle = || {
        let before = carried();
        std::thread::sleep(Duration::from_millis(300));
        carried() == before
    };
    eventually("an idle backup", is_idle, carried);
    lever.set(download.conn(), WINDOW).expect("set");
    let state = || format!("{} B, {:?}", outstanding(), counters(&lever, download.conn()));
    eventually("a short one", || outstanding() <= 4 * WINDOW.get(), state);

    let (mut most, before) = (0, counters(&lever, download.conn()).muted);
    run(&hosts.client, "ip mptcp endpoint delete id 2");
    let has_spoken = || {
        most = outstanding().max(most);
        counters(&lever, download.conn()).muted > before
    };
    eventually("the backup sends", has_spoken, state);
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(20));
        most = outstanding().max(most);
    }
    assert!(most <= 8 * WINDOW.get(), "{most} B, {}", state());
}

/// Checks on the wire of TUN links that a segment of an idle connection leaves without its DATA_ACK. With it
/// the peer would apply an older, wider window. The checksum is right, and the connection continues and ends
/// normally.
fn an_overruled_acknowledgement_is_left_out(addresses: [&str; 2]) {
    const WIDE: Bytes = Bytes::from_kib(256);
    let hosts = Hosts::apart();
    let relay = Relay::between(&hosts, addresses, Wire::Honest);
    let mut lever = egress_lever(&hosts);
    let address = SocketAddr::new(addresses[1].parse().expect("an address"), 5001);
    let transfer = Transfer::start(&hosts.client, &hosts.server, address, MPTCP, Direction::Download);
    transfer.keep_alive();
    lever.set(transfer.conn(), WIDE).expect("set");
    let received = || transfer.received().to_string();
    eventually("much", || transfer.received() > 20 * WIDE.get(), received);
    transfer.pause(true);
    let outstanding = || transfer.outstanding(Direction::Download);
    eventually("nothing in flight", || outstanding() == 0, received);
    lever.set(transfer.conn(), WINDOW).expect("set");
    relay.forget();
    let muted = || counters(&lever, transfer.conn()).muted;
    let state = || format!("{:?}, {:?}", counters(&lever, transfer.conn()), relay.seen());
    eventually("the DATA_ACK is left out", || muted() > 0, state);
    eventually(
        "a segment without DATA_ACK on the wire",
        || relay.seen().without_mptcp > 0,
        state,
    );
    assert_eq!(relay.seen().bad_checksums, 0, "{}", state());

    let enough = transfer.received() + 20 * WINDOW.get();
    transfer.pause(false);
    eventually(
        "the transfer continues",
        || transfer.received() > enough,
        received,
    );
    let spoken = muted();
    transfer.server.shutdown(Shutdown::Write).expect("shut down");
    let acknowledged = || Info::of(&transfer.server).is_ok_and(|info| info.end_is_acknowledged);
    eventually("the end is acknowledged", acknowledged, state);
    assert_eq!(muted(), spoken, "no DATA_ACK is left out at the end");
}

#[test]
fn an_overruled_acknowledgement_is_left_out_over_ipv4() {
    if can_run() {
        an_overruled_acknowledgement_is_left_out(TUN_IPV4);
    }
}

#[test]
fn an_overruled_acknowledgement_is_left_out_over_ipv6() {
    if can_run() {
        an_overruled_acknowledgement_is_left_out(TUN_IPV6);
    }
}

#[test]
fn another_connection_on_the_same_links_is_not_touched() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    let mut lever = egress_lever(&hosts);
    let start = |port| {
        Transfer::start(
            &hosts.client,
            &hosts.server,
            hosts.server_address(port),
            MPTCP,
            Direction::Download,
        )
    };
    let (bounded, free) = (start(5001), start(5002));
    lever.set(bounded.conn(), WINDOW).expect("set");
    let queued = |transfer: &Transfer| transfer.outstanding(Direction::Download);
    let state = || format!("{} and {} bytes outstanding", queued(&bounded), queued(&free));
    let apart = || queued(&bounded) <= WINDOW.get() && queued(&free) > 4 * WINDOW.get();
    eventually("one queue limited and the other deep", apart, state);
    assert_eq!(lever.counters(free.conn()).expect("read"), None);
}

#[test]
fn a_connection_that_fell_back_at_once_is_left_alone() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    let mut lever = egress_lever(&hosts);
    let start = |port, ends| {
        let address = hosts.server_address(port);
        Transfer::start(&hosts.client, &hosts.server, address, ends, Direction::Download)
    };
    let bounded = start(5001, MPTCP);
    lever.set(bounded.conn(), WINDOW).expect("set");
    let fallen = start(
        5002,
        Ends {
            client: Protocol::MPTCP,
            server: Protocol::TCP,
        },
    );
    let window = || u64::from(announced_window(&fallen.server));
    eventually(
        "a lowered segment",
        || counters(&lever, bounded.conn()).lowered > 0,
        String::new,
    );
    eventually(
        "a large window",
        || window() > 4 * WINDOW.get(),
        || format!("{} bytes", window()),
    );
}

/// A middlebox passes the MPTCP handshake and then removes the options. The token stays, but the options end.
#[test]
fn a_connection_that_falls_back_later_is_left_alone() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::apart();
    let _relay = Relay::between(&hosts, TUN_IPV4, Wire::Stripping);
    let mut lever = egress_lever(&hosts);
    let address = SocketAddr::new(TUN_IPV4[1].parse().expect("an address"), 5001);
    let download = Transfer::start(&hosts.client, &hosts.server, address, MPTCP, Direction::Download);
    lever.set(download.conn(), WINDOW).expect("set");
    let window = || u64::from(announced_window(&download.server));
    eventually(
        "a large window",
        || window() > 4 * WINDOW.get(),
        || format!("{} bytes", window()),
    );
    let counted = counters(&lever, download.conn());
    assert!(
        counted.skipped > 0 && counted.segments == 0 && counted.lowered == 0,
        "{counted:?}"
    );
}

#[test]
fn dropping_the_lever_removes_the_limit() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    let mut lever = egress_lever(&hosts);
    let download = download(&hosts);
    lever.set(download.conn(), WINDOW).expect("set");
    let outstanding = || download.outstanding(Direction::Download);
    let state = || format!("{} bytes outstanding", outstanding());
    eventually(
        "a lowered segment",
        || counters(&lever, download.conn()).lowered > 0,
        state,
    );
    drop(lever);
    eventually("a deep queue", || outstanding() > 4 * WINDOW.get(), state);
}

#[test]
fn levers_in_several_namespaces_of_one_process_are_independent() {
    if !can_run() {
        return;
    }
    let labs: Vec<Hosts> = (0..4).map(|_| Hosts::joined(1, 20)).collect();
    let mut levers: Vec<WindowLever> = labs.iter().map(egress_lever).collect();
    let downloads: Vec<Transfer> = labs.iter().map(download).collect();
    let last = downloads.len() - 1;
    for (lever, download) in levers.iter_mut().zip(&downloads).take(last) {
        lever.set(download.conn(), WINDOW).expect("set");
    }
    let queued: Box<dyn Fn() -> Vec<u64>> = Box::new(|| {
        downloads
            .iter()
            .map(|download| download.outstanding(Direction::Download))
            .collect()
    });
    let only_last_is_deep = || {
        let queued = queued();
        queued[..last].iter().all(|&bytes| bytes <= WINDOW.get()) && queued[last] > 4 * WINDOW.get()
    };
    eventually("only the last queue deep", only_last_is_deep, || {
        format!("{:?}", queued())
    });
}

#[test]
fn without_capabilities_the_error_names_them() {
    if !can_run() {
        return;
    }
    let unprivileged = std::thread::spawn(|| {
        const NOBODY: libc::c_long = 65_534;
        // SAFETY: no pointers. Unlike libc's function, the bare system call changes this thread only.
        let code = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(code, 0);
        WindowLever::load()
            .expect_err("nobody may not load BPF")
            .to_string()
    });
    let message = unprivileged.join().expect("the thread ends");
    assert!(
        message.contains("CAP_BPF") && message.contains("run as root"),
        "{message}"
    );
}

#[test]
fn the_run_time_is_counted_while_enabled() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(1, 20);
    let mut lever = egress_lever(&hosts);
    let _counting = CountRunTime::start().expect("root may count");
    let download = download(&hosts);
    lever.set(download.conn(), WINDOW).expect("set");
    let lowered = || counters(&lever, download.conn()).lowered;
    eventually(
        "a thousand lowered segments",
        || lowered() >= 1_000,
        || lowered().to_string(),
    );
    let cost = lever.run_time().expect("read");
    assert!(cost.runs >= 1_000 && !cost.time.is_zero(), "{cost:?}");
    println!("{} ns per packet", cost.time.as_nanos() / u128::from(cost.runs));
}

#[test]
fn attaching_where_there_is_no_interface_is_an_error() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::apart();
    let message = hosts.client.run(|| {
        let mut lever = WindowLever::load().expect("a lever");
        lever.attach(4711).expect_err("no such interface").to_string()
    });
    let message = message.expect("enter the client");
    assert_eq!(
        message,
        "no interface 4711 in this network namespace; did it go away?"
    );
}

/// Checks on the wire of TUN links that no segment of the connection announces more than the window, and that
/// its checksum is right.
fn every_segment_is_lowered(direction: Direction, addresses: [&str; 2]) -> Seen {
    /// Capacity of a TUN's queue, in bytes: 500 packets. They left before the window was set.
    const QUEUED: u64 = 500 * 1_500;
    let hosts = Hosts::apart();
    let relay = Relay::between(&hosts, addresses, Wire::Honest);
    let mut lever = egress_lever(&hosts);
    let address = SocketAddr::new(addresses[1].parse().expect("an address"), 5001);
    let transfer = Transfer::start(&hosts.client, &hosts.server, address, MPTCP, direction);
    lever.set(transfer.conn(), WINDOW).expect("set");
    let more = |bytes| {
        let enough = transfer.received() + bytes;
        eventually(
            "more data",
            || transfer.received() > enough,
            || transfer.received().to_string(),
        );
    };
    eventually(
        "a lowered segment",
        || counters(&lever, transfer.conn()).lowered > 0,
        String::new,
    );
    more(2 * QUEUED);
    relay.forget();
    more(40 * WINDOW.get());
    relay.seen()
}

fn assert_lowered(seen: &Seen) {
    assert!(seen.segments > 100, "{seen:?}");
    assert_eq!(seen.bad_checksums, 0, "{seen:?}");
    assert!(seen.largest_window <= WINDOW.get(), "{seen:?}");
    assert!(
        seen.largest_window > WINDOW.get() / 2,
        "the window should be nearly full: {seen:?}"
    );
}

#[test]
fn acknowledgements_leave_a_tun_lowered_over_ipv4() {
    if !can_run() {
        return;
    }
    assert_lowered(&every_segment_is_lowered(Direction::Download, TUN_IPV4));
}

#[test]
fn acknowledgements_leave_a_tun_lowered_over_ipv6() {
    if !can_run() {
        return;
    }
    assert_lowered(&every_segment_is_lowered(Direction::Download, TUN_IPV6));
}

#[test]
fn data_leaves_a_tun_lowered_and_intact() {
    if !can_run() {
        return;
    }
    assert_lowered(&every_segment_is_lowered(Direction::Upload, TUN_IPV4));
}
