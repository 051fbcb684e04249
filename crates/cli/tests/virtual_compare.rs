//! Comparisons in virtual time as a user sees them: one table of all policies, what is computed from other
//! runs, expectations about several runs, and the demonstration where the lab cannot run.

mod common;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Ran, Scratch, copied, program};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

const TWO: &str = "sentence = \"Two cables.\"\nduration_s = 20\n\
    [cables.own]\ndown_mbps = 8\nup_mbps = 1\nrtt_ms = 35\n\
    [cables.other]\ndown_mbps = 4\nup_mbps = 1\nrtt_ms = 45\nloss_percent = 0.1\n\
    [flows.download]\ndirection = \"down\"\n\
    [[expect]]\npolicy = \"slowhand\"\nintact = true\nvs_tcp_best_min = 1.1\n\
    [[expect]]\npolicy = \"mptcp\"\nvs_tcp_best_min = 9\n";

/// Two access points of one channel, and a cell.
const AIR: &str = "sentence = \"Two access points and a cell.\"\nduration_s = 12\n\
    [aps.near]\nat_m = [0, 0]\nchannel = 6\nrate_mbps = 54\nbackhaul = { rate_mbps = 20, rtt_ms = 20 }\n\
    [aps.far]\nat_m = [10, 0]\nchannel = 6\nrate_mbps = 6\nbackhaul = { rate_mbps = 20, rtt_ms = 20 }\n\
    [cells.lte]\nrate_mbps = 3\nrtt_ms = 60\n[walkers.client]\nat_m = [5, 0]\n[flows.download]\ndirection = \"down\"\n";

