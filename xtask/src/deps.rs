//! Import rules: normal dependencies only; what tests use is free.

use crate::Findings;
use crate::metadata::Metadata;
use crate::rooms::{LEAN, LeanProgram, ROOMS, Room};
use std::collections::BTreeMap;

/// Compares the workspace with the table.
pub fn check() -> anyhow::Result<Findings> {
    let metadata = Metadata::load()?;
    let own = metadata.own();
    let names: Vec<&str> = own.keys().copied().collect();
    let mut wrong = Vec::new();
    for (name, dependencies) in &own {
        match ROOMS.iter().find(|room| room.name == *name) {
            Some(room) => wrong.extend(violations(room, dependencies, &names)),
            None => wrong.push(format!(
                "{name}: not in the table; add it to xtask/src/rooms.rs with what it must never know"
            )),
        }
    }
    for program in LEAN {
        wrong.extend(ballast(program, &metadata.linked(program.name)));
    }
    for room in ROOMS.iter().filter(|room| room.no_std) {
        wrong.extend(knows_std(room));
        let path = format!("crates/{}/clippy.toml", room.name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        wrong.extend(clocks_allowed(&path, &text));
    }
    Ok(Findings {
        looked_at: format!("deps: {} rooms", own.len()),
        wrong,
    })
}

fn violations(room: &Room, dependencies: &[&str], own: &[&str]) -> Vec<String> {
    dependencies
        .iter()
        .filter_map(|dependency| match own.contains(dependency) {
            true if room.rooms.contains(dependency) => None,
            true => Some(format!(
                "{} imports {dependency}, but must never know {}",
                room.name, room.never
            )),
            false if room.crates.contains(dependency) => None,
            false => Some(format!(
                "{} imports {dependency}, which is not listed; list it in xtask/src/rooms.rs, or remove it",
                room.name
            )),
        })
        .collect()
}

/// What a lean program links although it must not, each with the path that leads there.
fn ballast(program: &LeanProgram, linked: &BTreeMap<&str, Vec<&str>>) -> Vec<String> {
    let LeanProgram {
        name,
        without,
        because,
    } = program;
    if linked.is_empty() {
        return vec![format!(
            "{name} has no dependencies: is it still the name of the package?"
        )];
    }
    let is_barred = |found: &str| {
        let mut barred = without.iter().copied().flatten();
        barred.any(|barred| match barred.strip_suffix('*') {
            Some(start) => found.starts_with(start),
            None => found == *barred,
        })
    };
    let barred = linked.iter().filter(|(found, _)| is_barred(found));
    barred
        .map(|(found, way)| format!("{name} links {found} ({}): {because}", way.join(" → ")))
        .collect()
}

/// The attribute that makes a forgotten clock a compile error.
fn knows_std(room: &Room) -> Option<String> {
    let path = format!("crates/{}/src/lib.rs", room.name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let bare = text.contains("#![cfg_attr(not(test), no_std)]") || text.contains("#![no_std]");
    (!bare).then(|| {
        format!(
            "{path}: start with #![cfg_attr(not(test), no_std)], as it must never know {}",
            room.never
        )
    })
}

/// Functions that a room without a clock must not call, not even in its tests. Clippy refuses them if the
/// room's own `clippy.toml` lists them.
const CLOCKS: [&str; 2] = ["std::time::Instant::now", "std::time::SystemTime::now"];

fn clocks_allowed(path: &str, text: &str) -> Option<String> {
    let banned = |clock: &&str| text.contains(&format!("path = \"{clock}\""));
    let allowed = CLOCKS.iter().find(|clock| !banned(clock))?;
    Some(format!(
        "{path}: ban {allowed} with `disallowed-methods`, as this room gets the time as an argument"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[&str] = &["policy", "trace", "units"];

    fn policy() -> &'static Room {
        ROOMS.iter().find(|room| room.name == "policy").unwrap()
    }

    #[test]
    fn allowed_imports_pass() {
        assert_eq!(
            violations(policy(), &["units", "libm"], OWN),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_banned_room_is_named_with_the_reason() {
        let found = violations(policy(), &["units", "trace"], OWN);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("policy imports trace") && found[0].contains("clocks"),
            "{found:?}"
        );
    }

    #[test]
    fn an_unlisted_crate_is_named() {
        let found = violations(policy(), &["rand"], OWN);
        assert!(found[0].contains("rand, which is not listed"), "{found:?}");
    }

    fn metadata(text: &str) -> Metadata {
        serde_json::from_str(text).unwrap()
    }

    /// The program links a library, which links the lab and is tested with the simulator.
    const GRAPH: &str = r#"{
        "packages": [
            {"id": "1", "name": "slowhandd", "version": "1", "license": null, "dependencies": []},
            {"id": "2", "name": "host", "version": "1", "license": null, "dependencies": []},
            {"id": "3", "name": "lab", "version": "1", "license": null, "dependencies": []},
            {"id": "4", "name": "sim", "version": "1", "license": null, "dependencies": []},
            {"id": "5", "name": "arrow-array", "version": "1", "license": null, "dependencies": []}
        ],
        "workspace_members": ["1", "2", "3", "4"],
        "resolve": {"nodes": [
            {"id": "1", "deps": [
                {"pkg": "2", "dep_kinds": [{"kind": null}]},
                {"pkg": "5", "dep_kinds": [{"kind": "build"}]}
            ]},
            {"id": "2", "deps": [
                {"pkg": "3", "dep_kinds": [{"kind": "dev"}, {"kind": null}]},
                {"pkg": "4", "dep_kinds": [{"kind": "dev"}]}
            ]},
            {"id": "3", "deps": [{"pkg": "5", "dep_kinds": [{"kind": null}]}]},
            {"id": "4", "deps": []},
            {"id": "5", "deps": []}
        ]}
    }"#;

    #[test]
    fn indirect_links_of_the_daemon_are_reported() {
        let found = ballast(&LEAN[0], &metadata(GRAPH).linked("slowhandd"));
        assert_eq!(
            found,
            [
                "slowhandd links arrow-array (slowhandd → host → lab → arrow-array): it runs as root for weeks",
                "slowhandd links lab (slowhandd → host → lab): it runs as root for weeks",
            ]
        );
    }

    #[test]
    fn dev_and_build_dependencies_are_not_linked() {
        let lean = GRAPH.replace(r#"{"kind": "dev"}, {"kind": null}"#, r#"{"kind": "dev"}"#);
        assert_eq!(ballast(&LEAN[0], &metadata(&lean).linked("slowhandd")), [""; 0]);
        let gone = ballast(&LEAN[0], &metadata(&lean).linked("daemon"));
        assert!(gone[0].contains("has no dependencies"), "{gone:?}");
    }

    #[test]
    fn a_clock_that_is_not_banned_is_named() {
        let both = CLOCKS.map(|clock| format!("{{ path = \"{clock}\" }}")).concat();
        assert_eq!(clocks_allowed("a", &both), None);
        let found = clocks_allowed("a", "path = \"std::time::Instant::now\"").unwrap();
        assert!(found.contains("SystemTime::now"), "{found}");
    }

    #[test]
    fn no_room_imports_itself_or_one_further_out() {
        for (index, room) in ROOMS.iter().enumerate() {
            let inner: Vec<&str> = ROOMS[..index].iter().map(|room| room.name).collect();
            assert!(
                room.rooms.iter().all(|name| inner.contains(name)),
                "{} imports outwards",
                room.name
            );
        }
    }
}
