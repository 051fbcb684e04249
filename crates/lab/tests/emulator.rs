//! The emulator between two real kernels: packets fare as the link's configuration says.

mod common;

use common::{Bench, Want};

use links::{CableConfig, Fault, FaultTarget, LinkConfig, LinkId, QueueConfig, Scheduled, Step};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use units::{Bitrate, Bytes, Duration, Instant, Ratio};

fn cable(name: &str, mbps: u64, rtt_ms: u64) -> CableConfig {
    CableConfig::symmetric(
        name,
        Bitrate::from_mbps(mbps),
        Duration::from_micros(rtt_ms * 500),
    )
}

fn three() -> Vec<LinkConfig> {
    [("one", 30, 20), ("two", 30, 30), ("three", 30, 50)]
        .map(|(name, mbps, rtt)| LinkConfig::Cable(cable(name, mbps, rtt)))
        .into()
}

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn one_mptcp_download_uses_three_links_and_arrives_intact() {
    let bench = Bench::start(Want::links(three()));
    let outcome = bench.download(Some(Bytes::new(20_000_000)), PATIENCE);
    assert!(outcome.intact, "{:?}", outcome.broken);
    assert_eq!(outcome.meter.bytes(), Bytes::new(20_000_000));
    let report = bench.emulator.finish();
    for link in &report.links {
        assert!(link.down > Bytes::new(1_000_000), "{report:?}");
    }
    // 20 MB cannot be faster than the three bottlenecks together.
    let least = Bitrate::from_mbps(90).time_for(Bytes::new(20_000_000)).unwrap();
    assert!(outcome.ended.since(Instant::ZERO) >= least, "{}", outcome.ended);
    assert!(report.lateness.packets() > 14_000);
    assert_eq!(report.refused, 0);
}

#[test]
fn an_upload_uses_the_links_in_reverse() {
    let bench = Bench::start(Want::links(three()));
    let work = scenario::Work::Upload {
        size: Some(Bytes::new(5_000_000)),
        limit: None,
    };
    let outcome = bench.transfer(work, lab::traffic::Via::Mptcp, PATIENCE);
    assert!(outcome.intact, "{:?}", outcome.broken);
    let report = bench.emulator.finish();
    let up: Bytes = report.links.iter().map(|link| link.up).sum();
    assert!(up > Bytes::new(5_000_000), "{report:?}");
}

/// The next datagram and its sender.
fn received(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer) {
            // With a deadline set, a machine that was stopped and continues interrupts the wait (signal(7)).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            received => return received.expect("the datagram comes"),
        }
    }
}

/// Sends one datagram from the client and waits for the echo of a server that runs beside it. Returns how
/// long that took.
fn echo(bench: &Bench, payload: &[u8]) -> Duration {
    let server = bench
        .hosts
        .server
        .run(|| UdpSocket::bind(("0.0.0.0", 7)).unwrap())
        .unwrap();
    let client = bench
        .hosts
        .client
        .run(|| UdpSocket::bind("0.0.0.0:0").unwrap())
        .unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let begun = bench.clock.now();
    client.send_to(payload, (bench.addressing.server, 7)).unwrap();
    let mut buffer = vec![0; 65_536];
    let (len, from) = received(&server, &mut buffer);
    assert_eq!(&buffer[..len], payload);
    server.send_to(&buffer[..len], from).unwrap();
    let (len, _) = received(&client, &mut buffer);
    assert_eq!(&buffer[..len], payload);
    bench.clock.now().since(begun)
}

#[test]
fn a_round_trip_takes_the_delay_both_ways() {
    let bench = Bench::start(Want::links(vec![LinkConfig::Cable(cable("one", 100, 40))]));
    // Other load on the machine only adds to a round trip, so the shortest of several is the link's.
    let took = (0..10).map(|_| echo(&bench, b"ping")).min().unwrap();
    assert!(took >= Duration::from_millis(40), "{took:?}");
    assert!(took < Duration::from_millis(200), "{took:?}");
}

#[test]
fn fragments_pass_and_are_reassembled() {
    let bench = Bench::start(Want::links(vec![LinkConfig::Cable(cable("one", 100, 4))]));
    let payload: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
    echo(&bench, &payload);
}

