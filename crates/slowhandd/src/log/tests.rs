use super::*;
use host::log::Form;
use policy::reason::Choice;
use policy::{LinkKind, LinkSpec, RemoteId, Role};
use std::cell::Cell;
use std::io::{Read as _, pipe};
use tracing::subscriber::with_default;

const CONN: ConnId = ConnId(0x2a);
/// The sentence of the decisions below.
const BECAUSE: &str = "desk is better, and both would share the airtime of one channel";

fn chronicle() -> Chronicle {
    let mut chronicle = Chronicle::of([(LinkId(0), "desk".to_owned())]);
    let spec = LinkSpec {
        name: "wlan7".to_owned(),
        kind: LinkKind::Wifi,
        role: Role::Primary,
        channel: None,
    };
    let appeared = Input::Link(LinkId(9), LinkEvent::Appeared(spec));
    chronicle.log(&Observation::Told(&appeared));
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
    logged(level, || chronicle().log(observation))
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

#[test]
fn an_input_is_not_formatted_unless_it_is_logged() {
    #[derive(Default)]
    struct Counted(Cell<u32>);
    impl fmt::Debug for Counted {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.set(self.0.get() + 1);
            f.write_str("a sample")
        }
    }
    let input = Counted::default();
    assert_eq!(logged(Level::DEBUG, || told(&input)), "");
    assert_eq!(input.0.get(), 0);
    assert_eq!(logged(Level::TRACE, || told(&input)), "trace: a sample\n");
    assert_eq!(input.0.get(), 1);
}
