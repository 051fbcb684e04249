//! UDP flows between two namespaces, marked by nftables.

use super::*;
use crate::nft::Table;
use crate::testing::{Pair, Patience};
use std::net::UdpSocket;
use std::time::Duration;

const MARK: Mark = Mark {
    value: 0x4e00_0000,
    mask: 0xff00_0000,
};
const PATIENCE: Duration = Duration::from_secs(10);

fn next(events: &mut Events) -> Event {
    let mut until = Patience::of(PATIENCE);
    loop {
        if let Some(event) = events.next().unwrap() {
            return event;
        }
        assert!(until.lasts(), "no event");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Marks what goes to port 7000 with a mark of ours, and what goes to 7001 with another one.
fn marking() -> Table {
    let rules = "table inet marking { flags owner; chain output { type filter hook output priority 0; \
                 udp dport 7000 ct mark set 0x4e010002; udp dport 7001 ct mark set 0x1; }; }";
    Table::install(rules, "inet marking output").unwrap()
}

fn send(to: &str) -> UdpSocket {
    let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
    socket.connect(to).unwrap();
    socket.send(b"ping").unwrap();
    socket
}

#[test]
fn marked_flows_are_heard_and_forgotten() {
    let Some(pair) = Pair::joined(1) else { return };
    // Otherwise the server would refuse what follows.
    let listen = || ["10.0.0.2:7000", "10.0.0.2:7001"].map(|at| UdpSocket::bind(at).unwrap());
    let _listeners = pair.server.run(listen).unwrap();
    pair.client
        .run(|| {
            let _table = marking();
            let (mut kernel, mut events) = (Conntrack::open().unwrap(), Events::open(MARK).unwrap());
            send("10.0.0.2:7001");
            let socket = send("10.0.0.2:7000");
            let Event::Began(flow) = next(&mut events) else {
                panic!("it has just begun")
            };
            assert_eq!(flow.mark, 0x4e01_0002, "the other flow has no mark of ours");
            assert_eq!(flow.remote, "10.0.0.2:7000".parse().ok());
            assert_eq!(flow.protocol, 17);
            kernel.forget(&flow).unwrap();
            assert_eq!(next(&mut events), Event::Ended(flow.id));
            kernel
                .forget(&flow)
                .expect("nothing is left to forget, and that is no error");
            socket.send(b"ping").unwrap();
            let Event::Began(anew) = next(&mut events) else {
                panic!("its next packet makes a new entry")
            };
            kernel.forget_marked(MARK).unwrap();
            assert_eq!(next(&mut events), Event::Ended(anew.id));
        })
        .unwrap();
}
