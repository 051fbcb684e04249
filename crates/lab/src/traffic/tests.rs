//! Over loopback, in a namespace of its own.

#[path = "../../../linux/src/testing/patience.rs"]
mod patience;

use super::*;
use crate::clock::Clock;
use linux::netns::Netns;
use linux::sysctl::{self, Key};
use patience::Patience;
use scenario::{OnOff, Pace, Way, Work};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use trace::FlowMeter;
use units::{Bitrate, Bytes, Duration, Instant};

/// Length of a run: long enough to move some data whatever else the machine does.
const RUN: Duration = Duration::from_secs(2);

struct Place {
    netns: Netns,
    server: Server,
    clock: Clock,
}

fn place() -> Place {
    let netns = Netns::new().expect("these tests need root");
    let clock = Clock::start();
    let address: SocketAddr = "127.0.0.1:5001".parse().unwrap();
    let server = Server::start(&netns, address, "reno", clock).unwrap();
    Place { netns, server, clock }
}

fn task(place: &Place, work: Work, until: Duration) -> Task {
    Task {
        name: "flow".into(),
        work,
        via: Via::Mptcp,
        server: place.server.address(),
        cc: "reno".into(),
        seed: 7,
        clock: place.clock,
        until: place.clock.now() + until,
        stop: Arc::default(),
        watchlist: Watchlist::default(),
    }
}

fn play(place: &Place, task: &Task) -> (Outcome, Vec<(Instant, Told)>) {
    let (tell, told) = channel();
    let outcome = place
        .netns
        .run(|| run(task, &place.server, &|now, what| drop(tell.send((now, what)))))
        .unwrap()
        .unwrap();
    drop(tell);
    (outcome, told.iter().collect())
}

#[test]
fn a_download_of_a_given_size_arrives_whole() {
    let place = place();
    let work = Work::Download {
        size: Some(Bytes::new(3_000_001)),
        limit: None,
    };
    let (outcome, told) = play(&place, &task(&place, work, Duration::from_secs(20)));
    assert!(outcome.intact && outcome.broken.is_empty());
    assert_eq!(outcome.meter.bytes(), Bytes::new(3_000_001));
    assert!(outcome.ended < place.clock.now());
    assert!(told.iter().any(|(_, told)| matches!(told, Told::Bytes(_))));
}

#[test]
fn an_endless_download_ends_with_the_run_and_is_intact() {
    let place = place();
    let work = Work::Download {
        size: None,
        limit: Some(Bitrate::from_mbps(80)),
    };
    let (outcome, _) = play(&place, &task(&place, work, RUN));
    assert!(outcome.intact);
    let bytes = outcome.meter.bytes().get();
    assert!(
        (1_000_000..=20_000_000).contains(&bytes),
        "{bytes} bytes at 80 Mb/s in {RUN:?}"
    );
}

#[test]
fn uploads_are_checked_at_the_server() {
    let place = place();
    let sized = Work::Upload {
        size: Some(Bytes::new(2_000_003)),
        limit: None,
    };
    let (outcome, _) = play(&place, &task(&place, sized, Duration::from_secs(20)));
    assert!(outcome.intact);
    assert_eq!(outcome.meter.bytes(), Bytes::new(2_000_003));
    let endless = Task {
        seed: 8,
        ..task(
            &place,
            Work::Upload {
                size: None,
                // Limited, because every byte is hashed.
                limit: Some(Bitrate::from_mbps(80)),
            },
            RUN,
        )
    };
    let (outcome, _) = play(&place, &endless);
    assert!(outcome.intact && outcome.meter.bytes() > Bytes::ZERO);
}

/// The pause lasts until the run ends.
#[test]
fn a_source_that_pauses_is_checked_and_no_stall_in_either_direction() {
    for up in [false, true] {
        let place = place();
        let turns = OnOff {
            on: Duration::from_millis(50),
            off: Duration::from_secs(60),
        };
        let work = Work::OnOff { up, turns };
        let (outcome, told) = play(&place, &task(&place, work, Duration::from_secs(4)));
        assert!(outcome.intact && outcome.broken.is_empty(), "{outcome:?}");
        assert!(outcome.meter.bytes() > Bytes::ZERO, "up: {up}");
        assert_eq!(outcome.connections, 1);
        assert!(told.iter().any(|(_, told)| matches!(told, Told::Bytes(_))));
        // Without turns, all that remains of the run would be one.
        let stalled = outcome.meter.stalls().total();
        assert!(stalled < Duration::from_secs(1), "{stalled:?}");
    }
}

