//! Flows that send and pause in turns: what a file says of them, and what is refused.

mod sound;

use scenario::{OnOff, Work};
use sound::{edited, messages};
use units::Duration;

const DOWN: &str = "direction = \"down\"";

#[test]
fn a_flow_sends_and_pauses_in_either_direction() {
    for (direction, up) in [("down", false), ("up", true)] {
        let keys = format!("direction = \"{direction}\"\non_off = {{ on_s = 2, off_s = 0.5 }}");
        let expected = Work::OnOff {
            up,
            turns: OnOff {
                on: Duration::from_secs(2),
                off: Duration::from_millis(500),
            },
        };
        assert_eq!(edited(DOWN, &keys).unwrap().flows[0].work, expected);
    }
}

#[test]
fn the_first_turn_sends() {
    let ms = Duration::from_millis;
    let turns = OnOff {
        on: ms(2_000),
        off: ms(500),
    };
    let table = [
        (0, (true, 2_000)),
        (1_999, (true, 1)),
        (2_000, (false, 500)),
        (2_499, (false, 1)),
        (2_500, (true, 2_000)),
        (25_000_000_000 + 2_100, (false, 400)),
    ];
    for (elapsed, (sends, left)) in table {
        assert_eq!(turns.at(ms(elapsed)), (sends, ms(left)), "after {elapsed} ms");
    }
    let never = OnOff {
        on: Duration::ZERO,
        off: Duration::ZERO,
    };
    assert!(never.at(ms(1)).0, "it would never send");
}

#[test]
fn what_has_no_effect_is_refused() {
    let table = [
        (
            "direction = \"down\"\non_off = { on_s = 2, off_s = 1 }\nsize_mb = 3",
            "bad.toml:27:11: `size_mb` has no effect on a flow with `on_off`; remove it; such a flow sends all it can in each turn, until the run ends",
        ),
        (
            "direction = \"down\"\non_off = { on_s = 2 }",
            "bad.toml:26:1: table `on_off` has no `off_s`; add `on_s` and `off_s`: how long the flow sends, and how long it pauses",
        ),
        (
            "on_off = { on_s = 2, off_s = 1 }\nrequests = { every_s = 1, reply_kb = 1 }",
            "bad.toml:25:10: `on_off` has no effect on requests; set it in `requests = { every_s, request_kb, reply_kb }`",
        ),
    ];
    for (keys, message) in table {
        assert_eq!(messages(edited(DOWN, keys)), [message], "{keys}");
    }
}
