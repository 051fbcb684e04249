//! `play --world sim` and `papers` as a user runs them: no rights needed, one seed is one trace, impossible
//! requests are refused before the run.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Scratch, program, slowhand, virtual_play};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

const SCENARIO: &str = "scenarios/shared-air.toml";

#[test]
fn one_seed_gives_one_trace_and_expectations_are_judged() {
    let scratch = Scratch::new("virtual-trace");
    let run = |name: &str, seed: &str| {
        let (trace, capture) = (scratch.path(name), scratch.path(&format!("{name}.pcapng")));
        let mut command = virtual_play(SCENARIO, 2);
        command.args(["--json", "--seed", seed]);
        command.arg("--trace").arg(&trace).arg("--capture").arg(&capture);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(
            (&document["schema"], &document["world"]),
            (&"slowhand.play/1".into(), &"sim".into())
        );
        assert_eq!(document["seed"].to_string(), seed);
        assert_eq!(
            document["runs"][0].get("cc"),
            Some(&Value::Null),
            "nothing is sent by TCP"
        );
        (std::fs::read(trace).unwrap(), std::fs::read(capture).unwrap())
    };
    let (first, again, other) = (run("a", "7"), run("b", "7"), run("c", "8"));
    assert!(first == again, "the same seed gave another trace or capture");
    assert!(first.1 != other.1, "another seed gave the same capture");
}

