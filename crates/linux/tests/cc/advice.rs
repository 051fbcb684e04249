//! A mobile's advice about its signal changes the windows of the sender, which is the mobile itself or a
//! server.

use crate::live::{subflows, transfer, two_links};
use crate::net::{Hosts, eventually};
use crate::orders::{Window, windows};
use crate::tcp::{Direction, Info, Transfer};
use crate::{can_run, load};
use linux::bpf::cc::{AddressEnd, Controller, Coupled, WindowOrder};
use linux::cla::{Advice, AdviceError, Advisor, Listener, Teller};
use linux::mptcp_pm::AddressId;
use policy::ConnId;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wire::mobility::{Key, Message};

pub const KEY: [u8; 32] = [9; 32];

/// Advice that the path fades quickly and another access point is much better.
pub const fn sinks(address: AddressId) -> Advice {
    Advice {
        address,
        mobility_ppm: -900_000,
        quality_ppm: 100_000,
        handed_off: false,
    }
}

/// Waits until a subflow's threshold is exactly the ordered one, in segments. It stays until a loss, and the
/// path is no longer overloaded.
fn obeyed(order: WindowOrder, now: impl Fn() -> Window) {
    // The threshold of a fading path must equal its window, or slow start would restore the window within a
    // few round trips.
    assert_eq!(order.ssthresh, Some(order.cwnd));
    eventually(
        "obeyed",
        || Some(now().ssthresh) == order.ssthresh,
        || format!("{order:?}, {:?}", now()),
    );
}

/// The active order for an address.
pub fn standing(
    controller: &Controller,
    conn: ConnId,
    end: AddressEnd,
    address: AddressId,
) -> Option<WindowOrder> {
    let orders = controller.orders().expect("CLA accepts orders");
    orders.standing(conn, end, address).expect("read it back")
}

/// Waits until both subflows are up and have grown. Returns the address id of the joined one.
pub fn grown(hosts: &Hosts, conn: ConnId, end: AddressEnd) -> AddressId {
    let host = match end {
        AddressEnd::Local => &hosts.client,
        AddressEnd::Remote => &hosts.server,
    };
    let now = || windows(host, conn, end);
    let grown = || {
        let windows = now();
        windows.len() == 2 && windows.values().all(|window| window.cwnd > 40)
    };
    eventually("grown", grown, || format!("{:?}", now()));
    *now().keys().find(|id| id.0 != 0).expect("a subflow that joined")
}

pub fn token(socket: &socket2::Socket) -> ConnId {
    ConnId(Info::of(socket).expect("the connection uses MPTCP").token)
}

#[test]
fn an_uploading_mobile_lowers_its_own_window() {
    if !can_run() {
        return;
    }
    let controller = Arc::new(load(Coupled::Cla, "au"));
    let hosts = two_links(&controller, Direction::Upload);
    let upload = transfer(&hosts, Direction::Upload);
    let conn = token(&upload.client);
    let second = grown(&hosts, conn, AddressEnd::Local);
    let now = || windows(&hosts.client, conn, AddressEnd::Local)[&second];
    assert_eq!(standing(&controller, conn, AddressEnd::Local, second), None);
    let ordered = hosts.client.run(|| {
        let mut advisor = Advisor::new(Arc::clone(&controller), AddressEnd::Local).expect("it is CLA");
        let first = advisor.hear(conn, sinks(second)).expect("order");
        let again = advisor.hear(conn, sinks(second)).expect("order");
        (first, again)
    });
    // Orders are given once per fading. The other path's window changes too if it has a queue.
    let (first, again) = ordered.expect("enter");
    assert!((1..=2).contains(&first), "{first} orders");
    assert_eq!(again, 0);
    let order = standing(&controller, conn, AddressEnd::Local, second);
    obeyed(order.expect("the fading path has an order"), now);
}

/// A download, and a server that receives the client's advice.
struct Heard {
    controller: Arc<Controller>,
    hosts: Hosts,
    download: Transfer,
    listener: Listener,
    server: SocketAddr,
}

impl Heard {
    fn start(test: &str) -> Self {
        let controller = Arc::new(load(Coupled::Cla, test));
        let hosts = two_links(&controller, Direction::Download);
        let download = transfer(&hosts, Direction::Download);
        let server = hosts.server_address(linux::cla::DEFAULT_PORT);
        let advisor = Advisor::new(Arc::clone(&controller), AddressEnd::Remote).expect("it is CLA");
        let listener = Listener::start(&hosts.server, server, Key::new(KEY), advisor).expect("listen");
        Self {
            controller,
            hosts,
            download,
            listener,
            server,
        }
    }

