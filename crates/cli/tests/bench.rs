//! Benchmarks in virtual time need no root, and what they say is a matter of their seeds only.

mod common;

use common::slowhand;

#[test]
fn the_steps_of_a_hand_off_are_reproducible() {
    let told = |arguments: &[&str]| {
        let all = [&["bench", "cla-steps-unforeseen", "--trials", "1"][..], arguments].concat();
        let ran = slowhand(&all);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    let document = told(&["--json", "--seed", "3"]);
    assert_eq!(document, told(&["--json", "--seed", "3"]));
    assert_ne!(document, told(&["--json", "--seed", "4"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["schema"], "slowhand.bench/1");
    let row = &document["benches"][0];
    // Five changes, two ways to leave, two gaps.
    assert_eq!(
        (row["name"].as_str(), row["runs"].as_u64()),
        (Some("cla-steps-unforeseen"), Some(20))
    );
    let each = row["each"].as_array().unwrap();
    assert!(
        each.iter()
            .any(|line| line["sender"] == "whole" && line["what_waits"] == "lost")
    );
    assert!(
        told(&["--seed", "3"]).contains("\n    sender "),
        "a table for people"
    );
}

#[test]
fn a_station_of_the_medium_takes_less_than_eight_kibibytes() {
    let ran = slowhand(&["bench", "memory-station", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let bytes = document["benches"][0]["ours"].as_f64().unwrap();
    assert!((100.0..8_192.0).contains(&bytes), "{bytes}");
}
