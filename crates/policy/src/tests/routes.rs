//! On which link new connections start.

use super::spec;
use crate::*;
use units::{Duration, Instant};

const FIRST: LinkId = LinkId(1);
const SECOND: LinkId = LinkId(2);
const THIRD: LinkId = LinkId(3);

/// An engine whose links are reported one by one. No connection is open.
struct Host {
    engine: Engine,
    now: Instant,
    /// Where connections start, as the engine last requested, in IPv4 and IPv6.
    begins: [Option<LinkId>; 2],
    said: usize,
}

impl Host {
    fn new() -> Self {
        let (policy, peer_subflows) = (Policy::Slowhand, 2);
        Self {
            engine: Engine::new(Config {
                policy,
                peer_subflows,
            }),
            now: Instant::from_secs(1),
            begins: [None; 2],
            said: 0,
        }
    }

    fn tell(&mut self, link: LinkId, event: LinkEvent) -> &mut Self {
        self.engine.handle(self.now, Input::Link(link, event));
        self.hear();
        self
    }

    fn hear(&mut self) {
        while let Some(action) = self.engine.poll() {
            if let Action::DefaultRoute(family, link) = action {
                self.begins[family as usize] = link;
                self.said += 1;
            }
        }
    }

    fn wait(&mut self, time: Duration) -> &mut Self {
        let until = self.now + time;
        while self.now < until {
            self.now += Duration::from_millis(50);
            self.engine.tick(self.now);
            self.hear();
        }
        self
    }

    /// A usable link with this rank in the user's IPv4 routes, and none in IPv6.
    fn up(&mut self, link: LinkId, kind: LinkKind, v4: Uplink) -> &mut Self {
        self.ranked(link, kind, [v4, Uplink::None])
    }

    fn ranked(&mut self, link: LinkId, kind: LinkKind, [v4, v6]: [Uplink; 2]) -> &mut Self {
        let name = std::format!("link{}", link.0);
        let mut spec = spec(&name, kind, Role::Primary);
        spec.channel = None;
        self.tell(link, LinkEvent::Appeared(spec))
            .tell(link, LinkEvent::Carrier(true))
            .tell(link, LinkEvent::Uplink(Family::V4, v4))
            .tell(link, LinkEvent::Uplink(Family::V6, v6))
            .tell(link, LinkEvent::Usable(true))
            .wait(Duration::from_millis(100))
    }

    fn lose(&mut self, link: LinkId) -> &mut Self {
        self.tell(link, LinkEvent::Usable(false))
            .tell(link, LinkEvent::Carrier(false))
            .wait(Duration::from_millis(100))
    }

    fn restore(&mut self, link: LinkId) -> &mut Self {
        self.tell(link, LinkEvent::Carrier(true))
            .tell(link, LinkEvent::Usable(true))
            .wait(Duration::from_millis(100))
    }
}

#[test]
fn the_users_order_is_the_default_whatever_the_kinds() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Wifi, Uplink::Metric(100))
        .up(SECOND, LinkKind::Cable, Uplink::Metric(600))
        .wait(Duration::from_secs(60));
    assert_eq!((host.begins, host.said), ([None; 2], 0));
}

#[test]
fn the_users_order_is_overridden_while_its_first_link_is_lost_and_then_restored() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Cable, Uplink::Metric(100))
        .up(SECOND, LinkKind::Cellular, Uplink::Metric(700))
        .up(THIRD, LinkKind::Cellular, Uplink::Metric(600));
    host.lose(FIRST);
    assert_eq!(host.begins, [Some(THIRD), None], "the next by metric");
    host.restore(FIRST).wait(Duration::from_secs(4));
    assert_eq!(host.begins[0], Some(THIRD), "not yet");
    host.wait(Duration::from_secs(2));
    assert_eq!(host.begins[0], None);
    host.lose(FIRST).lose(THIRD);
    assert_eq!(host.begins[0], Some(SECOND));
    host.restore(THIRD).wait(Duration::from_secs(6));
    assert_eq!(
        host.begins[0],
        Some(THIRD),
        "the better one of those that are left"
    );
}

#[test]
fn a_link_that_comes_and_goes_moves_connections_once() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Cable, Uplink::Metric(100))
        .up(SECOND, LinkKind::Cable, Uplink::Metric(200));
    for _ in 0..10 {
        host.lose(FIRST).restore(FIRST).wait(Duration::from_secs(2));
    }
    assert_eq!((host.begins[0], host.said), (Some(SECOND), 1));
}

#[test]
fn a_first_link_that_stays_without_an_address_is_left_after_a_second() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Cable, Uplink::Metric(100))
        .up(SECOND, LinkKind::Cable, Uplink::Metric(200));
    host.tell(FIRST, LinkEvent::Usable(false))
        .wait(Duration::from_millis(900));
    assert_eq!(host.begins[0], None);
    host.wait(Duration::from_millis(200));
    assert_eq!(host.begins[0], Some(SECOND));
}

#[test]
fn with_several_next_hops_both_must_be_good() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Cable, Uplink::Metric(0))
        .up(SECOND, LinkKind::Cable, Uplink::Metric(0));
    assert_eq!(host.said, 0, "the kernel spreads connections over both");
    host.lose(FIRST);
    assert_eq!(host.begins[0], Some(SECOND));
    host.restore(FIRST).wait(Duration::from_secs(6));
    assert_eq!(host.begins[0], None);
}

#[test]
fn families_differ_where_the_users_routes_do() {
    let mut host = Host::new();
    host.ranked(FIRST, LinkKind::Cable, [Uplink::Metric(100), Uplink::Metric(600)])
        .ranked(
            SECOND,
            LinkKind::Cable,
            [Uplink::Metric(200), Uplink::Metric(500)],
        )
        .ranked(THIRD, LinkKind::Cable, [Uplink::None, Uplink::Metric(700)]);
    host.lose(FIRST);
    assert_eq!(host.begins, [Some(SECOND), None]);
    host.lose(SECOND);
    assert_eq!(
        host.begins,
        [Some(SECOND), Some(THIRD)],
        "nothing is better in IPv4"
    );
}

#[test]
fn kind_decides_among_equals_and_where_the_user_has_no_route() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Wifi, Uplink::Declared);
    assert_eq!(host.begins[0], Some(FIRST));
    host.up(SECOND, LinkKind::Cable, Uplink::Declared)
        .wait(Duration::from_secs(10));
    assert_eq!(
        host.begins[0],
        Some(FIRST),
        "connections are not spread without need"
    );
    host.up(THIRD, LinkKind::Cellular, Uplink::Declared).lose(FIRST);
    assert_eq!(host.begins[0], Some(SECOND));
}

#[test]
fn a_link_that_leads_nowhere_is_explained() {
    let mut host = Host::new();
    host.up(FIRST, LinkKind::Cable, Uplink::None)
        .tell(FIRST, LinkEvent::Usable(false));
    let told = host.engine.explain();
    assert_eq!(told[0].state, "no-uplink");
    assert_eq!(
        told[0].why,
        "the main routing table has no default route over it, so slowhand leaves it alone"
    );
}
