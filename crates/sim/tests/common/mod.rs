//! Scenarios for tests.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

use scenario::{Plan, Setting};

/// An access point and its client.
pub const ONE: &str = r#"sentence = "One access point and its client."
duration_s = 2

[aps.near]
at_m = [0, 0]
standard = "a"
channel = 36
rate_mbps = 54
backhaul = { rate_mbps = 100, rtt_ms = 20 }

[walkers.client]
at_m = [5, 0]

[flows.download]
transport = "udp"
over = "near"
direction = "down"
"#;

/// A cell.
pub const CELL: &str = "sentence = \"One cell.\"\nduration_s = 2\n\n[cells.lte]\nrate_mbps = 12\nrtt_ms = 60\n\n\
    [flows.down]\ntransport = \"udp\"\nover = \"lte\"\ndirection = \"down\"\n";

/// Parses a scenario with these settings.
pub fn plan(text: &str, settings: &[&str]) -> Plan {
    let settings: Vec<Setting> = settings
        .iter()
        .flat_map(|setting| Setting::alternatives(setting).unwrap())
        .collect();
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    scenario::parse("test.toml", text.as_bytes(), &settings, &no_files)
        .unwrap_or_else(|error| panic!("{error}"))
}
