//! The agent for TCP and the interface for UDP on one host.

use crate::site::{self, Site, Speaks, V4};
use crate::{opened, survives, way};
use linux::netns::Netns;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const STEADY: &str = "100.64.0.1";

fn udp(netns: &Netns, from: SocketAddr) -> UdpSocket {
    let socket = netns.run(|| UdpSocket::bind(from).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    socket
}

/// Answers each datagram with the address that it comes from, until `over`.
fn answer(socket: &UdpSocket, over: &AtomicBool) {
    let mut packet = [0; 64];
    while !over.load(Ordering::Relaxed) {
        if let Ok((_, from)) = socket.recv_from(&mut packet) {
            // Its link may have gone meanwhile.
            let _ = socket.send_to(from.ip().to_string().as_bytes(), from);
        }
    }
}

/// The address that the server sees. `None` if no reply arrives.
fn seen(flow: &UdpSocket) -> Option<String> {
    let mut packet = [0; 64];
    // A link that is down refuses.
    flow.send(b"?").ok()?;
    let length = flow.recv(&mut packet).ok()?;
    Some(String::from_utf8_lossy(&packet[..length]).into_owned())
}

/// MPTCP, the agent and the interface that never changes: a lost link ends neither TCP nor UDP.
#[test]
fn tcp_through_the_agent_and_udp_survive_the_loss_of_a_link_together() {
    let Some(site) = Site::new("networks") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let _relay = site.relay();
    let daemon = site.up(&format!("{}[networks]\n", site.through_relay()));
    let echo = udp(&site.internet, (V4, 7_000).into());
    let over = Arc::<AtomicBool>::default();
    let stop = Arc::clone(&over);
    let answers = std::thread::spawn(move || answer(&echo, &stop));
    let flow = udp(&site.client, "0.0.0.0:0".parse().unwrap());
    site.client.run(|| flow.connect((V4, 7_000)).unwrap()).unwrap();
    assert_eq!(flow.local_addr().unwrap().ip().to_string(), STEADY);
    site::until("UDP uses the first link", || {
        seen(&flow).as_deref() == Some("10.0.0.1")
    });
    let stream = site.connect(server);
    assert_eq!(way(&opened(&site, server)).0, "relay");
    site::until("both links carry a subflow", || {
        let status = site.status();
        let connections = status["connections"].as_array().unwrap();
        let two = |row: &serde_json::Value| row["subflows"].as_array().unwrap().len() == 2;
        connections.iter().any(two)
    });
    survives(&stream, || {
        site.cut("w0");
        site::until("UDP uses the other link", || {
            seen(&flow).as_deref() == Some("10.0.1.1")
        });
    });
    // TCP still leaves from the address of its link.
    let status = site.status();
    let subflows = status["connections"].to_string();
    assert!(!subflows.contains(STEADY), "{subflows}");
    drop(daemon);
    over.store(true, Ordering::Relaxed);
    answers.join().unwrap();
}
