//! CLA's windows follow orders on the addressed subflow only.

use crate::live::{transfer, two_links};
use crate::net::eventually;
use crate::tcp::{Direction, Info};
use crate::{can_run, load};
use linux::bpf::cc::{AddressEnd, Coupled, WindowOrder};
use linux::diag::{Diag, States};
use linux::mptcp_pm::{AddressId, Token};
use linux::netns::Netns;
use policy::ConnId;
use std::collections::BTreeMap;

/// Window and threshold of a subflow, in segments.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub cwnd: u32,
    /// Shows an order until a loss, whereas the window grows again at once.
    pub ssthresh: u32,
}

/// Window of each subflow of a connection, by the address id at that end.
pub fn windows(host: &Netns, conn: ConnId, end: AddressEnd) -> BTreeMap<AddressId, Window> {
    let look = || {
        let mut windows = BTreeMap::new();
        let mut diag = Diag::open().expect("open");
        let listed = diag.each_tcp(States::CONNECTED, |socket| {
            let subflow = socket.subflow.filter(|subflow| subflow.token == Token(conn.0));
            if let (Some(subflow), Some(info)) = (subflow, &socket.info) {
                let id = match end {
                    AddressEnd::Local => subflow.local_id,
                    AddressEnd::Remote => subflow.remote_id,
                };
                let (cwnd, ssthresh) = (info.snd_cwnd, info.snd_ssthresh.unwrap_or(u32::MAX));
                windows.insert(id, Window { cwnd, ssthresh });
            }
        });
        listed.expect("list");
        windows
    };
    host.run(look).expect("enter")
}

const LOW: WindowOrder = WindowOrder {
    cwnd: 4,
    ssthresh: Some(LOW_THRESHOLD),
};
const LOW_THRESHOLD: u32 = 2;

/// Lowers the window of the second link's subflow. The first must keep its own.
fn lowers_only_the_one(direction: Direction, end: AddressEnd, test: &str) {
    if !can_run() {
        return;
    }
    let controller = load(Coupled::Cla, test);
    let hosts = two_links(&controller, direction);
    let transfer = transfer(&hosts, direction);
    let (host, socket) = match direction {
        Direction::Upload => (&hosts.client, &transfer.client),
        Direction::Download => (&hosts.server, &transfer.server),
    };
    let conn = ConnId(Info::of(socket).expect("the sender uses MPTCP").token);
    let now = || windows(host, conn, end);
    let grown = |windows: &BTreeMap<AddressId, Window>| {
        windows.len() == 2 && windows.values().all(|window| window.cwnd > 40)
    };
    eventually("grown", || grown(&now()), || format!("{:?}", now()));
    let second = *now().keys().find(|id| id.0 != 0).expect("a subflow that joined");

    let orders = controller.orders().expect("CLA accepts orders");
    orders.give(conn, end, second, LOW).expect("order");
    let lowered = || now()[&second].ssthresh == LOW_THRESHOLD;
    eventually("lowered", lowered, || format!("{:?}", now()));
    assert!(now()[&AddressId(0)].ssthresh > LOW_THRESHOLD, "{:?}", now());
    // Applied once: the window grows again.
    eventually(
        "grown again",
        || now()[&second].cwnd > 12,
        || format!("{:?}", now()),
    );
    assert!(orders.take_back(conn, end, second).expect("take back"));
    assert!(!orders.take_back(conn, end, second).expect("take back"));
}

#[test]
fn an_upload_follows_the_id_of_our_address() {
    lowers_only_the_one(Direction::Upload, AddressEnd::Local, "ou");
}

#[test]
fn a_download_follows_the_id_of_the_peers_address() {
    lowers_only_the_one(Direction::Download, AddressEnd::Remote, "od");
}

#[test]
fn other_controllers_have_no_orders() {
    if !can_run() {
        return;
    }
    assert!(load(Coupled::Lia, "no").orders().is_none());
}