#[test]
fn two_links_with_the_same_private_network_carry_one_connection() {
    let home = Some((Ipv4Addr::new(192, 168, 1, 0), 24));
    let mut want = Want::links(vec![
        LinkConfig::Cable(cable("one", 20, 20)),
        LinkConfig::Cable(cable("two", 20, 20)),
    ]);
    want.subnets = vec![home, home];
    let bench = Bench::start(want);
    // UDP and fragments through NAT.
    echo(&bench, &[1; 4_000]);
    let outcome = bench.download(Some(Bytes::new(8_000_000)), PATIENCE);
    assert!(outcome.intact, "{:?}", outcome.broken);
    let report = bench.emulator.finish();
    assert!(
        report.links.iter().all(|link| link.down > Bytes::new(1_000_000)),
        "{report:?}"
    );
}

#[test]
fn a_lossy_link_drops_packets_and_the_transfer_arrives() {
    let mut lossy = cable("one", 50, 10);
    lossy.down.loss = Ratio::from_ppm(10_000);
    let bench = Bench::start(Want::links(vec![LinkConfig::Cable(lossy)]));
    let outcome = bench.download(Some(Bytes::new(3_000_000)), PATIENCE);
    assert!(outcome.intact, "{:?}", outcome.broken);
    let report = bench.emulator.finish();
    assert!(report.links[0].losses.loss > 0, "{report:?}");
}

#[test]
fn codel_marks_ecn_capable_packets() {
    let mut marking = cable("one", 20, 20);
    marking.down.queue = QueueConfig::codel(true);
    let bench = Bench::start(Want::links(vec![LinkConfig::Cable(marking)]));
    let ask = |value| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", value).unwrap();
    bench.hosts.client.run(|| ask("1")).unwrap();
    let outcome = bench.download(Some(Bytes::new(10_000_000)), PATIENCE);
    assert!(outcome.intact, "{:?}", outcome.broken);
    let received_ce = bench
        .hosts
        .client
        .run(|| linux::netstat::counted("IpExt", "InCEPkts"))
        .unwrap();
    let report = bench.emulator.finish();
    let marked: Vec<u64> = report.marks.values().copied().collect();
    assert_eq!(
        marked,
        [report.links[0].counters.ce_marks],
        "one flow's: {report:?}"
    );
    assert!(marked[0] > 0, "{report:?}");
    assert!(received_ce > Some(0), "the client's kernel saw marks");
}

#[test]
fn a_black_hole_drops_everything_and_records_when() {
    let fault = |ms, on| Scheduled {
        at: Instant::from_millis(ms),
        step: Step::Fault(FaultTarget::Link(LinkId(0)), Fault::Blackhole(on)),
    };
    let mut want = Want::links(three());
    want.schedule = vec![fault(1_000, true), fault(4_000, false)];
    let bench = Bench::start(want);
    let outcome = bench.download(None, Duration::from_secs(8));
    assert!(outcome.intact, "{:?}", outcome.broken);
    let report = bench.emulator.finish();
    let [hole, repaired] = report.faults[..] else {
        panic!("{report:?}")
    };
    assert!(hole.applied >= Instant::from_millis(1_000) && repaired.applied >= Instant::from_millis(4_000));
    assert!(hole.swallowed > 0 && hole.holds(), "{hole:?}");
    assert_eq!(report.links[0].losses.fault, hole.swallowed);
    assert_eq!(outcome.connections, 1);
}

#[test]
fn a_tcp_connection_is_bound_to_its_link() {
    let bench = Bench::start(Want::links(three()));
    let via = lab::traffic::Via::Tcp {
        device: "two".into(),
        usable: std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true)),
    };
    let work = scenario::Work::Download {
        size: Some(Bytes::new(2_000_000)),
        limit: None,
    };
    let outcome = bench.transfer(work, via, PATIENCE);
    assert!(outcome.intact, "{:?}", outcome.broken);
    let report = bench.emulator.finish();
    assert!(report.links[1].down > Bytes::new(2_000_000));
    assert_eq!(
        (report.links[0].down, report.links[2].down),
        (Bytes::ZERO, Bytes::ZERO)
    );
}
