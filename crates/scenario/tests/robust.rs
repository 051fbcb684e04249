//! Whatever a file says, it is read or refused; what is read can be played.

use proptest::prelude::*;
use scenario::{Plan, Problems, Setting, parse};
use std::path::Path;
use units::Duration;

const SHIPPED: [&str; 15] = [
    include_str!("../../../scenarios/app-limited.toml"),
    include_str!("../../../scenarios/break-before-make.toml"),
    include_str!("../../../scenarios/building-walk.toml"),
    include_str!("../../../scenarios/dead-but-up.toml"),
    include_str!("../../../scenarios/fading.toml"),
    include_str!("../../../scenarios/flapping.toml"),
    include_str!("../../../scenarios/legacy-server.toml"),
    include_str!("../../../scenarios/lte-gaps.toml"),
    include_str!("../../../scenarios/one-radio.toml"),
    include_str!("../../../scenarios/poor-and-good.toml"),
    include_str!("../../../scenarios/relay.toml"),
    include_str!("../../../scenarios/shared-air.toml"),
    include_str!("../../../scenarios/side-channel.toml"),
    include_str!("../../../scenarios/train.toml"),
    include_str!("../../../scenarios/two-homes.toml"),
];

/// Keys and values that mean something somewhere.
const PIECES: [&str; 24] = [
    "-1",
    "0",
    "1e308",
    "nan",
    "inf",
    "99999999999999999999",
    "\"\"",
    "[]",
    "{}",
    "[1, 2]",
    "true",
    "1979-05-27",
    "\"lte\"",
    "\"busiest\"",
    "\"all\"",
    "\"tcp:lte\"",
    "[[faults]]\n",
    "[place]\n",
    "for_s = 1\n",
    "every_s = 0.1\n",
    "at_s = [1, 2]\n",
    "links = [\"lte\", \"lte\"]\n",
    "count = 100\n",
    "behind = \"x\"\n",
];

fn read(content: &[u8], settings: &[Setting]) -> Result<Plan, Problems> {
    parse("any.toml", content, settings, &|name| {
        Ok((name.to_owned(), b"1\n1\n20\n".to_vec()))
    })
}

/// Asks a plan for everything a world would ask.
fn play(plan: &Plan, seed: u64) -> Result<(), TestCaseError> {
    let timeline = plan.timeline(seed);
    prop_assert!(timeline.is_sorted_by_key(|happening| happening.at));
    prop_assert!(timeline.iter().all(|happening| happening.at < plan.duration));
    prop_assert_eq!(plan.timeline(seed), timeline);
    for walker in &plan.walkers {
        let _ = walker.position(Duration::ZERO);
        let _ = walker.position(plan.duration);
    }
    for link in &plan.links {
        if let scenario::LinkKind::Cell(cell) = &link.kind {
            let holes = cell.holes.drawn(seed, &link.name, plan.duration);
            prop_assert!(
                holes
                    .windows(2)
                    .all(|pair| pair[0].at + pair[0].lasts < pair[1].at)
            );
        }
    }
    let drawn = plan.to_trace();
    prop_assert_eq!(drawn.links.len(), plan.links.len());
    Ok(())
}

/// A problem points into the text.
fn told(problems: &Problems, text: &str) -> Result<(), TestCaseError> {
    for problem in problems.iter().filter(|problem| problem.spot.file == "any.toml") {
        let line = text.split('\n').nth(problem.spot.line - 1);
        prop_assert!(
            line.is_some_and(|line| problem.spot.column <= line.chars().count() + 1),
            "{problem}"
        );
        prop_assert!(!problem.what.is_empty() && !problem.instead.is_empty());
    }
    prop_assert!(!problems.to_string().is_empty());
    Ok(())
}

fn boundary(text: &str, index: usize) -> usize {
    (0..=index % (text.len() + 1))
        .rev()
        .find(|&index| text.is_char_boundary(index))
        .unwrap()
}

/// A shipped file with a stretch replaced by a piece.
fn mutated(file: usize, at: usize, length: usize, piece: &str) -> String {
    let text = SHIPPED[file];
    let start = boundary(text, at);
    let end = boundary(text, (start + length).min(text.len())).max(start);
    format!("{}{piece}{}", &text[..start], &text[end..])
}

/// A shipped file with the value of one key replaced by a piece.
fn revalued(file: usize, which: usize, piece: &str) -> String {
    let places: Vec<usize> = SHIPPED[file]
        .match_indices(" = ")
        .map(|(index, found)| index + found.len())
        .collect();
    let start = places[which % places.len()];
    let length = SHIPPED[file][start..].find(['\n', ',', ' ', '}']).unwrap_or(0);
    mutated(file, start, length, piece)
}

fn judged(text: &str, seed: u64) -> Result<(), TestCaseError> {
    match read(text.as_bytes(), &[]) {
        Ok(plan) => play(&plan, seed),
        Err(problems) => told(&problems, text),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes(content in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&content, &[]).is_err(), "noise is no scenario");
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        judged(&text, 1)?;
    }

    #[test]
    fn cut_and_patched_files(
        file in 0..SHIPPED.len(), at: usize, length in 0usize..30, piece in prop::sample::select(&PIECES[..]), seed: u64,
    ) {
        judged(&mutated(file, at, length, piece), seed)?;
    }

    #[test]
    fn files_with_another_value(
        file in 0..SHIPPED.len(), which: usize, piece in prop::sample::select(&PIECES[..]), seed: u64,
    ) {
        judged(&revalued(file, which, piece), seed)?;
    }

    #[test]
    fn any_setting(text in "[a-z.0-9_]{1,12}=?[\\PC]{0,12}", file in 0..SHIPPED.len()) {
        if let Ok(settings) = Setting::alternatives(&text) {
            for setting in settings {
                if let Err(problems) = read(SHIPPED[file].as_bytes(), &[setting]) {
                    prop_assert!(!problems.to_string().is_empty());
                }
            }
        }
    }
}

#[test]
fn every_shipped_file_is_among_the_mutated() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let count = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .count();
    assert_eq!(count, SHIPPED.len(), "add the new scenario to SHIPPED");
}
