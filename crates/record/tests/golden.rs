//! The recordings in `golden/record` replay identically, and a replay notices differences. Together they
//! cover every kind of fact, every policy, every action and every verb.

use policy::{Input, LinkEvent, Verb};
use record::{Buffer, Entry, File, Recorder, kind, kinds, replay};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// As many runs as every change that must not alter decisions is checked with.
const LEAST: usize = 30;

fn recordings() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/record");
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "record"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

#[test]
fn the_engine_decides_as_it_did() {
    let all = recordings();
    assert!(all.len() >= LEAST, "only {} recordings", all.len());
    let mut differ = Vec::new();
    for (path, bytes) in all {
        let replayed = replay(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            replayed.calls > 5 && replayed.actions > 0,
            "{}: {replayed:?}",
            path.display()
        );
        let difference = replayed.acts.or(replayed.sentences);
        differ.extend(difference.map(|difference| format!("{}: {difference}", path.display())));
    }
    assert!(
        differ.is_empty(),
        "{} recordings differ; where only sentences do and are meant to, run `slowhand replay --accept-words \
         golden/record/*.record`:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

/// A recording without the facts that `stays` refuses.
fn without(bytes: &[u8], mut stays: impl FnMut(&Input) -> bool) -> Vec<u8> {
    let file = File::read(bytes).unwrap();
    let buffer = Buffer::default();
    let mut recorder = Recorder::new(file.header(), Box::new(buffer.clone()));
    for entry in file.entries() {
        match entry.unwrap() {
            Entry::Handle(_, input) if !stays(&input) => {}
            entry => recorder.keep(&entry),
        }
    }
    drop(recorder);
    buffer.take()
}

#[test]
fn a_missing_fact_is_noticed_in_every_recording() {
    for (path, bytes) in recordings() {
        assert_eq!(
            without(&bytes, |_| true),
            bytes,
            "{}: written anew, it is another file",
            path.display()
        );
        let no_links = without(&bytes, |input| {
            !matches!(input, Input::Link(_, LinkEvent::Appeared(_)))
        });
        let replayed = replay(&no_links).unwrap();
        assert!(
            replayed.acts.is_some(),
            "{}: the same without links",
            path.display()
        );
        let mut spared = 0;
        let never_usable = without(&bytes, |input| {
            let is_usable = matches!(input, Input::Link(_, LinkEvent::Usable(true)));
            spared += u32::from(is_usable);
            !is_usable
        });
        let replayed = replay(&never_usable).unwrap();
        assert!(
            spared == 0 || replayed.acts.is_some(),
            "{}: the same on unusable links",
            path.display()
        );
    }
}

#[test]
fn a_changed_digest_is_noticed_in_every_recording() {
    for (path, bytes) in recordings() {
        let file = File::read(&bytes).unwrap();
        let acted = |entry: &Entry| matches!(entry, Entry::Polled(polled) if polled.actions > 0);
        let last = file.entries().map(Result::unwrap).filter(acted).count();
        let buffer = Buffer::default();
        let mut recorder = Recorder::new(file.header(), Box::new(buffer.clone()));
        let mut polls = 0;
        for entry in file.entries() {
            let mut entry = entry.unwrap();
            if let Entry::Polled(polled) = &mut entry
                && polled.actions > 0
            {
                polls += 1;
                polled.acts ^= u64::from(polls == last);
            }
            recorder.keep(&entry);
        }
        drop(recorder);
        let replayed = replay(&buffer.take()).unwrap();
        let recorded = replayed.acts.map(|difference| difference.recorded.acts);
        assert!(recorded.is_some(), "{}: nothing was noticed", path.display());
    }
}

#[test]
fn together_they_have_every_kind_of_fact() {
    let mut missing: BTreeSet<String> = kinds().into_iter().collect();
    for (_, bytes) in recordings() {
        for entry in File::read(&bytes).unwrap().entries() {
            if let Entry::Handle(_, input) = entry.unwrap() {
                missing.remove(&kind(&input));
            }
        }
    }
    assert_eq!(missing, BTreeSet::new());
}

/// How the lines of actions begin, but for notes.
const ACTIONS: [&str; 23] = [
    "ask",
    "assign",
    "associate",
    "cap-pacing",
    "check",
    "default-route",
    "destroy",
    "end",
    "endpoint",
    "handed-off",
    "hold",
    "join",
    "leave",
    "mark",
    "mark-sent",
    "move",
    "outlook",
    "probe",
    "set-backup",
    "slots",
    "unsent",
    "window",
    "withdraw",
];

#[test]
fn together_they_have_every_action_and_every_verb() {
    let verbs = Verb::ALL.map(|verb| format!("note {}", verb.id()));
    let wanted: BTreeSet<String> = ACTIONS.map(str::to_owned).into_iter().chain(verbs).collect();
    let mut found = BTreeSet::new();
    for (_, bytes) in recordings() {
        for entry in File::read(&bytes).unwrap().entries() {
            if let Entry::Polled(polled) = entry.unwrap() {
                found.extend(polled.text.lines().map(begins_with));
            }
        }
    }
    assert_eq!(found, wanted);
}

fn begins_with(line: &str) -> String {
    let words = if line.starts_with("note ") { 2 } else { 1 };
    Vec::from_iter(line.split(' ').take(words)).join(" ")
}

#[test]
fn together_they_have_every_policy() {
    let of = |bytes: &[u8]| format!("{:?}", File::read(bytes).unwrap().header().config.policy);
    let found: BTreeSet<String> = recordings()
        .iter()
        .map(|(_, bytes)| of(bytes).split(['(', ' ']).next().unwrap_or_default().to_owned())
        .collect();
    let wanted = [
        "Tcp",
        "Handover",
        "HandoverWarm",
        "HandoverCell",
        "WifiFirst",
        "Mptcp",
        "Ecn",
        "OneAtATime",
        "Omniscient",
        "Energy",
        "Slowhand",
        "SlowhandNoWindow",
    ];
    assert_eq!(found, wanted.map(str::to_owned).into());
}
