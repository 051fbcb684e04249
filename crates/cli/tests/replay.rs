//! `play --record` and `replay` as a user runs them. A recording replays identically, a difference is shown
//! and ends with exit code 1, and a file that is no recording is refused.

mod common;

use common::{Ran, Scratch, program, slowhand};
use record::{Buffer, Entry, File, Polled, Recorder};
use std::path::{Path, PathBuf};

const SCENARIO: &str = "scenarios/shared-air.toml";

fn record(folder: &Path, more: &[&str]) -> Ran {
    let mut command = program();
    command.args(["play", SCENARIO, "--world", "sim", "--set", "duration_s=1"]);
    command.args(more).arg("--record").arg(folder);
    command.output().unwrap().into()
}

fn replay(file: &Path, more: &[&str]) -> Ran {
    slowhand(&[&["replay", file.to_str().unwrap()], more].concat())
}

/// A recording whose last poll with a note says something else.
fn differing(file: &Path, change: fn(&mut Polled)) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    let file = File::read(&bytes).unwrap();
    let mut entries: Vec<Entry> = file.entries().map(Result::unwrap).collect();
    let noted = entries.iter_mut().rev().find_map(|entry| match entry {
        Entry::Polled(polled) if polled.text.contains("note ") => Some(polled),
        _ => None,
    });
    change(noted.expect("something is decided"));
    let buffer = Buffer::default();
    let mut recorder = Recorder::new(file.header(), Box::new(buffer.clone()));
    entries.iter().for_each(|entry| recorder.keep(entry));
    drop(recorder);
    buffer.take()
}

#[test]
fn every_run_is_recorded_in_a_file_of_its_own_and_replays_identically() {
    let scratch = Scratch::new("replay-runs");
    let folder = scratch.path("made/by/it");
    let ran = record(
        &folder,
        &["--policy", "slowhand", "--policy", "mptcp", "--seeds", "1..3"],
    );
    assert!(ran.err.contains("wrote 4 recordings into "), "{ran:?}");
    for name in ["slowhand-1", "slowhand-2", "mptcp-1", "mptcp-2"] {
        let file = folder.join(format!("shared-air-{name}.record"));
        let ran = replay(&file, &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let begins = format!("{}: identical: ", file.display());
        assert!(
            ran.out.starts_with(&begins) && ran.out.ends_with(" actions\n"),
            "{ran:?}"
        );
    }
    let again = scratch.path("again");
    record(&again, &["--policy", "slowhand", "--seed", "2"]);
    let read = |folder: &Path| std::fs::read(folder.join("shared-air-slowhand-2.record")).unwrap();
    assert!(read(&folder) == read(&again), "one seed gave two recordings");
    let swept = scratch.path("swept");
    let ran = record(&swept, &["--set", "aps.near.rate_mbps=24,54"]);
    assert!(ran.err.contains("wrote 2 recordings into "), "{ran:?}");
    assert!(swept.join("shared-air-slowhand-1-2.record").is_file());
}

#[test]
fn another_action_ends_with_1_and_is_shown() {
    let (_scratch, file) = recorded("replay-action");
    std::fs::write(&file, differing(&file, |polled| polled.acts ^= 1)).unwrap();
    for more in [&[][..], &["--accept-words"]] {
        let ran = replay(&file, more);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.out.contains(": different actions: call ") && ran.out.contains("\n    note "),
            "{ran:?}"
        );
    }
}

#[test]
fn another_sentence_ends_with_1_until_it_is_accepted() {
    let (_scratch, file) = recorded("replay-sentence");
    let before = std::fs::read(&file).unwrap();
    std::fs::write(&file, differing(&file, |polled| polled.sentences ^= 1)).unwrap();
    let ran = replay(&file, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains(", 1 different sentences, first: call "),
        "{ran:?}"
    );
    assert_eq!(replay(&file, &["--accept-words"]).code, Some(0));
    assert!(
        std::fs::read(&file).unwrap() == before,
        "the sentences are those of today"
    );
    assert_eq!(replay(&file, &[]).code, Some(0));
}

#[test]
fn another_policy_gets_the_same_inputs_and_its_actions_are_counted_beside_the_recorded_ones() {
    let (_scratch, file) = recorded("replay-policy");
    let ran = replay(&file, &["--policy", "slowhand"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let last = ran.out.lines().last().unwrap();
    assert!(
        last.contains(" inputs, 0 of ") && last.ends_with(" decisions differ"),
        "{ran:?}"
    );
    let ran = replay(&file, &["--policy", "mptcp"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let cells = |line: &str| Vec::from_iter(line.split_whitespace().map(str::to_owned));
    let endpoints = ran.out.lines().map(cells).find(|cells| cells[0] == "endpoint");
    assert_eq!(endpoints.unwrap(), ["endpoint", "0", "2"], "{ran:?}");
    assert!(ran.out.contains("\nfirst at "), "{ran:?}");
    let ran = replay(&file, &["--policy", "tcp:nowhere"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("nowhere"), "{ran:?}");
}

fn recorded(name: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    record(&scratch.path("."), &[]);
    let file = scratch.path("shared-air-slowhand-1.record");
    (scratch, file)
}

#[test]
fn a_file_that_is_not_a_recording_is_refused_with_a_remedy() {
    let (scratch, file) = recorded("replay-refused");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let cases = [
        (
            file,
            "damaged or cut off: the checksum in its last 8 bytes does not match; record it again",
        ),
        (
            PathBuf::from(SCENARIO),
            "no recording: it does not begin with `slowhand-record`; name a file that `--record` wrote",
        ),
        (
            scratch.path("missing.record"),
            "No such file or directory (os error 2); name a file that `--record` wrote",
        ),
    ];
    for (path, why) in cases {
        let ran = replay(&path, &[]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(&format!("{}: {why}", path.display())), "{ran:?}");
    }
}

#[test]
fn an_unwritable_directory_is_refused_before_the_run() {
    let ran = record(Path::new("/proc/no-folder"), &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err
            .contains("name a file in a directory that you may write to"),
        "{ran:?}"
    );
}
