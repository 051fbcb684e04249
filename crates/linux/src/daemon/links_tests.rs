use super::*;
use crate::rtnl::{AddressFlags, OperState};

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

fn default_route(gateway: &str) -> Route {
    let gateway: IpAddr = gateway.parse().unwrap();
    Route {
        oif: Some(7),
        gateway: Some(gateway),
        protocol: crate::rtnl::Protocol::BOOT,
        ..Route::new(Table::MAIN, Prefix::any(gateway))
    }
}

/// Applies events one second apart from the `n`th second on, and reports every installation as done.
struct Plan {
    links: Links,
    now: Instant,
    log: Vec<Step>,
}

impl Plan {
    fn new(declared: DeclaredLink) -> Self {
        Self {
            links: Links::new(vec![declared]),
            now: Instant::from_secs(10),
            log: Vec::new(),
        }
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

    fn take(&mut self, steps: Vec<Step>) -> &mut Self {
        for step in steps {
            let mut more = Vec::new();
            if let Step::Install(link, way) = step {
                self.links.installed(self.now, link, way, true, &mut more);
            }
            self.log.push(step);
            self.log.append(&mut more);
        }
        self
    }

    /// What has been asked for since the last call.
    fn steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.log)
    }
}

fn tell(event: LinkEvent) -> Step {
    Step::Tell(WIFI, event)
}

fn on(interface: &str, address: &str, gateway: Option<&str>) -> Way {
    Way {
        number: WIFI.0,
        ifindex: 7,
        name: interface.parse().unwrap(),
        address: address.parse().unwrap(),
        gateway: gateway.map(|text| text.parse().unwrap()),
        ecn: false,
    }
}

fn way(address: &str, gateway: Option<&str>) -> Way {
    on("tun0", address, gateway)
}

#[test]
fn a_link_appears_gets_a_carrier_an_address_and_a_route() {
    let mut plan = Plan::new(declared("wlan0", LinkKind::Wifi));
    plan.event(&Event::Link(link("wlan0", false, 1)));
    assert_eq!(
        plan.steps(),
        [Step::Attach(WIFI, 7)],
        "an access point cannot be seen by looking at an interface"
    );
    plan.event(&Event::Link(link("wlan0", true, 1)));
    assert_eq!(
        plan.steps(),
        [
            tell(LinkEvent::Appeared(spec("home", LinkKind::Wifi))),
            tell(LinkEvent::Carrier(true))
        ]
    );
    plan.event(&Event::Address(address("192.168.1.7/24")));
    assert_eq!(plan.steps(), [], "the gateway is not known yet");
    plan.event(&Event::Route(default_route("192.168.1.1")));
    let way = on("wlan0", "192.168.1.7/24", Some("192.168.1.1"));
    assert_eq!(
        plan.steps(),
        [Step::Install(WIFI, way), tell(LinkEvent::Usable(true))]
    );
    assert_eq!(plan.links.get(WIFI).unwrap().way(false), Some(way));
    assert_eq!(
        plan.links.owner("192.168.1.7".parse().unwrap(), None, None),
        Some(WIFI)
    );
    assert_eq!(plan.links.owner("192.168.1.8".parse().unwrap(), None, None), None);
    assert_eq!(
        plan.links.owner("192.168.1.8".parse().unwrap(), Some(7), None),
        Some(WIFI)
    );
}

#[test]
fn without_a_default_route_peers_are_on_the_link_after_a_second() {
    let mut plan = Plan::new(declared("eth0", LinkKind::Cable));
    plan.event(&Event::Link(link("eth0", true, 1)))
        .event(&Event::Address(address("10.0.0.1/24")));
    plan.steps();
    assert_eq!(plan.links.wake_at(), Some(Instant::from_secs(11)));
    plan.wait(999);
    assert_eq!(plan.steps(), []);
    plan.wait(1);
    let on_link = on("eth0", "10.0.0.1/24", None);
    assert_eq!(
        plan.steps(),
        [Step::Install(WIFI, on_link), tell(LinkEvent::Usable(true))]
    );
    assert_eq!(plan.links.wake_at(), None);
    plan.event(&Event::Route(default_route("10.0.0.254")));
    let routed = on("eth0", "10.0.0.1/24", Some("10.0.0.254"));
    assert_eq!(
        plan.steps(),
        [
            tell(LinkEvent::Usable(false)),
            Step::Uninstall(WIFI, on_link),
            Step::Install(WIFI, routed),
            tell(LinkEvent::Usable(true))
        ]
    );
}

