//! A plain TCP program, the daemon with its agent, two links, a relay, and plain TCP and MPTCP servers.
//!
//! The links are veth pairs, so what an application's bytes take is what the kernel really did.

#[path = "relay/balanced.rs"]
mod balanced;
#[path = "relay/faults.rs"]
mod faults;
#[path = "relay/interop.rs"]
mod interop;
#[path = "relay/networks.rs"]
mod networks;
#[path = "relay/observed.rs"]
mod observed;
#[path = "../../linux/src/testing/patience.rs"]
mod patience;
#[path = "relay/peer.rs"]
mod peer;
#[path = "relay/site.rs"]
mod site;
#[path = "relay/together.rs"]
mod together;

use serde_json::Value;
use site::{Site, Speaks, V4, V6};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

/// What the application sends: long enough that a link is cut in its midst.
fn content() -> Vec<u8> {
    (0_u32..8 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// The connections that `status` shows for this server.
fn shown(site: &Site, server: SocketAddr) -> Vec<Value> {
    let status = site.status();
    let all = status["agent"]["connections"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    all.into_iter()
        .filter(|row| row["server"] == server.to_string())
        .collect()
}

fn way(row: &Value) -> (&str, &str) {
    (row["way"].as_str().unwrap(), row["why"].as_str().unwrap())
}

/// Waits until one connection to this server has a way, and returns its row.
fn opened(site: &Site, server: SocketAddr) -> Value {
    let mut found = None;
    site::until("the connection has a way", || {
        found = shown(site, server)
            .into_iter()
            .find(|row| row["way"] != "opening");
        found.is_some()
    });
    found.unwrap()
}

fn echoed(mut stream: &TcpStream, text: &[u8]) {
    stream.write_all(text).unwrap();
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, text);
}

/// Sends much to a server that returns it, and calls `cut` in the midst. All bytes must come back.
fn survives(stream: &TcpStream, cut: impl FnOnce()) {
    let sent = content();
    let mut back = vec![0; sent.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = stream;
            writer.write_all(&sent).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let mut reader = stream;
        let (first, rest) = back.split_at_mut(sent.len() / 4);
        reader.read_exact(first).unwrap();
        cut();
        reader.read_exact(rest).unwrap();
        // The half-close crosses, too.
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    });
    assert!(back == sent, "the bytes differ");
}

#[test]
fn bytes_of_a_plain_program_survive_the_loss_of_a_link() {
    let Some(site) = Site::new("cut") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let _relay = site.relay();
    let daemon = site.up(&site.through_relay());
    let stream = site.connect(server);
    let row = opened(&site, server);
    assert_eq!(way(&row), ("relay", "the server speaks plain TCP"));
    assert_eq!(row["uid"], 0);
    site::until("both links carry a subflow", || {
        let status = site.status();
        let connections = status["connections"].as_array().unwrap();
        connections
            .iter()
            .any(|row| row["subflows"].as_array().unwrap().len() == 2)
    });

    survives(&stream, || site.cut("w0"));
    drop(daemon);
}

#[test]
fn the_second_connection_to_an_mptcp_server_goes_directly() {
    let Some(site) = Site::new("direct") else { return };
    let relay = site.relay();
    let _daemon = site.up(&site.through_relay());
    for ip in [V4, V6] {
        let (server, _echo) = site.echo(ip, Speaks::Mptcp);
        let expected = [
            ("relay", "first connection to this server; the next goes directly"),
            ("direct", "the relay saw that the server speaks MPTCP"),
            ("direct", "the relay saw that the server speaks MPTCP"),
        ];
        for (number, expected) in expected.into_iter().enumerate() {
            let stream = site.connect(server);
            let row = opened(&site, server);
            assert_eq!(way(&row), expected, "{server}, connection {number}");
            echoed(&stream, b"across");
            drop(stream);
            site::until("it has ended", || shown(&site, server).is_empty());
        }
    }
    let relayed = relay.status();
    assert_eq!(relayed["keys"]["laptop"]["connected"], 2);
    assert_eq!(relayed["mptcp_servers"], 2);
}

#[test]
fn without_a_relay_programs_connect_directly() {
    let Some(site) = Site::new("none") else { return };
    let (plain, _plain) = site.echo(V4, Speaks::Tcp);
    let (mptcp, _mptcp) = site.echo(V4, Speaks::Mptcp);
    let _daemon = site.up(&site.directly());
    for (server, expected) in [
        (mptcp, ("direct", "no relay is configured")),
        (
            plain,
            (
                "plain",
                "no relay is configured; the server or the path speaks plain TCP",
            ),
        ),
    ] {
        let stream = site.connect(server);
        assert_eq!(way(&opened(&site, server)), expected);
        echoed(&stream, b"across");
    }
}

#[test]
fn a_relay_that_cannot_be_used_costs_no_connection() {
    let Some(site) = Site::new("trouble") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Mptcp);
    let _daemon = site.up(&site.through_relay());
    let stream = site.connect(server);
    let row = opened(&site, server);
    assert_eq!(row["way"], "direct");
    let why = row["why"].as_str().unwrap();
    assert!(
        why.starts_with("the relay cannot be reached (Connection refused"),
        "{why}"
    );
    echoed(&stream, b"across");
    let status = site.status();
    assert_eq!(status["agent"]["relay_trouble"], why);
    drop(stream);

    let relay = site.relay();
    site.forget_the_key();
    site::until("the relay has dropped the key", || {
        relay.status()["keys"] == serde_json::json!({})
    });
    site::until("the relay is tried again", || {
        let stream = site.connect(server);
        let row = opened(&site, server);
        assert_eq!(row["way"], "direct");
        echoed(&stream, b"across");
        drop(stream);
        site::until("it has ended", || shown(&site, server).is_empty());
        row["why"]
            .as_str()
            .unwrap()
            .starts_with("the relay refused: not authorised")
    });
}

