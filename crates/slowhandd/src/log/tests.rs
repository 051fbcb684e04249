use super::*;
use host::log::Form;
use policy::flow::FlowId;
use policy::reason::{Assigned, Choice};
use policy::{
    Checked, ConnSample, HostEvent, HostId, JoinFailure, LinkKind, LinkSpec, Reason, RemoteId, Role,
    SubflowSample, Tariff, Uplink,
};
use std::io::{Read as _, pipe};
use tracing::subscriber::with_default;
use units::{Bytes, Duration};

const CONN: ConnId = ConnId(0x2a);
/// The sentence of the decisions below.
const BECAUSE: &str = "desk is better, and both would share the airtime of one channel";

fn appeared() -> Input {
    let spec = LinkSpec {
        name: "wlan7".to_owned(),
        kind: LinkKind::Wifi,
        role: Role::Primary,
        channel: None,
    };
    Input::Link(LinkId(9), LinkEvent::Appeared(spec))
}

fn chronicle() -> Chronicle {
    let mut chronicle = Chronicle::of([(LinkId(0), "desk".to_owned())]);
    chronicle.log(&Observation::Told(&appeared()));
    let end = "10.0.0.1:1".parse().unwrap();
    chronicle.log(&Observation::Subflow {
        subflow: SubflowId(3),
        conn: CONN,
        link: LinkId(9),
        local: end,
        remote: end,
        address_id: 1,
    });
    chronicle
}

/// What `events` log at this level and above.
fn logged(level: Level, events: impl FnOnce()) -> String {
    let (mut reader, writer) = pipe().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .event_format(Form::Words)
        .with_writer(move || writer.try_clone().unwrap())
        .with_max_level(level)
        .finish();
    with_default(subscriber, events);
    let mut log = String::new();
    reader.read_to_string(&mut log).unwrap();
    log
}

fn said(level: Level, observation: &Observation<'_>) -> String {
    let mut chronicle = chronicle();
    logged(level, || chronicle.log(observation))
}

fn decision(level: Level, link: Option<u16>, conn: Option<ConnId>, verb: Verb) -> String {
    let note = Action::Note(Note {
        link: link.map(LinkId),
        conn,
        verb,
        reason: Choice::WorseOnChannel { better: LinkId(0) }.into(),
    });
    said(level, &Observation::Done(&note))
}

#[test]
fn a_decision_names_its_link_and_its_connection() {
    let said = |link, conn, verb| decision(Level::INFO, link, conn, verb);
    assert_eq!(
        said(Some(9), None, Verb::Use),
        format!("info: wlan7: use: {BECAUSE}\n")
    );
    assert_eq!(
        said(Some(0), Some(CONN), Verb::Demote),
        format!("info: desk: connection 0000002a: demote: {BECAUSE}\n")
    );
    assert_eq!(
        said(None, Some(CONN), Verb::Window),
        format!("info: connection 0000002a: window: {BECAUSE}\n")
    );
    assert_eq!(
        said(None, None, Verb::Refuse),
        format!("info: all links: refuse: {BECAUSE}\n")
    );
    assert_eq!(
        said(Some(4), None, Verb::Use),
        format!("info: link 4: use: {BECAUSE}\n")
    );
}

#[test]
fn a_flow_is_logged_at_debug_unless_it_moves() {
    let of_flow = |level, why| {
        let note = Action::Note(Note {
            link: Some(LinkId(9)),
            conn: None,
            verb: Verb::Assign,
            reason: Reason::Flow(FlowId(7), why),
        });
        said(level, &Observation::Done(&note))
    };
    assert_eq!(of_flow(Level::INFO, Assigned::Active), "");
    assert!(of_flow(Level::DEBUG, Assigned::Active).starts_with("debug: wlan7: assign: flow 7 "));
    assert!(of_flow(Level::INFO, Assigned::Moved).starts_with("info: wlan7: assign: flow 7 "));
}

#[test]
fn suspect_links_and_actions_are_logged_at_debug_only() {
    let suspect = |level| decision(level, Some(9), None, Verb::Suspect);
    assert_eq!(suspect(Level::INFO), "");
    assert!(suspect(Level::DEBUG).ends_with(&format!("debug: wlan7: suspect: {BECAUSE}\n")));
    let closes = Action::Destroy(SubflowId(3));
    let closed = Observation::Done(&closes);
    assert_eq!(said(Level::INFO, &closed), "");
    assert_eq!(
        said(Level::DEBUG, &closed),
        "debug: wlan7: connection 0000002a: closing the subflow\n"
    );
}

#[test]
fn a_failed_action_is_a_warning_with_the_reason() {
    let said = |action: &Action| said(Level::INFO, &Observation::Failed { action, why: "no" });
    let join = Action::Join {
        conn: CONN,
        link: LinkId(9),
        remote: RemoteId::FIRST,
        backup: true,
    };
    assert_eq!(
        said(&join),
        "warning: wlan7: connection 0000002a: adding a subflow: no\n"
    );
    assert_eq!(
        said(&Action::Destroy(SubflowId(3))),
        "warning: wlan7: connection 0000002a: closing the subflow: no\n"
    );
    assert_eq!(
        said(&Action::Withdraw(SubflowId(4))),
        "warning: subflow 4: withdrawing the subflow's address: no\n"
    );
    assert_eq!(
        said(&Action::DefaultRoute(Family::V6, Some(LinkId(0)))),
        "warning: new connections over IPv6 start on desk: no\n"
    );
}

#[test]
fn trouble_is_a_warning() {
    let trouble = Observation::Trouble {
        what: "reading counters",
        why: "no",
    };
    assert_eq!(said(Level::WARN, &trouble), "warning: reading counters: no\n");
}

