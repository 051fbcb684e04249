//! What a cellular radio does besides its rate: how a scenario says it, and what is refused.

mod sound;

use scenario::{Cell, LinkKind, RadioStates, Repeats};
use sound::{edited, messages};
use units::{Duration, Ratio};

/// Replaces the round-trip time, after which more keys may follow.
const RTT: &str = "rtt_ms = 60";

fn cell(keys: &str) -> Cell {
    let plan = edited(RTT, &format!("{RTT}\n{keys}")).unwrap();
    match &plan.link("lte").unwrap().kind {
        LinkKind::Cell(cell) => cell.clone(),
        other => panic!("{other:?}"),
    }
}

fn refused(keys: &str) -> Vec<String> {
    messages(edited(RTT, &format!("{RTT}\n{keys}")))
}

#[test]
fn a_radio_is_always_on_and_loses_nothing_unless_the_file_says_so() {
    for keys in ["", "radio = \"always-on\"\nrepeats = \"none\""] {
        let cell = cell(keys);
        assert_eq!((cell.radio, cell.repeats), (None, None), "{keys}");
    }
}

#[test]
fn a_radio_is_configured_by_name_or_by_times() {
    assert_eq!(cell("radio = \"lte\"").radio, Some(RadioStates::LTE));
    assert_eq!(cell("radio = \"3g\"").radio, Some(RadioStates::UMTS));
    let own = RadioStates {
        promotion: Duration::from_millis(300),
        tail: Duration::from_millis(5_000),
    };
    assert_eq!(
        cell("radio = { promotion_ms = 300, tail_ms = 5000 }").radio,
        Some(own)
    );
}

#[test]
fn repeats_are_those_of_lte_or_explicit() {
    assert_eq!(cell("repeats = \"lte\"").repeats, Some(Repeats::LTE));
    assert_eq!(
        cell("repeats = { loss_percent = 10 }").repeats,
        Some(Repeats::LTE)
    );
    let own = Repeats {
        loss: Ratio::from_ppm(205_000),
        after: Duration::from_millis(12),
        transmissions: 3,
    };
    let keys = "repeats = { loss_percent = 20.5, after_ms = 12, transmissions = 3 }";
    assert_eq!(cell(keys).repeats, Some(own));
}

#[test]
fn invalid_values_are_refused_with_their_place() {
    let table = [
        (
            "radio = \"5g\"",
            "bad.toml:13:9: `radio` is \"5g\"; give \"always-on\", \"lte\" or \"3g\"",
        ),
        (
            "radio = { promotion_ms = 300 }",
            "bad.toml:13:1: `radio` of cell \"lte\" has no `tail_ms`; add `tail_ms = 11600`: time that it stays up after the last packet",
        ),
        (
            "radio = { promotion_ms = -1, tail_ms = 5 }",
            "bad.toml:13:26: `promotion_ms` is -1; give a number from 0 to 60000 ms",
        ),
        (
            "repeats = \"some\"",
            "bad.toml:13:11: `repeats` is \"some\"; give \"none\" or \"lte\"",
        ),
        (
            "repeats = { after_ms = 8 }",
            "bad.toml:13:1: `repeats` of cell \"lte\" has no `loss_percent`; add `loss_percent = 10`: the share of transmissions that are lost",
        ),
        (
            "repeats = { loss_percent = 100 }",
            "bad.toml:13:28: `loss_percent` is 100; give a number from 0 to 99.9 %",
        ),
        (
            "repeats = { loss_percent = 9, transmissions = 0 }",
            "bad.toml:13:47: `transmissions` is 0; give a whole number from 1 to 28",
        ),
        (
            "repeats = { loss_percent = 9, attempts = 4 }",
            "bad.toml:13:31: unknown key `attempts` in `repeats` of cell \"lte\"; known here: loss_percent, after_ms, transmissions",
        ),
    ];
    for (keys, expected) in table {
        assert_eq!(refused(keys), [expected], "{keys}");
    }
}
