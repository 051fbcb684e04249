//! A sound scenario, and the ways in which tests break it.

use scenario::{Plan, Problems, Setting, parse};
use std::io;

/// Lines are counted in the messages that tests expect.
pub const SOUND: &str = r#"sentence = "Two links, one of each kind that moves."
duration_s = 30

[aps.ap1]
at_m = [1, 2]
channel = 6
backhaul = { rate_mbps = 100, rtt_ms = 20 }

[cells.lte]
down_trace = "lte.down"
up_mbps = 3
rtt_ms = 60

[bottlenecks.street]
rate_mbps = 40

[cables.dsl]
rate_mbps = 16
rtt_ms = 30

[walkers.client]
at_m = [0, 0]

[flows.download]
direction = "down"

[[faults]]
at_s = 10
link = "lte"
kind = "down"

[[expect]]
policy = "slowhand"
intact = true
"#;

/// The trace files that the scenario may name.
pub fn files(name: &str) -> io::Result<(String, Vec<u8>)> {
    let content: &[u8] = match name {
        "lte.down" => b"1\n2\n5\n",
        "text.down" => b"1\n2\nthree\n",
        "back.down" => b"1\n7\n3\n",
        "minus.down" => b"-1\n2\n",
        "empty.down" => b"",
        "gzip.down" => b"\x1f\x8b\x08\0\0",
        "air.pcapng" => b"\x0a\x0d\x0d\x0a\x1c\0\0\0",
        "columns.down" => b"0 1500\n1 1500\n",
        "epoch.down" => b"1700000000.125\n1700000000.250\n",
        "micros.down" => b"1000\n2000\n90000000\n",
        "latin.down" => b"1\n\xe92\n",
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    Ok((format!("traces/{name}"), content.to_vec()))
}

/// Reads a text.
pub fn read(text: &str, settings: &[&str]) -> Result<Plan, Problems> {
    let settings: Vec<Setting> = settings
        .iter()
        .flat_map(|setting| Setting::alternatives(setting).unwrap())
        .collect();
    parse("bad.toml", text.as_bytes(), &settings, &files)
}

/// Every problem in a line: where, what, remedy.
pub fn messages(result: Result<Plan, Problems>) -> Vec<String> {
    let problems = result.expect_err("this must be refused");
    problems
        .iter()
        .map(|problem| {
            let said = problem.to_string();
            let (first, last) = (said.lines().next().unwrap(), said.lines().last().unwrap());
            let remedy = last.trim_start().strip_prefix("= help: ").unwrap();
            format!("{first}; {remedy}")
        })
        .collect()
}

/// Replaces a part of the sound file and reads it.
pub fn edited(old: &str, new: &str) -> Result<Plan, Problems> {
    assert_eq!(
        SOUND.matches(old).count(),
        1,
        "`{old}` must stand in the sound file once"
    );
    read(&SOUND.replace(old, new), &[])
}
