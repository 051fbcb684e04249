//! Small scenarios for tests.
#![allow(dead_code, reason = "not every test uses everything")]

use scenario::Plan;

/// Parses a scenario that refers to no files.
pub fn plan(text: &str) -> Plan {
    let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
    match scenario::parse("test.toml", text.as_bytes(), &[], &no_files) {
        Ok(plan) => plan,
        Err(problems) => panic!("{problems}"),
    }
}

/// Two cables for this many seconds, with additional TOML in `more`.
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

/// Three cables with long queues, in which a stock server queues megabytes within a second or two.
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
