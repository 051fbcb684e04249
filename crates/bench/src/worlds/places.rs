//! The scenarios of `worlds`: four that we ship, and links drawn at random.

use scenario::Plan;

use crate::trial::plans::embedded;
use crate::window::mixed_plan;

/// Mixes of links, by their numbers. No figure of either world was tuned on them.
const MIXES: std::ops::RangeInclusive<u64> = 101..=112;

macro_rules! shipped {
    ($name:literal) => {
        embedded(
            $name,
            include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        )
    };
}

/// All scenarios of the benchmark.
pub fn all() -> anyhow::Result<Vec<Plan>> {
    let shipped = [
        shipped!("two-homes"),
        shipped!("dead-but-up"),
        shipped!("fading"),
        shipped!("building-walk"),
    ];
    let mixes = MIXES.map(|mix| mixed_plan(mix, "reno"));
    shipped.into_iter().chain(mixes).collect()
}
