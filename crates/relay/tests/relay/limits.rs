//! The limits of a relay: connections in total, of a key, without a request, and with a slow end.

use crate::rig::{PATIENCE, Rig, listener, nonce, now_s, reply, request, until};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use wire::convert::{Code, Reply};

/// A header of which the last byte is missing.
const HALF: [u8; 3] = [1, 17, 0x22];

fn refused(code: Code) -> Reply {
    Reply::Refused(Some(code))
}

/// Closes a connection whose server does not close: an ordinary end would close one direction only.
fn abandon(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// Resident memory of the relay, in bytes.
fn resident(rig: &Rig) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", rig.relay.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

fn descriptors(rig: &Rig) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", rig.relay.id()));
    open.unwrap().count()
}

#[test]
fn a_client_without_a_request_is_closed_after_its_time() {
    let rig = Rig::new("silent", "request_timeout_s = 1");
    let mut half = rig.connect();
    half.write_all(&HALF).unwrap();
    assert_eq!(
        half.read_exact(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(rig.status()["request_timeouts"], 1);
}

#[test]
fn a_key_has_a_limit_of_connections() {
    let rig = Rig::new("limit", "connections_per_key = 2");
    let (_server, address) = listener(Protocol::TCP);
    let (first, _) = rig.open(address);
    let _second = rig.open(address);
    assert_eq!(rig.ask(&rig.car, address).1.unwrap(), refused(Code::Resources));
    // Its server does not close, so an ordinary end would close one direction only.
    SockRef::from(&first).set_linger(Some(Duration::ZERO)).unwrap();
    drop(first);
    until("there is a place again", || {
        matches!(rig.ask(&rig.car, address).1, Ok(Reply::Connected { .. }))
    });
}

#[test]
fn a_key_can_have_a_limit_of_its_own() {
    let own = "[key.bus]\nallow = [\"127.0.0.1\"]\nconnections = 1";
    let rig = Rig::new("own-limit", own);
    let (_server, address) = listener(Protocol::TCP);
    let (_first, opened) = rig.ask(&rig.bus, address);
    assert!(matches!(opened, Ok(Reply::Connected { .. })));
    assert_eq!(rig.ask(&rig.bus, address).1.unwrap(), refused(Code::Resources));
    rig.open(address);
}

#[test]
fn beyond_the_total_limit_connections_wait_in_the_kernel() {
    // One fewer than this machine has listeners would let some of them wait for ever.
    for limit in [1, 2] {
        let rig = Rig::new(&format!("total-{limit}"), &format!("connections = {limit}"));
        let (_server, address) = listener(Protocol::TCP);
        let mut open = Vec::from_iter((0..limit).map(|_| rig.open(address).0));
        let mut late = Vec::from_iter((0..8).map(|_| {
            let mut stream = rig.connect();
            let asks = request(&rig.car, now_s(), nonce(), address);
            stream.write_all(&asks).unwrap();
            stream
        }));
        // Whoever waits gets neither a reply nor a reset.
        for stream in &mut late {
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        assert_eq!(rig.status()["accepted"], limit);
        abandon(open.remove(0));
        // Each of them has its turn, in an order that the kernel chooses.
        while !late.is_empty() {
            let mut served = None;
            until("one of those that wait is served", || {
                served = late.iter().position(|stream| {
                    stream.set_nonblocking(true).unwrap();
                    let peeked = stream.peek(&mut [0]);
                    stream.set_nonblocking(false).unwrap();
                    peeked.is_ok_and(|count| count == 1)
                });
                served.is_some()
            });
            let mut stream = late.remove(served.unwrap());
            assert!(matches!(reply(&mut stream), Ok(Reply::Connected { .. })));
            abandon(stream);
        }
    }
}

#[test]
fn ten_thousand_half_open_requests_take_few_places_and_delay_nobody_for_long() {
    const PLACES: usize = 32;
    const STRANGERS: usize = 10_000;
    linux::limits::raise_descriptors();
    let rig = Rig::new("half", &format!("requests = {PLACES}\nrequest_timeout_s = 300"));
    let (_server, address) = listener(Protocol::TCP);
    let before = resident(&rig);
    let half = Vec::from_iter((0..STRANGERS).map(|_| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.set_nonblocking(true).unwrap();
        // It is in progress.
        let _ = socket.connect(&rig.address.into());
        socket
    }));
    let begun = half.iter().filter(|socket| socket.send(&HALF).is_ok());
    assert!(begun.count() >= PLACES, "some have begun a request");
    until("all places are taken", || rig.status()["accepted"] == PLACES);
    // The others wait in the kernel: a paused relay has accepted no more of them.
    let files = descriptors(&rig);
    assert!(files < PLACES + 100, "{files}");
    let grown = resident(&rig).saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes");
    drop(half);
    rig.open(address);
}

#[test]
fn a_request_may_take_its_time_but_not_more() {
    let rig = Rig::new("drop-by-drop", "request_timeout_s = 1");
    let (_server, address) = listener(Protocol::TCP);
    let mut stream = rig.connect();
    // A byte now and then does not prolong it.
    let error = request(&rig.car, now_s(), nonce(), address)
        .iter()
        .find_map(|byte| {
            thread::sleep(Duration::from_millis(50));
            stream.write_all(&[*byte]).err()
        });
    // 68 bytes would take 3.4 s.
    let error = error.expect("it is closed in the midst of the request");
    assert!(
        matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        "{error}"
    );
    assert_eq!(rig.status()["request_timeouts"], 1);
}

#[test]
fn an_end_that_reads_slowly_for_ever_slows_the_other_and_costs_the_relay_nothing() {
    // What the kernel may keep for the four sockets, and a pipe of the relay.
    const BETWEEN: u64 = 64 << 20;
    let rig = Rig::new("slow", "stalled_timeout_s = 1");
    let (server, address) = listener(Protocol::TCP);
    let (mut client, _) = rig.open(address);
    let (mut slow, _) = server.accept().unwrap();
    let before = resident(&rig);
    let written = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = written.clone();
    let writer = thread::spawn(move || {
        let chunk = [7; 64 * 1024];
        while client.write_all(&chunk).is_ok() {
            count.fetch_add(chunk.len() as u64, std::sync::atomic::Ordering::Relaxed);
        }
    });
    // Three times as long as an end may refuse bytes altogether.
    let began = Instant::now();
    let mut read = 0;
    let mut buffer = vec![0; 512 * 1024];
    while began.elapsed() < Duration::from_secs(3) {
        thread::sleep(Duration::from_millis(100));
        slow.read_exact(&mut buffer).unwrap();
        read += buffer.len() as u64;
    }
    let ahead = written
        .load(std::sync::atomic::Ordering::Relaxed)
        .saturating_sub(read);
    assert!(ahead < BETWEEN, "the writer is {ahead} bytes ahead");
    let grown = resident(&rig).saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes");
    assert_eq!(rig.status()["keys"]["car"]["open"], 1);
    abandon(slow);
    writer.join().unwrap();
}

#[test]
fn bytes_behind_a_request_are_the_servers() {
    let rig = Rig::new("behind", "");
    let (server, address): (_, SocketAddr) = listener(Protocol::TCP);
    let mut bytes = request(&rig.car, now_s(), nonce(), address);
    bytes.extend(b"early");
    let (_client, opened) = rig.say(&bytes);
    assert!(matches!(opened, Ok(Reply::Connected { .. })));
    let (mut accepted, _) = server.accept().unwrap();
    let mut got = [0; 5];
    accepted.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"early");
}
