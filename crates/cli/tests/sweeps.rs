//! Many runs of one scenario as a user asks for them: side by side, over seeds and values, in both worlds.

mod common;

use std::path::Path;

use common::{Scratch, program, ran_by_root, slowhand, virtual_play};
use serde_json::Value;

const SCENARIO: &str = "scenarios/shared-air.toml";

/// Files below a directory, with their content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn the_number_of_jobs_changes_no_byte() {
    let scratch = Scratch::new("sweep-jobs");
    let sweep = |jobs: &str| {
        let folder = scratch.path(jobs);
        let mut command = program();
        command.args(["play", SCENARIO, "--world", "sim", "--jobs", jobs]);
        command.args(["--policy", "mptcp", "--policy", "slowhand", "--seeds", "3..6"]);
        command.args(["--set", "duration_s=1", "--set", "aps.near.rate_mbps=24,54"]);
        command.arg("--trace").arg(folder.join("trace.jsonl"));
        command.arg("--table").arg(folder.join("table.jsonl"));
        command.arg("--svg").arg(folder.join("figures.svg"));
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        files(&folder)
    };
    let (one, two) = (sweep("1"), sweep("2"));
    let names: Vec<&str> = one.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["figures.svg", "table.jsonl", "trace.jsonl"]);
    // Two rates, two policies, three seeds, three flows.
    assert_eq!(one[1].1.iter().filter(|byte| **byte == b'\n').count(), 36);
    assert!(one == two, "the files differ");
}

