//! Another program's tcx program ahead of ours ends the chain: detected, reported, and compensated if
//! possible.

use super::felt::{BOUNDED, SMALL, most_beside, queued, settles_within};
use super::flow::{Download, Source, Upload};
use super::net::Net;
use super::rig::Manual;
use crate::bpf::WindowKind;
use crate::rtnl::Rtnl;
use crate::testing::foreign::{Foreign, Verdict};
use crate::testing::{index, output};
use libbpf_sys::{BPF_TCX_EGRESS, BPF_TCX_INGRESS};
use policy::{Action, LinkId};
use units::Ratio;

const LINK: LinkId = LinkId(0);
const RATE: Ratio = Ratio::from_ppm(20_000);

fn first_interface() -> u32 {
    index(&mut Rtnl::open().unwrap(), "w0")
}

/// Checks the whole sentence except the program's number, which the kernel assigns.
fn assert_says(why: &str, what: &str) {
    let (before, number) = why.split_once("(BPF program ").unwrap_or_else(|| panic!("{why}"));
    assert_eq!(
        before,
        format!("{what} w0 does not reach slowhand's tcx program: `foreign` ")
    );
    assert_eq!(
        number.trim_start_matches(|c: char| c.is_ascii_digit()),
        "), ahead of it, ends the chain"
    );
}

#[test]
fn a_foreign_program_ahead_of_ours_makes_windows_clamps_and_that_is_reported() {
    let Some(net) = Net::with_links(1) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(1);
        let _download = Download::start(&net);
        let conn = daemon.conn();
        daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
        settles_within(BOUNDED, || most_beside(&mut daemon, || queued(&net.server)));
        let _foreign = Foreign::attach(first_interface(), BPF_TCX_EGRESS, Verdict::Pass);
        daemon.until("windows are clamped", |daemon, _| {
            daemon.world.conns.bounds.levers.report(None).window == Ok(WindowKind::Clamp)
        });
        let why = daemon.report().window_refused.unwrap();
        assert_says(&why, "what leaves by");
        assert_eq!(daemon.failures(), [format!("limiting windows on a link: {why}")]);
        settles_within(BOUNDED, || most_beside(&mut daemon, || queued(&net.server)));
    });
}

#[test]
fn if_only_one_way_is_allowed_the_block_is_reported_until_the_other_program_goes() {
    let Some(net) = Net::with_links(1) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::bounding(1, Some(WindowKind::Egress));
        let _download = Download::start(&net);
        let conn = daemon.conn();
        daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
        let w0 = first_interface();
        let foreign = Foreign::attach(w0, BPF_TCX_EGRESS, Verdict::Pass);
        daemon.until("it is found", |daemon, _| {
            daemon
                .world
                .conns
                .bounds
                .levers
                .report(None)
                .unattached
                .contains_key(&w0)
        });
        assert_eq!(daemon.report().window, Ok(WindowKind::Egress));
        drop(foreign);
        daemon.until("it is over", |daemon, _| {
            daemon
                .world
                .conns
                .bounds
                .levers
                .report(None)
                .unattached
                .is_empty()
        });
        settles_within(BOUNDED, || most_beside(&mut daemon, || queued(&net.server)));
    });
}

#[test]
fn blocked_marks_are_not_reported_as_made() {
    let Some(net) = Net::with_links(1) else { return };
    for host in [&net.client, &net.server] {
        host.run(|| output("sysctl -qw net.ipv4.tcp_ecn=1")).unwrap();
    }
    net.in_client(|| {
        let mut daemon = Manual::start(1);
        daemon.act(Action::Mark(LINK, RATE)).unwrap();
        daemon.act(Action::MarkSent(LINK, RATE)).unwrap();
        let foreign = [BPF_TCX_INGRESS, BPF_TCX_EGRESS]
            .map(|hook| Foreign::attach(first_interface(), hook, Verdict::Pass));
        let _upload = Upload::start(&net);
        daemon.until("both are found", |daemon, _| {
            let world = &daemon.world;
            world.conns.bounds.marks.arriving.blocked(LINK).is_some()
                && world.conns.bounds.marks.sent.blocked(LINK).is_some()
        });
        let world = &daemon.daemon.world;
        assert_says(
            world.conns.bounds.marks.arriving.blocked(LINK).unwrap(),
            "what arrives by",
        );
        assert_says(
            world.conns.bounds.marks.sent.blocked(LINK).unwrap(),
            "what leaves by",
        );
        drop(foreign);
        daemon.until("both are made again", |daemon, _| {
            let world = &daemon.world;
            let marks = [&world.conns.bounds.marks.arriving, &world.conns.bounds.marks.sent];
            marks.iter().all(|marks| {
                marks.blocked(LINK).is_none()
                    && marks
                        .of(LINK)
                        .is_some_and(|(_, made)| made.ect + made.not_ect > 0)
            })
        });
    });
}

#[test]
fn a_program_ahead_that_passes_packets_on_changes_nothing() {
    let Some(net) = Net::with_links(1) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(1);
        let download = Download::start(&net);
        let conn = daemon.conn();
        daemon.act(Action::Window(conn, Some(SMALL.into()))).unwrap();
        let _foreign = Foreign::attach(first_interface(), BPF_TCX_EGRESS, Verdict::Next);
        let begun = download.read();
        daemon.until("much has come", |_, _| download.read() > begun + 4_000_000);
        let report = daemon.report();
        assert_eq!(report.window, Ok(WindowKind::Egress));
        assert_eq!((report.unattached.len(), daemon.failures()), (0, Vec::new()));
    });
}
