use super::*;
use crate::daemon::links::ways::Way;
use crate::rtnl::{Address, AddressFlags, OperState, Prefix, Route, RouteKind, Table};
use policy::{LinkKind, Tariff, Uplink};

const WIFI: LinkId = LinkId(3);

fn spec(name: &str, kind: LinkKind) -> LinkSpec {
    LinkSpec {
        name: name.into(),
        kind,
        role: Role::Primary,
        channel: None,
    }
}

fn declared(interface: &str, kind: LinkKind) -> DeclaredLink {
    DeclaredLink {
        id: WIFI,
        interface: interface.into(),
        spec: spec("home", kind),
        gateway: None,
        tariff: Tariff::Flat,
    }
}

fn link(name: &str, running: bool, arphrd: u16) -> Link {
    Link {
        ifindex: 7,
        name: name.parse().unwrap(),
        altnames: Vec::new(),
        mtu: 1500,
        up: true,
        carrier: running,
        operstate: OperState::Unknown,
        loopback: false,
        arphrd,
        mac: None,
        kind: None,
    }
}

fn address(text: &str) -> Address {
    Address {
        flags: AddressFlags::NO_DAD,
        ..Address::new(7, text.parse().unwrap())
    }
}

fn default_over(ifindex: u32, gateway: &str, metric: u32) -> Route {
    let gateway: IpAddr = gateway.parse().unwrap();
    Route {
        oif: Some(ifindex),
        gateway: Some(gateway),
        metric,
        protocol: Protocol::BOOT,
        ..Route::new(Table::MAIN, Prefix::any(gateway))
    }
}

fn default_route(gateway: &str) -> Route {
    default_over(7, gateway, 100)
}

/// Applies events, and reports every plan as executed.
struct Scene {
    links: Links,
    now: Instant,
    log: Vec<Step>,
}

impl Scene {
    fn of(declared: Vec<DeclaredLink>) -> Self {
        Self {
            links: Links::new(declared),
            now: Instant::from_secs(10),
            log: Vec::new(),
        }
    }

    fn new(declared: DeclaredLink) -> Self {
        Self::of(vec![declared])
    }

    /// A running link with an address and a default route.
    fn online(declared: DeclaredLink, interface: &str) -> Self {
        let mut scene = Self::new(declared);
        scene
            .event(&Event::Link(link(interface, true, 1)))
            .event(&Event::Address(address("192.168.1.7/24")))
            .event(&Event::Route(default_route("192.168.1.1")));
        assert!(scene.links.get(WIFI).unwrap().usable());
        scene.steps();
        scene
    }

    fn event(&mut self, event: &Event) -> &mut Self {
        let mut steps = Vec::new();
        self.links.apply(self.now, event, &mut steps);
        self.take(steps)
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        let mut steps = Vec::new();
        self.links.tick(self.now, &mut steps);
        self.take(steps)
    }

    fn prefer(&mut self, family: Family, link: Option<LinkId>) -> &mut Self {
        let mut steps = Vec::new();
        self.links.prefer(family, link, &mut steps);
        self.take(steps)
    }

    fn take(&mut self, steps: Vec<Step>) -> &mut Self {
        for step in steps {
            let mut more = Vec::new();
            if matches!(step, Step::Apply | Step::Restore) {
                self.links.applied(self.now, true, &mut more);
            }
            self.log.push(step);
            self.log.append(&mut more);
        }
        self
    }

    /// The steps since the last call.
    fn steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.log)
    }

    /// [`Scene::steps`] without the ranks of the user's routes.
    fn acts(&mut self) -> Vec<Step> {
        let mut steps = self.steps();
        steps.retain(|step| !matches!(step, Step::Tell(_, LinkEvent::Uplink(..))));
        steps
    }

    fn sources(&self) -> Vec<String> {
        let plan = self.links.plan();
        let told = plan.sources.iter().map(|source| {
            let uplink = &plan.uplinks[source.uplink];
            let gateway = uplink
                .gateway
                .map_or("-".to_owned(), |gateway| gateway.to_string());
            format!("{} {} {gateway}", source.address, uplink.name)
        });
        told.collect()
    }

    /// The gateway that a rule makes new connections use.
    fn overriding(&self, v6: bool) -> Option<String> {
        let plan = self.links.plan();
        let uplink = plan.overrides[usize::from(v6)].map(|at| plan.uplinks[at]);
        uplink.map(|uplink| uplink.gateway.unwrap().to_string())
    }
}

