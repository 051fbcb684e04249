//! The levers on the subflows' sockets: the window clamp, the unsent limit and the pacing cap.

use crate::can_run;
use crate::net::{Hosts, eventually, run};
use crate::tcp::{Direction, Ends, MPTCP, Transfer};
use linux::bpf::{PacedSubflow, PacingLever, Pass, UnsentLever, WindowKind, WindowLever, restore_subflows};
use linux::netns::Netns;
use socket2::Protocol;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use units::{Bitrate, Bytes};

const LIMIT: Bytes = Bytes::from_kib(16);
/// A queue in bytes that a stock sender exceeds within seconds on two links of 20 Mb/s.
const DEEP: u64 = 256 * 1024;
/// Largest burst in bytes that the scheduler assigns after it has checked the limit.
const BURST: u64 = 64 * 1024;

fn inside<T: Send>(host: &Netns, work: impl FnOnce() -> T + Send) -> T {
    host.run(work).expect("enter the host")
}

/// A transfer on two links whose sender has built up a deep queue.
fn deep_transfer(hosts: &Hosts, direction: Direction) -> Transfer {
    let transfer = Transfer::start(
        &hosts.client,
        &hosts.server,
        hosts.server_address(5001),
        MPTCP,
        direction,
    );
    eventually(
        "two subflows",
        || unsent(&hosts.client).len() == 2,
        || run(&hosts.client, "ss -tinM"),
    );
    eventually_deep(&transfer, direction);
    transfer
}

fn eventually_deep(transfer: &Transfer, direction: Direction) {
    let outstanding = || transfer.outstanding(direction);
    eventually(
        "a deep queue",
        || outstanding() > DEEP,
        || format!("{} bytes outstanding", outstanding()),
    );
}

/// Unsent bytes on each of the host's subflows, as `ss` prints them.
fn unsent(host: &Netns) -> Vec<u64> {
    let listing = run(host, "ss -tinH state established");
    let number = |word: &str| word.strip_prefix("notsent:").and_then(|bytes| bytes.parse().ok());
    let mptcp = listing.lines().filter(|line| line.contains("tcp-ulp-mptcp"));
    mptcp
        .map(|line| line.split_whitespace().find_map(number).unwrap_or(0))
        .collect()
}

#[test]
fn a_clamp_limits_a_download_until_it_is_released() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(2, 20);
    let download = deep_transfer(&hosts, Direction::Download);
    let mut lever = WindowLever::load_kind(WindowKind::Clamp).expect("this kernel has iterators");
    lever.set(download.conn(), LIMIT).expect("set");
    let outstanding = || download.outstanding(Direction::Download);
    let mut bounded = || {
        let pass = inside(&hosts.client, || lever.apply().expect("walk"));
        assert_eq!((pass.subflows.len(), pass.refused()), (2, 0), "{pass:?}");
        outstanding() <= LIMIT.get()
    };
    eventually("a bounded queue", &mut bounded, || {
        format!("{} bytes outstanding", outstanding())
    });
    let pass = inside(&hosts.client, || lever.release().expect("walk"));
    assert_eq!(pass.changed(), 2, "{pass:?}");
    eventually_deep(&download, Direction::Download);
}

