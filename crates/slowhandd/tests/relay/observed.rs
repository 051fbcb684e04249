//! What the agent reports for Prometheus.

use crate::site::{self, Site, Speaks, V4};
use crate::{echoed, opened, shown};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The body of what the agent answers.
fn metrics(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: agent\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK"), "{head}");
    body.to_owned()
}

fn has(text: &str, line: &str) -> bool {
    text.lines().any(|other| other == line)
}

#[test]
fn the_agent_counts_ways_bytes_errors_and_first_bytes_for_prometheus() {
    let Some(site) = Site::new("metrics") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let mut daemon = site.up(&site.through_relay());
    let socket = site.folder().join("run/agent.sock");
    // No relay runs yet.
    let stream = site.connect(server);
    echoed(&stream, b"plain");
    drop(stream);
    site::until("it has ended", || shown(&site, server).is_empty());
    for line in [
        "slowhand_agent_connections_total{way=\"plain\"} 1",
        "slowhand_agent_connections_total{way=\"relay\"} 0",
        "slowhand_agent_relay_errors_total{error=\"unreachable\"} 1",
        "slowhand_agent_up_bytes_total 5",
        "slowhand_agent_down_bytes_total 5",
        "slowhand_agent_first_byte_seconds_count 1",
        "slowhand_agent_open{way=\"plain\"} 0",
    ] {
        let text = metrics(&socket);
        assert!(has(&text, line), "{line} in {text}");
    }

    let relay = site.relay();
    site::until("the relay is used again", || {
        let stream = site.connect(server);
        echoed(&stream, b"across");
        let relayed = opened(&site, server)["way"] == "relay";
        let text = metrics(&socket);
        let way = if relayed { "relay" } else { "plain" };
        let open = format!("slowhand_agent_open{{way=\"{way}\"}} 1");
        assert!(has(&text, &open), "{open} in {text}");
        drop(stream);
        site::until("it has ended", || shown(&site, server).is_empty());
        relayed
    });
    let text = metrics(&socket);
    assert!(
        has(&text, "slowhand_agent_connections_total{way=\"relay\"} 1"),
        "{text}"
    );
    assert_eq!(
        relay.status()["first_byte"]["counts"]
            .as_array()
            .map(|counts| { counts.iter().filter_map(serde_json::Value::as_u64).sum::<u64>() }),
        Some(1)
    );

    // A killed agent leaves its socket. The next one takes the place, and nothing is left at the end.
    let agent = daemon.agent();
    daemon.kill(agent);
    site::until("another agent answers", || UnixStream::connect(&socket).is_ok());
    daemon.stop();
    assert!(!socket.exists());
}
