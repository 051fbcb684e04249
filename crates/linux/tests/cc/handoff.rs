//! A hand-off: the path before fades, and the one after it begins with BDP_UB and the threshold that was ordered, to the segment, as the
//! kernel says.
//!
//! A window that is in use grows with the acknowledgement at which the order is carried out. So the sender rests, the path before goes, and
//! single bytes go over the one after it: what they show is what was ordered.

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

/// `N` of cla's `BDP_UB = S·N` where nobody knows the number of hops.
const BOUND: u32 = 10;
/// The path that there is from the beginning.
const BEFORE: AddressId = AddressId(0);

/// The path has taken the other one's place, which sank.
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
    /// As the sender calls it.
    conn: ConnId,
    after: AddressId,
}

impl Handoff {
    /// Both paths carry all that they can.
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

    /// `advise` lets the sender know.
    fn happens(&mut self, mut advise: impl FnMut(Advice)) {
        advise(sinks(BEFORE));
        eventually(
            "ordered",
            || self.order(BEFORE).is_some(),
            || "no order".to_owned(),
        );
        // The other path may have been lowered with it.
        let grown = || self.now().cwnd > 2 * BOUND;
        eventually("grown", grown, || format!("{:?}", self.now()));
        self.talk.rest();
        let (left, stood) = (self.now(), self.order(self.after));

        advise(handed_off(self.after));
        let ordered = || self.order(self.after) != stood;
        eventually("ordered", ordered, || format!("{stood:?} stands"));
        let order = self.order(self.after).expect("it stands");
        assert_eq!(order.cwnd, BOUND, "{order:?}");
        let threshold = order.ssthresh.expect("it is known what the path before carried");
        assert!(left.cwnd > BOUND && left.ssthresh != threshold, "{left:?}");
        self.path_before_goes();
        self.is_carried_out(threshold);
    }

    fn path_before_goes(&self) {
        run(&self.hosts.client, "ip mptcp endpoint delete id 0 10.77.1.1");
        let left = || windows(self.sender(), self.conn, end(self.direction)).len() == 1;
        eventually("gone", left, || "two paths".to_owned());
    }

    /// Nothing but the order changes windows meanwhile, so the kernel's are those that were ordered.
    fn is_carried_out(&mut self, threshold: u32) {
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
fn an_uploading_mobile_begins_anew_on_its_next_path() {
    if !can_run() {
        return;
    }
    let mut handoff = Handoff::begin(Direction::Upload, "hu");
    let mut advisor = Advisor::new(Arc::clone(&handoff.controller), AddressEnd::Local).expect("it is CLA");
    let client = handoff.hosts.client.try_clone().expect("the client again");
    let conn = handoff.conn;
    handoff.happens(|advice| {
        let ordered = client.run(|| advisor.hear(conn, advice)).expect("enter");
        assert!(ordered.expect("order") > 0);
    });
}

/// What the other path was lowered to when it began to fade stays, and nothing stands for whoever joins under its id.
#[test]
fn a_subflow_whose_path_changes_under_it_is_left_alone() {
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
    let lowered = handoff.order(handoff.after).expect("it stands");
    let obeyed = || Some(handoff.now().ssthresh) == lowered.ssthresh;
    eventually("obeyed", obeyed, || format!("{lowered:?}, {:?}", handoff.now()));
    assert_eq!(hear(handed_off(handoff.after)), 0);
    assert_eq!(handoff.order(handoff.after), None);
}

#[test]
fn a_server_begins_anew_on_the_next_path_of_a_mobile_that_says_so() {
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
    handoff.happens(|advice| {
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
