//! The senders' congestion controllers: the sockets really use the requested ones, and `cla` receives the
//! client's signals.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, PlayError, Played, play};
use plans::plan;
use trace::{PolicyName, SubflowEvent, What};

/// Two cables that both flows use.
fn two_cables(head: &str, flows: &str) -> String {
    format!(
        "sentence = \"x\"\nduration_s = 3\n{head}\n\
         [cables.a]\nrate_mbps = 20\nrtt_ms = 10\n[cables.b]\nrate_mbps = 20\nrtt_ms = 10\n{flows}"
    )
}

const DOWNLOAD: &str = "[flows.download]\ndirection = \"down\"\n";
const UPLOAD: &str = "[flows.upload]\ndirection = \"up\"\n";

fn run(text: &str) -> Result<Played, PlayError> {
    run_under(PolicyName::Mptcp, text)
}

fn run_under(policy: PolicyName, text: &str) -> Result<Played, PlayError> {
    play(&Play::new(&plan(text), policy), &Stop::new(), &mut |_| {})
}

fn carried(text: &str) -> Played {
    let played = whole(run(text).unwrap());
    assert_eq!(played.run.notes, [""; 0], "every socket has what was asked for");
    played
}

fn whole(played: Played) -> Played {
    assert!(
        played.run.flows.iter().all(|flow| flow.intact == Some(true)),
        "{:?}",
        played.run
    );
    // The benches check how fast.
    assert!(played.run.bytes() > 1_000_000, "{:?}", played.run);
    played
}

#[test]
fn a_server_that_runs_slowhand_sends_with_our_controller() {
    let played = carried(&two_cables("cc = \"lia\"\nserver = \"slowhand\"", DOWNLOAD));
    assert_eq!(
        (played.run.cc.as_deref(), played.run.server.as_str()),
        (Some("lia"), "slowhand")
    );
    assert_eq!(played.advised, None, "lia is told nothing");
}

#[test]
fn a_client_sends_with_our_controller_to_a_stock_server() {
    let played = carried(&two_cables("cc = \"balia\"", UPLOAD));
    assert_eq!(
        (played.run.cc.as_deref(), played.run.server.as_str()),
        (Some("balia"), "stock")
    );
}

#[test]
fn a_flow_can_use_another_controller() {
    let rival = "[flows.rival]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"a\"\ncc = \"reno\"\n";
    carried(&two_cables(
        "cc = \"olia\"\nserver = \"slowhand\"",
        &format!("{DOWNLOAD}{rival}"),
    ));
}

#[test]
fn a_stock_server_has_no_slowhand_controller() {
    let refused = run(&two_cables("cc = \"cla\"", DOWNLOAD))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("flow `download`: a stock server has no"),
        "{refused}"
    );
    assert!(refused.contains("server = \"slowhand\""), "{refused}");
}

/// From one access point to the next, with LTE beside them.
fn walk(server: &str, direction: &str) -> Played {
    let text = format!(
        r#"
sentence = "A walk from one access point to the next."
duration_s = 13
cc = "cla"
server = "{server}"
server_subflows = 8
[aps.west]
at_m = [0, 5]
channel = 1
backhaul = {{ rate_mbps = 100, rtt_ms = 20 }}
[aps.east]
at_m = [140, 5]
channel = 6
backhaul = {{ rate_mbps = 100, rtt_ms = 20 }}
[cells.lte]
rate_mbps = 12
rtt_ms = 60
[walkers.client]
way = [{{ at_m = [45, 0], t_s = 0 }}, {{ at_m = [105, 0], t_s = 13 }}]
[flows.ours]
direction = "{direction}"
limit_mbps = 20
"#
    );
    let played = whole(run_under(PolicyName::HandoverCell, &text).unwrap());
    let mut notes = played.run.notes.iter();
    assert!(!notes.any(|note| note.contains("instead of")), "{:?}", played.run);
    let established = |link: &str| {
        let mut events = played.record.events.iter();
        events.any(|event| {
            matches!(&event.what, What::Subflow { link: over, event: SubflowEvent::Established, .. } if over == link)
        })
    };
    assert!(established("west") && established("east"), "{:?}", played.run);
    played
}

#[test]
fn a_server_with_cla_hears_the_client_fade_and_hand_over() {
    let played = walk("slowhand", "down");
    let advised = played.advised.expect("the sender's controller is cla");
    let heard = advised.heard.expect("the server listens");
    assert!(heard.followed > heard.handed_off, "{heard:?}");
    assert!(heard.handed_off > 0, "{heard:?}");
    // Each message goes over every path, and only its first copy counts.
    assert!(heard.replayed > 0, "{heard:?}");
    assert_eq!((heard.forged, heard.failed), (0, 0), "{heard:?}");
    // The fading path's window, and that of the path after it.
    assert!(heard.orders >= 2, "{heard:?}");
    // The client's daemon orders windows for what the client sends.
    assert!(u64::from(advised.orders) >= heard.orders, "{advised:?}");
}

#[test]
fn a_client_with_cla_orders_its_own_windows_at_a_hand_off() {
    let played = walk("stock", "up");
    let advised = played.advised.expect("the sender's controller is cla");
    assert_eq!(advised.heard, None, "a stock server does not listen");
    // The fading path's window, and that of the path after it.
    assert!(advised.orders >= 2, "{advised:?} of {:?}", played.run);
}
