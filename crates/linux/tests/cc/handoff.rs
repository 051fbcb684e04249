//! A hand-off: the previous path fades, and the next one begins with exactly BDP_UB and the ordered
//! threshold, in segments, as the kernel reports.
//!
//! A window in use grows with the acknowledgement that applies the order. So the sender pauses, the previous
//! path is removed, and single bytes are sent on the next one. The resulting values are the ordered ones.

use crate::advice::{KEY, client_addresses, grown, sinks, standing, token};
use crate::live::two_links;
use crate::net::{Hosts, eventually, run};
use crate::orders::{Window, windows};
use crate::talk::Talk;
use crate::tcp::Direction;
use crate::{can_run, load};
use linux::bpf::cc::{AddressEnd, Controller, Coupled, WindowOrder};
use linux::cla::{Advice, Advisor, Listener, Teller};
use linux::mptcp_pm::AddressId;
use linux::netns::Netns;
use policy::ConnId;
use std::net::IpAddr;
use std::sync::Arc;
use wire::mobility::Key;

/// `N` of cla's `BDP_UB = S·N` for an unknown number of hops.
const BOUND: u32 = 10;
/// The initial path.
const BEFORE: AddressId = AddressId(0);

/// Advice that the path has replaced the other, faded one.
const fn handed_off(address: AddressId) -> Advice {
    Advice {
        handed_off: true,
        ..sinks(address)
    }
}

struct Handoff {
    controller: Arc<Controller>,
    hosts: Hosts,
    talk: Talk,
    direction: Direction,
    /// The connection's token at the sender.
    conn: ConnId,
    after: AddressId,
}

impl Handoff {
    /// Waits until both paths carry their full rate.
    fn begin(direction: Direction, test: &str) -> Self {
        let controller = Arc::new(load(Coupled::Cla, test));
        let hosts = two_links(&controller, direction);
        let talk = Talk::start(&hosts, direction);
        let conn = match direction {
            Direction::Upload => token(&talk.client),
            Direction::Download => token(&talk.server),
        };
        let after = grown(&hosts, conn, end(direction));
        Self {
            controller,
            hosts,
            talk,
            direction,
            conn,
            after,
        }
    }

    fn sender(&self) -> &Netns {
        match self.direction {
            Direction::Upload => &self.hosts.client,
            Direction::Download => &self.hosts.server,
        }
    }

    fn now(&self) -> Window {
        windows(self.sender(), self.conn, end(self.direction))[&self.after]
    }

    fn order(&self, address: AddressId) -> Option<WindowOrder> {
        standing(&self.controller, self.conn, end(self.direction), address)
    }

    /// Runs a hand-off. `advise` sends the advice to the sender.
    fn run_hand_off(&mut self, mut advise: impl FnMut(Advice)) {
        advise(sinks(BEFORE));
        eventually(
            "ordered",
            || self.order(BEFORE).is_some(),
            || "no order".to_owned(),
        );
        // The other path may have been lowered too.
        let grown = || self.now().cwnd > 2 * BOUND;
        eventually("grown", grown, || format!("{:?}", self.now()));
        self.talk.rest();
        let (left, stood) = (self.now(), self.order(self.after));

        advise(handed_off(self.after));
        let ordered = || self.order(self.after) != stood;
        eventually("ordered", ordered, || format!("{stood:?} stands"));
        let order = self.order(self.after).expect("an order is active");
        assert_eq!(order.cwnd, BOUND, "{order:?}");
        let threshold = order.ssthresh.expect("the rate of the previous path is known");
        assert!(left.cwnd > BOUND && left.ssthresh != threshold, "{left:?}");
        self.remove_previous_path();
        self.assert_order_applied(threshold);
    }

    fn remove_previous_path(&self) {
        run(&self.hosts.client, "ip mptcp endpoint delete id 0 10.77.1.1");
        let left = || windows(self.sender(), self.conn, end(self.direction)).len() == 1;
        eventually("gone", left, || "two paths".to_owned());
    }

    /// Checks the kernel's window and threshold. Nothing but the order changes them meanwhile.
    fn assert_order_applied(&mut self, threshold: u32) {
        for _ in 0..5 {
            self.talk.say();
        }
        let carried_out = || self.now().ssthresh == threshold;
        eventually("carried out", carried_out, || format!("{:?}", self.now()));
        assert_eq!(self.now().cwnd, BOUND, "{:?}", self.now());
    }
}

const fn end(direction: Direction) -> AddressEnd {
    match direction {
        Direction::Upload => AddressEnd::Local,
        Direction::Download => AddressEnd::Remote,
    }
}

#[test]
fn an_uploading_mobile_starts_the_next_path_as_ordered() {
    if !can_run() {
        return;
    }
    let mut handoff = Handoff::begin(Direction::Upload, "hu");
    let mut advisor = Advisor::new(Arc::clone(&handoff.controller), AddressEnd::Local).expect("it is CLA");
    let client = handoff.hosts.client.try_clone().expect("the client again");
    let conn = handoff.conn;
    handoff.run_hand_off(|advice| {
        let ordered = client.run(|| advisor.hear(conn, advice)).expect("enter");
        assert!(ordered.expect("order") > 0);
    });
}

/// The reduction from when the path began to fade stays, and no order remains for a new subflow with its id.
#[test]
fn a_subflow_whose_path_changes_under_it_gets_no_order() {
    if !can_run() {
        return;
    }
    let handoff = Handoff::begin(Direction::Upload, "hs");
    let mut advisor = Advisor::new(Arc::clone(&handoff.controller), AddressEnd::Local).expect("it is CLA");
    let mut hear = |advice: Advice| {
        let heard = handoff.hosts.client.run(|| advisor.hear(handoff.conn, advice));
        heard.expect("enter").expect("order")
    };
    assert!(hear(sinks(handoff.after)) > 0);
    let lowered = handoff.order(handoff.after).expect("an order is active");
    let obeyed = || Some(handoff.now().ssthresh) == lowered.ssthresh;
    eventually("obeyed", obeyed, || format!("{lowered:?}, {:?}", handoff.now()));
    assert_eq!(hear(handed_off(handoff.after)), 0);
    assert_eq!(handoff.order(handoff.after), None);
}

#[test]
fn a_server_starts_the_next_path_of_a_mobile_as_ordered() {
    if !can_run() {
        return;
    }
    let mut handoff = Handoff::begin(Direction::Download, "hd");
    let server = handoff.hosts.server_address(linux::cla::DEFAULT_PORT);
    let advisor = Advisor::new(Arc::clone(&handoff.controller), AddressEnd::Remote).expect("it is CLA");
    let listener = Listener::start(&handoff.hosts.server, server, Key::new(KEY), advisor).expect("listen");
    let client = handoff.hosts.client.try_clone().expect("the client again");
    let conn = token(&handoff.talk.client);
    let mut teller = Teller::new(Key::new(KEY), server.port()).expect("a random number");
    handoff.run_hand_off(|advice| {
        let told = client.run(|| {
            let locals: Vec<IpAddr> = client_addresses(conn);
            teller.tell(conn, server.ip(), &locals, advice)
        });
        assert!(told.expect("enter").expect("tell"), "the peer's token is known");
    });
    let heard = || listener.heard();
    eventually("heard", || heard().followed == 2, || format!("{:?}", heard()));
    assert_eq!(heard().handed_off, 1, "{:?}", heard());
    assert_eq!((heard().forged, heard().failed), (0, 0), "{:?}", heard());
}
