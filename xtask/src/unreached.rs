//! Parts of the engine that no world uses yet: facts it can be told and actions it can order. ARCHITECTURE
//! lists each such part in one table. A part that is in use must leave the table.

use std::collections::BTreeSet;

use anyhow::Context as _;
use syn::visit::{self, Visit};
use syn::{Item, Pat};

use crate::Findings;
use crate::files::texts;
use crate::modules::{attributes, is_for_tests};

const PAGE: &str = "ARCHITECTURE.md";
/// The table is below this heading.
const HEADING: &str = "## What no world carries yet";
/// The crates that feed facts to the engine, and choose its policy.
const WORLDS: &[&str] = &[
    "linux",
    "lab",
    "sim",
    "radio",
    "blocks",
    "trace",
    "host",
    "slowhandd",
    "runs",
    "bench",
    "cli",
];
/// Rooms of a world. What they use counts only once a file outside of them imports them.
const ROOMS: &[&str] = &["sim::hosts", "sim::mptcp"];
/// The crates that carry out what the engine decides.
const ACTORS: &[&str] = &["linux", "sim"];
/// Types of inputs. A world has to make a value of each variant.
const TOLD: &[&str] = &[
    "Input",
    "LinkEvent",
    "HostEvent",
    "RadioEvent",
    "FlowEvent",
    "ConnEvent",
    "SubflowEvent",
    "Policy",
];
/// One of the [`ACTORS`] has to do something about each variant.
const ORDERED: &str = "Action";
/// An arm with this in it refuses the order.
const REFUSAL: &str = "NotHere";

/// Compares the table with the code.
pub fn check() -> anyhow::Result<Findings> {
    let parts = parts()?;
    let carried = carried()?;
    let page = std::fs::read_to_string(PAGE).context(PAGE)?;
    Ok(Findings {
        looked_at: format!("unreached: {} parts", parts.len()),
        wrong: compare(&parts, &carried, &listed(&page)),
    })
}

fn compare(parts: &BTreeSet<String>, carried: &BTreeSet<String>, listed: &BTreeSet<String>) -> Vec<String> {
    let unreached: BTreeSet<String> = parts.difference(carried).cloned().collect();
    let missing = unreached.difference(listed);
    let missing = missing.map(|part| {
        format!(
            "{PAGE}: no world carries `{part}`: list it under \"{}\"",
            &HEADING[3..]
        )
    });
    let arrived = listed.difference(&unreached);
    let arrived = arrived.map(|part| {
        format!(
            "{PAGE}: `{part}` is carried or does not exist: remove it from \"{}\"",
            &HEADING[3..]
        )
    });
    missing.chain(arrived).collect()
}