#[test]
fn a_tunnel_needs_no_gateway() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cellular));
    plan.event(&Event::Link(link("tun0", true, 65534)))
        .event(&Event::Address(address("10.0.0.1/32")));
    assert_eq!(plan.steps().last(), Some(&tell(LinkEvent::Usable(true))));
}

#[test]
fn a_link_that_is_never_used_gets_no_routes() {
    let mut never = declared("tun0", LinkKind::Cable);
    never.spec.role = Role::Never;
    let mut plan = Plan::new(never);
    plan.event(&Event::Link(link("tun0", true, 65534)))
        .event(&Event::Address(address("10.0.0.1/32")));
    assert_eq!(plan.steps().last(), Some(&tell(LinkEvent::Carrier(true))));
}

#[test]
fn a_new_address_is_a_loss_and_a_return() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cable));
    plan.event(&Event::Link(link("tun0", true, 65534)))
        .event(&Event::Address(address("10.0.0.1/32")));
    plan.steps();
    plan.event(&Event::AddressGone(address("10.0.0.1/32")));
    assert_eq!(
        plan.steps(),
        [
            tell(LinkEvent::Usable(false)),
            Step::Uninstall(WIFI, way("10.0.0.1/32", None))
        ]
    );
    plan.event(&Event::Address(address("10.0.0.9/32")));
    assert_eq!(
        plan.steps(),
        [
            Step::Install(WIFI, way("10.0.0.9/32", None)),
            tell(LinkEvent::Usable(true))
        ]
    );
}

#[test]
fn an_additional_address_changes_nothing() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cable));
    plan.event(&Event::Link(link("tun0", true, 65534)))
        .event(&Event::Address(address("10.0.0.1/32")));
    plan.steps();
    plan.event(&Event::Address(address("10.0.0.2/32")))
        .event(&Event::AddressGone(address("10.0.0.2/32")));
    assert_eq!(plan.steps(), []);
}

#[test]
fn a_lost_carrier_takes_the_routes_with_it() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cable));
    plan.event(&Event::Link(link("tun0", true, 65534)))
        .event(&Event::Address(address("10.0.0.1/32")));
    plan.steps();
    plan.event(&Event::Link(link("tun0", false, 65534)))
        .event(&Event::Link(link("tun0", true, 65534)));
    let way = way("10.0.0.1/32", None);
    assert_eq!(
        plan.steps(),
        [
            tell(LinkEvent::Usable(false)),
            Step::Uninstall(WIFI, way),
            tell(LinkEvent::Carrier(false)),
            tell(LinkEvent::Carrier(true)),
            Step::Install(WIFI, way),
            tell(LinkEvent::Usable(true))
        ]
    );
}

#[test]
fn the_other_family_keeps_a_link_usable() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cable));
    plan.event(&Event::Link(link("tun0", true, 65534)));
    plan.event(&Event::Address(address("10.0.0.1/32")))
        .event(&Event::Address(address("fd00::1/64")));
    plan.steps();
    plan.event(&Event::AddressGone(address("10.0.0.1/32")));
    let lost = way("10.0.0.1/32", None);
    assert_eq!(
        plan.steps(),
        [Step::Lost(WIFI, lost.address.addr()), Step::Uninstall(WIFI, lost)]
    );
}

#[test]
fn routes_that_cannot_be_made_are_tried_again() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cable));
    let mut steps = Vec::new();
    plan.links
        .apply(plan.now, &Event::Link(link("tun0", true, 65534)), &mut steps);
    steps.clear();
    plan.links
        .apply(plan.now, &Event::Address(address("10.0.0.1/32")), &mut steps);
    let way = way("10.0.0.1/32", None);
    assert_eq!(steps, [Step::Install(WIFI, way)]);
    steps.clear();
    plan.links.installed(plan.now, WIFI, way, false, &mut steps);
    assert_eq!(steps, []);
    assert!(!plan.links.get(WIFI).unwrap().usable());
    plan.wait(1_000);
    assert_eq!(
        plan.steps(),
        [Step::Install(WIFI, way), tell(LinkEvent::Usable(true))]
    );
}

