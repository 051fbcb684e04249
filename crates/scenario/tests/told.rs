//! How problems are reported, from files and from the command line.

mod sound;

use scenario::{LoadError, load, parse};
use sound::{SOUND, edited, files, messages, read};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

#[test]
fn the_valid_file_is_valid() {
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

/// Each place is found in a text with many: 9,500 flows over a link that does not exist.
#[test]
fn thousands_of_problems_have_their_own_lines() {
    let flows = (0..9_500).map(|number| format!("[flows.f{number}]\ndirection = \"up\"\nover = \"x\"\n"));
    let text = SOUND.to_owned() + &flows.collect::<String>();
    let problems = read(&text, &[]).unwrap_err();
    let lines: Vec<usize> = problems.iter().map(|problem| problem.spot.line).collect();
    let before = SOUND.lines().count();
    let expected: Vec<usize> = (0..9_500).map(|number| before + 3 * number + 3).collect();
    assert_eq!(lines, expected);
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
fn all_problems_are_reported_together_in_file_order() {
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
        "bad.toml:6:11: channel 36 is not in the band of 802.11g\n\
         \u{20} |\n\
         6 | channel = 36 # five\n\
         \u{20} |           ^^\n\
         \u{20} |\n\
         \u{20} = help: use 1 to 13"
    );
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_place() {
    let problems = parse("bad.toml", b"sentence = \"x\"\n# \xff", &[], &files).unwrap_err();
    assert_eq!(
        messages(Err(problems)),
        ["bad.toml:2:3: the file is not UTF-8 text from here on; save the file as UTF-8"]
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
fn bad_settings_are_reported_like_bad_files() {
    let refused = |setting| messages(read(SOUND, &[setting]));
    let table = [
        (
            "cells.lt.up_mbps=6",
            "--set:1:7: the scenario has no `lt` here; did you mean `lte`?",
        ),
        (
            "wires.dsl.rtt_ms=6",
            "--set:1:1: scenarios have no table `wires`; the first part of a key must be \"place\", \"air\", \"tcp\", \"relay\", \"report\", \
             \"aps\", \"cells\", \"cables\", \"bottlenecks\", \"walkers\", \"flows\", \"noises\", \"faults\", \"losses\" or \"expect\"",
        ),
        (
            "noise.oven.channel=6",
            "--set:1:1: scenarios have no table `noise`; did you mean `noises`?",
        ),
        (
            "air.attempt=3",
            "--set:1:5: unknown key `attempt` in [air]; did you mean `attempts`?",
        ),
        (
            "noises.oven.channel=6",
            "--set:1:8: the scenario has no `oven` here; set all its required keys, or add it to the file",
        ),
        (
            "aps.attic.channel=6",
            "--set:1:5: the scenario has no `attic` here; the file has \"ap1\" here; for a new one, set all its required keys",
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
            "--set:1:19: `[1` is neither a TOML value nor a single word; put text in double quotes",
        ),
        (
            "faults.7.at_s=6",
            "--set:1:8: `7` is not an index of this list of 1; use 0 to 0, or 1 for a new item with all its required keys",
        ),
        (
            "faults.1.at_s=6",
            "--set:1:8: `1` is not an index of this list of 1; use 0 to 0, or 1 for a new item with all its required keys",
        ),
        (
            "place.walls.1.loss_db=6",
            "--set:1:13: `1` is not an index of this list of 0; use 0 for a new item, and set all its required keys",
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
fn settings_make_the_tables_that_the_file_does_not_have() {
    let plan = |settings: &[&str]| read(SOUND, settings).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        plan(&["air.attempts=3"]).rules,
        plan(&["air={ attempts = 3 }"]).rules
    );
    assert_ne!(plan(&["air.attempts=3"]).rules, plan(&[]).rules);
    let noises = plan(&["noises.oven.at_m=[6, 1]", "noises.oven.channel=6"])
        .place
        .noises;
    assert_eq!(noises.len(), 1);
    let sat = ["cells.sat.rate_mbps=2", "cells.sat.rtt_ms=600"];
    assert!(plan(&sat).link("sat").is_some());
    let fault = [
        "faults.1.at_s=12",
        "faults.1.link=dsl",
        "faults.1.kind=down",
        "aps.ap1.fading.coherence_ms=20",
    ];
    assert_eq!(plan(&fault).faults.len(), 2);
    let walls = [
        "place.walls.0.from_m=[0, 5]",
        "place.walls.0.to_m=[5, 5]",
        "place.walls.0.loss_db=7",
    ];
    assert_eq!(plan(&walls).place.walls.len(), 1);
}

#[test]
fn seeds_fit_a_signed_64_bit_integer() {
    let seed = |seed: &str| read(SOUND, &[&format!("seed={seed}")]);
    assert_eq!(seed("9223372036854775807").unwrap().seed, i64::MAX as u64);
    for beyond in ["9223372036854775808", "18446744073709551615"] {
        assert_eq!(
            messages(seed(beyond)),
            ["--set:1:6: `seed` is too large a number; give a whole number from 0 to 9223372036854775807"]
        );
    }
}

#[test]
fn control_characters_of_a_file_are_escaped() {
    let problems = read(&SOUND.replace("\"slowhand\"", "\"\\u001b[2J\\u0007x\""), &[]).unwrap_err();
    let said = problems.to_string();
    assert!(
        said.contains("there is no policy \"\\u{1b}[2J\\u{7}x\""),
        "{said}"
    );
    let key = read(&format!("{SOUND}\n\"\\u009b1m\\nholds\" = 1\n"), &[]).unwrap_err();
    let said = key.to_string();
    assert!(said.contains("unknown key `\\u{9b}1m\\nholds`"), "{said}");
    let spoken = parse("a\x1b[1m\n.toml", b"x", &[], &files)
        .unwrap_err()
        .to_string();
    assert!(spoken.starts_with("a\\u{1b}[1m\\n.toml:1:"), "{spoken}");
    let comment = read(
        &SOUND.replace("channel = 6", "channel = 36 # \u{9b}2J\u{202e}"),
        &[],
    )
    .unwrap_err();
    assert!(
        comment
            .to_string()
            .chars()
            .all(|c| trace::is_shown(c) || c == '\n'),
        "{comment}"
    );
    assert!(
        comment
            .to_string()
            .contains("\n6 | channel = 36 # \\u{9b}2J\\u{202e}\n"),
        "{comment}"
    );
    let folded = SOUND.replace("\"Two links,", "\"\\nTwo \\t\\n links,");
    assert_eq!(
        read(&folded, &[]).unwrap().sentence,
        read(SOUND, &[]).unwrap().sentence
    );
}

#[test]
fn one_mistake_is_reported_once() {
    for broken in ["at_m = (1, 2]", "at_m = [1, 2", "at_m = [[[[[[[1, 2]"] {
        let problems = edited("at_m = [1, 2]", broken).unwrap_err();
        assert_eq!(problems.iter().count(), 1, "{problems}");
    }
    let both = SOUND
        .replace("up_mbps = 3", "up_trace = \"text.down\"")
        .replace("lte.down", "text.down");
    assert_eq!(
        read(&both, &[]).unwrap_err().iter().count(),
        1,
        "one file, one mistake"
    );
}

#[test]
fn files_of_other_formats_are_refused_by_format() {
    let said = |content: &[u8]| messages(parse("x.toml", content, &[], &files));
    let table: [(&[u8], &str); 4] = [
        (
            b"\x1f\x8b\x08\0",
            "x.toml:1:1: the file is packed with gzip, not a scenario; unpack it first, with gunzip",
        ),
        (
            b"{\"schema\":\"slowhand.trace/1\"}\n",
            "x.toml:1:1: the file is JSON, not a scenario; name a scenario, which is TOML",
        ),
        (
            b"\xff\xfed\0",
            "x.toml:1:1: the file is UTF-16 text, not a scenario; save the file as UTF-8",
        ),
        (
            b"0\n1\n7\n",
            "x.toml:1:1: the file is a rate trace, not a scenario; name it in a scenario, as `down_trace` of a [cells.NAME]",
        ),
    ];
    for (content, expected) in table {
        assert_eq!(said(content), [expected]);
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

/// A directory of its own, gone at the end.
struct Desk(PathBuf);

impl Desk {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_too_large_file_is_refused() {
    let desk = Desk::new("large");
    let path = desk.file("large.toml", vec![b'#'; 65 << 20]);
    let error = load(&path, &[]).unwrap_err().to_string();
    assert!(
        error.ends_with("large.toml: larger than 67108864 bytes, so not a scenario; name a TOML file"),
        "{error}"
    );
    let mut capture = vec![0; 65 << 20];
    capture[..4].copy_from_slice(b"\xd4\xc3\xb2\xa1");
    let error = load(&desk.file("air.pcap", capture), &[])
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with(
            "air.pcap:1:1: the file is a packet capture (pcap), not a scenario\n |\n = help: name a scenario, which is TOML"
        ),
        "{error}"
    );
}

#[test]
fn reading_is_limited_whatever_the_metadata_say() {
    let desk = Desk::new("limited");
    // Their length is 0 or that of a link.
    let link = desk.0.join("zero.toml");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for device in [Path::new("/dev/zero"), &link, Path::new("/dev/urandom")] {
        let error = load(device, &[]).unwrap_err().to_string();
        assert!(
            error.contains(": this is a device or a socket, not a file; "),
            "{error}"
        );
    }
    let cell = SOUND.replace("lte.down", "/dev/zero");
    let error = load(&desk.file("cell.toml", cell), &[]).unwrap_err().to_string();
    assert!(
        error.contains("cannot read \"/dev/zero\": this is a device or a socket, not a file\n"),
        "{error}"
    );
    // A pipe says nothing of its length, and has no end here.
    let (reader, mut writer) = std::io::pipe().unwrap();
    let endless = std::thread::spawn(move || while writer.write_all(&[b'#'; 4096]).is_ok() {});
    let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    let error = load(&path, &[]).unwrap_err().to_string();
    assert!(
        error.contains(": larger than 67108864 bytes, so not a scenario; "),
        "{error}"
    );
    drop(reader);
    endless.join().unwrap();
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer
        .write_all(
            SOUND
                .replace("down_trace = \"lte.down\"", "down_mbps = 5")
                .as_bytes(),
        )
        .unwrap();
    drop(writer);
    let plan = load(&PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd())), &[]);
    assert_eq!(plan.unwrap_or_else(|error| panic!("{error}")).links.len(), 3);
}

#[test]
fn errors_show_no_content_of_referenced_files() {
    let desk = Desk::new("secret");
    let secret = "root:$6$salt$hash:19000:0:99999:7:::\nkey 8154711\n";
    for content in [
        secret.to_owned(),
        format!("17\n{secret}"),
        format!("\u{feff}{secret}"),
    ] {
        desk.file("shadow", content);
        let path = desk.file("cell.toml", SOUND.replace("lte.down", "shadow"));
        let error = load(&path, &[]).unwrap_err().to_string();
        assert!(
            error.contains("/shadow:") && error.contains("this is not a time"),
            "{error}"
        );
        for part in ["root", "salt", "hash", "19000", "8154711", "key"] {
            assert!(!error.contains(part), "{error}");
        }
    }
}
