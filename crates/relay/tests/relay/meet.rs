//! Two clients that meet at the relay, and the question whether it would serve a client.

use crate::rig::{PATIENCE, Rig, nonce, now_s, reply, until};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use wire::convert::{Code, Reply, Request, Side, Token, Wanted};
use wire::cookie::Cookie;
use wire::mobility::Key;

const CONNECTED: Reply = Reply::Connected { mptcp: false };

fn asked(key: &Key, wanted: Wanted) -> Vec<u8> {
    Request::write(wanted, |signed| Cookie::seal(key, now_s(), nonce(), signed))
}

/// A client that has sent its request.
fn client(rig: &Rig, key: &Key, token: &str, side: Side) -> TcpStream {
    let mut stream = rig.connect();
    let request = asked(key, Wanted::Meet(Token::of(token), side));
    stream.write_all(&request).unwrap();
    stream
}

/// Waits until this many connections of a key wait or are carried.
fn open(rig: &Rig, key: &str, count: u64) {
    until("the relay has the connections", || {
        rig.status()["keys"][key]["open"] == count
    });
}

fn is_reset(stream: &mut TcpStream) -> bool {
    let read: io::Result<()> = stream.read_exact(&mut [0]);
    read.unwrap_err().kind() == ErrorKind::ConnectionReset
}

#[test]
fn bytes_of_two_clients_cross_whoever_comes_first() {
    let rig = Rig::new("meet", "");
    for first in [Side::Asks, Side::Offers] {
        let (one, two) = match first {
            Side::Asks => (("car", &rig.car, Side::Asks), (&rig.bus, Side::Offers)),
            Side::Offers => (("bus", &rig.bus, Side::Offers), (&rig.car, Side::Asks)),
        };
        let mut early = client(&rig, one.1, "a token", one.2);
        open(&rig, one.0, 1);
        let mut late = client(&rig, two.0, "a token", two.1);
        assert_eq!(reply(&mut late).unwrap(), CONNECTED);
        assert_eq!(reply(&mut early).unwrap(), CONNECTED);
        let sent = Vec::from_iter((0..300_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8));
        let (mut writer, bytes) = (early.try_clone().unwrap(), sent.clone());
        let write = thread::spawn(move || {
            writer.write_all(&bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        late.read_to_end(&mut got).unwrap();
        write.join().unwrap();
        assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
        late.write_all(b"and back").unwrap();
        drop(late);
        let mut back = String::new();
        early.read_to_string(&mut back).unwrap();
        assert_eq!(back, "and back");
        open(&rig, "car", 0);
        open(&rig, "bus", 0);
    }
    let status = rig.status();
    assert_eq!(status["meetings"], 2);
    assert_eq!(status["keys"]["car"]["connected"], 2);
}

#[test]
fn another_token_and_the_same_side_do_not_meet() {
    let rig = Rig::new("apart", "connect_timeout_s = 1");
    let mut offers = client(&rig, &rig.bus, "a token", Side::Offers);
    let mut other = client(&rig, &rig.car, "another", Side::Asks);
    let mut same = client(&rig, &rig.bus, "another", Side::Asks);
    for alone in [&mut other, &mut same] {
        let refused = Reply::Refused(Some(Code::Unreachable));
        assert_eq!(reply(alone).unwrap(), refused);
    }
    let mut asks = client(&rig, &rig.car, "a token", Side::Asks);
    assert_eq!(reply(&mut asks).unwrap(), CONNECTED);
    assert_eq!(reply(&mut offers).unwrap(), CONNECTED);
}

#[test]
fn the_newest_offer_is_taken_and_one_that_has_gone_is_not() {
    let rig = Rig::new("newest", "");
    let mut first = client(&rig, &rig.bus, "a token", Side::Offers);
    open(&rig, "bus", 1);
    let mut second = client(&rig, &rig.bus, "a token", Side::Offers);
    open(&rig, "bus", 2);
    let gone = client(&rig, &rig.bus, "a token", Side::Offers);
    open(&rig, "bus", 3);
    drop(gone);
    open(&rig, "bus", 2);
    for offers in [&mut second, &mut first] {
        let mut asks = client(&rig, &rig.car, "a token", Side::Asks);
        assert_eq!(reply(&mut asks).unwrap(), CONNECTED);
        assert_eq!(reply(offers).unwrap(), CONNECTED);
    }
}

#[test]
fn one_token_has_few_places() {
    let rig = Rig::new("places", "");
    let offers = Vec::from_iter((0..16).map(|_| client(&rig, &rig.bus, "a token", Side::Offers)));
    open(&rig, "bus", 16);
    let mut more = client(&rig, &rig.bus, "a token", Side::Offers);
    assert_eq!(reply(&mut more).unwrap(), Reply::Refused(Some(Code::Resources)));
    drop(offers);
}

#[test]
fn a_removed_key_ends_its_meetings_and_its_offers() {
    let rig = Rig::new("meet-keys", "");
    let mut offers = client(&rig, &rig.bus, "a token", Side::Offers);
    let mut asks = client(&rig, &rig.car, "a token", Side::Asks);
    assert_eq!(reply(&mut asks).unwrap(), CONNECTED);
    assert_eq!(reply(&mut offers).unwrap(), CONNECTED);
    let mut waits = client(&rig, &rig.bus, "a token", Side::Offers);
    open(&rig, "bus", 2);
    assert!(rig.run(&["key", "remove", "bus"]).status.success());
    for stream in [&mut offers, &mut asks, &mut waits] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(is_reset(stream));
    }
}

#[test]
fn a_client_can_ask_whether_it_would_be_served() {
    let rig = Rig::new("info", "");
    let stranger = Key::new([3; 32]);
    let refused = Reply::Refused(Some(Code::NotAuthorised));
    for (key, expected) in [(&rig.bus, Reply::Supported), (&stranger, refused)] {
        assert_eq!(rig.say(&asked(key, Wanted::Info)).1.unwrap(), expected);
    }
}
