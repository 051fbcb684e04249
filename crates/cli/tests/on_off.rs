//! A flow that sends and pauses in turns moves about the same in both worlds, with a silence in each period.

mod common;

use common::{Scratch, program, ran_by_root};
use trace::{PlayDocument, Run};

/// Turns of a second, over 10 Mb/s.
const SCENARIO: &str = "\
sentence = \"A second on, a second off.\"
duration_s = 6

[cables.dsl]
rate_mbps = 10
rtt_ms = 20

[flows.bursts]
on_off = { on_s = 1, off_s = 1 }
";
/// Rate × duty × duration, in bytes.
const EXPECTED: f64 = 10e6 / 8.0 * 3.0;

/// Steps of the goodput series, of 100 ms, in a turn and the pause after it.
const PERIOD: usize = 20;
/// Steps well inside a pause: what the send buffer held has arrived, and the next turn has not begun.
const SILENT: usize = 3;

/// `None`: this machine cannot play it.
fn played(world: &str, direction: &str) -> Option<Run> {
    let scratch = Scratch::new(&format!("on-off-{world}-{direction}"));
    let file = scratch.path("bursts.toml");
    std::fs::write(&file, format!("{SCENARIO}direction = \"{direction}\"\n")).unwrap();
    let mut command = program();
    command.arg("play").arg(&file);
    command.args(["--world", world, "--json", "--policy", "mptcp"]);
    let ran = ran_by_root(&mut command)?;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut document: PlayDocument = serde_json::from_str(&ran.out).unwrap();
    Some(document.runs.remove(0))
}

/// Whether nothing arrives in the silent steps of each period, if those of the first one begin at this step.
fn is_silent(series: &[u64], from: usize) -> bool {
    let is_in_pause = |step: usize| (step + PERIOD - from) % PERIOD < SILENT;
    let mut steps = series.iter().enumerate();
    steps.all(|(step, &bytes)| bytes == 0 || !is_in_pause(step))
}

/// Bytes come in each period, and none in a part of it, whenever the first one began.
fn ensure_turns(run: &Run) {
    assert!(run.intact(), "{run:#?}");
    let series = &run.goodput_series;
    assert!((0..PERIOD).any(|from| is_silent(series, from)), "{series:?}");
    for period in series.chunks(PERIOD) {
        assert!(period.iter().sum::<u64>() > 300_000, "{series:?}");
    }
    let share = run.bytes() as f64 / EXPECTED;
    assert!((0.6..1.5).contains(&share), "{share} of what is expected");
}

#[test]
fn a_flow_in_turns_moves_the_same_in_both_worlds() {
    for direction in ["down", "up"] {
        let sim = played("sim", direction).expect("virtual time needs no rights");
        ensure_turns(&sim);
        let Some(lab) = played("lab", direction) else {
            continue;
        };
        ensure_turns(&lab);
        let [real, imagined] = [&lab, &sim].map(|run| run.bytes() as f64);
        println!("{direction}: lab {real} bytes, virtual time {imagined} bytes");
        assert!((0.7..1.3).contains(&(real / imagined)), "{real} and {imagined}");
    }
}

/// A series like that of a download without turns over the same link fails both checks.
#[test]
fn a_flow_without_turns_is_told_apart() {
    let series = [&[0; 3], [119_000; 57].as_slice()].concat();
    assert!(!(0..PERIOD).any(|from| is_silent(&series, from)));
    assert!(series.iter().sum::<u64>() as f64 > 1.5 * EXPECTED);
}
