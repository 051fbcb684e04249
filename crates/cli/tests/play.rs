//! `slowhand play`: what it refuses and how, and what it leaves behind.

mod common;

use common::{Ran, Scratch, copied, daemon, program, slowhand};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trace::{PlayDocument, PolicyName};

/// Two seconds of download over two links.
const QUICK: &str = "\
sentence = \"Two links for two seconds.\"
duration_s = 2

[cables.near]
rate_mbps = 20
rtt_ms = 10

[cables.far]
rate_mbps = 10
rtt_ms = 30

[flows.download]
direction = \"down\"

[[expect]]
policy = \"slowhand\"
intact = true
";

struct Quick(Scratch);

impl Quick {
    fn new(test: &str) -> Self {
        let scratch = Scratch::new(test);
        std::fs::write(scratch.path("quick.toml"), QUICK).unwrap();
        Self(scratch)
    }

    fn file(&self) -> String {
        self.0.path("quick.toml").to_str().unwrap().to_owned()
    }

    fn play(&self, arguments: &[&str]) -> Ran {
        slowhand(&[&["play", &self.file()], arguments].concat())
    }
}

fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        println!("skipped: needs root");
    }
    root
}

#[test]
fn an_invalid_scenario_is_refused_with_its_place() {
    let scratch = Scratch::new("wrong-scenario");
    let path = scratch.path("wrong.toml");
    let table = [
        (
            QUICK.replace("rtt_ms = 10", "rtt_ms = 10\njiter_ms = 1"),
            ":7:1: ",
            "`jitter_ms`",
        ),
        (
            QUICK.replace("rate_mbps = 20", "rate_mbps = -20"),
            ":5:13: ",
            "-20",
        ),
        (
            QUICK.replace("\"down\"", "\"sideways\""),
            ":13:13: ",
            "\"sideways\"",
        ),
        (QUICK.replace("duration_s = 2", "duration_s = "), ":2:", "TOML"),
        (
            QUICK.replace("rtt_ms = 10\n", ""),
            ":4:9: ",
            "add `rtt_ms`",
        ),
        (
            QUICK.replace(
                "[cables.far]",
                "[aps.hall]\nat_m = [1, 2]\nbackhaul = { rate_mbps = 9, rtt_ms = 9 }\n\n[walkers.client]\nat_m = [0, 0]\n\n[cables.far]",
            ),
            ":8:6: ",
            "add `channel`: 1 to 13",
        ),
        (
            QUICK.replace("policy = \"slowhand\"", "policy = \"fastest\""),
            ":16:10: ",
            "there is no policy \"fastest\"",
        ),
    ];
    for (text, place, what) in table {
        std::fs::write(&path, &text).unwrap();
        let ran = slowhand(&["play", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.err.starts_with(&format!("{}{place}", path.display())),
            "{place}: {}",
            ran.err
        );
        assert!(
            ran.err.contains(what) && ran.out.is_empty(),
            "{what}: {}",
            ran.err
        );
    }
}

#[test]
fn a_trace_with_text_in_it_is_refused_with_its_place() {
    let scratch = Scratch::new("wrong-trace");
    let (scenario, trace) = (scratch.path("cell.toml"), scratch.path("walk.down"));
    let text = QUICK.replace("rate_mbps = 10", "down_trace = \"walk.down\"\nup_mbps = 1");
    std::fs::write(&scenario, text.replace("cables.far", "cells.far")).unwrap();
    std::fs::write(&trace, "1\nrain\n3\n").unwrap();
    let ran = slowhand(&["play", scenario.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    let expected = format!(
        "{}:2:1: this is not a time\n |\n = help: write the time of one delivery in whole milliseconds",
        trace.display()
    );
    assert!(ran.err.starts_with(&expected), "{}", ran.err);
    assert!(!ran.err.contains("rain"), "it may be any file: {}", ran.err);
    std::fs::remove_file(&trace).unwrap();
    let ran = slowhand(&["play", scenario.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.starts_with(&format!("{}:9:14: ", scenario.display())),
        "{}",
        ran.err
    );
}

#[test]
fn wrong_options_are_refused() {
    let quick = Quick::new("refused");
    let table: [(&[&str], &str); 9] = [
        (
            &["--policy", "fastest"],
            "unknown policy `fastest`; valid: tcp:<link>",
        ),
        (
            &["--policy", "tcp:wlan"],
            "no link `wlan`; its links are: near, far",
        ),
        (&["--policy", "mptcp", "--compare"], "cannot be used with"),
        (&["--world", "moon"], "possible values: lab, sim"),
        (
            &["--world", "sim", "--cc", "bbr"],
            "congestion control bbr has no model in virtual time",
        ),
        (&["--set", "duration_s"], "write KEY=VALUE"),
        (
            &["--set", "duration_s=2,3"],
            "the lab takes one value for each key",
        ),
        (&["--set", "cables.near.rate_mbps=fast"], "--set:1:23: "),
        (&["--serve", "true"], "--shell"),
    ];
    for (arguments, message) in table {
        let ran = quick.play(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(
            ran.err.contains(message) && ran.out.is_empty(),
            "{arguments:?}: {}",
            ran.err
        );
    }
    let ran = slowhand(&["play", "scenarios/no-such-walk.toml"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.starts_with("scenarios/no-such-walk.toml: "),
        "{}",
        ran.err
    );
}

#[test]
fn an_unknown_controller_is_refused_with_the_available_ones() {
    if !is_root() {
        return;
    }
    let ran = Quick::new("controller").play(&["--cc", "nonesuch"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    let last = ran.err.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("this kernel has no congestion controller `nonesuch`; use one of ")
            && last.contains("reno")
            && last.contains("modprobe tcp_nonesuch"),
        "{}",
        ran.err
    );
}

#[test]
fn without_privileges_the_lab_lists_what_is_missing() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("privileges");
    let mut command = Command::new("setpriv");
    command.args([
        "--bounding-set=-all",
        "--inh-caps=-all",
        env!("CARGO_BIN_EXE_slowhand"),
        "play",
        &quick.file(),
    ]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("CAP_NET_ADMIN") && ran.err.contains("run as root"),
        "{}",
        ran.err
    );
}

#[test]
fn a_user_other_than_root_is_refused_with_the_reason() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("nobody");
    // A copy that the user `nobody` may run, wherever the original was built.
    let program = quick.0.path("slowhand");
    copied(Path::new(env!("CARGO_BIN_EXE_slowhand")), &program);
    copied(&daemon(), &quick.0.path("slowhandd"));
    let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    for arguments in [
        &["play", &quick.file()][..],
        &["demo", "--world", "lab"],
        &["bench", "resume"],
        &["up"],
    ] {
        let mut command = Command::new("setpriv");
        command.args(as_nobody).arg(&program).args(arguments);
        let ran = Ran::from(command.current_dir(quick.0.path("")).output().unwrap());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("as root"), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn the_lab_needs_no_other_program() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("alone");
    let mut command = program();
    command.args(["play", &quick.file()]).env("PATH", "");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "neither ip nor nft nor anything else: {ran:?}");
}

/// Plays in a mount namespace in which a shell command has hidden something.
fn play_without(hide: &str, quick: &Quick) -> Ran {
    let script = format!("{hide} && exec \"$0\" play \"$1\"");
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "sh",
        "-c",
        &script,
        env!("CARGO_BIN_EXE_slowhand"),
        &quick.file(),
    ]);
    command.output().unwrap().into()
}

#[test]
fn a_missing_device_or_kernel_feature_is_reported_with_a_remedy() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("hidden");
    let table = [
        ("mount -t tmpfs none /dev/net", "no /dev/net/tun; `modprobe tun`"),
        // The settings of every network namespace are below this folder.
        ("mount -t tmpfs none /proc/sys/net", "this kernel has no MPTCP"),
    ];
    for (hide, message) in table {
        let ran = play_without(hide, &quick);
        assert_eq!(ran.code, Some(2), "{hide}: {ran:?}");
        assert!(ran.err.contains(message), "{hide}: {}", ran.err);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_run() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("unwritable");
    let ran = quick.play(&["--html", "/proc/no/page.html"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("/proc/no/page.html: ") && ran.err.contains("name a file in a directory"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("runs, seed"), "nothing was played: {}", ran.err);
}

#[test]
fn the_document_has_every_policy_in_order() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("document");
    let ran = quick.play(&[
        "--json", "--seed", "7", "--policy", "mptcp", "--policy", "slowhand", "--cc", "cubic",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document: PlayDocument = serde_json::from_str(&ran.out).unwrap();
    let policies: Vec<&PolicyName> = document.runs.iter().map(|run| &run.policy).collect();
    assert_eq!(policies, [&PolicyName::Mptcp, &PolicyName::Slowhand]);
    assert_eq!((document.scenario.as_str(), document.seed), ("quick", 7));
    for run in &document.runs {
        assert!(run.intact() && run.bytes() > 100_000, "{run:?}");
        assert_eq!(
            (run.cc.as_deref(), run.server.as_str(), run.seed),
            (Some("cubic"), "stock", 7)
        );
    }
}

#[test]
fn the_best_single_link_comes_with_the_single_links() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("best");
    let ran = quick.play(&["--json", "--policy", "tcp-best", "--set", "duration_s=10"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document: PlayDocument = serde_json::from_str(&ran.out).unwrap();
    let policies: Vec<String> = document.runs.iter().map(|run| run.policy.to_string()).collect();
    assert_eq!(policies, ["tcp:near", "tcp:far", "tcp-best"]);
    assert!(document.runs[2].bytes() >= document.runs[0].bytes());
}

#[test]
fn a_failed_expectation_gives_exit_code_1() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("holds");
    let ran = quick.play(&["--set", "expect.0.goodput_mbps_min=5000"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("holds: slowhand (seed 1): data arrives intact"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("DOES NOT HOLD: slowhand (seed 1): at least 5000 Mb/s"),
        "{}",
        ran.out
    );
}

#[test]
fn output_files_have_their_formats() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("files");
    let path = |name: &str| quick.0.path(name).to_str().unwrap().to_owned();
    let (trace, html, svg) = (path("run.jsonl"), path("run.html"), path("run.svg"));
    let ran = quick.play(&["--trace", &trace, "--html", &html, "--svg", &svg]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let runs = trace::read_runs(BufReader::new(std::fs::File::open(&trace).unwrap())).unwrap();
    assert_eq!(runs.len(), 1);
    assert!(runs[0].summary().is_some_and(|run| run.intact()));
    assert!(std::fs::read_to_string(&html).unwrap().starts_with("<!"));
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    for file in [trace, html, svg] {
        assert!(ran.err.contains(&format!("wrote {file}")), "{}", ran.err);
    }
}

#[test]
fn commands_run_on_both_hosts_and_their_exit_codes_are_reported() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("commands");
    // The run ends with the command.
    let long = "duration_s=60";
    let said = quick.play(&[
        "--set",
        long,
        "--serve",
        "sleep 60",
        "--shell",
        "echo \"to $SLOWHAND_SERVER\"",
        "--json",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.err.contains("to 1") || said.err.contains("to f"),
        "{}",
        said.err
    );
    assert!(
        serde_json::from_str::<PlayDocument>(&said.out).is_ok(),
        "{}",
        said.out
    );
    let failed = quick.play(&["--set", long, "--shell", "exit 3"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.out.contains("slowhand: the command exited with code 3"),
        "{}",
        failed.out
    );
}

/// How many lines a file has so far.
fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.matches('\n').count())
}

#[test]
fn an_interrupted_run_ends_cleanly_and_keeps_its_rows() {
    if !is_root() {
        return;
    }
    let quick = Quick::new("interrupt");
    let (trace, html) = (quick.0.path("run.jsonl"), quick.0.path("run.html"));
    std::fs::write(
        &trace,
        "an older one, which is longer than the first row of a new one\n",
    )
    .unwrap();
    std::fs::write(&html, "an older one").unwrap();
    let mut command = program();
    command
        .args(["play", &quick.file(), "--set", "duration_s=60"])
        .args(["--policy", "mptcp", "--policy", "slowhand"])
        .arg("--trace")
        .arg(&trace)
        .arg("--html")
        .arg(&html)
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = progress.next().unwrap().unwrap();
    assert!(first.contains("mptcp: runs, seed 1"), "{first}");
    // Rows are there while it runs: a second of it has far more than these.
    let begun = Instant::now();
    while lines(&trace) < 20 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "no rows: {}",
            lines(&trace)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let rest: Vec<String> = progress.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest:?}");
    assert!(
        rest.last()
            .unwrap()
            .contains("stopped; everything that it had made is gone"),
        "{rest:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    let runs = trace::read_runs(BufReader::new(std::fs::File::open(&trace).unwrap())).unwrap();
    assert_eq!(runs[0].start().unwrap().policy, PolicyName::Mptcp);
    assert!(runs[0].events.len() >= 15, "{}", runs[0].events.len());
    assert_eq!(std::fs::read_to_string(&html).unwrap(), "an older one");
    assert_eq!(
        std::fs::read_dir(quick.0.path("")).unwrap().count(),
        3,
        "nothing temporary is left"
    );
}

#[test]
fn outputs_may_not_be_inputs_or_other_outputs() {
    let quick = Quick::new("same-file");
    let text = QUICK.replace("rate_mbps = 10", "down_trace = \"walk.down\"\nup_mbps = 1");
    let path = |name: &str| quick.0.path(name).to_str().unwrap().to_owned();
    let cell = path("cell.toml");
    std::fs::write(&cell, text.replace("cables.far", "cells.far")).unwrap();
    std::fs::write(path("walk.down"), "1\n2\n").unwrap();
    std::os::unix::fs::symlink("cell.toml", path("link.toml")).unwrap();
    let table: [(&[&str], &str); 5] = [
        (
            &["--trace", "cell.toml"],
            "--trace cell.toml: this is the scenario, which is read; name another file",
        ),
        (
            &["--html", "link.toml"],
            "--html link.toml: this is the scenario, which is read; name another file",
        ),
        (
            &["--svg", "./walk.down"],
            "--svg ./walk.down: this is a rate trace of the scenario, which is read; name another file",
        ),
        (
            &["--html", "a", "--svg", "./a"],
            "--svg ./a: --html is the same file; name another for one of them",
        ),
        (
            &["--trace", "new/a", "--html", "new/../new/a"],
            "--html new/../new/a: --trace is the same file; name another for one of them",
        ),
    ];
    for (arguments, message) in table {
        let mut command = program();
        command
            .current_dir(quick.0.path(""))
            .args(["play", "cell.toml"])
            .args(arguments);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!((ran.code, ran.err.trim_end()), (Some(2), message), "{ran:?}");
    }
    let output = std::fs::File::options().append(true).open(&cell).unwrap();
    let mut command = program();
    command
        .args(["play", &path("quick.toml"), "--trace", &cell])
        .stdout(output);
    let ran = Ran::from(command.stderr(Stdio::piped()).output().unwrap());
    assert!(
        ran.code == Some(2) && ran.err.contains("standard output goes to the same file"),
        "{ran:?}"
    );
    assert!(!quick.0.path("a").exists() && lines(Path::new(&cell)) > 10);
}
