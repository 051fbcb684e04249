//! Scenarios of the benchmarks, embedded in the program so that they need no files.

use scenario::{Plan, Setting};

/// The trace named `lte-gaps`.
const LTE_GAPS: &[u8] = include_bytes!("../../../../scenarios/traces/lte-gaps.down");

/// Parses an embedded scenario.
pub fn embedded(name: &str, text: &str) -> anyhow::Result<Plan> {
    embedded_with(name, text, &[])
}

/// Parses an embedded scenario with these settings in place of its own, as `slowhand play --set` takes them.
pub fn embedded_with(name: &str, text: &str, settings: &[&str]) -> anyhow::Result<Plan> {
    let settings: Vec<Vec<Setting>> = settings
        .iter()
        .map(|setting| Setting::alternatives(setting))
        .collect::<Result<_, _>>()?;
    let files = |file: &str| match file {
        "traces/lte-gaps.down" => Ok((file.to_owned(), LTE_GAPS.to_vec())),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    Ok(scenario::parse(
        &format!("{name}.toml"),
        text.as_bytes(),
        &settings.concat(),
        &files,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_a_benchmark_is_one() {
        let all = [
            ("stall-drop", include_str!("../scenarios/stall-drop.toml")),
            ("stall-backup", include_str!("../scenarios/stall-backup.toml")),
            ("resume", include_str!("../scenarios/resume.toml")),
            ("emulator", include_str!("../scenarios/emulator.toml")),
            ("lab-udp", include_str!("../scenarios/lab-udp.toml")),
            ("lab-tcp", include_str!("../scenarios/lab-tcp.toml")),
            ("lab-late", include_str!("../scenarios/lab-late.toml")),
            ("relay-goodput", include_str!("../scenarios/relay-goodput.toml")),
            ("relay-bypass", include_str!("../scenarios/relay-bypass.toml")),
            ("relay-agent", include_str!("../scenarios/relay-agent.toml")),
            (
                "relay-first-byte",
                include_str!("../scenarios/relay-first-byte.toml"),
            ),
            ("cc-share-2", include_str!("../scenarios/cc-share-2.toml")),
            ("cc-share-4", include_str!("../scenarios/cc-share-4.toml")),
            ("cc-disjoint", include_str!("../scenarios/cc-disjoint.toml")),
            ("cc-shift", include_str!("../scenarios/cc-shift.toml")),
            ("cc-shift-aqm", include_str!("../scenarios/cc-shift-aqm.toml")),
            (
                "cc-respond-double",
                include_str!("../scenarios/cc-respond-double.toml"),
            ),
            (
                "cc-respond-halve",
                include_str!("../scenarios/cc-respond-halve.toml"),
            ),
            ("cc-handoff", include_str!("../scenarios/cc-handoff.toml")),
            ("cc-cost-2", include_str!("../scenarios/cc-cost-2.toml")),
            ("cc-cost-8", include_str!("../scenarios/cc-cost-8.toml")),
            ("fading", include_str!("../../../../scenarios/fading.toml")),
            ("lte-gaps", include_str!("../../../../scenarios/lte-gaps.toml")),
            (
                "app-limited",
                include_str!("../../../../scenarios/app-limited.toml"),
            ),
            (
                "building-walk",
                include_str!("../../../../scenarios/building-walk.toml"),
            ),
        ];
        for (name, text) in all {
            assert_eq!(embedded(name, text).unwrap().name, name);
        }
    }
}