    /// Sends advice from the client over every path of the connection, with this key.
    fn tell(&self, key: [u8; 32], advice: Advice) {
        let conn = token(&self.download.client);
        let locals: Vec<IpAddr> = self.hosts.client.run(|| client_addresses(conn)).expect("enter");
        assert_eq!(locals.len(), 2);
        let told = self.hosts.client.run(|| {
            let mut teller = Teller::new(Key::new(key), self.server.port()).expect("a random number");
            teller.tell(conn, self.server.ip(), &locals, advice)
        });
        assert!(told.expect("enter").expect("tell"), "the peer's token is known");
    }
}

impl Heard {
    /// Sends advice from the client that this path fades, once and over one path, with this stamp.
    fn tell_stamped(&self, conn: ConnId, path: AddressId, stamp: Duration) {
        let advice = sinks(path);
        let message = Message {
            sender: 42,
            stamp_ns: stamp.as_nanos() as u64,
            token: conn.0,
            address_id: path.0,
            handed_off: advice.handed_off,
            mobility_ppm: advice.mobility_ppm,
            quality_ppm: advice.quality_ppm,
        };
        let bytes = message.seal(&Key::new(KEY));
        let said = self.hosts.client.run(|| {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.send_to(&bytes, self.server)
        });
        said.expect("enter").expect("send");
    }
}

pub fn client_addresses(conn: ConnId) -> Vec<IpAddr> {
    use linux::diag::{Diag, States};
    let mut found = Vec::new();
    let mut diag = Diag::open().expect("open");
    let listed = diag.each_tcp(States::CONNECTED, |socket| {
        let ours = socket.subflow.is_some_and(|subflow| subflow.token.0 == conn.0);
        found.extend(ours.then(|| socket.local.ip().to_canonical()));
    });
    listed.expect("list");
    found
}

#[test]
fn a_server_lowers_the_window_on_a_mobiles_advice() {
    if !can_run() {
        return;
    }
    let heard = Heard::start("ad");
    let conn = token(&heard.download.server);
    let second = grown(&heard.hosts, conn, AddressEnd::Remote);
    let now = || windows(&heard.hosts.server, conn, AddressEnd::Remote)[&second];
    let order = || standing(&heard.controller, conn, AddressEnd::Remote, second);
    assert_eq!(order(), None);
    heard.tell(KEY, sinks(second));
    eventually("ordered", || order().is_some(), || "no order".to_owned());
    obeyed(order().expect("an order is active"), now);
    // One copy arrived over each path, and one was followed.
    eventually(
        "dropped the copy",
        || heard.listener.heard().replayed == 1,
        || format!("{:?}", heard.listener.heard()),
    );
    let counted = heard.listener.heard();
    assert_eq!(
        (counted.followed, counted.forged, counted.stale),
        (1, 0, 0),
        "{counted:?}"
    );
    assert!((1..=2).contains(&counted.orders), "{counted:?}");
}

#[test]
fn messages_with_another_key_and_noise_are_ignored() {
    if !can_run() {
        return;
    }
    let heard = Heard::start("ak");
    let conn = token(&heard.download.server);
    let second = grown(&heard.hosts, conn, AddressEnd::Remote);
    heard.tell([1; 32], sinks(second));
    let noise = heard.hosts.client.run(|| {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.send_to(&[0; 600], heard.server)
    });
    noise.expect("enter").expect("send");
    let forged = || heard.listener.heard().forged == 3;
    eventually("dropped", forged, || format!("{:?}", heard.listener.heard()));
    assert_eq!(heard.listener.heard().followed, 0);
    assert_eq!(subflows(&heard.hosts.server, conn).len(), 2);
}

#[test]
fn messages_that_are_too_old_or_too_new_are_ignored() {
    if !can_run() {
        return;
    }
    let heard = Heard::start("as");
    let conn = token(&heard.download.server);
    let second = grown(&heard.hosts, conn, AddressEnd::Remote);
    let now = || {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("a clock")
    };
    let counted = || heard.listener.heard();
    // Both hosts have one clock. A future stamp is refused only for its distance. An old one may also be from
    // before the listener began.
    let (old, new) = (now() - Duration::from_secs(6), now() + Duration::from_secs(60));
    for (stale, stamp) in [(1, old), (2, new)] {
        heard.tell_stamped(conn, second, stamp);
        eventually(
            "dropped",
            || counted().stale == stale,
            || format!("{:?}", counted()),
        );
        assert_eq!((counted().followed, counted().orders), (0, 0));
    }
    let order = standing(&heard.controller, conn, AddressEnd::Remote, second);
    assert_eq!(order, None);
    // The same advice with a current stamp is followed.
    heard.tell_stamped(conn, second, now());
    eventually(
        "followed",
        || counted().followed == 1,
        || format!("{:?}", counted()),
    );
    assert_eq!((counted().stale, counted().forged), (2, 0));
}

#[test]
fn a_controller_without_orders_is_refused() {
    if !can_run() {
        return;
    }
    let refused = Advisor::new(Arc::new(load(Coupled::Lia, "an")), AddressEnd::Local);
    assert!(matches!(refused, Err(AdviceError::NotCla(_))), "{refused:?}");
}
