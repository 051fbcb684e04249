//! One scenario in both worlds: the lab's UDP goodput is that of virtual time.

mod common;

use common::{Scratch, program, ran_by_root};
use serde_json::Value;

/// What `slowhand bench lab-udp` plays for a minute.
const SCENARIO: &str = include_str!("../../bench/src/scenarios/lab-udp.toml");

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
    let ran = ran_by_root(&mut command)?;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut document: Value = serde_json::from_str(&ran.out).unwrap();
    let run = document["runs"][0].take();
    assert_eq!(run.get("cc"), Some(&Value::Null), "all flows are UDP");
    let flows = run["flows"].as_array().unwrap();
    assert!(flows.iter().all(|flow| flow["intact"].is_null()), "{flows:#?}");
    Some(run)
}

/// The rate in a typical 100 ms: a machine that is paused for a while carries nothing meanwhile.
fn goodput(run: &Value) -> f64 {
    let series = run["goodput_series"].as_array().unwrap();
    let mut bytes: Vec<u64> = series[SETTLED..]
        .iter()
        .map(|bytes| bytes.as_u64().unwrap())
        .collect();
    bytes.sort_unstable();
    bytes[bytes.len() / 2] as f64 * 8e-5
}

/// What was carried in all, joining included, in bytes.
fn carried(run: &Value) -> f64 {
    let flows = run["flows"].as_array().unwrap();
    flows.iter().map(|flow| flow["bytes"].as_f64().unwrap()).sum()
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
    let (real, imagined) = (carried(&lab), carried(&sim));
    assert!(
        (0.9..1.1).contains(&(real / imagined)),
        "lab {real} bytes, virtual time {imagined} bytes"
    );
    let (real, imagined) = (shares(&lab), shares(&sim));
    assert!(
        (real / imagined - 1.0).abs() < 0.05,
        "lab {real}, virtual time {imagined}"
    );
}

/// Of every kind of wire, with everything that one may say, and an air that is not the standard's.
const WIRES: &str = r#"sentence = "Wires."
duration_s = 60
air = { attempts = 4, capture_db = "never", eifs = "after-any-error", countdown = "busy-counts-as-slot", no_retry_bit_on_rate_change = true, preamble_db = 5 }

[aps.hall]
at_m = [3, 0]
channel = 6
backhaul = { rate_mbps = 100, rtt_ms = 20 }

[cells.lte]
rate_mbps = 12
rtt_ms = 60
jitter_ms = 5
radio = "lte"
repeats = "lte"
holes = { covered_s = [4, 10], for_s = [0.5, 3] }

[cells.old]
down_trace = "old.down"
up_mbps = 1
rtt_ms = 90
buffer_packets = 50
radio = "3g"
repeats = { loss_percent = 20, after_ms = 12, transmissions = 6 }

[cables.dsl]
down_mbps = 16
up_mbps = 1
rtt_ms = 35
jitter_ms = 1
loss_percent = 0.1
aqm = "codel"
ecn = true

[bottlenecks.street]
rate_mbps = 40
queue_ms = 50

[cables.left]
behind = "street"
rtt_ms = 20

[walkers.client]
at_m = [0, 0]

[flows.download]
transport = "udp"
over = "lte"
direction = "down"
"#;

#[test]
fn cells_cables_and_802_11_rules_are_the_same_in_both_worlds() {
    let files = |name: &str| Ok((name.to_owned(), b"1\n2\n5\n".to_vec()));
    let plan = scenario::parse("wires.toml", WIRES.as_bytes(), &[], &files).unwrap();
    let lab = lab::world::network_config(&plan, 7).unwrap();
    let sim = sim::wired(&plan, 7);
    assert_eq!(sim.links.len(), 4);
    let is_wire = |link: &&links::LinkConfig| !matches!(link, links::LinkConfig::Wifi(_));
    assert!(sim.links.iter().eq(lab.links.iter().filter(is_wire)));
    assert_eq!(sim.bottlenecks, lab.bottlenecks);
    let air = sim::Cast::of(&plan).unwrap().air;
    assert_eq!(air.rules, lab.rules);
    assert_ne!(air.rules, links::air::Rules::default());
    // What "lte" is to scenarios, it is to the models.
    let links::LinkConfig::Cell(lte) = &sim.links[0] else {
        panic!("{:?}", sim.links)
    };
    assert_eq!(lte.radio, Some(links::RadioStates::LTE));
    assert_eq!(lte.repeats, Some(links::Repeats::lte()));
    let links::LinkConfig::Cell(old) = &sim.links[1] else {
        panic!("{:?}", sim.links)
    };
    assert_eq!(old.radio, Some(links::RadioStates::UMTS));
}

#[test]
fn the_optimum_is_the_same_in_both_worlds() {
    let files = |name: &str| Ok((name.to_owned(), b"1\n2\n5\n".to_vec()));
    let walk = WIRES.replace(
        "at_m = [0, 0]",
        "way = [{ at_m = [0, 0], t_s = 0 }, { at_m = [60, 0], t_s = 9 }]",
    );
    let walk = walk.replace("channel = 6\n", "channel = 6\nrate_control = \"minstrel\"\n");
    let walk = walk.replace("duration_s = 60", "duration_s = 10");
    let plan = scenario::parse("wires.toml", walk.as_bytes(), &[], &files).unwrap();
    let seed = 7;
    let lab = lab::world::network_config(&plan, seed).unwrap();
    let lab = scenario::models::optimal(&plan, &lab, plan.duration, |_, _| Vec::new());
    let mptcp = trace::PolicyName::Mptcp;
    let sim = sim::play(&sim::Play {
        seed,
        ..sim::Play::new(&plan, mptcp)
    });
    let sim = sim.unwrap().run;
    assert_eq!(sim.optimal_mbps, lab.as_mbps_f64());
    // The only flow is of datagrams over the cell, which has no coverage at times.
    let whole = 12.0 * 1_470.0 / 1_498.0;
    assert!(
        (0.5 * whole..whole).contains(&sim.optimal_mbps),
        "{}",
        sim.optimal_mbps
    );
    // Over the cell, for at least as long as its tail.
    assert!(sim.energy_j > 12.0, "{}", sim.energy_j);
}
