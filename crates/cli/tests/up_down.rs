//! `up`, `down` and `kill -9` at random moments on hosts with load, as `slowhand bench up-down` plays them.

mod common;

use common::{daemon, slowhand};

#[test]
fn twenty_downs_and_twenty_kills_leave_hosts_as_they_were() {
    if linux::netns::Netns::new().is_err() {
        println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
        return;
    }
    daemon();
    let ran = slowhand(&["bench", "up-down", "--trials", "20", "--json"]);
    let document: serde_json::Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let row = &document["benches"][0];
    assert_eq!(
        (ran.code, row["ours"].as_f64()),
        (Some(0), Some(0.0)),
        "{}",
        ran.err
    );
    let counted = |key: &str| row[key].as_u64().unwrap();
    assert_eq!(["stopped", "killed"].map(counted), [20, 20], "{row:#}");
    for what in ["had_left", "silenced", "transfers"] {
        assert!(counted(what) > 0, "{what}: {row:#}");
    }
}
