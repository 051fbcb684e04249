//! A room with a table of thresholds, `tuning.rs`, has all of them there: whoever judges one sees the others.

use crate::Findings;
use crate::files::texts;
use crate::modules::is_for_tests;
use syn::{Item, Type, Visibility};

const TABLE: &str = "/tuning.rs";
/// A constant of one of these types, or with a name that ends so, is a threshold.
const TYPES: &[&str] = &["Duration", "Bytes", "Db"];
const NAMES: &[&str] = &["PERCENT", "ROUNDS"];

/// Finds thresholds outside the tables of their rooms. What a crate publishes may stay where it is.
pub fn check() -> anyhow::Result<Findings> {
    let sources = texts(|path| path.starts_with("crates/") && path.ends_with(".rs"))?;
    let rooms: Vec<&str> = sources
        .iter()
        .filter_map(|(path, _)| path.strip_suffix(TABLE))
        .collect();
    let mut wrong = Vec::new();
    for (path, text) in &sources {
        let is_test = path.contains("/tests") || path.ends_with("_tests.rs");
        let in_room = rooms.iter().any(|room| path.starts_with(&format!("{room}/")));
        if in_room && !is_test && !path.ends_with(TABLE) {
            let names = strays(text)?;
            wrong.extend(
                names
                    .iter()
                    .map(|name| format!("{path}: move {name} into the room's tuning.rs")),
            );
        }
    }
    Ok(Findings {
        looked_at: format!("thresholds: {} rooms", rooms.len()),
        wrong,
    })
}

/// The private thresholds that a file declares outside its tests.
fn strays(text: &str) -> anyhow::Result<Vec<String>> {
    let file = syn::parse_file(text)?;
    let stray = |item: &Item| match item {
        Item::Const(constant) if !is_for_tests(&constant.attrs) => {
            let name = constant.ident.to_string();
            let public = matches!(constant.vis, Visibility::Public(_));
            let named = NAMES.iter().any(|ending| name.ends_with(ending));
            (!public && (named || is_measured(&constant.ty))).then_some(name)
        }
        _ => None,
    };
    Ok(file.items.iter().filter_map(stray).collect())
}

fn is_measured(of: &Type) -> bool {
    let Type::Path(path) = of else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|segment| TYPES.iter().any(|unit| segment.ident == unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_private_thresholds_and_leaves_the_rest() {
        let text = "
            const LATE: Duration = Duration::from_secs(1);
            pub const WINDOW: units::Duration = units::Duration::ZERO;
            pub(crate) const SHARE_PERCENT: u64 = 5;
            const MOST_LINKS: usize = 3;
            #[cfg(test)]
            const STEP: Duration = Duration::ZERO;
            mod tests { const STEP: Duration = Duration::ZERO; }";
        assert_eq!(strays(text).unwrap(), ["LATE", "SHARE_PERCENT"]);
    }
}