fn tell(event: LinkEvent) -> Step {
    Step::Tell(WIFI, event)
}

/// The steps with which a link gets a way out in IPv4.
fn online() -> [Step; 3] {
    [
        Step::Apply,
        tell(LinkEvent::Address(Family::V4, true)),
        tell(LinkEvent::Usable(true)),
    ]
}

fn ranked(family: Family, uplink: Uplink) -> Step {
    tell(LinkEvent::Uplink(family, uplink))
}

#[test]
fn a_link_appears_gets_a_carrier_an_address_and_a_route() {
    let mut scene = Scene::new(declared("wlan0", LinkKind::Wifi));
    scene.event(&Event::Link(link("wlan0", false, 1)));
    assert_eq!(
        scene.steps(),
        [Step::Attach(WIFI, 7)],
        "an access point cannot be seen by looking at an interface"
    );
    scene.event(&Event::Link(link("wlan0", true, 1)));
    assert_eq!(
        scene.steps(),
        [
            tell(LinkEvent::Appeared(spec("home", LinkKind::Wifi))),
            tell(LinkEvent::Carrier(true)),
            ranked(Family::V4, Uplink::None),
            ranked(Family::V6, Uplink::None),
        ]
    );
    scene.event(&Event::Address(address("192.168.1.7/24")));
    assert_eq!(scene.steps(), [], "it leads nowhere yet");
    scene.event(&Event::Route(default_route("192.168.1.1")));
    assert_eq!(
        scene.steps(),
        [
            ranked(Family::V4, Uplink::Metric(100)),
            Step::Apply,
            tell(LinkEvent::Address(Family::V4, true)),
            tell(LinkEvent::Usable(true))
        ]
    );
    let way = Way {
        ifindex: 7,
        name: "wlan0".parse().unwrap(),
        address: "192.168.1.7/24".parse().unwrap(),
        gateway: Some("192.168.1.1".parse().unwrap()),
    };
    assert_eq!(scene.links.get(WIFI).unwrap().way(false), Some(way));
    assert_eq!(scene.sources(), ["192.168.1.7 wlan0 192.168.1.1"]);
    let owner = |text: &str, ifindex| scene.links.owner(text.parse().unwrap(), ifindex);
    assert_eq!(owner("192.168.1.7", None), Some(WIFI));
    assert_eq!(owner("192.168.1.8", None), None);
    assert_eq!(owner("192.168.1.8", Some(7)), Some(WIFI));
}

#[test]
fn a_link_without_a_default_route_is_no_uplink() {
    let mut scene = Scene::new(declared("eth0", LinkKind::Cable));
    scene
        .event(&Event::Link(link("eth0", true, 1)))
        .event(&Event::Address(address("192.168.1.50/24")))
        .event(&Event::Address(address("fd00:9::2/64")));
    scene.wait(60_000);
    assert_eq!(*scene.links.plan(), Plan::default());
    assert!(!scene.links.get(WIFI).unwrap().usable());
    scene.event(&Event::Route(default_route("192.168.1.1")));
    assert_eq!(scene.sources(), ["192.168.1.50 eth0 192.168.1.1"], "IPv4 only");
}

#[test]
fn a_gateway_of_the_configuration_makes_an_uplink() {
    let gateway = Some("10.64.0.1".parse().unwrap());
    let mut scene = Scene::new(DeclaredLink {
        gateway,
        ..declared("wwan0", LinkKind::Cellular)
    });
    scene
        .event(&Event::Link(link("wwan0", true, 519)))
        .event(&Event::Address(address("10.9.8.7/32")));
    assert_eq!(scene.sources(), ["10.9.8.7 wwan0 10.64.0.1"]);
    assert_eq!(scene.steps().last(), Some(&tell(LinkEvent::Usable(true))));
}