#[test]
fn the_redirection_ends_with_the_daemon_and_with_the_agent_however_they_end() {
    let Some(site) = Site::new("ends") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let mut daemon = site.up(&site.directly());
    assert!(site.tables().contains("table inet slowhand"));

    // The agent is killed: another one takes its place.
    let agent = daemon.agent();
    let mut stream = site.connect(server);
    echoed(&stream, b"across");
    daemon.kill(agent);
    // The program does not mistake this for the server's end.
    assert_eq!(
        stream.read(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    site::until("another agent runs", || {
        daemon.agents().iter().any(|other| *other != agent)
    });
    site::until("the redirection is back", || {
        site.tables().contains("redirect to")
    });
    let stream = site.connect(server);
    assert_eq!(opened(&site, server)["way"], "plain");
    echoed(&stream, b"across");
    drop(stream);

    // The daemon is killed: nothing is left, and programs connect directly.
    daemon.kill(daemon.id());
    site::until("the table is gone", || !site.tables().contains("slowhand"));
    echoed(&site.connect(server), b"directly");

    // It is stopped in order.
    let daemon = site.up(&site.directly());
    assert!(site.tables().contains("table inet slowhand"));
    daemon.stop();
    assert_eq!(site.tables(), "");
    echoed(&site.connect(server), b"directly");
}

#[test]
fn what_is_bypassed_does_not_reach_the_agent() {
    let Some(site) = Site::new("bypass") else { return };
    let (left_alone, _one) = site.echo(V4, Speaks::Tcp);
    let (carried, _two) = site.echo(V4, Speaks::Tcp);
    let bypass = format!("{}bypass = [\"port:{}\"]\n", site.directly(), left_alone.port());
    let _daemon = site.up(&bypass);
    // The agent lists connections in their order: once it has the second one, it would have the first.
    let first = site.connect(left_alone);
    let second = site.connect(carried);
    opened(&site, carried);
    assert_eq!(shown(&site, left_alone), [] as [Value; 0]);
    echoed(&first, b"directly");
    echoed(&second, b"across");
}
