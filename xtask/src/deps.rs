//! Import rules: normal dependencies only; what tests use is free.

use crate::Findings;
use crate::metadata::Metadata;
use crate::rooms::{ROOMS, Room};

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
                "{} imports {dependency}: it must never know {}",
                room.name, room.never
            )),
            false if room.crates.contains(dependency) => None,
            false => Some(format!(
                "{} imports {dependency}, which is not listed: list it in xtask/src/rooms.rs, or do without",
                room.name
            )),
        })
        .collect()
}

/// The attribute that makes a forgotten clock a compile error.
fn knows_std(room: &Room) -> Option<String> {
    let path = format!("crates/{}/src/lib.rs", room.name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let bare = text.contains("#![cfg_attr(not(test), no_std)]") || text.contains("#![no_std]");
    (!bare).then(|| {
        format!(
            "{path}: begin with #![cfg_attr(not(test), no_std)]; it must never know {}",
            room.never
        )
    })
}

/// What a room without a clock must not call, not even in its tests: clippy refuses it, if the room's own `clippy.toml` says so.
const CLOCKS: [&str; 2] = ["std::time::Instant::now", "std::time::SystemTime::now"];

fn clocks_allowed(path: &str, text: &str) -> Option<String> {
    let banned = |clock: &&str| text.contains(&format!("path = \"{clock}\""));
    let allowed = CLOCKS.iter().find(|clock| !banned(clock))?;
    Some(format!(
        "{path}: ban {allowed} with `disallowed-methods`: this room is told the time"
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
    fn what_the_table_allows_passes() {
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
