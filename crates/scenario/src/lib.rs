//! Scenarios: what should happen, from TOML to a typed [`Plan`].
//!
//! [`load()`] reads a file; whatever is wrong with it is told with file, line and column, and with what would be right. Nothing
//! is taken on trust: unknown keys, numbers out of bounds, names that lead nowhere and broken rate traces are all refused, all
//! in one pass. [`Setting`]s from a command line are read by the same rules.
//!
//! The plan knows nothing of the worlds that play it. It answers what they ask in the run's own time: where a
//! [`Walker`] is, what the faults do ([`Plan::timeline`]), where a cell has no coverage ([`Holes::drawn`]), and at the end
//! [`judge()`] says whether what must hold holds.
//!
//! [`models`] has it in the words of `links`, which every world plays it with.
//!
//! What a world has no use for it refuses with the same places: [`Spots`] keeps them beside the plan.
//!
//! `scenarios/README.md` lists every key with its unit, its default and where the default comes from.

mod convert;
mod document;
mod format;
mod judge;
mod load;
mod mahimahi;
pub mod models;
pub mod plan;
mod quantity;
mod read;
mod section;
mod setting;
mod source;
mod spot;
mod suggest;
mod synthetic;
mod timeline;

pub use judge::{Outcome, Verdict, judge};
pub use load::{LoadError, ScenarioFile, load, parse};
pub use mahimahi::{OPPORTUNITY, RateTrace};
pub use plan::*;
pub use read::Files;
pub use setting::{Given, Setting, SettingError};
pub use source::{Problem, Problems};
pub use spot::{Spots, Thing};
pub use synthetic::{Outages, Synthetic};
pub use timeline::{Effect, Happening, Whom};
pub use trace::Spot;
