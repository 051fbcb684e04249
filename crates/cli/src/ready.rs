//! What the lab needs of this machine, asked for before a run and not in the middle of it.

use linux::doctor::{self, Check, Need};

use crate::exit::Refused;

/// Refuses with everything that is missing, and how to get it.
pub fn for_the_lab() -> anyhow::Result<()> {
    let needed = |check: &Check| check.need == Need::Must || check.name == "tun";
    let missing: Vec<String> = doctor::checks()
        .into_iter()
        .filter(needed)
        .filter_map(|check| {
            check
                .result
                .err()
                .map(|missing| format!("  {}: {missing}", check.name))
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refused::because(format!(
        "the lab cannot run here:\n{}",
        missing.join("\n")
    )))
}
