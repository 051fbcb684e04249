//! Relays that are slow, that lie, or that end, and what the first bytes of an application may do.

use crate::site::{self, Site, Speaks, V4};
use crate::{echoed, opened, shown, way};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A request is as long as this: a header, Connect and Cookie.
const REQUEST: usize = 68;
const CONNECTED: [u8; 4] = [1, 1, 0x22, 0x63];
const SLOW: &str = "the relay did not answer within 3 s";

/// Reads a whole request.
fn request(stream: &mut TcpStream) -> std::io::Result<[u8; REQUEST]> {
    let mut request = [0; REQUEST];
    stream.read_exact(&mut request)?;
    Ok(request)
}

/// Waits for the end of the other side.
fn until_closed(mut stream: TcpStream) {
    while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
}

/// Opens a connection, checks that it carries bytes, and returns its way and reason.
fn carried(site: &Site, server: SocketAddr) -> (String, String) {
    let stream = site.connect(server);
    let row = opened(site, server);
    echoed(&stream, b"across");
    drop(stream);
    site::until("it has ended", || shown(site, server).is_empty());
    let (way, why) = way(&row);
    (way.to_owned(), why.to_owned())
}

#[test]
fn a_relay_that_does_not_answer_costs_one_time_out_and_why_says_so() {
    let Some(site) = Site::new("slow") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Mptcp);
    let (tell, asked) = channel();
    let _relay = site.false_relay(move |stream| {
        let _ = tell.send(());
        until_closed(stream);
    });
    let _daemon = site.up(&site.through_relay());
    for _ in 0..2 {
        assert_eq!(carried(&site, server), ("direct".to_owned(), SLOW.to_owned()));
    }
    // The second connection did not wait for it: the relay was not asked again.
    assert_eq!(asked.try_iter().count(), 1);
    let stream = site.connect(server);
    opened(&site, server);
    let why = &site.why()["agent"];
    assert_eq!(why["relay_trouble"], SLOW);
    assert_eq!(why["connections"][0]["why"], SLOW);
    drop(stream);
}

#[test]
fn a_relay_that_sends_rubbish_costs_no_connection() {
    let Some(site) = Site::new("rubbish") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Mptcp);
    let _relay = site.false_relay(|mut stream| {
        let _ = request(&mut stream).and_then(|_| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        until_closed(stream);
    });
    let _daemon = site.up(&site.through_relay());
    let why = "the relay gave no valid reply".to_owned();
    assert_eq!(carried(&site, server), ("direct".to_owned(), why));
}

#[test]
fn a_relay_that_confirms_and_resets_costs_one_connection_to_a_server() {
    let Some(site) = Site::new("confirms") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Mptcp);
    let _relay = site.false_relay(|mut stream| {
        let _ = request(&mut stream).and_then(|_| stream.write_all(&CONNECTED));
        let _ = stream.read(&mut [0]);
        let reset = Some(Duration::ZERO);
        let _ = socket2::SockRef::from(&stream).set_linger(reset);
    });
    let _daemon = site.up(&site.through_relay());
    let mut stream = site.connect(server);
    stream.write_all(b"request").unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let why = "the last connection over the relay was reset before a byte came".to_owned();
    site::until("it has ended", || shown(&site, server).is_empty());
    assert_eq!(carried(&site, server), ("direct".to_owned(), why));
}

#[test]
fn a_server_that_the_relay_wrongly_calls_mptcp_stays_reachable() {
    let Some(site) = Site::new("wrongly") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    // An Extended TCP Header TLV with MP_CAPABLE, and then nothing.
    let lie = [&[1, 5, 0x22, 0x63, 20, 4, 0, 0, 30, 12, 1, 1][..], &[0; 8]].concat();
    let relay = site.false_relay(move |mut stream| {
        let _ = request(&mut stream).and_then(|_| stream.write_all(&lie));
        until_closed(stream);
    });
    let _daemon = site.up(&site.through_relay());
    let first = site.connect(server);
    assert_eq!(opened(&site, server)["way"], "relay");
    drop(first);
    site::until("it has ended", || shown(&site, server).is_empty());
    let why = "the relay saw that the server speaks MPTCP, but the path strips MPTCP; next time the relay";
    assert_eq!(carried(&site, server), ("plain".to_owned(), why.to_owned()));
    drop(relay);
}

