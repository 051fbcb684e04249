//! One scenario in both worlds: the lab's UDP goodput is that of virtual time.

mod common;

use common::{Scratch, program};
use serde_json::Value;

/// What `slowhand bench lab-udp` plays for a minute.
const SCENARIO: &str = include_str!("../src/bench/scenarios/lab-udp.toml");

/// Both were sending in every tenth of a second after this many, whatever joining took.
const SETTLED: usize = 50;

fn played(world: &str, scratch: &Scratch) -> Option<Value> {
    let file = scratch.path("two.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mut command = program();
    command
        .arg("play")
        .arg(&file)
        .args(["--world", world, "--json", "--policy", "mptcp"])
        .args(["--set", "duration_s=12"]);
    let ran = command.output().unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    if ran.status.code() == Some(2) && errors.contains("root") {
        println!("skipped: {errors}");
        return None;
    }
    assert!(ran.status.success(), "{errors}");
    let mut document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let run = document["runs"][0].take();
    assert_eq!(run.get("cc"), Some(&Value::Null), "all flows are UDP");
    let flows = run["flows"].as_array().unwrap();
    assert!(flows.iter().all(|flow| flow["intact"] == true), "{flows:#?}");
    Some(run)
}

/// Of a typical tenth of a second: a machine that stands still for a while carries nothing in the meantime.
fn goodput(run: &Value) -> f64 {
    let series = run["goodput_series"].as_array().unwrap();
    let mut bytes: Vec<u64> = series[SETTLED..]
        .iter()
        .map(|bytes| bytes.as_u64().unwrap())
        .collect();
    bytes.sort_unstable();
    bytes[bytes.len() / 2] as f64 * 8e-5
}

/// What a packet of the quick one got for each of the slow one's.
fn shares(run: &Value) -> f64 {
    let [quick, slow] = [0, 1].map(|flow| run["flows"][flow]["bytes"].as_f64().unwrap());
    quick / slow
}

#[test]
fn udp_goodput_in_the_lab_is_within_five_percent_of_virtual_time() {
    let scratch = Scratch::new("both-worlds");
    let Some(lab) = played("lab", &scratch) else {
        return;
    };
    let sim = played("sim", &scratch).expect("virtual time needs no rights");
    let (real, imagined) = (goodput(&lab), goodput(&sim));
    println!("lab {real:.3} Mb/s, virtual time {imagined:.3} Mb/s");
    assert!(
        (real / imagined - 1.0).abs() < 0.05,
        "lab {real} Mb/s, virtual time {imagined} Mb/s"
    );
    let (real, imagined) = (shares(&lab), shares(&sim));
    assert!(
        (real / imagined - 1.0).abs() < 0.05,
        "lab {real}, virtual time {imagined}"
    );
}
