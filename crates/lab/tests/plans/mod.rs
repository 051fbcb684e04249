//! Small scenarios for tests.
#![allow(dead_code, reason = "not every test uses everything")]

use scenario::Plan;

/// Reads a scenario; it names no files.
pub fn plan(text: &str) -> Plan {
    let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
    match scenario::parse("test.toml", text.as_bytes(), &[], &no_files) {
        Ok(plan) => plan,
        Err(problems) => panic!("{problems}"),
    }
}

/// Two cables for so many seconds, and what else is said.
pub fn two_cables(seconds: u32, more: &str) -> Plan {
    plan(&format!(
        r#"
sentence = "Two cables."
duration_s = {seconds}
[cables.left]
rate_mbps = 20
rtt_ms = 20
[cables.right]
rate_mbps = 10
rtt_ms = 40
{more}
"#
    ))
}

/// Three cables with long queues, before which a stock server has queued megabytes within a second or two.
pub fn deep_cables(seconds: u32, more: &str) -> Plan {
    plan(&format!(
        r#"
sentence = "Three cables with long queues."
duration_s = {seconds}
[cables.near]
rate_mbps = 20
rtt_ms = 20
queue_packets = 400
[cables.middle]
rate_mbps = 20
rtt_ms = 30
queue_packets = 400
[cables.far]
rate_mbps = 20
rtt_ms = 50
queue_packets = 400
{more}
"#
    ))
}

pub const DOWNLOAD: &str = "[flows.download]\ndirection = \"down\"\n";
