//! No circular dependencies: files that need each other are in one room, so that each room can be read after
//! those that it uses.
//!
//! A room is a folder directly below one of [`BASES`], with everything in it. A file directly there is a room
//! of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::Findings;
use crate::modules::Modules;

/// Folders with rooms of their own, beside the `src` of every crate.
const BASES: &[&str] = &["crates/linux/src/daemon", "crates/links/src/air"];

type Uses = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Reads every crate.
pub fn check() -> anyhow::Result<Findings> {
    let mut wrong = Vec::new();
    let mut files = 0;
    let mut crates: Vec<PathBuf> = std::fs::read_dir("crates")?
        .map(|entry| Ok(entry?.path().join("src")))
        .collect::<anyhow::Result<_>>()?;
    crates.sort();
    for source in crates {
        let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
        for root in roots.iter().filter(|root| root.exists()) {
            let uses = Modules::read(root)?.uses();
            files += uses.len();
            wrong.extend(circles(&uses).iter().map(|circle| told(circle, &uses)));
        }
    }
    Ok(Findings {
        looked_at: format!("circles: {files} files"),
        wrong,
    })
}

/// Sets of files that all use each other, directly or not, and are in more than one room.
fn circles(uses: &Uses) -> Vec<BTreeSet<&Path>> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = uses
        .keys()
        .map(|file| (file.as_path(), reach(file, uses)))
        .collect();
    let mut circles: BTreeSet<BTreeSet<&Path>> = BTreeSet::new();
    for (file, others) in &reached {
        let back = |other: &&&Path| reached.get(**other).is_some_and(|reached| reached.contains(file));
        let circle: BTreeSet<&Path> = others.iter().filter(back).copied().collect();
        let rooms: BTreeSet<PathBuf> = circle.iter().map(|file| room(file)).collect();
        if rooms.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Every file that a file uses, directly or not.
fn reach<'a>(file: &Path, uses: &'a Uses) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Path> = uses
        .get(file)
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(uses.get(file).into_iter().flatten().map(PathBuf::as_path));
        }
    }
    reached
}

/// The folder or file directly below the innermost base.
fn room(file: &Path) -> PathBuf {
    let base = BASES
        .iter()
        .map(Path::new)
        .find(|base| file.starts_with(base) && file != base.join("mod.rs"))
        .map_or_else(|| file.iter().take(3).collect(), Path::to_path_buf);
    let below = file
        .strip_prefix(&base)
        .ok()
        .and_then(|below| below.iter().next());
    base.join(below.map_or(Path::new(""), Path::new))
        .with_extension("")
}

/// A circle in one line, with each step between two rooms on a line of its own.
fn told(circle: &BTreeSet<&Path>, uses: &Uses) -> String {
    let mut text = format!(
        "{} files of different rooms depend on each other; move the shared part to the lowest of these rooms",
        circle.len()
    );
    for file in circle {
        let used = uses.get(*file).into_iter().flatten();
        for other in used.filter(|other| circle.contains(other.as_path()) && room(other) != room(file)) {
            text += &format!("\n    {} uses {}", file.display(), other.display());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(edges: &[(&str, &str)]) -> Uses {
        let mut uses = Uses::new();
        for (from, to) in edges {
            uses.entry(from.into()).or_default().insert(to.into());
            uses.entry(to.into()).or_default();
        }
        uses
    }

    #[test]
    fn only_circles_between_rooms_are_reported_with_their_steps() {
        let inner = uses(&[
            ("crates/a/src/x/mod.rs", "crates/a/src/x/y.rs"),
            ("crates/a/src/x/y.rs", "crates/a/src/x.rs"),
            ("crates/a/src/x.rs", "crates/a/src/x/mod.rs"),
        ]);
        assert_eq!(circles(&inner).len(), 0);
        let outer = uses(&[
            ("crates/a/src/x/y.rs", "crates/a/src/z.rs"),
            ("crates/a/src/z.rs", "crates/a/src/q/w.rs"),
            ("crates/a/src/q/w.rs", "crates/a/src/x/y.rs"),
        ]);
        let circles = circles(&outer);
        let text = told(&circles[0], &outer);
        assert_eq!(circles.len(), 1);
        assert!(
            text.contains("crates/a/src/z.rs uses crates/a/src/q/w.rs"),
            "{text}"
        );
    }

    #[test]
    fn the_daemon_and_the_air_have_rooms_of_their_own() {
        for (file, expected) in [
            (
                "crates/linux/src/daemon/act/joins.rs",
                "crates/linux/src/daemon/act",
            ),
            ("crates/linux/src/daemon/mod.rs", "crates/linux/src/daemon"),
            ("crates/linux/src/routing/tables.rs", "crates/linux/src/routing"),
            ("crates/linux/src/routing.rs", "crates/linux/src/routing"),
            ("crates/links/src/air/mac/queue.rs", "crates/links/src/air/mac"),
        ] {
            assert_eq!(room(Path::new(file)), Path::new(expected));
        }
    }

    #[test]
    fn uses_are_found_through_imports_re_exports_and_macros_and_tests_do_not_count() {
        let folder = std::env::temp_dir().join(format!("slowhand-circles-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("lib.rs", "mod a; mod b; mod c; pub use b::Deep;");
        write(
            "a.rs",
            "use crate::Deep; fn f(_: Deep) { println!(\"{}\", crate::c::one()); }",
        );
        write("b/mod.rs", "mod deep; pub use deep::Deep;");
        write(
            "b/deep.rs",
            "pub(in crate::b) struct Deep; #[cfg(test)] mod tests { use crate::a; }",
        );
        write(
            "c.rs",
            "pub fn one() -> u8 { 1 } #[test] fn t() { super::a::f(); }",
        );
        let uses = Modules::read(&folder.join("lib.rs")).unwrap().uses();
        let told = |name: &str| {
            let used = uses[&folder.join(name)].iter();
            used.map(|file| file.strip_prefix(&folder).unwrap().display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(told("a.rs"), ["b/deep.rs", "c.rs"]);
        assert_eq!(told("b/deep.rs"), Vec::<String>::new());
        assert_eq!(told("c.rs"), Vec::<String>::new());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
