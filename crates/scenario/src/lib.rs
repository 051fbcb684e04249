//! Scenarios: what should happen, from TOML to a typed [`Plan`].
//!
//! [`load()`] reads a file. It reports whatever is wrong with file, line and column, and says what would be
//! right. Nothing is trusted: it refuses unknown keys, numbers out of range, unresolved names and broken rate
//! traces, all in one pass. [`Setting`]s from a command line are read by the same rules.
//!
//! The plan does not know the worlds that play it. It answers their questions in the run's own time: where a
//! [`Walker`] is, what the faults do ([`Plan::timeline`]), and where a cell has no coverage
//! ([`Holes::drawn`]). At the end [`judge()`] says whether the expectations are met.
//!
//! [`models`] translates the plan into the types of `links`, which every world uses to play it.
//!
//! A world refuses what it cannot use, with the same places: [`Spots`] keeps them beside the plan.
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
mod synthetic;
mod timeline;

use trace::suggest;

pub use judge::{Outcome, Verdict, judge};
pub use load::{LoadError, ScenarioFile, load, parse};
pub use mahimahi::{OPPORTUNITY, RateTrace};
pub use plan::*;
pub use read::Files;
pub use setting::{Setting, SettingError, TypedValue};
pub use source::{Problem, Problems};
pub use spot::{Spots, Thing};
pub use synthetic::{Outages, Synthetic};
pub use timeline::{Effect, FaultTarget, TimelineEvent};
pub use trace::Spot;
