//! Which lever is in force, and what is reported if it is not the best one.

use super::*;
use linux::daemon::{FallbackCause, LeftAlone, LeverReport};
use std::collections::BTreeMap;
use units::{Bytes, Instant};

/// Every lever at its best.
fn best() -> LeverReport {
    LeverReport {
        window: Ok(WindowKind::Egress),
        window_refused: None,
        unattached: BTreeMap::new(),
        no_other_way: None,
        new_connections: None,
        unsent: Ok(()),
        run_time: Duration::ZERO,
    }
}

fn report(levers: LeverReport) -> Report {
    Report {
        at: Instant::ZERO,
        since: Instant::ZERO,
        links: Vec::new(),
        conns: Vec::new(),
        fallbacks: Vec::new(),
        networks: None,
        levers,
        cc: String::new(),
        why: Vec::new(),
        cpu: Duration::ZERO,
    }
}

/// The lever of `status`, why there is no better one, and the sentences of `why`.
fn told(levers: LeverReport) -> (Option<String>, Option<String>, Vec<String>) {
    let report = report(levers);
    let status = Status::new(&report, 1, "slowhand".to_owned());
    (
        status.window_lever,
        status.window_lever_why,
        Why::new(&report).levers,
    )
}

#[test]
fn of_the_best_levers_nothing_has_to_be_said() {
    assert_eq!(told(best()), (Some("egress".to_owned()), None, Vec::new()));
}

#[test]
fn a_clamp_is_told_with_why_there_is_nothing_better() {
    let clamp = LeverReport {
        window: Ok(WindowKind::Clamp),
        window_refused: Some("this kernel has no tcx".to_owned()),
        ..best()
    };
    let (lever, why, sentences) = told(clamp);
    assert_eq!(lever.as_deref(), Some("clamp"));
    assert_eq!(why.as_deref(), Some("this kernel has no tcx"));
    assert!(
        sentences.len() == 1 && sentences[0].contains("clamp") && sentences[0].contains("no tcx"),
        "{sentences:?}"
    );
}

#[test]
fn where_only_new_connections_can_be_bounded_it_is_said_by_what_and_why() {
    let poor = LeverReport {
        window: Err("CAP_BPF missing".to_owned()),
        new_connections: Some(Bytes::new(500_000)),
        unsent: Err("CAP_BPF missing".to_owned()),
        ..best()
    };
    let (lever, why, sentences) = told(poor);
    assert_eq!((lever, why.as_deref()), (None, Some("CAP_BPF missing")));
    let parts = [
        "windows of running connections are not limited: CAP_BPF",
        "receive buffer of at most 500.0 kB",
        "unsent bytes are not limited: CAP_BPF",
    ];
    assert_eq!(sentences.len(), parts.len(), "{sentences:?}");
    for (sentence, part) in sentences.iter().zip(parts) {
        assert!(sentence.contains(part), "{part} in {sentence}");
    }
}

#[test]
fn an_interface_that_takes_no_program_is_told() {
    let one = LeverReport {
        unattached: BTreeMap::from([(7, "attaching BPF: no room".to_owned())]),
        ..best()
    };
    let (lever, _, sentences) = told(one);
    assert_eq!(lever.as_deref(), Some("egress"));
    assert_eq!(
        sentences,
        ["outgoing segments on interface 7 do not limit windows: attaching BPF: no room"]
    );
}

#[test]
fn where_an_interface_takes_no_program_and_nothing_can_be_clamped_it_is_said_what_is_bounded_instead() {
    let half = LeverReport {
        unattached: BTreeMap::from([(7, "attaching BPF: no room".to_owned())]),
        no_other_way: Some("CAP_BPF missing".to_owned()),
        new_connections: Some(Bytes::new(500_000)),
        ..best()
    };
    let (lever, why, sentences) = told(half);
    assert_eq!(lever.as_deref(), Some("egress"));
    let why = why.unwrap();
    assert!(why.contains("no room") && why.contains("CAP_BPF"), "{why}");
    let parts = [
        "outgoing segments on interface 7 do not limit windows: attaching BPF: no room",
        "nor does a clamp on the sockets limit windows there: CAP_BPF missing",
        "receive buffer of at most 500.0 kB",
    ];
    assert_eq!(sentences.len(), parts.len(), "{sentences:?}");
    for (sentence, part) in sentences.iter().zip(parts) {
        assert!(sentence.contains(part), "{part} in {sentence}");
    }
}

