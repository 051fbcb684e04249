//! Checks one command of a document: it must be understood, and everything it names must exist.

use std::path::Path;

use clap::Parser as _;
use clap::error::ErrorKind;
use host::up::Daemon;
use scenario::Setting;

use crate::play;
use crate::usage::{Usage, Verb};

/// Programs of others that documents may tell a reader to run. `scripts/setup.sh` or the reader installs
/// them.
const OTHERS: [&str; 18] = [
    "git",
    "resolvectl",
    "cd",
    "man",
    "curl",
    "mptcpize",
    "ip",
    "iw",
    "sysctl",
    "ss",
    "clang",
    "bpftool",
    "openssl",
    "cp",
    "sed",
    "install",
    "apt",
    "systemctl",
];

/// Whether a command would be understood; if not, why.
pub fn judge(root: &Path, words: &[String]) -> Result<(), String> {
    let (name, rest) = words.split_first().expect("a command has a name");
    match name.as_str() {
        "slowhand" => ours(root, words),
        "slowhand-relay" => understood(::relay::command::Relay::try_parse_from(words)).map(drop),
        "slowhandd" => understood(Daemon::try_parse_from(words)).map(drop),
        "make" => make(root, rest),
        "cargo" => cargo(root, rest),
        path if path.contains('/') => script(root, path),
        other if OTHERS.contains(&other) => Ok(()),
        _ => Err("not one of our commands, nor in the list of other programs".to_owned()),
    }
}

fn ours(root: &Path, words: &[String]) -> Result<(), String> {
    understood(Usage::try_parse_from(words))?.map_or(Ok(()), |usage| existing(root, &usage.verb, words))
}

/// What the words ask for. `None` for `--help` and the like, and for a verb that is only named, without what
/// it needs.
fn understood<U>(parsed: Result<U, clap::Error>) -> Result<Option<U>, String> {
    match parsed {
        Ok(usage) => Ok(Some(usage)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::MissingRequiredArgument
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(None),
            _ => Err(error.to_string()),
        },
    }
}

/// Scenarios and benchmarks that a command names.
fn existing(root: &Path, verb: &Verb, words: &[String]) -> Result<(), String> {
    let missing = words
        .iter()
        .find(|word| is_of_repository(word) && !root.join(word).is_file());
    if let Some(missing) = missing {
        return Err(format!("there is no {missing}"));
    }
    match verb {
        Verb::Play(args) => playable(root, args),
        Verb::Bench(args) => args.refuse_unknown().map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

/// Whether it is a scenario of ours. A path that begins with a slash or a dot is the reader's own.
fn is_of_repository(word: &str) -> bool {
    word.ends_with(".toml") && !word.starts_with(['/', '.'])
}

/// The scenario is one, also with every value that the command gives it.
fn playable(root: &Path, args: &play::Args) -> Result<(), String> {
    if !is_of_repository(&args.file.to_string_lossy()) {
        return Ok(());
    }
    let values: Vec<Vec<Setting>> = args
        .settings
        .iter()
        .map(|text| Setting::alternatives(text).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    let most = values.iter().map(Vec::len).max().unwrap_or(1);
    for run in 0..most {
        let settings: Vec<Setting> = values
            .iter()
            .map(|values| values[run % values.len()].clone())
            .collect();
        scenario::load(&root.join(&args.file), &settings).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The targets that a Makefile offers: its first list. Later ones are internal.
pub fn targets(makefile: &str) -> Vec<&str> {
    let list = makefile.lines().find_map(|line| line.strip_prefix(".PHONY:"));
    list.unwrap_or_default().split_whitespace().collect()
}

fn make(root: &Path, goals: &[String]) -> Result<(), String> {
    let makefile = std::fs::read_to_string(root.join("Makefile")).map_err(|error| error.to_string())?;
    let targets = targets(&makefile);
    let mut goals = goals.iter().filter(|goal| !goal.contains('='));
    match goals.find(|goal| !targets.contains(&goal.as_str())) {
        Some(goal) => Err(format!("no target `{goal}`; there are {}", targets.join(", "))),
        None => Ok(()),
    }
}

fn cargo(root: &Path, arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.starts_with('+'))
        .collect();
    match arguments[..] {
        ["xtask", verb, ..] => {
            let usage =
                std::fs::read_to_string(root.join("xtask/src/main.rs")).map_err(|error| error.to_string())?;
            let known = usage.contains(&format!("\"{verb}\" =>"));
            known
                .then_some(())
                .ok_or_else(|| format!("xtask has no `{verb}`"))
        }
        ["run" | "test" | "clippy", ref rest @ ..] => rest
            .windows(2)
            .filter(|pair| matches!(pair[0], "-p" | "--package"))
            .try_for_each(|pair| package(root, pair[1])),
        ["build" | "fmt" | "fuzz" | "install" | "check", ..] => Ok(()),
        _ => Err("no known cargo command".to_owned()),
    }
}

fn package(root: &Path, name: &str) -> Result<(), String> {
    let folder = if name == "slowhand" { "cli" } else { name };
    let found = root.join("crates").join(folder).join("Cargo.toml").is_file();
    found
        .then_some(())
        .ok_or_else(|| format!("there is no crate `{name}`"))
}

fn script(root: &Path, path: &str) -> Result<(), String> {
    let found = root.join(path).is_file();
    found.then_some(()).ok_or_else(|| format!("there is no {path}"))
}

#[test]
fn commands_with_unknown_parts_are_wrong() {
    let root = super::root();
    let judged = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        judge(&root, &words)
    };
    for right in [
        "slowhand play scenarios/train.toml --seed 3",
        "slowhand play scenarios/shared-air.toml --world sim --set aps.near.rate_mbps=24,54",
        "slowhand play crates/bench/src/scenarios/cc-handoff.toml --set cells.lte.rate_mbps=6",
        "slowhand up --config ./mine.toml",
        "slowhandd --cc lia",
        "slowhand bench links",
        "slowhand play --help",
        "slowhand completions",
        "make demo",
        "make deb ARCH=arm64",
        "cargo xtask deps",
        "cargo test -p units",
        "cargo test -p slowhandd",
        ".ci/run",
        "scripts/setup.sh build",
    ] {
        assert_eq!(judged(right), Ok(()), "{right}");
    }
    for wrong in [
        "slowhand fly",
        "slowhandd up",
        "slowhand play scenarios/nowhere.toml",
        "slowhand play crates/bench/src/scenarios/cc-walk.toml",
        "slowhand play crates/bench/src/scenarios/cc-handoff.toml --set cells.lte.rate_mb=6",
        "slowhand play scenarios/shared-air.toml --world sim --set aps.near.rate_mbps=24,fast",
        "slowhand play scenarios/shared-air.toml --set aps.near",
        "slowhand play scenarios/train.toml --sed 3",
        "slowhand bench stall",
        "slowhand play scenarios/train.toml --policy fastest",
        "make coffee",
        "cargo xtask fly",
        "cargo test -p nothing",
        "scripts/nothing.sh",
        "rm everything",
    ] {
        assert!(judged(wrong).is_err(), "{wrong}");
    }
}
