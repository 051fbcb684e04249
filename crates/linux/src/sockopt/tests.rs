use super::*;
use crate::mptcp_pm::{Commands, Endpoint, EndpointFlags};
use crate::testing::{Pair, Patience, allocations, inside};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A connection to which the client's kernel joined a second subflow.
fn two_subflows(v6: bool, then: impl FnOnce(&TcpStream, &TcpStream)) {
    let Some(pair) = Pair::joined(2) else { return };
    let addr = if v6 { "fd00:1::1" } else { "10.0.1.1" }.parse().unwrap();
    let add = || {
        Commands::open()
            .unwrap()
            .add_endpoint(&Endpoint::new(addr, EndpointFlags::SUBFLOW))
    };
    pair.client.run(add).unwrap().unwrap();
    let mut ends = pair.connect(if v6 { "[fd00:0::2]:5000" } else { "10.0.0.2:5000" });
    ends.greet();
    let mut deadline = Patience::of(Duration::from_secs(10));
    while mptcp_info(&ends.server).unwrap().subflows == 0 || subflows(&ends.client).unwrap().len() < 2 {
        assert!(deadline.lasts(), "no second subflow");
        std::thread::sleep(Duration::from_millis(1));
    }
    then(&ends.client, &ends.server);
}

fn everything_agrees(v6: bool) {
    two_subflows(v6, |client, server| {
        let info = mptcp_info(client).unwrap();
        assert!(!info.fallback && info.remote_key_received && info.token.is_some());
        assert_eq!((info.bytes_sent.get(), info.bytes_received.get()), (4, 4));
        assert!(!is_fallback(client).unwrap() && !is_fallback(server).unwrap());

        let ends = subflows(client).unwrap();
        assert_eq!(ends[0].local, client.local_addr().unwrap());
        assert_eq!(ends[0].remote, client.peer_addr().unwrap());
        let second: std::net::IpAddr = if v6 { "fd00:1::1" } else { "10.0.1.1" }.parse().unwrap();
        assert_eq!(ends[1].local.ip(), second);
        let tcps = tcp_infos(client).unwrap();
        assert_eq!(tcps.len(), 2);
        assert!(tcps.iter().all(|tcp| tcp.segs_in > 0 && tcp.state.connected()));

        let mut full = FullInfo::new();
        full_info(client, &mut full).unwrap();
        assert_eq!(full.mptcp.token, info.token);
        assert_eq!(full.subflows.iter().map(|s| s.ends).collect::<Vec<_>>(), ends);
        assert!(
            full.subflows
                .iter()
                .zip(&tcps)
                .all(|(s, tcp)| s.tcp.segs_in >= tcp.segs_in)
        );
        assert_ne!(full.subflows[0].id, full.subflows[1].id);
        let again = allocations(|| full_info(client, &mut full).unwrap());
        assert_eq!(again, 0);
        // Segments may arrive between two reads.
        let before = tcp_info(client).unwrap().segs_in;
        full_info(client, &mut full).unwrap();
        let after = tcp_info(client).unwrap().segs_in;
        assert!((before..=after).contains(&full.subflows[0].tcp.segs_in));
    });
}

#[test]
fn all_socket_options_agree_v4() {
    everything_agrees(false);
}

#[test]
fn all_socket_options_agree_v6() {
    everything_agrees(true);
}

#[test]
fn fallback_to_tcp_is_detected_on_both_sides() {
    inside(|| {
        let address = "127.0.0.1:0".parse().unwrap();
        let plain = TcpListener::bind(address).unwrap();
        let client = mptcp_socket(address).unwrap();
        client.connect(&plain.local_addr().unwrap().into()).unwrap();
        assert!(is_fallback(&client).unwrap());

        let listener = mptcp_socket(address).unwrap();
        listener.bind(&address.into()).unwrap();
        listener.listen(1).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap().as_socket().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(is_fallback(&accepted).unwrap());
        assert!(matches!(mptcp_info(&accepted), Err(InfoError::NotMptcp)));
    });
}

#[test]
fn disabled_mptcp_is_reported() {
    inside(|| {
        std::fs::write("/proc/sys/net/mptcp/enabled", "0").unwrap();
        let refused = mptcp_socket("127.0.0.1:0".parse().unwrap());
        assert!(matches!(refused, Err(SocketError::Disabled)), "{refused:?}");
    });
}

#[test]
fn controllers_are_set_and_read_back() {
    two_subflows(false, |client, _| {
        set_congestion(client, "reno").unwrap();
        assert_eq!(congestion(client).unwrap().as_str(), "reno");
        let refused = set_congestion(client, "nonesuch").unwrap_err();
        let expected = matches!(
            refused,
            SetCongestionError::Ignored { .. } | SetCongestionError::Unknown { .. }
        );
        assert!(expected, "{refused:?}");
        assert_eq!(congestion(client).unwrap().as_str(), "reno");
    });
    inside(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        set_congestion(&client, "reno").unwrap();
        let refused = set_congestion(&client, "nonesuch").unwrap_err();
        assert!(
            matches!(refused, SetCongestionError::Unknown { .. }),
            "{refused:?}"
        );
    });
}