#[test]
fn the_lab_refuses_a_number_of_jobs_with_the_reason() {
    let ran = slowhand(&["play", SCENARIO, "--jobs", "2"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("the lab chooses by its load")
            && ran.err.contains("late packets would distort them"),
        "{}",
        ran.err
    );
    let none = slowhand(&["play", SCENARIO, "--world", "sim", "--jobs", "0"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}

#[test]
fn several_seeds_are_distributions_and_swept_keys_are_axes() {
    let scratch = Scratch::new("sweep-page");
    let page = |name: &str, more: &[&str]| {
        let file = scratch.path(name);
        let mut command = virtual_play(SCENARIO, 1);
        command.args(["--seeds", "1..4"]);
        command.args(more).arg("--html").arg(&file);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        (
            std::fs::read_to_string(file).unwrap(),
            String::from_utf8(ran.stdout).unwrap(),
        )
    };
    let (seeds, text) = page("seeds.html", &[]);
    for title in ["goodput", "longest stall", "first byte"] {
        assert!(
            seeds.contains(&format!(">{title} over the seeds</text>")),
            "{title}"
        );
    }
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].starts_with("policy    flow   runs"), "{text}");
    assert!(lines[4].starts_with("slowhand  quick     3"), "{text}");
    let (swept, text) = page("swept.html", &["--set", "aps.near.rate_mbps=24,54"]);
    assert!(swept.contains(">goodput over aps.near.rate_mbps</text>"));
    assert!(
        text.contains("aps.near.rate_mbps  policy    flow   runs"),
        "{text}"
    );
}

#[test]
fn each_run_of_a_document_names_its_values() {
    let mut command = virtual_play(SCENARIO, 1);
    command.arg("--json");
    command.args(["--set", "aps.near.rate_mbps=54,auto", "--set", "air.attempts=4,7"]);
    let ran = command.output().unwrap();
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let set = |run: usize| &document["runs"][run]["set"];
    assert_eq!(set(0)["aps.near.rate_mbps"], 54);
    assert_eq!(set(3)["aps.near.rate_mbps"], "auto");
    assert_eq!(set(3)["air.attempts"], 7);
    assert_eq!(document["runs"][0].get("world"), None, "all ran in one world");
}

#[test]
fn options_of_one_world_are_refused_for_both() {
    for option in [
        ["--seeds", "0..2"],
        ["--jobs", "2"],
        ["--table", "x.jsonl"],
        ["--trace", "x.jsonl"],
        ["--shell", "true"],
    ] {
        let ran = slowhand(&[&["play", SCENARIO, "--world", "both"], &option[..]].concat());
        assert_eq!(ran.code, Some(2), "{option:?}");
        let said = format!("{} is for one world at a time", option[0]);
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
}

#[test]
fn one_page_has_the_curves_of_both_worlds() {
    let scratch = Scratch::new("both-page");
    let file = scratch.path("both.html");
    let mut command = program();
    command.args(["play", SCENARIO, "--world", "both", "--json", "--policy", "mptcp"]);
    command.args(["--set", "duration_s=3", "--html"]).arg(&file);
    let Some(ran) = ran_by_root(&mut command) else {
        return;
    };
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["world"], "both");
    let worlds = document["runs"].as_array().unwrap();
    let worlds: Vec<&Value> = worlds.iter().map(|run| &run["world"]).collect();
    assert_eq!(worlds, ["sim", "lab"]);
    let page = std::fs::read_to_string(file).unwrap();
    let (_, section) = page.split_once("Virtual time beside the lab").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    assert_eq!(section.matches("<figure>").count(), 2);
    assert!(section.contains("Mb/s in virtual time</text>") && section.contains("Mb/s in the lab</text>"));
}

/// Stations scattered over a grid of access points, each with an upload to the nearest.
const GROUPS: &str = "sentence = \"x\"\nduration_s = 1\n[aps.ap]\ncount = 4\ngrid = { from_m = [0, 0], columns = 2, step_m = [30, 30] }\n\
    standard = \"a\"\nchannel = 36\nbackhaul = { rate_mbps = 100, rtt_ms = 2 }\n[walkers.client]\nat_m = [15, 15]\n\
    [walkers.sta]\ncount = 8\nscatter = { from_m = [0, 0], to_m = [30, 30] }\n[flows.up]\nby = \"sta\"\nover = \"ap\"\n\
    transport = \"udp\"\ndirection = \"up\"\n";

fn goodput(document: &Value) -> f64 {
    let flows = document["runs"][0]["flows"].as_array().unwrap();
    flows
        .iter()
        .map(|flow| flow["goodput_mbps"].as_f64().unwrap())
        .sum()
}

#[test]
fn groups_play_and_the_seed_places_their_members() {
    let scratch = Scratch::new("groups");
    let file = scratch.path("groups.toml");
    std::fs::write(&file, GROUPS).unwrap();
    let play = |more: &[&str]| -> Value {
        let mut command = program();
        command.arg("play").arg(&file).args(["--world", "sim", "--json"]);
        let ran = command.args(more).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    let over = |document: &Value| -> Vec<String> {
        let flows = document["runs"][0]["flows"].as_array().unwrap();
        assert!(
            flows.iter().all(|flow| flow["bytes"].as_u64().unwrap() > 0),
            "{flows:#?}"
        );
        let link = |flow: &Value| flow["paths"][0]["link"].as_str().unwrap().to_owned();
        flows.iter().map(link).collect()
    };
    let (one, two) = (play(&["--seed", "1"]), play(&["--seed", "2"]));
    assert_eq!(over(&one).len(), 8);
    assert!(over(&one) != over(&two), "another seed has other places");
    let size = play(&["--set", "walkers.sta.count=3"]);
    assert_eq!(over(&size), over(&one)[..3], "fewer members, the same places");
    let slow = play(&["--seed", "1", "--set", "walkers.sta.rate_mbps=6"]);
    let auto = play(&["--seed", "1", "--set", "walkers.sta.rate_mbps=auto"]);
    assert!(
        goodput(&slow) < 0.5 * goodput(&one),
        "{} {}",
        goodput(&slow),
        goodput(&one)
    );
    assert_eq!(
        goodput(&auto),
        goodput(&one),
        "access points choose by the signal, too"
    );
}

#[test]
fn a_rate_that_a_world_would_ignore_is_refused() {
    let scratch = Scratch::new("own-rate");
    let file = scratch.path("groups.toml");
    let file = file.to_str().unwrap();
    std::fs::write(
        file,
        GROUPS.replace("count = 8", "count = 8\nrate_mbps = \"auto\""),
    )
    .unwrap();
    let wide = slowhand(&["play", file, "--world", "sim", "--set", "aps.ap.ht.streams=1"]);
    assert_eq!(wide.code, Some(2), "{}", wide.err);
    assert!(
        wide.err
            .contains("groups.toml:11:10: `sta-1` has its own `rate_mbps`"),
        "{}",
        wide.err
    );
    let lab = slowhand(&["play", file]);
    assert_eq!(lab.code, Some(2), "{}", lab.err);
    if lab.err.contains("the lab cannot run here") {
        println!("skipped: {}", lab.err);
        return;
    }
    assert!(
        lab.err.contains("which only virtual time supports"),
        "{}",
        lab.err
    );
}

#[test]
fn the_lab_refuses_what_only_virtual_time_has() {
    let keys = [
        ("warmup_s=1", "`warmup_s` needs virtual time"),
        (
            "aps.far.management=false",
            "`far` has `management = false`, which needs virtual time",
        ),
    ];
    for (key, reason) in keys {
        let ran = slowhand(&["play", SCENARIO, "--set", key]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        if ran.err.contains("the lab cannot run here") {
            println!("skipped: {}", ran.err);
            return;
        }
        assert!(ran.err.contains(reason), "{}", ran.err);
    }
}

/// A table has the figures of a run, and `null` where a flow has none.
#[test]
fn a_table_has_delays_and_round_trips() {
    let scratch = Scratch::new("table-delays");
    let play = |scenario: &str, more: &[&str]| -> Vec<Value> {
        let file = scratch.path("table.jsonl");
        let mut command = program();
        command.args(["play", scenario, "--world", "sim", "--set", "duration_s=3"]);
        let ran = command.args(more).arg("--table").arg(&file).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let rows = std::fs::read_to_string(file).unwrap();
        rows.lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect()
    };
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
    for row in play(SCENARIO, &["--policy", "mptcp"]) {
        assert!(
            number(&row, "received") > 0.0 && number(&row, "sent") > 0.0,
            "{row}"
        );
        assert!(
            number(&row, "delay_p50_ms") <= number(&row, "delay_p99_ms"),
            "{row}"
        );
        assert!(
            number(&row, "delay_mean_ms") <= number(&row, "delay_max_ms"),
            "{row}"
        );
        assert!((0.0..0.9).contains(&number(&row, "idle_share")), "{row}");
        assert_eq!(row["rtt_mean_ms"], Value::Null);
        assert_eq!(row["jitter_ms"].is_null(), row["flow"] == "probe", "{row}");
    }
    for row in play("scenarios/two-homes.toml", &["--policy", "mptcp"]) {
        assert!(number(&row, "rtt_p50_ms") > 10.0, "{row}");
        assert_eq!(
            (&row["sent"], &row["delay_mean_ms"]),
            (&Value::from(0), &Value::Null)
        );
        assert_eq!(row["idle_share"], Value::Null, "cables have no channel");
    }
}

#[test]
fn a_result_counts_datagrams_and_what_each_station_did() {
    let mut command = virtual_play(SCENARIO, 4);
    command.arg("--json");
    let ran = command.output().unwrap();
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let run = &document["runs"][0];
    for flow in run["flows"].as_array().unwrap() {
        assert_eq!(flow["intact"], Value::Null, "datagrams may be lost: {flow}");
        let [sent, received, lost] =
            ["sent", "received", "lost"].map(|key| flow["datagrams"][key].as_u64().unwrap());
        assert!(received > 0, "{flow}");
        // At the end, up to a full queue of them is in flight. Each receiver of the broadcast counts.
        let is_broadcast = flow["name"] == "probe";
        assert!(is_broadcast || received + lost <= sent, "{flow}");
        assert!(sent <= received + lost + 400, "{flow}");
    }
    let stations = run["stations"].as_array().unwrap();
    let share = |name: &str| {
        let station = stations.iter().find(|station| station["name"] == name).unwrap();
        let probability = station["collision_probability"].as_f64().unwrap();
        assert!((0.0..0.5).contains(&probability), "{station}");
        station["airtime_share"].as_f64().unwrap()
    };
    let (near, far) = (share("near"), share("far"));
    assert!(far > near && (0.8..=1.0).contains(&(near + far)), "{near} {far}");
    let ratio = goodput(&document) / run["optimal_mbps"].as_f64().unwrap();
    assert!(
        (0.2..1.0).contains(&ratio),
        "two saturated access points, one of them far: {ratio}"
    );
}
