//! How problems are told, from files and from the command line.

mod sound;

use scenario::{LoadError, load, parse};
use sound::{SOUND, edited, files, messages, read};
use std::path::Path;

#[test]
fn the_sound_file_is_sound() {
    let plan = read(SOUND, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        plan.links
            .iter()
            .map(|link| link.name.as_str())
            .collect::<Vec<_>>(),
        ["ap1", "lte", "dsl"]
    );
    assert_eq!(plan.name, "bad");
}

#[test]
fn a_scenario_without_links_is_refused() {
    let text = "sentence = \"x\"\nduration_s = 5\n[flows.a]\ndirection = \"up\"\n";
    assert_eq!(
        messages(read(text, &[])),
        ["bad.toml:1:1: the client has no link; add at least one [aps.NAME], [cells.NAME] or [cables.NAME]"]
    );
}

#[test]
fn everything_wrong_is_told_at_once_in_the_order_of_the_file() {
    let text = SOUND
        .replace("duration_s = 30", "duration_s = 0")
        .replace("rate_mbps = 16", "rate = 16");
    assert_eq!(
        messages(read(&text, &[])),
        [
            "bad.toml:2:14: `duration_s` is 0; give a number from 1 to 21600 s",
            "bad.toml:17:9: cable \"dsl\" has no `rate_mbps`; add `rate_mbps` for both directions, or `up_mbps` and `down_mbps`",
            "bad.toml:18:1: unknown key `rate` in cable \"dsl\"; did you mean `rate_mbps`?",
        ]
    );
}

#[test]
fn the_line_is_shown_with_the_place_underlined() {
    let problems = edited("channel = 6", "channel = 36 # five").unwrap_err();
    assert_eq!(
        problems.to_string(),
        "bad.toml:6:11: channel 36 is not in the band of 802.11g; use 1 to 13\n\
         6 | channel = 36 # five\n\
         \u{20} |           ^^"
    );
}

#[test]
fn bytes_that_are_no_text_are_refused_where_they_stand() {
    let problems = parse("bad.toml", b"sentence = \"x\"\n# \xff", &[], &files).unwrap_err();
    assert_eq!(
        messages(Err(problems)),
        ["bad.toml:2:3: from here on this is not UTF-8 text; save the file as UTF-8"]
    );
}

#[test]
fn settings_replace_what_the_file_says() {
    let plan = read(
        SOUND,
        &[
            "cables.dsl.rate_mbps=6.5",
            "faults.0.at_s=12",
            "cc=cubic",
            "place.path_loss_exponent=3.5",
        ],
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let Some(scenario::LinkKind::Cable(dsl)) = plan.link("dsl").map(|link| &link.kind) else {
        panic!()
    };
    assert_eq!(dsl.down.rate.as_bps(), 6_500_000);
    assert_eq!(plan.faults[0].at.from.as_secs(), 12);
    assert_eq!(plan.cc, "cubic");
    assert_eq!(
        plan.access_points().next().unwrap().1.propagation.exponent_centi,
        350
    );
}

#[test]
fn bad_settings_are_told_like_bad_files() {
    let refused = |setting| messages(read(SOUND, &[setting]));
    let table = [
        (
            "cells.lt.up_mbps=6",
            "--set:1:7: the scenario has no `lt` here; did you mean `lte`?",
        ),
        (
            "wires.dsl.rtt_ms=6",
            "--set:1:1: the scenario has no `wires` here; here the file has \"sentence\", \"duration_s\", \
          \"aps\", \"cells\", \"bottlenecks\", \"cables\", \"walkers\", \"flows\", \"faults\" or \"expect\"",
        ),
        (
            "cables.dsl.rtt=6",
            "--set:1:12: unknown key `rtt` in cable \"dsl\"; did you mean `rtt_ms`?",
        ),
        (
            "cables.dsl.rtt_ms=-6",
            "--set:1:19: `rtt_ms` is -6; give a number from 0 to 60000 ms",
        ),
        (
            "cables.dsl.rtt_ms=fast",
            "--set:1:19: `rtt_ms` is \"fast\"; give a number from 0 to 60000 ms",
        ),
        (
            "cables.dsl.rtt_ms=[1",
            "--set:1:19: `[1` is neither a TOML value nor a plain word; put text in double quotes",
        ),
        (
            "faults.7.at_s=6",
            "--set:1:8: `7` is no place in a list of 1; count from 0 to 0",
        ),
        (
            "duration_s.x=6",
            "--set:1:12: `x` would be inside a number; end the key one part earlier",
        ),
    ];
    for (setting, expected) in table {
        assert_eq!(refused(setting), [expected], "{setting}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = load(Path::new("no-such-scenario.toml"), &[]).unwrap_err();
    assert!(matches!(error, LoadError::Read { .. }));
    assert_eq!(
        error.to_string(),
        "no-such-scenario.toml: No such file or directory (os error 2); name a scenario file, for example scenarios/building-walk.toml"
    );
}

#[test]
fn a_large_file_is_no_scenario() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large.toml");
    std::fs::write(&path, vec![b'#'; 2 << 20]).unwrap();
    let error = load(&path, &[]).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(
        error.ends_with(
            "large.toml: 2097152 bytes are no scenario; name a TOML file of at most 1048576 bytes"
        ),
        "{error}"
    );
}