#[test]
fn the_link_of_new_connections_is_logged() {
    let said = |family, link| {
        said(
            Level::INFO,
            &Observation::Done(&Action::DefaultRoute(family, link)),
        )
    };
    assert_eq!(
        said(Family::V4, Some(LinkId(0))),
        "info: new connections over IPv4 start on desk\n"
    );
    assert_eq!(
        said(Family::V6, None),
        "info: new connections over IPv6 follow this host's own routes\n"
    );
}

#[test]
fn a_closed_subflow_is_forgotten() {
    let mut chronicle = chronicle();
    let closed = Input::Subflow(SubflowId(3), SubflowEvent::Closed);
    chronicle.log(&Observation::Told(&closed));
    assert!(chronicle.subflows.is_empty());
}

#[test]
fn the_length_of_a_sleep_is_logged_in_seconds() {
    let slept = Observation::Resumed(units::Duration::from_millis(3_250));
    assert_eq!(said(Level::INFO, &slept), "info: awake again after 3.2 s\n");
}

/// What the engine hears of links, and the line for each.
fn of_links() -> [(LinkEvent, &'static str); 21] {
    let rtt = Duration::from_micros(12_340);
    let host = |event| LinkEvent::Host(HostId(4), event);
    [
        (LinkEvent::Gone, "gone"),
        (LinkEvent::Carrier(true), "carrier up"),
        (LinkEvent::Carrier(false), "carrier down"),
        (LinkEvent::Usable(true), "usable"),
        (LinkEvent::Usable(false), "not usable"),
        (LinkEvent::Address(Family::V4, true), "IPv4 address and gateway"),
        (
            LinkEvent::Address(Family::V6, false),
            "no IPv6 address or gateway",
        ),
        (
            LinkEvent::Uplink(Family::V4, Uplink::Metric(600)),
            "IPv4 default route with metric 600",
        ),
        (
            LinkEvent::Uplink(Family::V6, Uplink::None),
            "IPv6 without a default route",
        ),
        (
            LinkEvent::Uplink(Family::V6, Uplink::Declared),
            "IPv6 gateway of the configuration",
        ),
        (LinkEvent::Received { packets: 17 }, "17 packets received"),
        (
            LinkEvent::ProbeAnswered { probe: 3, rtt },
            "reply to probe 3 after 12.3 ms",
        ),
        (LinkEvent::ProbeFailed { probe: 3 }, "probe 3 could not be sent"),
        (
            host(HostEvent::Resolves { near: false }),
            "host 4: resolves names",
        ),
        (host(HostEvent::Heard), "host 4: heard"),
        (host(HostEvent::Unanswered), "host 4: does not answer a program"),
        (
            LinkEvent::Traffic { sent: 5, received: 6 },
            "5 packets sent and 6 received, without probes",
        ),
        (LinkEvent::Checkable, "a check for a captive portal is useful"),
        (
            LinkEvent::Checked(Checked::Portal),
            "check that finds a captive portal",
        ),
        (LinkEvent::Checked(Checked::Unknown), "check that shows nothing"),
        (LinkEvent::Tariff(Tariff::Metered { cap: None }), "metered"),
    ]
}

#[test]
fn an_input_names_its_link_and_its_connection() {
    let said = |input: &Input| said(Level::TRACE, &Observation::Told(input));
    assert_eq!(said(&appeared()), "trace: wlan7: appeared: wifi, primary\n");
    for (event, words) in of_links() {
        assert_eq!(
            said(&Input::Link(LinkId(9), event)),
            format!("trace: wlan7: {words}\n")
        );
    }
    let reason = JoinFailure::Refused;
    let link = LinkId(9);
    let sample = ConnSample {
        bytes_received: Bytes::new(12_000),
        ..ConnSample::default()
    };
    for (event, words) in [
        (ConnEvent::Opened, "connection 0000002a: opened"),
        (
            ConnEvent::JoinFailed { link, reason },
            "wlan7: connection 0000002a: join failed: refused by the peer",
        ),
        (
            ConnEvent::Remote(RemoteId(1), Family::V6),
            "connection 0000002a: joins at IPv6 address 1",
        ),
        (
            ConnEvent::Sample(sample),
            "connection 0000002a: 12.0 kB received, 0 B acknowledged, backlog 0 B, 0 B out of order",
        ),
    ] {
        assert_eq!(said(&Input::Conn(CONN, event)), format!("trace: {words}\n"));
    }
    let sample = SubflowSample {
        segs_in: 9,
        bytes_received: Bytes::new(12_000),
        srtt: Duration::from_millis(8),
        cwnd: 10,
        backup: true,
        ..SubflowSample::default()
    };
    for (event, words) in [
        (SubflowEvent::Closed, "closed"),
        (
            SubflowEvent::Sample(sample),
            "12.0 kB received in 9 segments, 0 B acknowledged, 0 segments in flight, 0 B unsent, cwnd 10, 0 retransmits, \
             0 disordered, RTT 8.0 ms (minimum 0.0, data 0.0), last ACK 0.0 ms ago, backup",
        ),
    ] {
        let input = Input::Subflow(SubflowId(3), event);
        let line = format!("trace: wlan7: connection 0000002a: subflow 3: {words}\n");
        assert_eq!(said(&input), line);
    }
    assert_eq!(said(&Input::Resumed), "trace: this host is awake again\n");
}

#[test]
fn inputs_are_logged_at_trace_only() {
    let opened = Input::Conn(CONN, ConnEvent::Opened);
    assert_eq!(said(Level::DEBUG, &Observation::Told(&opened)), "");
}
