//! The senders' congestion controllers: what is asked for is what the sockets really use.

mod plans;

use lab::stop::Stop;
use lab::world::{Play, PlayError, Played, play};
use plans::plan;
use trace::PolicyName;

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
    play(
        &Play::new(&plan(text), PolicyName::Mptcp),
        &Stop::new(),
        &mut |_| {},
    )
}

fn carried(text: &str) -> Played {
    let played = run(text).unwrap();
    assert!(
        played.run.flows.iter().all(|flow| flow.intact),
        "{:?}",
        played.run
    );
    // How fast is for the benches to say.
    assert!(played.run.bytes() > 1_000_000, "{:?}", played.run);
    assert_eq!(played.run.notes, [""; 0], "every socket has what was asked for");
    played
}

#[test]
fn a_server_that_runs_slowhand_sends_with_our_controller() {
    let played = carried(&two_cables("cc = \"lia\"\nserver = \"slowhand\"", DOWNLOAD));
    assert_eq!(
        (played.run.cc.as_str(), played.run.server.as_str()),
        ("lia", "slowhand")
    );
}

#[test]
fn a_client_sends_with_our_controller_to_a_stock_server() {
    let played = carried(&two_cables("cc = \"balia\"", UPLOAD));
    assert_eq!(
        (played.run.cc.as_str(), played.run.server.as_str()),
        ("balia", "stock")
    );
}

#[test]
fn a_flow_may_be_sent_with_another_one() {
    let rival = "[flows.rival]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"a\"\ncc = \"reno\"\n";
    carried(&two_cables(
        "cc = \"olia\"\nserver = \"slowhand\"",
        &format!("{DOWNLOAD}{rival}"),
    ));
}

#[test]
fn a_stock_server_has_none_of_ours() {
    let refused = run(&two_cables("cc = \"cla\"", DOWNLOAD))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("flow `download` is sent by a stock server"),
        "{refused}"
    );
    assert!(refused.contains("server = \"slowhand\""), "{refused}");
}