#[test]
fn an_unsent_limit_limits_an_upload_until_it_is_cleared() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(2, 20);
    let upload = deep_transfer(&hosts, Direction::Upload);
    let mut lever = UnsentLever::load().expect("this kernel has iterators");
    lever.set(upload.conn(), LIMIT).expect("set");
    let pass = inside(&hosts.client, || lever.apply().expect("walk"));
    assert_eq!((pass.changed(), pass.refused()), (2, 0), "{pass:?}");
    let most = || unsent(&hosts.client).into_iter().max().expect("subflows");
    let bound = LIMIT.get() + BURST;
    eventually(
        "few unsent bytes",
        || most() <= bound,
        || format!("{:?}", unsent(&hosts.client)),
    );
    let (enough, mut highest) = (upload.received() + 2 * DEEP, 0);
    let received = || upload.received();
    eventually(
        "two deep queues' worth of data",
        || {
            highest = highest.max(most());
            received() > enough
        },
        || received().to_string(),
    );
    assert!(highest <= bound, "{highest} bytes unsent on one subflow");

    lever.clear(upload.conn()).expect("clear");
    let pass = inside(&hosts.client, || lever.apply().expect("walk"));
    assert_eq!(pass.changed(), 2, "{pass:?}");
    eventually(
        "many unsent bytes again",
        || most() > bound,
        || format!("{:?}", unsent(&hosts.client)),
    );
    assert_eq!(
        inside(&hosts.client, || lever.apply().expect("walk")),
        Pass::default()
    );
}

#[test]
fn limits_left_by_a_crash_are_restored_at_the_next_start() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(2, 20);
    let upload = deep_transfer(&hosts, Direction::Upload);
    inside(&hosts.client, || {
        let mut unsent = UnsentLever::load().expect("load");
        let mut clamp = WindowLever::load_kind(WindowKind::Clamp).expect("load");
        unsent.set(upload.conn(), LIMIT).expect("set");
        clamp.set(upload.conn(), LIMIT).expect("set");
        assert_eq!(unsent.apply().expect("walk").changed(), 2);
        assert_eq!(clamp.apply().expect("walk").changed(), 2);
    });
    let restored = inside(&hosts.client, || restore_subflows().expect("restore"));
    assert_eq!((restored.changed(), restored.refused()), (4, 0), "{restored:?}");
    let again = inside(&hosts.client, || restore_subflows().expect("restore"));
    assert_eq!(again, Pass::default());
    eventually_deep(&upload, Direction::Upload);
}

#[test]
fn plain_tcp_and_other_connections_are_not_touched() {
    if !can_run() {
        return;
    }
    let hosts = Hosts::joined(2, 20);
    let ends = Ends {
        client: Protocol::MPTCP,
        server: Protocol::TCP,
    };
    let start = |port, ends| {
        let address = hosts.server_address(port);
        Transfer::start(&hosts.client, &hosts.server, address, ends, Direction::Upload)
    };
    let (limited, _other, _plain) = (start(5001, MPTCP), start(5002, MPTCP), start(5003, ends));
    let mut lever = UnsentLever::load().expect("load");
    lever.set(limited.conn(), LIMIT).expect("set");
    let pass = inside(&hosts.client, || lever.apply().expect("walk"));
    assert!(!pass.subflows.is_empty());
    assert!(
        pass.subflows.iter().all(|subflow| subflow.conn == limited.conn()),
        "{pass:?}"
    );
}

/// A tenth of a link's rate.
const SLOW: Bitrate = Bitrate::from_mbps(2);
/// The same in bytes per second.
const CAP: Bytes = Bytes::new(250_000);

/// An upload over two links, from a host with this controller, and one of its subflows.
fn upload_with(controller: &str) -> (Hosts, Transfer, PacedSubflow) {
    let hosts = Hosts::joined(2, 20);
    run(
        &hosts.client,
        &format!("sysctl -qw net.ipv4.tcp_congestion_control={controller}"),
    );
    let upload = deep_transfer(&hosts, Direction::Upload);
    let (local_port, _) = subflows(&hosts.client)[0];
    let subflow = PacedSubflow {
        conn: upload.conn(),
        local_port,
    };
    (hosts, upload, subflow)
}

/// The local port of each of the host's subflows, and the bytes acknowledged on it.
fn subflows(host: &Netns) -> Vec<(u16, u64)> {
    let listing = run(host, "ss -tinHO state established");
    let mptcp = listing.lines().filter(|line| line.contains("tcp-ulp-mptcp"));
    let mut found: Vec<(u16, u64)> = mptcp.filter_map(port_and_acked).collect();
    found.sort_unstable();
    found
}