#[test]
fn a_file_is_fetched_in_blocks_over_several_connections() {
    let place = place();
    let bound = |link| {
        super::Place::Link(Bound {
            link: policy::LinkId(link),
            device: "lo".into(),
            usable: Arc::new(AtomicBool::new(true)),
            server: place.server.address(),
        })
    };
    let work = Work::Stripe {
        size: Bytes::new(3_000_001),
        block: Bytes::new(100_000),
        skip: scenario::Skip::None,
        video: None,
    };
    let task = Task {
        via: Via::Several(vec![bound(0), bound(1), bound(2)]),
        ..task(&place, work, Duration::from_secs(20))
    };
    let (outcome, told) = play(&place, &task);
    assert!(outcome.intact && outcome.broken.is_empty(), "{outcome:?}");
    assert_eq!(outcome.meter.bytes(), Bytes::new(3_000_001));
    assert!((1..=3).contains(&outcome.connections));
    assert!(outcome.ended < place.clock.now());
    assert!(told.iter().any(|(_, told)| matches!(told, Told::Bytes(_))));
}

/// Blocks the loopback from 0.5 s on, for 1.5 s.
fn cut(place: &Place) {
    let set_up = |up| {
        let change = || linux::rtnl::Rtnl::open().unwrap().set_up(1, up).unwrap();
        place.netns.run(change).unwrap();
    };
    std::thread::sleep(std::time::Duration::from_millis(500));
    set_up(false);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    set_up(true);
}

#[test]
fn plain_tcp_resumes_after_a_second_of_silence() {
    let moves = [
        Work::Upload {
            size: None,
            limit: Some(Bitrate::from_mbps(20)),
        },
        Work::Download {
            size: None,
            limit: Some(Bitrate::from_mbps(20)),
        },
    ];
    for work in moves {
        let place = place();
        let usable = Arc::new(true.into());
        let via = Via::Tcp {
            device: "lo".into(),
            usable,
        };
        let task = Task {
            via,
            ..task(&place, work, Duration::from_secs(8))
        };
        let (outcome, told) = std::thread::scope(|scope| {
            scope.spawn(|| cut(&place));
            play(&place, &task)
        });
        let stalls = told.iter().filter(|(_, told)| matches!(told, Told::Stall(_)));
        assert!(stalls.count() >= 1, "the cut was felt");
        assert_eq!(outcome.connections, 2, "{outcome:?}");
        assert!(outcome.intact, "{outcome:?}");
        assert!(outcome.meter.bytes() > Bytes::new(5_000_000), "{outcome:?}");
    }
}

#[test]
fn plain_tcp_sends_no_syn_before_its_link_is_usable() {
    let place = place();
    let work = Work::Download {
        size: Some(Bytes::new(10_000)),
        limit: None,
    };
    let usable = Arc::new(AtomicBool::new(false));
    let via = Via::Tcp {
        device: "lo".into(),
        usable: Arc::clone(&usable),
    };
    let until = place.clock.now() + Duration::from_secs(20);
    let task = Task {
        via,
        until,
        ..task(&place, work, Duration::ZERO)
    };
    let opened = || tcp_counter(&place, "ActiveOpens");
    let outcome = std::thread::scope(|scope| {
        let transfer = scope.spawn(|| play(&place, &task).0);
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(opened(), 0, "it waits");
        usable.store(true, Ordering::Relaxed);
        transfer.join().unwrap()
    });
    assert_eq!((opened(), outcome.connections), (1, 1), "{outcome:?}");
    assert!(outcome.intact, "{outcome:?}");
}