/// The names in backticks in the first column of the table.
fn listed(page: &str) -> BTreeSet<String> {
    let below = page.split_once(HEADING).map_or("", |(_, below)| below);
    let section = below.split("\n## ").next().unwrap_or_default();
    let cells = section
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Every variant, as `Enum::Variant`, and every public module of `policy` that is used by its path, as
/// `policy::module`.
fn parts() -> anyhow::Result<BTreeSet<String>> {
    let (mut parts, mut exported) = (BTreeSet::new(), Exported::default());
    for (path, text) in texts(|path| path.starts_with("crates/policy/src/") && path.ends_with(".rs"))? {
        let file = syn::parse_file(&text).with_context(|| path.clone())?;
        for item in &file.items {
            match item {
                Item::Enum(item) if TOLD.iter().chain([&ORDERED]).any(|name| item.ident == name) => {
                    parts.extend(
                        item.variants
                            .iter()
                            .map(|variant| format!("{}::{}", item.ident, variant.ident)),
                    );
                }
                Item::Mod(item)
                    if path.ends_with("src/lib.rs") && matches!(item.vis, syn::Visibility::Public(_)) =>
                {
                    parts.insert(format!("policy::{}", item.ident));
                }
                Item::Use(item) if path.ends_with("src/lib.rs") => {
                    exported.visit_use_tree(&item.tree);
                }
                _ => {}
            }
        }
    }
    parts.extend(exported.0);
    parts.extend(ROOMS.iter().map(|&room| room.to_owned()));
    Ok(parts)
}

/// What the worlds make, do, and use.
fn carried() -> anyhow::Result<BTreeSet<String>> {
    let mut reader = Reader::default();
    for world in WORLDS {
        let outside = |path: &str| !ROOMS.iter().any(|room| path.starts_with(&folder(room)));
        reader.read(world, outside)?;
    }
    let mut waiting = ROOMS.to_vec();
    while let Some(next) = waiting.iter().position(|room| reader.carried.contains(*room)) {
        let room = waiting.swap_remove(next);
        let world = WORLDS.iter().find(|world| room.starts_with(**world));
        reader.read(world.context(room)?, |path| path.starts_with(&folder(room)))?;
    }
    Ok(reader.carried)
}

/// The folder of a room such as `sim::hosts`.
fn folder(room: &str) -> String {
    format!("crates/{}/", room.replace("::", "/src/"))
}

#[derive(Default)]
struct Reader {
    carried: BTreeSet<String>,
    /// The crate that is being read.
    world: &'static str,
    /// Whether the crate carries out actions.
    acts: bool,
    /// Whether a pattern is being read.
    matches: bool,
}

impl Reader {
    /// Reads the code of a world in these files, without tests.
    fn read(&mut self, world: &'static str, wanted: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let source = format!("crates/{world}/src/");
        let is_code = |path: &str| {
            path.starts_with(&source)
                && path.ends_with(".rs")
                && !path.contains("/tests/")
                && !path.ends_with("tests.rs")
                && wanted(path)
        };
        (self.world, self.acts) = (world, ACTORS.contains(&world));
        for (path, text) in texts(is_code)? {
            let file = syn::parse_file(&text).with_context(|| path)?;
            self.visit_file(&file);
        }
        Ok(())
    }

    fn pair(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        for pair in names.windows(2) {
            let counts = if pair[0] == ORDERED {
                self.acts && self.matches
            } else {
                !self.matches
            };
            if counts {
                self.carried.insert(pair.join("::"));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(first) = &item.tree {
            let origin = first.ident.to_string();
            let mut names = Names {
                origin: if origin == "crate" { self.world } else { &origin },
                found: &mut self.carried,
            };
            names.visit_use_tree(&first.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.pair(path);
        visit::visit_path(self, path);
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        let outer = std::mem::replace(&mut self.matches, true);
        visit::visit_pat(self, pattern);
        self.matches = outer;
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let mut refusal = Refusal(false);
        refusal.visit_expr(&arm.body);
        if !refusal.0 {
            self.visit_pat(&arm.pat);
        }
        self.visit_expr(&arm.body);
    }
}

/// The modules that `use policy::{…}` names, and the same of any other crate.
struct Names<'a> {
    origin: &'a str,
    found: &'a mut BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        self.found.insert(format!("{}::{}", self.origin, path.ident));
    }

    fn visit_use_name(&mut self, name: &'ast syn::UseName) {
        self.found.insert(format!("{}::{}", self.origin, name.ident));
    }
}

/// The modules that `pub use` names: they have small letters.
#[derive(Default)]
struct Exported(BTreeSet<String>);

impl<'ast> Visit<'ast> for Exported {
    fn visit_use_name(&mut self, name: &'ast syn::UseName) {
        let name = name.ident.to_string();
        if name.starts_with(char::is_lowercase) {
            self.0.insert(format!("policy::{name}"));
        }
    }
}

/// Whether an arm refuses.
struct Refusal(bool);

impl<'ast> Visit<'ast> for Refusal {
    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.0 |= ident == REFUSAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn only_parts_that_a_world_uses_count_as_carried() {
        let mut reader = Reader {
            acts: true,
            ..Reader::default()
        };
        let code = "use policy::{cc, flow::Peer};
            fn f(action: Action, input: Input) -> Input {
                match action { Action::Join => join(), Action::Slots => Err(ActError::NotHere(\"x\")), _ => {} }
                if let Input::Radio(_) = input {}
                Input::Link(1, LinkEvent::Gone)
            }
            #[cfg(test)] mod tests { fn g() { Input::Flow(2); } }";
        reader.visit_file(&syn::parse_str(code).unwrap());
        for carried in [
            "policy::cc",
            "policy::flow",
            "Action::Join",
            "Input::Link",
            "LinkEvent::Gone",
        ] {
            assert!(
                reader.carried.contains(carried),
                "{carried}: {:?}",
                reader.carried
            );
        }
        for other in ["Action::Slots", "Input::Radio", "Input::Flow"] {
            assert!(!reader.carried.contains(other), "{other}");
        }
    }

    #[test]
    fn a_room_is_carried_once_a_file_of_its_world_imports_it() {
        let mut reader = Reader {
            world: "sim",
            ..Reader::default()
        };
        reader.visit_file(&syn::parse_str("pub mod mptcp; use crate::hosts::Host;").unwrap());
        assert!(reader.carried.contains("sim::hosts"), "{:?}", reader.carried);
        assert!(!reader.carried.contains("sim::mptcp"), "{:?}", reader.carried);
        assert_eq!(folder("sim::hosts"), "crates/sim/src/hosts/");
        for room in ROOMS {
            assert!(WORLDS.iter().any(|world| room.starts_with(world)), "{room}");
        }
    }

    #[test]
    fn the_table_lists_exactly_what_is_not_carried() {
        let page = format!(
            "{HEADING}\n\n| part | needs |\n|---|---|\n| `A::X`, `A::Old` | `A::Y` |\n\n## Next\n| `A::Z` |"
        );
        assert_eq!(listed(&page), set(&["A::X", "A::Old"]));
        let wrong = compare(&set(&["A::X", "A::Y", "A::Q"]), &set(&["A::Q"]), &listed(&page));
        assert_eq!(
            wrong,
            [
                "ARCHITECTURE.md: no world carries `A::Y`: list it under \"What no world carries yet\"",
                "ARCHITECTURE.md: `A::Old` is carried or does not exist: remove it from \"What no world carries yet\""
            ]
        );
    }
}
