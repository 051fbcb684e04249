//! Links that another program declares while the daemon runs: access points in range.

use super::*;

const POINT: LinkId = LinkId(0x4000);

fn point() -> DeclaredLink {
    DeclaredLink {
        id: POINT,
        ..declared("slow-w1", LinkKind::Wifi)
    }
}

impl Scene {
    fn declare(&mut self, link: DeclaredLink) -> &mut Self {
        let mut steps = Vec::new();
        self.links.declare(link, &mut steps);
        self.take(steps)
    }

    fn retire(&mut self, link: LinkId) -> &mut Self {
        let mut steps = Vec::new();
        self.links.retire(link, &mut steps);
        self.take(steps)
    }
}

#[test]
fn an_access_point_appears_before_it_has_an_interface_and_goes_with_all_it_had() {
    let mut scene = Scene::of(Vec::new());
    scene.declare(point());
    let appeared = LinkEvent::Appeared(point().spec);
    assert_eq!(scene.acts(), [Step::Tell(POINT, appeared)]);
    scene
        .event(&Event::Link(link("slow-w1", true, 1)))
        .event(&Event::Address(address("192.168.1.7/24")))
        .event(&Event::Route(default_route("192.168.1.1")));
    assert_eq!(
        scene.acts().last(),
        Some(&Step::Tell(POINT, LinkEvent::Usable(true)))
    );
    scene.retire(POINT);
    assert_eq!(
        scene.acts(),
        [
            Step::Tell(POINT, LinkEvent::Usable(false)),
            Step::Tell(POINT, LinkEvent::Carrier(false)),
            Step::Detach(7),
            Step::Tell(POINT, LinkEvent::Gone),
            Step::Apply,
        ]
    );
    assert_eq!(*scene.links.plan(), Plan::default());
    scene.retire(POINT);
    assert_eq!(scene.acts(), [], "it is gone already");
}

#[test]
fn an_interface_that_is_there_already_becomes_the_links() {
    let mut scene = Scene::of(Vec::new());
    scene.event(&Event::Link(link("slow-w1", true, 1)));
    assert_eq!(scene.acts(), []);
    scene.declare(point());
    let acts = scene.acts();
    assert!(acts.contains(&Step::Attach(POINT, 7)), "{acts:?}");
    assert!(
        acts.contains(&Step::Tell(POINT, LinkEvent::Carrier(true))),
        "{acts:?}"
    );
}