/// A TCP counter of the namespace.
fn tcp_counter(place: &Place, name: &str) -> u64 {
    let text = place
        .netns
        .run(|| std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap())
        .unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    let found = pairs.find(|(key, _)| *key == name);
    found.expect("the kernel counts it").1.parse().unwrap()
}

/// Sends `bytes` to the client that orders a download here, whatever it ordered.
fn false_server(place: &Place, bytes: Vec<u8>) -> SocketAddr {
    let listener = place
        .netns
        .run(|| TcpListener::bind("127.0.0.1:0").unwrap())
        .unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        order::Order::read(&mut stream).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // Until the client has closed.
        let _ = stream.read(&mut [0]);
    });
    address
}

#[test]
fn a_changed_byte_of_a_download_is_noticed() {
    let place = place();
    let length = 300_000;
    let mut content = vec![0; length];
    content::fill(7, 0, &mut content);
    for changed in [None, Some(0), Some(length / 2), Some(length - 1)] {
        let mut sent = content.clone();
        if let Some(at) = changed {
            sent[at] ^= 1;
        }
        let work = Work::Download {
            size: Some(Bytes::new(length as u64)),
            limit: None,
        };
        let task = Task {
            server: false_server(&place, sent),
            ..task(&place, work, Duration::from_secs(20))
        };
        let (outcome, _) = play(&place, &task);
        assert_eq!(outcome.meter.bytes(), Bytes::new(length as u64));
        assert_eq!(outcome.intact, changed.is_none(), "byte {changed:?}");
    }
}

/// Uploads these bytes in place of an upload's own, and closes.
fn false_upload(place: &Place, id: u64, bytes: &[u8]) -> [bool; 2] {
    let now = place.clock.now();
    let (meter, until) = (FlowMeter::new("up", now), now + Duration::from_secs(20));
    let received = place.server.expect(id, meter, until);
    let connect = || TcpStream::connect(place.server.address()).unwrap();
    let mut stream = place.netns.run(connect).unwrap();
    order::Order::Up { id, resumes: false }
        .write(&mut stream)
        .unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    while !received::lock(&received).complete {
        assert!(place.clock.now() < until, "the server has not read the upload");
        std::thread::sleep(Duration::from_millis(5));
    }
    let received = received::lock(&received);
    let size = bytes.len() as u64;
    [size, size + 1].map(|size| upload::is_intact(&received, id, size))
}

#[test]
fn a_changed_or_a_missing_byte_of_an_upload_is_noticed() {
    let place = place();
    let mut content = vec![0; 300_000];
    content::fill(9, 0, &mut content);
    assert_eq!(
        false_upload(&place, 9, &content),
        [true, false],
        "whole, and one byte short"
    );
    content[150_000] ^= 1;
    assert_eq!(false_upload(&place, 9, &content), [false, false]);
}

#[test]
fn every_request_is_answered_and_timed() {
    let place = place();
    let work = Work::Requests {
        every: Duration::from_millis(20),
        request: Bytes::new(128),
        reply: Bytes::new(4_096),
    };
    let (outcome, _) = play(&place, &task(&place, work, RUN));
    assert!(
        outcome.intact && outcome.requests.len() >= 5,
        "{} replies",
        outcome.requests.len()
    );
    assert!(outcome.meter.bytes().get() >= outcome.requests.len() as u64 * 4_096);
}

#[test]
fn a_run_can_be_stopped_while_nobody_answers() {
    let place = place();
    let work = Work::Download {
        size: None,
        limit: None,
    };
    // There is no route to it, so connecting fails at once and is retried.
    let nowhere = Task {
        server: "192.0.2.1:5001".parse().unwrap(),
        ..task(&place, work, Duration::from_secs(600))
    };
    let stop = Arc::clone(&nowhere.stop);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    let (outcome, _) = play(&place, &nowhere);
    stopper.join().unwrap();
    assert_eq!(outcome.connections, 0);
    assert_eq!(outcome.meter.bytes(), Bytes::ZERO);
}

#[test]
fn a_controller_that_the_kernel_does_not_have_is_an_error() {
    let netns = Netns::new().unwrap();
    let address: SocketAddr = "127.0.0.1:5001".parse().unwrap();
    assert!(Server::start(&netns, address, "nonesuch", Clock::start()).is_err());
}