fn play(scratch: &Scratch, text: &str, more: &[&str]) -> Ran {
    let file = scratch.path("scenario.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = program();
    command.arg("play").arg(&file).args(["--world", "sim"]).args(more);
    command.output().unwrap().into()
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_comparison_has_the_lab_s_table_and_is_judged_as_a_whole() {
    let scratch = Scratch::new("compare-table");
    let page = scratch.path("page.html");
    let ran = play(&scratch, TWO, &["--compare", "--html", page.to_str().unwrap()]);
    assert_eq!(
        ran.code,
        Some(1),
        "mptcp does not reach 9 times tcp-best: {ran:?}"
    );
    for part in [
        "longest stall",
        "vs tcp-best",
        "tcp:own",
        "tcp:other",
        "tcp-best ",
        "mptcp",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(
        ran.out
            .contains("holds: slowhand (seed 1): at least 1.100 × tcp-best"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("DOES NOT HOLD: mptcp (seed 1): at least 9.000 × tcp-best"),
        "{}",
        ran.out
    );
    let page = std::fs::read_to_string(page).unwrap();
    for policy in ["tcp:own", "tcp:other", "tcp-best", "mptcp", "slowhand-no-window"] {
        assert!(
            page.contains(&format!("\"{policy}\"")),
            "{policy} is not on the page"
        );
    }
}

#[test]
fn tcp_best_is_computed_for_each_seed_and_value() {
    let scratch = Scratch::new("compare-seeds");
    let asked = [
        "--policy", "tcp-best", "--policy", "mptcp", "--seeds", "3..5", "--json",
    ];
    let ran = play(
        &scratch,
        TWO,
        &[&asked[..], &["--set", "cables.own.down_mbps=6,8"]].concat(),
    );
    let document = document(&ran);
    let runs = document["runs"].as_array().unwrap();
    let names: Vec<(&str, i64)> = runs
        .iter()
        .map(|run| (run["policy"].as_str().unwrap(), run["seed"].as_i64().unwrap()))
        .collect();
    let of_seed = |seed| ["tcp:own", "tcp:other", "tcp-best", "mptcp"].map(|name| (name, seed));
    assert_eq!(names, [of_seed(3), of_seed(4), of_seed(3), of_seed(4)].concat());
    let bytes = |run: &Value| run["flows"][0]["bytes"].as_u64().unwrap();
    for comparison in runs.chunks(4) {
        let alone = bytes(&comparison[0]).max(bytes(&comparison[1]));
        // The faster cable is always the better one, in whole windows of 10 s.
        assert_eq!(bytes(&comparison[2]), alone);
    }
    let failed = ran.err.matches("DOES NOT HOLD: mptcp").count();
    assert_eq!(failed, 4, "each comparison is judged: {}", ran.err);
    assert!(ran.err.contains(" with cables.own.down_mbps=8"), "{}", ran.err);
}

#[test]
fn the_engine_s_other_policies_play() {
    let scratch = Scratch::new("compare-names");
    let names = [
        "one-at-a-time",
        "ecn:printed",
        "ecn:exact(50,k=3/2)",
        "ecn:cap",
        "energy:probing",
        "energy:damped",
        "omniscient",
    ];
    let asked: Vec<&str> = names.iter().flat_map(|name| ["--policy", *name]).collect();
    let ran = play(&scratch, AIR, &[&asked[..], &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = document(&ran);
    let runs = document["runs"].as_array().unwrap();
    let played: Vec<&str> = runs.iter().map(|run| run["policy"].as_str().unwrap()).collect();
    assert_eq!(played, names);
    assert!(
        runs.iter()
            .all(|run| run["flows"][0]["bytes"].as_u64().unwrap() > 500_000),
        "{runs:#?}"
    );
    let marks = |run: &Value| run["links"][1]["marks"]["made"].as_u64().unwrap_or(0);
    assert!(marks(&runs[3]) > 0 && marks(&runs[0]) == 0, "{runs:#?}");
}

#[test]
fn a_run_in_which_the_policy_could_not_act_fails() {
    let scratch = Scratch::new("compare-idle");
    let ran = play(
        &scratch,
        TWO,
        &[
            "--policy",
            "ecn",
            "--policy",
            "energy:probing",
            "--set",
            "duration_s=2",
        ],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("ecn (seed 1): the policy could not act: "),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("energy:probing (seed 1): the policy could not act: "),
        "{}",
        ran.out
    );
}

#[test]
fn the_lab_refuses_a_policy_that_must_know_the_future() {
    let ran = common::slowhand(&["play", "scenarios/train.toml", "--policy", "energy:omniscient"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("use --world sim"), "{}", ran.err);
}

#[test]
fn policies_are_completed_and_described() {
    let help = common::slowhand(&["play", "--help"]);
    assert!(
        help.out.contains("- one-at-a-time:") && help.out.contains("- ecn:base-rtt:"),
        "{}",
        help.out
    );
    let shell = common::slowhand(&["completions", "bash"]);
    assert!(
        shell.out.contains("energy:association-aware"),
        "policies are not completed"
    );
}

/// As a user without privileges, the walk is played in virtual time. An interrupt ends it, for it takes long.
#[test]
fn the_demonstration_plays_in_virtual_time_where_the_lab_cannot_run() {
    let scratch = Scratch::new("demo-nobody");
    let mut command = if nix::unistd::geteuid().is_root() {
        // A copy that the user `nobody` may run, wherever the original was built.
        let program = scratch.path("slowhand");
        copied(Path::new(env!("CARGO_BIN_EXE_slowhand")), &program);
        std::os::unix::fs::chown(scratch.path(""), Some(65_534), Some(65_534)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(program);
        command
    } else {
        program()
    };
    let page = scratch.path("page.html");
    command
        .arg("demo")
        .arg("--html")
        .arg(&page)
        .current_dir(scratch.path(""));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("the lab cannot run here (")
            && first.contains("run as root")
            && first.ends_with("in virtual time instead of this machine's kernel"),
        "{first}"
    );
    nix::sys::signal::kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest:?}");
    let last = rest.last().unwrap();
    assert!(
        last.contains("interrupted; ") && last.ends_with(" runs were finished"),
        "{rest:?}"
    );
    assert!(!page.exists(), "an interrupted run leaves no page");
}