#[test]
fn a_link_that_is_never_used_gets_no_routes() {
    let mut never = declared("eth0", LinkKind::Cable);
    never.spec.role = Role::Never;
    let mut scene = Scene::new(never);
    scene
        .event(&Event::Link(link("eth0", true, 1)))
        .event(&Event::Address(address("192.168.1.7/24")))
        .event(&Event::Route(default_route("192.168.1.1")));
    assert_eq!(*scene.links.plan(), Plan::default());
}

#[test]
fn every_address_is_a_source_and_the_best_one_is_the_way() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    scene.event(&Event::Address(address("192.168.1.77/24")));
    scene.event(&Event::Address(address("10.8.0.5/24")));
    assert_eq!(scene.acts(), [Step::Apply, Step::Apply]);
    let all =
        ["192.168.1.7", "192.168.1.77", "10.8.0.5"].map(|address| format!("{address} eth0 192.168.1.1"));
    assert_eq!(scene.sources(), all);
    scene.event(&Event::Route(default_over(7, "10.8.0.1", 200)));
    assert_eq!(
        scene.sources()[2],
        "10.8.0.5 eth0 10.8.0.1",
        "source and gateway go together"
    );
    assert_eq!(
        scene
            .links
            .get(WIFI)
            .unwrap()
            .way(false)
            .unwrap()
            .address
            .addr()
            .to_string(),
        "192.168.1.7"
    );
    scene.steps();
    scene.event(&Event::AddressGone(address("192.168.1.77/24")));
    assert_eq!(scene.acts(), [Step::Apply]);
    assert_eq!(scene.sources().len(), 2);
}

#[test]
fn replacing_the_address_is_a_loss_and_a_return() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    scene.event(&Event::AddressGone(address("192.168.1.7/24")));
    assert_eq!(scene.acts(), [tell(LinkEvent::Usable(false)), Step::Apply]);
    scene.event(&Event::Address(address("192.168.1.9/24")));
    assert_eq!(scene.acts(), online());
}

#[test]
fn one_family_may_change_while_the_other_stays() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    scene
        .event(&Event::Address(address("2001:db8::7/64")))
        .event(&Event::Route(default_route("fe80::1")));
    scene.steps();
    scene.event(&Event::AddressGone(address("192.168.1.7/24")));
    let lost = "192.168.1.7".parse().unwrap();
    assert_eq!(
        scene.acts(),
        [
            Step::Lost(WIFI, lost),
            tell(LinkEvent::Address(Family::V4, false)),
            Step::Apply
        ]
    );
    scene.event(&Event::Address(address("192.168.1.9/24")));
    assert_eq!(scene.acts(), online());
    assert_eq!(
        scene.sources(),
        ["192.168.1.9 eth0 192.168.1.1", "2001:db8::7 eth0 fe80::1"]
    );
}

#[test]
fn a_route_that_is_back_within_a_second_was_not_lost() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    for back_after in [0, 900] {
        scene.event(&Event::RouteGone(default_route("192.168.1.1")));
        scene.wait(back_after);
        scene.event(&Event::Route(default_route("192.168.1.1")));
        scene.wait(2_000);
        assert_eq!(scene.acts(), []);
    }
    scene.event(&Event::RouteGone(default_route("192.168.1.1")));
    assert_eq!(scene.steps(), [ranked(Family::V4, Uplink::None)]);
    assert_eq!(scene.links.wake_at(), Some(scene.now + Duration::from_secs(1)));
    scene.wait(1_000);
    assert_eq!(scene.acts(), [tell(LinkEvent::Usable(false)), Step::Apply]);
    assert_eq!(*scene.links.plan(), Plan::default());
}

#[test]
fn another_router_ends_no_connection() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    scene.event(&Event::Route(default_over(7, "192.168.1.2", 50)));
    assert_eq!(scene.acts(), [Step::Apply]);
    scene.event(&Event::RouteGone(default_route("192.168.1.1")));
    assert_eq!(scene.acts(), [Step::Apply]);
    assert_eq!(scene.sources(), ["192.168.1.7 eth0 192.168.1.2"]);
}

#[test]
fn a_rejecting_default_route_blocks_worse_ones() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    let refusing = Route {
        kind: RouteKind::Unreachable,
        oif: None,
        metric: 50,
        gateway: None,
        ..default_route("192.168.1.1")
    };
    scene.event(&Event::Route(refusing)).wait(1_000);
    assert_eq!(*scene.links.plan(), Plan::default());
    scene.event(&Event::RouteGone(refusing));
    assert_eq!(scene.sources(), ["192.168.1.7 eth0 192.168.1.1"]);
}

