//! What a relay refuses: wrong requests, wrong keys, and forbidden destinations.

use crate::rig::{Rig, deaf, listener, nonce, now_s, reply, request, until};
use socket2::Protocol;
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use wire::convert::{CONNECT, Code, HEADER, Reply};

fn refused(code: Code) -> Reply {
    Reply::Refused(Some(code))
}

#[test]
fn malformed_messages_get_the_error_of_the_rfc() {
    let rig = Rig::new("malformed", "");
    let whole = request(&rig.car, now_s(), nonce(), "127.0.0.1:9".parse().unwrap());
    let message = |tlvs: &[u8]| {
        let words = u8::try_from(1 + tlvs.len() / 4).unwrap();
        [&[1, words, 0x22, 0x63], tlvs].concat()
    };
    let connect = &whole[HEADER..HEADER + CONNECT];
    for (what, bytes, code) in [
        ("version 2", [2, 1, 0x22, 0x63].to_vec(), Code::Version),
        ("a length of zero", [1, 0, 0x22, 0x63].to_vec(), Code::Malformed),
        ("no TLV", message(&[]), Code::Malformed),
        ("a TLV of length zero", message(&[10, 0, 0, 0]), Code::Malformed),
        ("a TLV beyond the end", message(&[10, 200, 0, 0]), Code::Malformed),
        (
            "an unknown TLV",
            message(&[[99, 1, 0, 0].as_slice(), connect].concat()),
            Code::Unsupported,
        ),
        ("no cookie", message(connect), Code::NoCookie),
        (
            "bytes behind the last TLV",
            message(&[&whole[HEADER..], &[0; 4]].concat()),
            Code::Malformed,
        ),
    ] {
        assert_eq!(rig.say(&bytes).1.unwrap(), refused(code), "{what}");
    }
    // Another protocol learns nothing, not even that a relay listens.
    let (_, reply) = rig.say(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(reply.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(rig.status()["not_convert"], 1);
}

#[test]
fn only_a_fresh_cookie_of_a_known_key_is_accepted() {
    let rig = Rig::new("cookie", "");
    let (_server, address) = listener(Protocol::TCP);
    let stranger = wire::mobility::Key::new([3; 32]);
    let now = now_s();
    for (what, bytes) in [
        ("an unknown key", request(&stranger, now, nonce(), address)),
        ("an old cookie", request(&rig.car, now - 120, nonce(), address)),
        (
            "a cookie of the future",
            request(&rig.car, now + 120, nonce(), address),
        ),
    ] {
        assert_eq!(rig.say(&bytes).1.unwrap(), refused(Code::NotAuthorised), "{what}");
    }
    // Its last four bytes belong to the tag.
    let mut forged = request(&rig.car, now, nonce(), address);
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(rig.say(&forged).1.unwrap(), refused(Code::NotAuthorised));
    let once = request(&rig.car, now, nonce(), address);
    assert!(matches!(rig.say(&once).1, Ok(Reply::Connected { .. })));
    assert_eq!(rig.say(&once).1.unwrap(), refused(Code::NotAuthorised));
    assert_eq!(rig.status()["keys"]["car"]["connected"], 1);
}

#[test]
fn those_who_guess_keys_get_few_replies() {
    let rig = Rig::new("guess", "");
    let stranger = wire::mobility::Key::new([3; 32]);
    let (_server, address) = listener(Protocol::TCP);
    until("a guess gets no reply", || {
        let (_, reply) = rig.ask(&stranger, address);
        reply.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    });
}

#[test]
fn a_key_reaches_the_networks_of_the_relay_only_if_allowed() {
    let rig = Rig::new("egress", "");
    let (server, address) = listener(Protocol::TCP);
    server.set_nonblocking(true).unwrap();
    let port = address.port();
    for target in [
        format!("127.0.0.1:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[::1]:{port}"),
        format!("[64:ff9b::127.0.0.1]:{port}"),
        "169.254.169.254:80".to_owned(),
        "10.0.0.1:443".to_owned(),
        "192.0.2.1:25".to_owned(),
    ] {
        let (_, reply) = rig.ask(&rig.bus, target.parse().unwrap());
        assert_eq!(reply.unwrap(), refused(Code::NotAuthorised), "{target}");
    }
    assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(rig.status()["refused_egress"], 7);
    rig.open(address);
}

#[test]
fn a_server_that_does_not_listen_is_reported() {
    let rig = Rig::new("closed", "");
    let (_socket, address) = deaf();
    assert_eq!(rig.ask(&rig.car, address).1.unwrap(), refused(Code::Reset));
}

#[test]
fn random_messages_open_nothing() {
    let rig = Rig::new("random", "request_timeout_s = 1");
    let mut bytes = [0; 1_024];
    for round in 0..500_usize {
        relay::keys::random(&mut bytes).unwrap();
        let words = u8::try_from(1 + round % 16).unwrap();
        let length = usize::from(words) * 4;
        bytes[..HEADER].copy_from_slice(&[1, words, 0x22, 0x63]);
        // Types and lengths that are nearly valid reach further.
        if round % 2 == 0 {
            bytes[HEADER] = [10, 20, 22, 192][round / 2 % 4];
            bytes[HEADER + 1] = 1 + bytes[HEADER + 1] % 12;
        }
        let mut stream = rig.connect();
        stream.write_all(&bytes[..length]).unwrap();
        if let Ok(reply) = reply(&mut stream) {
            assert!(matches!(reply, Reply::Refused(_)), "{:?}", &bytes[..length]);
        }
    }
    let status = rig.status();
    assert_eq!(
        (&status["keys"]["car"]["connected"], &status["accepted"]),
        (&0.into(), &500.into())
    );
    let (_server, address): (_, SocketAddr) = listener(Protocol::TCP);
    rig.open(address);
}