/// A link with marks, as the daemon reports it.
fn marked_link() -> LinkReport {
    LinkReport {
        id: LinkId(0),
        spec: policy::LinkSpec {
            name: "dsl".to_owned(),
            kind: LinkKind::Cable,
            role: Role::Primary,
            channel: None,
        },
        interface: None,
        ifindex: None,
        wifi: None,
        carrier: true,
        addresses: Vec::new(),
        gateways: Vec::new(),
        default_route: false,
        default_v4: false,
        default_v6: false,
        marks: Some(MarkReport {
            rate: units::Ratio::from_ppm(20_000),
            counters: linux::bpf::MarkCounters::default(),
        }),
        sent_marks: None,
        marks_blocked: None,
        sent_marks_blocked: Some("what leaves by eth0 does not arrive".to_owned()),
        marks_why: Some(
            "100 ms of queueing delay, 45 ms allowed: 2.00 % of arriving packets are marked".to_owned(),
        ),
    }
}

#[test]
fn marks_that_do_not_happen_are_not_claimed() {
    let said = |link: LinkReport| {
        let report = Report {
            links: vec![link],
            ..report(best())
        };
        let link = Status::new(&report, 1, String::new()).links.remove(0);
        let why = Why::new(&report).links.remove(0).marks.unwrap();
        (link.marks_blocked, link.sent_marks_blocked, why)
    };
    let (arriving, leaving, why) = said(marked_link());
    assert_eq!(
        (arriving, leaving),
        (None, None),
        "nothing of what is sent was to be marked"
    );
    assert_eq!(
        why,
        "100 ms of queueing delay, 45 ms allowed: 2.00 % of arriving packets are marked"
    );
    let cause = "what arrives by eth0 does not reach slowhand's tcx program: BPF program 42, ahead of it, ends the chain";
    let (arriving, _, why) = said(LinkReport {
        marks_blocked: Some(cause.to_owned()),
        ..marked_link()
    });
    assert_eq!(arriving.as_deref(), Some(cause));
    assert_eq!(why, format!("nothing is marked: {cause}"));
}

/// A connection that is left alone.
fn left_alone(number: u32, why: LeftAlone) -> ConnReport {
    ConnReport {
        id: policy::ConnId(number),
        remote: "10.255.0.1:443".parse().unwrap(),
        left_alone: Some(why),
        sample: policy::ConnSample::default(),
        window: None,
        window_why: None,
        unsent: None,
        unsent_why: None,
        roles: Vec::new(),
        controllers: Vec::new(),
        subflows: Vec::new(),
    }
}

#[test]
fn connections_that_are_left_alone_are_explained() {
    let causes = [
        LeftAlone::KernelManaged,
        LeftAlone::OtherLink,
        LeftAlone::Elsewhere,
        LeftAlone::Closing,
    ];
    let report = Report {
        conns: (0..)
            .zip(causes)
            .map(|(number, why)| left_alone(number, why))
            .collect(),
        ..report(best())
    };
    let expected = [
        "it began before slowhand and belongs to the kernel's own path manager",
        "it does not use any link that slowhand manages",
        "this host's routes reach its server through another network, such as a tunnel or an internal network",
        "one end has closed its side; the kernel finishes it over the paths it has",
    ];
    let told = Why::new(&report).left_alone;
    let told: Vec<&str> = told.iter().map(|conn| conn.why.as_str()).collect();
    assert_eq!(told, expected);
    let status = Status::new(&report, 1, String::new()).connections;
    let told: Vec<&str> = status
        .iter()
        .filter_map(|conn| conn.left_alone.as_deref())
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn a_connection_that_fell_back_is_told_with_its_cause_though_nobody_asks_for_a_bound() {
    let fallback = FallbackReport {
        conn: Some(policy::ConnId(7)),
        link: LinkId(0),
        local: "10.0.0.1:40000".parse().unwrap(),
        remote: "10.255.0.1:443".parse().unwrap(),
        cause: FallbackCause::NotAgreed,
        bound: None,
        controller: None,
    };
    let known = left_alone(7, LeftAlone::FellBack);
    let unasked = FallbackReport {
        conn: None,
        cause: FallbackCause::NotAsked,
        ..fallback.clone()
    };
    let bound = Some(FallbackBound {
        asked: Bytes::new(65_536),
        done: Ok(()),
    });
    let bounded = FallbackReport {
        cause: FallbackCause::Later,
        bound,
        ..fallback.clone()
    };
    let report = Report {
        conns: vec![known],
        fallbacks: vec![fallback, unasked, bounded],
        ..report(best())
    };
    let why = Why::new(&report);
    assert_eq!(why.left_alone, [], "it is told once");
    let told: Vec<&str> = why
        .fallbacks
        .iter()
        .map(|fallback| fallback.why.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "it fell back to plain TCP: the server or a middlebox does not support MPTCP; it is left alone",
            "it fell back to plain TCP: the kernel did not ask for MPTCP, since requests for it were lost before (net.mptcp.blackhole_timeout); it is left alone",
            "it fell back to plain TCP: a middlebox removed or changed MPTCP's options after the handshake; its server may have 65.5 kB in flight, as configured (fallback_window_bytes)",
        ]
    );
    let status = Status::new(&report, 1, "slowhand".to_owned());
    assert_eq!(status.fallbacks, why.fallbacks);
}