#[test]
fn a_lost_carrier_takes_the_routes_with_it() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    scene
        .event(&Event::Link(link("eth0", false, 1)))
        .event(&Event::Link(link("eth0", true, 1)));
    assert_eq!(
        scene.acts(),
        [
            tell(LinkEvent::Usable(false)),
            tell(LinkEvent::Carrier(false)),
            Step::Apply,
            tell(LinkEvent::Carrier(true)),
            Step::Apply,
            tell(LinkEvent::Address(Family::V4, true)),
            tell(LinkEvent::Usable(true))
        ]
    );
}

#[test]
fn a_dormant_link_is_used_as_the_kernel_uses_it() {
    let dormant = Link {
        operstate: OperState::Dormant,
        ..link("eth0", true, 1)
    };
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    scene.event(&Event::Link(dormant));
    assert_eq!(scene.acts(), []);
}

#[test]
fn a_plan_that_fails_is_tried_again() {
    let mut scene = Scene::new(declared("eth0", LinkKind::Cable));
    scene
        .event(&Event::Link(link("eth0", true, 1)))
        .event(&Event::Address(address("192.168.1.7/24")));
    let mut steps = Vec::new();
    let route = Event::Route(default_route("192.168.1.1"));
    scene.links.apply(scene.now, &route, &mut steps);
    assert_eq!(steps.last(), Some(&Step::Apply));
    steps.clear();
    scene.links.applied(scene.now, false, &mut steps);
    assert_eq!(steps, []);
    assert!(!scene.links.get(WIFI).unwrap().usable());
    scene.steps();
    scene.wait(1_000);
    assert_eq!(scene.steps(), online());
}

#[test]
fn a_declared_name_keeps_its_number_and_a_found_one_does_not() {
    let mut scene = Scene::new(declared("usb0", LinkKind::Cellular));
    scene.event(&Event::Link(link("usb0", true, 519)));
    scene.steps();
    scene.event(&Event::LinkGone(link("usb0", true, 519)));
    assert_eq!(scene.acts(), [tell(LinkEvent::Carrier(false)), Step::Detach(7)]);
    scene.event(&Event::Link(link("usb0", true, 519)));
    assert_eq!(
        scene.acts(),
        [Step::Attach(WIFI, 7), tell(LinkEvent::Carrier(true))]
    );

    let mut scene = Scene::new(declared("usb*", LinkKind::Cellular));
    scene.event(&Event::Link(link("usb0", true, 519)));
    scene.event(&Event::LinkGone(link("usb0", true, 519)));
    scene.event(&Event::Link(link("usb0", true, 519)));
    let appeared = |id| Step::Tell(id, LinkEvent::Appeared(spec("usb0", LinkKind::Cellular)));
    let told = |id, carrier| Step::Tell(id, LinkEvent::Carrier(carrier));
    let (first, second) = (LinkId(4), LinkId(5));
    assert_eq!(
        scene.acts(),
        [
            Step::Attach(first, 7),
            appeared(first),
            told(first, true),
            told(first, false),
            Step::Detach(7),
            Step::Tell(first, LinkEvent::Gone),
            Step::Attach(second, 7),
            appeared(second),
            told(second, true)
        ]
    );
}

#[test]
fn a_links_tariff_is_reported_with_it() {
    let metered = Tariff::Metered { cap: None };
    let costly = |interface| DeclaredLink {
        tariff: metered,
        ..declared(interface, LinkKind::Cellular)
    };
    for (interface, id, name) in [("usb0", WIFI, "home"), ("usb*", LinkId(4), "usb0")] {
        let mut scene = Scene::new(costly(interface));
        scene.event(&Event::Link(link("usb0", true, 519)));
        let told = [
            LinkEvent::Appeared(spec(name, LinkKind::Cellular)),
            LinkEvent::Tariff(metered),
            LinkEvent::Carrier(true),
        ];
        assert_eq!(
            scene.acts()[1..],
            told.map(|event| Step::Tell(id, event)),
            "{interface}"
        );
    }
}

