//! WiFi as on a real host: a carrier and an address, but neither a channel nor beacons.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{PATIENCE, Running, declared};
use crate::daemon::DeclaredLink;
use crate::testing::Patience;
use policy::{LinkId, LinkKind, Policy};
use std::collections::BTreeSet;

/// A modem, followed by two access points.
fn links() -> Vec<DeclaredLink> {
    let mut links = declared(3);
    let kinds = [LinkKind::Cellular, LinkKind::Wifi, LinkKind::Wifi];
    for (link, kind) in links.iter_mut().zip(kinds) {
        link.spec.kind = kind;
    }
    links
}

/// Waits until the connection uses these links and no other.
fn until_over(daemon: &Running, links: &[u16]) {
    let wanted = BTreeSet::from_iter(links.iter().map(|&link| LinkId(link)));
    let mut until = Patience::of(PATIENCE);
    loop {
        let report = daemon.inlet.report(PATIENCE).unwrap();
        let subflows = report.conns.iter().flat_map(|conn| &conn.subflows);
        let used = subflows.filter(|subflow| subflow.proven && !subflow.sample.backup);
        let used = BTreeSet::from_iter(used.map(|subflow| subflow.link));
        if used == wanted {
            return;
        }
        assert!(until.lasts(), "{used:?}: {:#?}", report.why);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn goes_over(policy: Policy, expected: &[u16]) {
    let Some(net) = Net::with_links(3) else { return };
    let _source = Source::start(&net.server);
    let daemon = Running::over(&net, policy, links(), None);
    let download = Download::start(&net);
    until_over(&daemon, expected);
    download.expect_more(500_000, PATIENCE);
}

#[test]
fn wifi_first_uses_wifi_and_not_the_modem() {
    goes_over(Policy::WifiFirst, &[1]);
}

#[test]
fn hand_over_uses_the_first_access_point() {
    goes_over(Policy::Handover, &[1]);
    goes_over(Policy::HandoverWarm, &[1]);
    goes_over(Policy::HandoverCell, &[0, 1]);
}

#[test]
fn both_access_points_are_used_together() {
    for policy in [Policy::Mptcp, Policy::SlowhandNoWindow, Policy::Slowhand] {
        goes_over(policy, &[0, 1, 2]);
    }
}