fn port_and_acked(line: &str) -> Option<(u16, u64)> {
    let mut words = line.split_whitespace();
    let local = words.nth(2)?;
    let port = local.rsplit(':').next()?.parse().ok()?;
    let acked = words.find_map(|word| word.strip_prefix("bytes_acked:"))?;
    Some((port, acked.parse().ok()?))
}

/// Rate acknowledged on one subflow during the next 500 ms.
fn moves(host: &Netns, port: u16) -> Bitrate {
    let acked = || {
        let found = subflows(host);
        let of_it = found.iter().find(|(of, _)| *of == port);
        Bytes::new(of_it.expect("the subflow stays open").1)
    };
    let (before, began) = (acked(), Instant::now());
    std::thread::sleep(Duration::from_millis(500));
    let moved = acked().saturating_sub(before);
    moved.per(units::Duration::from_nanos(began.elapsed().as_nanos() as u64))
}

#[test]
fn a_cap_slows_one_pacing_subflow_until_it_is_cleared() {
    if !can_run() {
        return;
    }
    let (hosts, _upload, subflow) = upload_with("bbr");
    let mut lever = PacingLever::load().expect("this kernel has iterators");
    lever.set(subflow, SLOW).expect("set");
    let pass = inside(&hosts.client, || lever.apply().expect("walk"));
    assert_eq!(
        (pass.subflows.len(), pass.changed(), pass.refused()),
        (1, 1, 0),
        "{pass:?}"
    );
    assert_eq!(pass.subflows[0].after, CAP);
    let shows = || run(&hosts.client, "ss -tinH state established");
    eventually(
        "a slow subflow",
        || moves(&hosts.client, subflow.local_port) < SLOW.percent(150),
        shows,
    );
    lever.clear(subflow).expect("clear");
    let pass = inside(&hosts.client, || lever.apply().expect("walk"));
    assert_eq!((pass.changed(), pass.refused()), (1, 0), "{pass:?}");
    eventually(
        "a fast subflow",
        || moves(&hosts.client, subflow.local_port) > SLOW.percent(300),
        shows,
    );
    assert_eq!(
        inside(&hosts.client, || lever.apply().expect("walk")),
        Pass::default()
    );
}

#[test]
fn a_subflow_that_does_not_pace_stays_so() {
    if !can_run() {
        return;
    }
    let (hosts, _upload, subflow) = upload_with("reno");
    let mut lever = PacingLever::load().expect("load");
    lever.set(subflow, SLOW).expect("set");
    let pass = inside(&hosts.client, || lever.apply().expect("walk"));
    assert_eq!((pass.subflows.len(), pass.changed()), (1, 0), "{pass:?}");
}

#[test]
fn a_cap_left_by_a_crash_is_restored_and_no_program_can_have_set_it() {
    if !can_run() {
        return;
    }
    let (hosts, upload, subflow) = upload_with("bbr");
    let rate = CAP.get() as libc::c_uint;
    // SAFETY: the socket is open, and the value has the given length.
    let set = unsafe {
        libc::setsockopt(
            upload.client.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const rate).cast(),
            size_of_val(&rate) as libc::socklen_t,
        )
    };
    assert_eq!(set, -1, "the kernel should refuse it on an MPTCP socket");
    let undone = || {
        let pass = inside(&hosts.client, || restore_subflows().expect("restore"));
        assert_eq!(pass.refused(), 0, "{pass:?}");
        let caps = pass.subflows.iter().filter(|limit| limit.before == CAP);
        caps.count()
    };
    assert_eq!(undone(), 0);
    inside(&hosts.client, || {
        let mut lever = PacingLever::load().expect("load");
        lever.set(subflow, SLOW).expect("set");
        assert_eq!(lever.apply().expect("walk").changed(), 1);
    });
    assert_eq!(undone(), 1);
    assert_eq!(undone(), 0);
}