#[test]
fn both_ends_of_a_connection_can_be_polled() {
    let place = place();
    let work = Work::Download {
        size: Some(Bytes::new(1_000_000)),
        limit: None,
    };
    let task = task(&place, work, Duration::from_secs(20));
    let (outcome, _) = play(&place, &task);
    assert!(outcome.intact);
    let received: Vec<ConnectionSample> = task.watchlist.look();
    let [look] = &received[..] else {
        panic!("one connection, ended: {received:?}")
    };
    assert!(
        look.token.is_some() && look.end == End::Client && look.flow == task.seed,
        "{look:?}"
    );
    assert_eq!(look.subflows.len(), 1);
    // MPTCP's retransmissions and the FIN count too.
    assert!(look.subflows[0].received >= Bytes::new(1_000_000), "{look:?}");
    assert_eq!(look.subflows[0].remote, place.server.address());
    assert!(task.watchlist.look().is_empty(), "told once");
}

#[test]
fn the_server_distinguishes_plain_tcp_from_mptcp() {
    let place = place();
    let work = Work::Download {
        size: None,
        limit: Some(Bitrate::from_mbps(8)),
    };
    let task = Task {
        via: Via::Tcp {
            device: "lo".into(),
            usable: Arc::new(true.into()),
        },
        ..task(&place, work, Duration::from_secs(20))
    };
    let (watchlist, seen) = (place.server.watchlist().clone(), Arc::clone(&task.stop));
    let looker = std::thread::spawn(move || {
        let mut deadline = Patience::of(Duration::from_secs(20));
        loop {
            let looks = watchlist.look();
            let moved = looks
                .iter()
                .find(|look| look.subflows.iter().any(|subflow| subflow.acked > Bytes::ZERO));
            if let Some(look) = moved {
                seen.store(true, Ordering::Relaxed);
                return look.clone();
            }
            assert!(deadline.lasts(), "nothing was seen to move");
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let (outcome, _) = play(&place, &task);
    let look = looker.join().unwrap();
    assert!(outcome.intact);
    assert_eq!(
        (look.token, look.end, look.subflows.len()),
        (None, End::Server, 1),
        "{look:?}"
    );
}

#[test]
fn datagrams_keep_their_interval_in_both_directions() {
    let place = place();
    for way in [Way::Down, Way::Up] {
        let work = Work::Datagrams {
            way,
            pace: Pace::Every(Duration::from_millis(2)),
            payload: Bytes::new(1_000),
        };
        let task = Task {
            via: Via::Udp { device: "lo".into() },
            ..task(&place, work, Duration::from_secs(2))
        };
        let (outcome, told) = play(&place, &task);
        assert!(outcome.intact);
        let count = outcome.meter.bytes().get() / 1_000;
        // 1,000 at most; a sender that is kept off its processor does not make up for it.
        assert!(
            (100..=1_001).contains(&count) && outcome.meter.bytes().get() % 1_000 == 0,
            "{way:?}: {count}"
        );
        assert!(told.iter().any(|(_, told)| matches!(told, Told::Bytes(_))));
    }
}

#[test]
fn a_flow_bound_to_a_device_shares_no_port_with_one_that_is_not() {
    let place = place();
    let range = Key::new("net.ipv4.ip_local_port_range");
    let one_port = || sysctl::write(&range, "40000 40000");
    place.netns.run(one_port).unwrap().unwrap();
    let work = Work::Download {
        size: None,
        limit: None,
    };
    let everywhere = task(&place, work, RUN);
    let bound = Task {
        via: Via::Tcp {
            device: "lo".into(),
            usable: Arc::new(true.into()),
        },
        ..everywhere.clone()
    };
    let (first, _held) = place.netns.run(|| bound.connect()).unwrap().unwrap().unwrap();
    assert_eq!(first.local_addr().unwrap().port(), 40_000);
    let second = place.netns.run(|| everywhere.connect()).unwrap().unwrap();
    assert!(
        second.is_none(),
        "{:?}",
        second.map(|(stream, _)| stream.local_addr())
    );
}