/// Two cables. The user's routes prefer `eth0` in IPv4.
fn two_cables() -> Scene {
    let cable = |id, interface| DeclaredLink {
        id: LinkId(id),
        ..declared(interface, LinkKind::Cable)
    };
    let mut scene = Scene::of(vec![cable(1, "eth0"), cable(2, "eth1")]);
    for (ifindex, name) in [(7, "eth0"), (8, "eth1")] {
        scene.event(&Event::Link(Link {
            ifindex,
            ..link(name, true, 1)
        }));
        scene.event(&Event::Address(Address {
            ifindex,
            ..address(&format!("192.168.{ifindex}.2/24"))
        }));
    }
    scene
        .event(&Event::Route(default_over(7, "192.168.7.1", 100)))
        .event(&Event::Route(default_over(8, "192.168.8.1", 600)));
    scene
}

#[test]
fn a_rule_overrides_the_users_order_only_where_it_differs() {
    let mut scene = two_cables();
    for (preferred, expected) in [
        (None, None),
        (Some(LinkId(1)), None),
        (Some(LinkId(2)), Some("192.168.8.1")),
        (None, None),
    ] {
        scene.prefer(Family::V4, preferred);
        assert_eq!(scene.overriding(false).as_deref(), expected, "{preferred:?}");
        scene.prefer(Family::V6, preferred);
        assert_eq!(scene.overriding(true), None, "nothing leads out in IPv6");
    }
}

#[test]
fn an_override_follows_its_link() {
    let mut scene = two_cables();
    scene.prefer(Family::V4, Some(LinkId(2)));
    let second = |text: &str| Address {
        ifindex: 8,
        ..address(text)
    };
    scene.event(&Event::Address(second("192.168.8.9/24")));
    scene.event(&Event::AddressGone(second("192.168.8.2/24")));
    assert_eq!(scene.overriding(false).as_deref(), Some("192.168.8.1"));
    scene.event(&Event::AddressGone(second("192.168.8.9/24")));
    assert_eq!(scene.overriding(false), None);
    scene.event(&Event::Address(second("10.1.1.4/24")));
    scene.event(&Event::Route(default_over(8, "10.1.1.1", 500)));
    assert_eq!(scene.overriding(false).as_deref(), Some("10.1.1.1"));
}

#[test]
fn if_the_user_prefers_a_tunnel_nothing_is_overridden() {
    let mut scene = two_cables();
    scene.prefer(Family::V4, Some(LinkId(2)));
    scene.event(&Event::Link(Link {
        ifindex: 9,
        ..link("tun0", true, 65534)
    }));
    let tunnel = Route {
        gateway: None,
        ..default_over(9, "10.0.0.1", 50)
    };
    scene.event(&Event::Route(tunnel));
    assert_eq!(scene.overriding(false), None);
    scene.event(&Event::RouteGone(tunnel));
    assert_eq!(scene.overriding(false).as_deref(), Some("192.168.8.1"));
}

#[test]
fn removed_routes_are_checked_soon() {
    let mut scene = Scene::online(declared("eth0", LinkKind::Cable), "eth0");
    let ours = Route {
        table: Table(51_830),
        protocol: Protocol::SLOWHAND,
        ..default_route("192.168.1.1")
    };
    for event in [Event::Rules, Event::RouteGone(ours)] {
        scene.event(&event);
        assert_eq!(scene.acts(), []);
        scene.wait(200);
        assert_eq!(scene.acts(), [Step::Restore]);
    }
}

#[test]
fn of_two_links_with_one_address_the_one_where_connections_begin_owns_it() {
    let mut scene = two_cables();
    for ifindex in [7, 8] {
        scene.event(&Event::Address(Address {
            ifindex,
            ..address("10.0.0.5/24")
        }));
    }
    let local = "10.0.0.5".parse().unwrap();
    assert_eq!(scene.links.owner(local, None), Some(LinkId(1)));
    scene.prefer(Family::V4, Some(LinkId(2)));
    assert_eq!(scene.links.owner(local, None), Some(LinkId(2)));
    assert_eq!(scene.links.owner(local, Some(7)), Some(LinkId(1)));
}

#[path = "names_tests.rs"]
mod names;
#[path = "seen_tests.rs"]
mod seen;