#[test]
fn a_sweep_writes_a_row_for_every_combination() {
    let scratch = Scratch::new("virtual-sweep");
    let sweep = |name: &str| {
        let file = scratch.path(name);
        let mut command = virtual_play(SCENARIO, 1);
        command.args(["--seeds", "3..6"]);
        command
            .args(["--set", "aps.near.rate_mbps=6,54", "--table"])
            .arg(&file);
        let ran = command.output().unwrap();
        // With a near access point as slow as the far one, `quick` does not reach what is expected: 1.
        assert!(
            ran.status.code().is_some_and(|code| code < 2),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        std::fs::read(file).unwrap()
    };
    let rows: Vec<Value> = String::from_utf8(sweep("t.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // Two rates, three seeds, three flows.
    assert_eq!(rows.len(), 18);
    let seeds: Vec<i64> = rows
        .iter()
        .step_by(3)
        .map(|row| row["seed"].as_i64().unwrap())
        .collect();
    assert_eq!(seeds, [3, 4, 5, 3, 4, 5]);
    let quick = |rate: i64| {
        let of = rows
            .iter()
            .filter(|row| row["flow"] == "quick" && row["set.aps.near.rate_mbps"] == rate);
        of.map(|row| row["goodput_mbps"].as_f64().unwrap()).sum::<f64>() / 3.0
    };
    assert!(quick(54) > 1.3 * quick(6), "{} {}", quick(54), quick(6));
    let parquet = sweep("t.parquet");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn swept_keys_have_typed_columns() {
    let scratch = Scratch::new("virtual-columns");
    let file = scratch.path("t.jsonl");
    let mut command = program();
    command.args(["play", SCENARIO, "--world", "sim", "--set", "duration_s=1,1.5"]);
    command.args([
        "--set",
        "walkers.client.power_save=false,true",
        "--set",
        "aps.near.rate_mbps=auto,54",
    ]);
    command.args(["--set", "flows.slow.start_s=0", "--set", "aps.far.channel=40"]);
    command.args(["--set", "air.attempts=4,7", "--table"]).arg(&file);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{said}");
    let rows = rows(&file);
    assert_eq!(rows.len(), 16 * 3);
    let columns = |row: &Value| -> Vec<String> {
        let keys = row.as_object().unwrap().keys();
        keys.filter(|key| key.starts_with("set.")).cloned().collect()
    };
    assert_eq!(
        columns(&rows[0]),
        [
            "set.air.attempts",
            "set.aps.near.rate_mbps",
            "set.duration_s",
            "set.walkers.client.power_save"
        ]
    );
    let last = &rows[47];
    assert_eq!(last["set.air.attempts"], Value::from(7));
    assert_eq!(
        last["set.aps.near.rate_mbps"],
        Value::from("54"),
        "words and numbers are text"
    );
    assert_eq!(last["set.duration_s"], Value::from(1.5));
    assert_eq!(last["set.walkers.client.power_save"], Value::from(true));
    assert_eq!(rows[0]["set.duration_s"], Value::from(1.0));
}

/// A table of JSON Lines, each of which must be whole.
fn rows(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Starts a sweep that takes minutes, and waits until its table has some rows.
fn sweep_under_way(scratch: &Scratch, more: &[&str]) -> Child {
    let table = scratch.path("t.jsonl");
    let mut command = program();
    command.args(["play", SCENARIO, "--world", "sim", "--seeds", "0..5000"]);
    command.arg("--table").arg(&table).args(more);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while std::fs::read_to_string(&table).map_or(0, |text| text.matches('\n').count()) < 6 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no rows");
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, signal: Signal) {
    nix::sys::signal::kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// Three flows of each run, in the order of the runs, as far as they go.
fn assert_finished_rows(scratch: &Scratch) -> usize {
    let rows = rows(&scratch.path("t.jsonl"));
    assert!(rows.len() >= 6 && rows.len().is_multiple_of(3), "{}", rows.len());
    let seeds: Vec<i64> = rows.iter().map(|row| row["seed"].as_i64().unwrap()).collect();
    assert!(seeds.is_sorted(), "{seeds:?}");
    assert!(
        rows.iter()
            .all(|row| row["duration_s"] == 20.0 && row["stopped"] == false)
    );
    rows.len()
}

#[test]
fn an_interrupted_sweep_keeps_its_finished_rows() {
    let scratch = Scratch::new("virtual-interrupted");
    let (trace, html) = (scratch.path("t.trace"), scratch.path("t.html"));
    std::fs::write(&html, "an older one").unwrap();
    let (trace_text, html_text) = (trace.to_str().unwrap(), html.to_str().unwrap());
    let child = sweep_under_way(&scratch, &["--trace", trace_text, "--html", html_text]);
    signal(&child, Signal::SIGINT);
    let ran = common::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let runs = assert_finished_rows(&scratch) / 3;
    let last = ran.err.lines().last().unwrap();
    assert_eq!(
        last,
        format!("slowhand: interrupted; {runs} of 5000 runs were finished")
    );
    let recorded = trace::read_runs(BufReader::new(std::fs::File::open(&trace).unwrap())).unwrap();
    assert!(recorded.len() >= runs, "{} {runs}", recorded.len());
    assert_eq!(std::fs::read_to_string(&html).unwrap(), "an older one");
    assert_eq!(
        std::fs::read_dir(scratch.path("")).unwrap().count(),
        3,
        "nothing temporary is left"
    );
}

#[test]
fn an_interrupted_parquet_table_has_the_finished_rows() {
    let scratch = Scratch::new("virtual-parquet");
    let table = scratch.path("t.parquet");
    let mut command = program();
    command.args(["play", SCENARIO, "--world", "sim", "--seeds", "0..5000"]);
    // Rows of the trace show when the first runs have ended.
    let trace = scratch.path("t.trace");
    command.arg("--table").arg(&table).arg("--trace").arg(&trace);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !std::fs::read_to_string(&trace).is_ok_and(|text| text.contains("run_end")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run ends");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!table.exists(), "it is there once it is complete");
    signal(&child, Signal::SIGTERM);
    let ran = common::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let bytes = std::fs::read(&table).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

#[test]
fn a_killed_sweep_keeps_its_finished_rows() {
    let scratch = Scratch::new("virtual-killed");
    let mut child = sweep_under_way(&scratch, &[]);
    signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    assert_finished_rows(&scratch);
}

#[test]
fn errors_show_no_content_of_a_referenced_file() {
    let scratch = Scratch::new("virtual-secret");
    let file = scratch.path("cell.toml");
    let shadow = scratch.path("shadow");
    std::fs::write(&shadow, "17\nroot:$6$salt$hash:19000:0:99999:7:::\n").unwrap();
    let text = std::fs::read_to_string(common::root().join(SCENARIO)).unwrap();
    for (key, named) in [
        ("down_trace", "shadow"),
        ("up_trace", shadow.to_str().unwrap()),
        ("down_trace", "../../proc/self/environ"),
    ] {
        let other = if key == "up_trace" { "down_mbps" } else { "up_mbps" };
        let cell = format!("{text}\n[cells.lte]\n{key} = \"{named}\"\n{other} = 1\nrtt_ms = 9\n");
        std::fs::write(&file, cell).unwrap();
        let mut command = program();
        command
            .env("PASSWORD", "hash")
            .args(["play", file.to_str().unwrap(), "--world", "sim"]);
        let ran = common::Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            !ran.err.contains("hash") && !ran.err.contains("root:"),
            "{}",
            ran.err
        );
        // What is wrong and its remedy: no line of the file is shown.
        assert!(ran.err.lines().count() <= 3, "{}", ran.err);
    }
}

#[test]
fn a_sweep_reads_its_scenario_from_a_pipe() {
    let mut command = program();
    command.args(["play", "/dev/stdin", "--world", "sim", "--set", "duration_s=1,2"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text = std::fs::read(common::root().join(SCENARIO)).unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let ran = common::Ran::from(child.wait_with_output().unwrap());
    assert!(
        ran.out.contains("\n1           slowhand") && ran.out.contains("\n2           slowhand"),
        "{ran:?}"
    );
}

#[test]
fn two_sweeps_over_the_same_key_are_refused() {
    let sweep = ["play", SCENARIO, "--world", "sim"];
    let table: [(&[&str], &str); 4] = [
        (
            &["--seeds", "0..2", "--set", "seed=1,2"],
            "--set seed=… and --seeds both set the seeds; remove one of them\n",
        ),
        (
            &["--set", " seed =3", "--seed", "4"],
            "--set seed=… and --seed both set the seeds; remove one of them\n",
        ),
        (
            &["--set", "duration_s=1,2", "--set", "duration_s=3"],
            "--set duration_s=…: given twice, once with several values; give all values in one --set\n",
        ),
        (
            &["--seeds", "0..1000000", "--set", "duration_s=1,2"],
            "more than 1000000 runs; give fewer seeds or fewer values\n",
        ),
    ];
    for (arguments, message) in table {
        let ran = slowhand(&[&sweep[..], arguments].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(2), message), "{ran:?}");
    }
    let seeds = slowhand(&[&sweep[..], &["--set", "seed=5,9", "--set", "duration_s=1"]].concat());
    assert!(
        seeds.out.contains("\n5     slowhand") && seeds.out.contains("\n9     slowhand"),
        "{seeds:?}"
    );
}

/// Replaces a part of the shipped scenario and plays it.
fn refused(old: &str, new: &str) -> String {
    let text = std::fs::read_to_string(common::root().join(SCENARIO)).unwrap();
    assert!(text.contains(old), "{old}");
    refused_text(&text.replacen(old, new, 1))
}

fn refused_text(text: &str) -> String {
    let scratch = Scratch::new("virtual-refused");
    let file = scratch.path("bad.toml");
    std::fs::write(&file, text).unwrap();
    std::fs::write(scratch.path("back.down"), "1\n7\n3\n").unwrap();
    let ran = slowhand(&["play", file.to_str().unwrap(), "--world", "sim"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.out.is_empty());
    ran.err
}

#[test]
fn invalid_settings_are_refused_with_position_and_remedy() {
    for (old, new, position, remedy) in [
        (
            "[aps.far]",
            "[aps.near]",
            "bad.toml:15:6: duplicate key",
            "each name and key may occur once; rename or remove this one",
        ),
        (
            "[walkers.client]",
            "[cells.near]\nrate_mbps = 5\nrtt_ms = 50\n\n[walkers.client]",
            "bad.toml:22:8: ",
            "name",
        ),
        (
            "rate_mbps = 54",
            "rate_mbps = 55",
            "bad.toml:12:13: 802.11a has no such rate",
            "use 6, 9, 12, 18, 24, 36, 48, 54",
        ),
        (
            "channel = 36",
            "channel = 37",
            "bad.toml:11:11: channel 37 is not in the band",
            "use 36 to 64",
        ),
        (
            "[walkers.client]",
            "[cells.lte]\ndown_trace = \"back.down\"\nup_mbps = 1\nrtt_ms = 9\n\n[walkers.client]",
            "back.down:3:1: this time is earlier than the one on the line above",
            "sort the trace: times may be equal, but never decrease",
        ),
        (
            "[walkers.client]\n",
            "[walkers.client]\npower_save = true\n",
            "bad.toml:22:10: `client` saves power and has flows over two access points on channel 36",
            "send them over one of them, or move one to another channel",
        ),
    ] {
        let error = refused(old, new);
        assert!(
            error.contains(position) && error.contains(remedy),
            "{new}: {error}"
        );
    }
    let nothing = refused_text("sentence = \"x.\"\nduration_s = 1\n\n[flows.f]\ndirection = \"down\"\n");
    assert!(
        nothing.contains("bad.toml:1:1: the client has no link\n")
            && nothing.contains("= help: add at least one"),
        "{nothing}"
    );
}

#[test]
fn options_without_support_in_virtual_time_are_refused() {
    let bbr = [
        "play",
        "scenarios/building-walk.toml",
        "--world",
        "sim",
        "--cc",
        "bbr",
    ];
    let building = slowhand(&bbr);
    assert_eq!(building.code, Some(2));
    assert!(
        building
            .err
            .contains("building-walk.toml:126:8: flow `download`: congestion control bbr has no model"),
        "{}",
        building.err
    );
    for option in [
        ["--seeds", "0..2"],
        ["--table", "x.jsonl"],
        ["--capture", "x.pcapng"],
        ["--most", "1000"],
    ] {
        let ran = slowhand(&[&["play", SCENARIO], &option[..]].concat());
        assert_eq!(ran.code, Some(2), "{option:?}");
        assert!(ran.err.contains("add --world sim"), "{}", ran.err);
    }
}

#[test]
fn a_run_over_its_frame_limit_is_stopped_with_an_error() {
    let endless = ["--world", "sim", "--set", "duration_s=21600", "--most", "30000"];
    let ran = slowhand(&[&["play", SCENARIO], &endless[..]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(
        said.contains("stopped after 30") && said.contains("shorten `duration_s`, or offer less"),
        "{said}"
    );
    let none = slowhand(&["play", SCENARIO, "--world", "sim", "--most", "0"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}

/// What holds, and what does not: both are known, and a change of either is noticed.
fn assert_verdicts(document: &Value, id: &str, holding: &[&'static str], not_holding: &[&'static str]) {
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.iter().all(|claim| claim["id"] == id), "{claims:#?}");
    let of = |holds: bool| -> BTreeSet<&str> {
        let claims = claims.iter().filter(|claim| claim["holds"] == holds);
        claims.map(|claim| claim["name"].as_str().unwrap()).collect()
    };
    let named = |names: &[&'static str]| -> BTreeSet<&'static str> { names.iter().copied().collect() };
    assert_eq!(of(true), named(holding), "hold: {claims:#?}");
    assert_eq!(of(false), named(not_holding), "do not hold: {claims:#?}");
    // One that does not hold says what is known of the cause.
    let mut fallen = claims.iter().filter(|claim| claim["holds"] == false);
    assert!(fallen.all(|claim| claim["note"].as_str().unwrap().contains("; does not hold: ")));
}

/// The published series of each figure that has one, by the figure's title.
fn published(document: &Value) -> BTreeMap<&str, Vec<&Value>> {
    let mut found = BTreeMap::new();
    for figure in document["figures"].as_array().unwrap() {
        let series = figure["series"].as_array().unwrap().iter();
        let theirs: Vec<&Value> = series.filter(|series| series["published"] == true).collect();
        if !theirs.is_empty() {
            found.insert(figure["title"].as_str().unwrap(), theirs);
        }
    }
    found
}

#[test]
fn papers_report_which_claims_hold() {
    let scratch = Scratch::new("virtual-papers");
    let directory = scratch.path("out");
    let ran = slowhand(&[
        "papers",
        "nsdi15-users",
        "--json",
        "--html",
        directory.to_str().unwrap(),
    ]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["schema"], "slowhand.papers/1");
    assert_verdicts(
        &document,
        "nsdi15-users",
        &[
            "worst-at-three",
            "better-beyond",
            "a-third-is-lost",
            "users-1",
            "users-2",
        ],
        &["users-3", "users-4", "users-5", "users-7", "users-10"],
    );
    assert_eq!(ran.code, Some(1), "some do not hold");
    let published = published(&document);
    let (_, theirs) = published.first_key_value().unwrap();
    assert_eq!(theirs[0]["points"].as_array().unwrap().len(), 7);
    let page = std::fs::read_to_string(directory.join("papers.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("http://localhost") && !page.contains("<script"));
    assert!(directory.join("nsdi15-users-1.svg").exists());
}

#[test]
fn the_delivery_estimate_is_as_accurate_as_published() {
    let ran = slowhand(&["papers", "nsdi15-fig5", "--json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_verdicts(
        &document,
        "nsdi15-fig5",
        &[
            "tracks",
            "mean-error",
            "mean-error-swept",
            "mean-error-n",
            "sparse-order",
            "sparse-overestimate",
            "heavy",
        ],
        &["mean-error-n-fading"],
    );
    assert_eq!(ran.code, Some(1), "some do not hold");
    // Each published error lies across the figure that it is of.
    let levels: BTreeMap<&str, f64> = published(&document)
        .into_iter()
        .map(|(title, theirs)| (title, theirs[0]["points"][0][1].as_f64().unwrap()))
        .collect();
    let expected = [
        (
            "Error of the estimate: two minutes at low power, two at full power",
            3.0,
        ),
        ("Powers that give a delivery probability between 0.3 and 1", 3.0),
        ("Overestimate beside a hidden access point", 10.0),
        ("802.11n with Minstrel-HT", 5.0),
        ("802.11n with Minstrel-HT, fading within 100 ms", 5.0),
        ("802.11n with Minstrel-HT, fading within 1 s", 5.0),
    ];
    assert_eq!(levels, expected.into());
}
