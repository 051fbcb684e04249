//! Interfaces whose names change, and links that are declared by alternative names.

use super::*;

fn renamed(from: &str, to: &str) -> Step {
    Step::Renamed(from.parse().unwrap(), to.parse().unwrap())
}

#[test]
fn a_link_may_be_declared_by_an_alternative_name() {
    let mut scene = Scene::new(declared("uplink-of-the-house", LinkKind::Cable));
    let altnames = vec!["enp3s0".to_owned(), "uplink-of-the-house".to_owned()];
    scene.event(&Event::Link(Link {
        altnames,
        ..link("eth0", true, 1)
    }));
    assert_eq!(scene.steps()[0], Step::Attach(WIFI, 7));
}

#[test]
fn a_name_that_comes_back_changes_nothing() {
    let mut scene = Scene::online(declared("wlan0", LinkKind::Wifi), "wlan0");
    scene.event(&Event::Link(link("wlx0", true, 1)));
    assert_eq!(
        scene.acts(),
        [renamed("wlan0", "wlx0"), Step::Apply],
        "rules name the interface as it is called"
    );
    scene.event(&Event::Link(link("wlan0", true, 1)));
    scene.wait(1_000);
    assert_eq!(scene.acts(), [renamed("wlx0", "wlan0"), Step::Apply]);
    assert!(scene.links.get(WIFI).unwrap().usable());
}

#[test]
fn an_interface_with_an_undeclared_name_is_not_managed() {
    let mut scene = Scene::online(declared("wlan0", LinkKind::Wifi), "wlan0");
    scene.event(&Event::Link(link("wlx0", true, 1))).wait(200);
    assert!(scene.acts().contains(&Step::Detach(7)));
    assert_eq!(*scene.links.plan(), Plan::default());
    scene.event(&Event::Link(link("wlan0", true, 1)));
    let acts = scene.acts();
    assert_eq!(
        acts.last(),
        Some(&tell(LinkEvent::Usable(true))),
        "what it has is known"
    );
}

#[test]
fn a_found_interface_keeps_its_number_under_another_name_that_fits() {
    let mut scene = Scene::new(declared("wl*", LinkKind::Wifi));
    scene.event(&Event::Link(link("wlan0", true, 1)));
    scene.steps();
    scene.event(&Event::Link(link("wlp3s0", true, 1))).wait(200);
    let again = LinkEvent::Appeared(spec("wlp3s0", LinkKind::Wifi));
    let acts = [renamed("wlan0", "wlp3s0"), Step::Tell(LinkId(4), again)];
    assert_eq!(scene.acts(), acts);
}

#[test]
fn interfaces_that_swap_their_names_keep_their_connections() {
    let first = DeclaredLink {
        id: LinkId(1),
        ..declared("eth0", LinkKind::Cable)
    };
    let second = DeclaredLink {
        id: LinkId(2),
        ..declared("wlan0", LinkKind::Wifi)
    };
    let mut scene = Scene::of(vec![first, second]);
    let named = |ifindex, name| {
        Event::Link(Link {
            ifindex,
            ..link(name, true, 1)
        })
    };
    scene.event(&named(7, "eth0")).event(&named(8, "wlan0"));
    scene
        .event(&Event::Address(address("192.168.1.7/24")))
        .event(&Event::Route(default_route("192.168.1.1")));
    scene.steps();
    for (ifindex, name) in [(7, "tmp0"), (8, "eth0"), (7, "wlan0")] {
        scene.event(&named(ifindex, name)).wait(100);
    }
    scene.wait(100);
    let appeared = |id, kind| Step::Tell(LinkId(id), LinkEvent::Appeared(spec("home", kind)));
    let mut acts = scene.acts();
    acts.retain(|step| *step != Step::Apply);
    let names = [("eth0", "tmp0"), ("wlan0", "eth0"), ("tmp0", "wlan0")];
    let names = acts
        .extract_if(.., |step| matches!(step, Step::Renamed(..)))
        .eq(names.map(|(from, to)| renamed(from, to)));
    assert!(names, "each name is recorded");
    assert_eq!(acts, [appeared(1, LinkKind::Wifi), appeared(2, LinkKind::Cable)]);
    let managed = scene.links.get(LinkId(1)).unwrap();
    assert!(managed.usable() && managed.spec.kind == LinkKind::Wifi && managed.ifindex == Some(7));
    assert_eq!(scene.sources(), ["192.168.1.7 wlan0 192.168.1.1"]);
}

#[test]
fn the_channel_of_a_link_is_the_one_that_its_radio_reports() {
    let mut scene = Scene::online(declared("wlan0", LinkKind::Wifi), "wlan0");
    let mut steps = Vec::new();
    scene.links.tuned(WIFI, 11, &mut steps);
    let spec = scene.links.get(WIFI).unwrap().spec.clone();
    assert_eq!(spec.channel, Some(11));
    assert_eq!(steps, [Step::Tell(WIFI, LinkEvent::Appeared(spec))]);
    scene.links.tuned(WIFI, 11, &mut steps);
    assert_eq!(steps.len(), 1, "the channel is the same");
}

#[test]
fn a_monitor_interface_is_no_link_whatever_its_name() {
    let mut scene = Scene::new(declared("mon*", LinkKind::Wifi));
    scene.event(&Event::Link(Link {
        arphrd: 803,
        ..link("mon0", true, 1)
    }));
    assert_eq!(scene.steps(), []);
    scene.event(&Event::Link(link("mon1", true, 1)));
    assert_ne!(scene.steps(), []);
}