#[test]
fn programs_are_reset_when_their_relay_ends_and_connect_directly_then() {
    let Some(site) = Site::new("midflow") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let relay = site.relay();
    let _daemon = site.up(&site.through_relay());
    let mut stream = site.connect(server);
    echoed(&stream, b"across");
    assert_eq!(opened(&site, server)["way"], "relay");
    // It is killed.
    drop(relay);
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    site::until("it has ended", || shown(&site, server).is_empty());
    let (way, why) = carried(&site, server);
    assert_eq!(way, "plain");
    assert!(
        why.starts_with("the relay cannot be reached (Connection refused"),
        "{why}"
    );
}

#[test]
fn a_relay_out_of_reach_in_mid_flow_stops_a_connection_and_new_ones_go_directly() {
    let Some(site) = Site::new("away") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let _relay = site.relay();
    let _daemon = site.up(&site.through_relay());
    let mut stream = site.connect(server);
    echoed(&stream, b"across");
    assert_eq!(opened(&site, server)["way"], "relay");
    site.nft("add table ip away; add chain ip away in { type filter hook prerouting priority -300; ip daddr 203.0.113.1 drop; }");
    stream.write_all(b"later").unwrap();
    // It is not answered, not even with a reset.
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let other = site.connect(server);
    echoed(&other, b"directly");
    let rows = shown(&site, server);
    let (way, why) = way(rows.last().unwrap());
    assert_eq!(way, "plain");
    assert!(
        why.starts_with("the relay cannot be reached (no answer within 3 s)") || why.starts_with(SLOW),
        "{why}"
    );
    // It comes back: no byte is lost.
    site.nft("delete table ip away");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"later");
}

#[test]
fn doctor_says_what_is_wrong_with_a_relay() {
    let Some(site) = Site::new("doctor") else { return };
    let daemon = site.up(&site.through_relay());
    assert!(site.finding("redirection").0);
    let found = |good: bool, part: &str| {
        let (ok, finding) = site.finding("relay");
        assert_eq!((ok, finding.contains(part)), (good, true), "{finding}");
    };
    found(false, "the relay cannot be reached (Connection refused");
    let _relay = site.relay();
    found(true, "203.0.113.1:4433 accepts this key over MPTCP, ");
    // A firewall that removes the option.
    site.nft("add table ip strip; add chain ip strip in { type filter hook prerouting priority -300; reset tcp option mptcp; }");
    found(false, "the path to the relay strips MPTCP");
    site.nft("delete table ip strip");
    site.forget_the_key();
    found(false, "laptop.key: No such file or directory");
    daemon.stop();
}

#[test]
fn early_data_goes_with_the_request_only_where_it_may() {
    const HELLO: &[u8] = &[0x16, 3, 1, 0, 4, 1, 0, 0, 0];
    let Some(site) = Site::new("early") else { return };
    let server = SocketAddr::new(V4, 443);
    let (tell, heard) = channel();
    // It confirms only once these many bytes have come with the request, and then returns what it gets.
    let (want, wanted) = channel::<usize>();
    let wanted = std::sync::Arc::new(std::sync::Mutex::new(wanted));
    let _relay = site.false_relay(move |mut stream| {
        let count = wanted.lock().unwrap().recv().unwrap();
        let mut early = vec![0; count];
        if request(&mut stream).is_err() || stream.read_exact(&mut early).is_err() {
            return;
        }
        let _ = tell.send(early.clone());
        let _ = stream
            .write_all(&CONNECTED)
            .and_then(|()| stream.write_all(&early));
        let mut rest = Vec::new();
        let _ = stream
            .read_to_end(&mut rest)
            .and_then(|_| stream.write_all(&rest));
    });
    for (key, bytes, early) in [
        ("", HELLO, HELLO),
        ("early_data = \"tls\"\n", b"GET / HTTP/1.1\r\n\r\n", b""),
        ("early_data = \"never\"\n", HELLO, b""),
        (
            "early_data = \"always\"\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
        ),
    ] {
        let daemon = site.up(&format!("{}way = \"always\"\n{key}", site.through_relay()));
        want.send(early.len()).unwrap();
        // The application has written before the relay accepts, as over a path of some milliseconds.
        let held = site.hold_syns();
        let mut stream = site.connect(server);
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        drop(held);
        // Each byte arrives once, in order.
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        assert_eq!(
            (back.as_slice(), heard.recv().unwrap().as_slice()),
            (bytes, early),
            "{key}"
        );
        daemon.stop();
    }
}