#[test]
fn a_declared_name_keeps_its_number_and_a_found_one_does_not() {
    let mut plan = Plan::new(declared("usb0", LinkKind::Cellular));
    plan.event(&Event::Link(link("usb0", true, 65534)));
    plan.steps();
    plan.event(&Event::LinkGone(link("usb0", true, 65534)));
    assert_eq!(plan.steps(), [tell(LinkEvent::Carrier(false)), Step::Detach(7)]);
    plan.event(&Event::Link(link("usb0", true, 65534)));
    assert_eq!(
        plan.steps(),
        [Step::Attach(WIFI, 7), tell(LinkEvent::Carrier(true))]
    );

    let mut plan = Plan::new(declared("usb*", LinkKind::Cellular));
    plan.event(&Event::Link(link("usb0", true, 65534)))
        .event(&Event::Link(link("usb0", false, 65534)));
    plan.event(&Event::LinkGone(link("usb0", true, 65534)))
        .event(&Event::Link(link("usb0", true, 65534)));
    let appeared = |id| Step::Tell(id, LinkEvent::Appeared(spec("usb0", LinkKind::Cellular)));
    let told = |id, carrier| Step::Tell(id, LinkEvent::Carrier(carrier));
    let (first, second) = (LinkId(4), LinkId(5));
    assert_eq!(
        plan.steps(),
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
fn what_a_link_costs_is_told_with_it() {
    let metered = Tariff::Metered { cap: None };
    let costly = |interface| DeclaredLink {
        tariff: metered,
        ..declared(interface, LinkKind::Cellular)
    };
    for (interface, id, name) in [("usb0", WIFI, "home"), ("usb*", LinkId(4), "usb0")] {
        let mut plan = Plan::new(costly(interface));
        plan.event(&Event::Link(link("usb0", true, 65534)));
        let told = [
            LinkEvent::Appeared(spec(name, LinkKind::Cellular)),
            LinkEvent::Tariff(metered),
            LinkEvent::Carrier(true),
        ];
        assert_eq!(
            plan.steps()[1..],
            told.map(|event| Step::Tell(id, event)),
            "{interface}"
        );
    }
}

#[test]
fn a_renamed_interface_is_another_link() {
    let mut plan = Plan::new(declared("tun0", LinkKind::Cable));
    plan.event(&Event::Link(link("tun0", true, 65534)));
    plan.steps();
    plan.event(&Event::Link(link("tun1", true, 65534)));
    assert_eq!(plan.steps(), [tell(LinkEvent::Carrier(false)), Step::Detach(7)]);
}

#[test]
fn of_two_links_with_one_address_the_preferred_owns_it() {
    let mut links = Links::new(vec![
        DeclaredLink {
            id: LinkId(1),
            ..declared("tun0", LinkKind::Cable)
        },
        DeclaredLink {
            id: LinkId(2),
            ..declared("tun1", LinkKind::Cable)
        },
    ]);
    let mut steps = Vec::new();
    let second = Link {
        ifindex: 8,
        ..link("tun1", true, 65534)
    };
    for event in [
        Event::Link(link("tun0", true, 65534)),
        Event::Link(second),
        Event::Address(address("192.168.1.2/24")),
        Event::Address(Address {
            ifindex: 8,
            ..address("192.168.1.2/24")
        }),
    ] {
        links.apply(Instant::ZERO, &event, &mut steps);
    }
    let local = "192.168.1.2".parse().unwrap();
    assert_eq!(links.owner(local, None, Some(LinkId(2))), Some(LinkId(2)));
    assert_eq!(links.owner(local, None, Some(LinkId(9))), Some(LinkId(1)));
    assert_eq!(links.owner(local, Some(8), Some(LinkId(1))), Some(LinkId(2)));
}
