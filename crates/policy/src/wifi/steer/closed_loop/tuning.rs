//! Thresholds of the closed loop.

use units::{Duration, Ratio};

// mod.rs
/// A poor access point becomes efficient again below this percentage of the best packet time.
pub(crate) const EFFICIENT_UNDER_PERCENT: u64 = 110;
/// The longest pause between trials, and between probes.
pub(crate) const LONGEST_PAUSE_S: u64 = 60;

// stages.rs
/// Goodput is short below this percentage of what another could carry.
pub(crate) const SHORT_PERCENT: u64 = 95;
/// Accumulated shortage that leads to a trial.
pub(crate) const SHORT_FOR: Duration = Duration::from_millis(700);
/// The air is full if it is busier than this.
pub(crate) const FULL: Ratio = Ratio::from_ppm(970_000);
/// Total goodput at which a trial succeeds, in percent of that before it.
pub(crate) const WON_PERCENT: u64 = 104;
/// Goodput at which a probe succeeds, in percent of that of all.
pub(crate) const PROBE_PERCENT: u64 = 97;
pub(crate) const PROBE_LEAST: Duration = Duration::from_millis(1_200);
pub(crate) const PROBE_MOST: Duration = Duration::from_secs(10);
/// Goodput that a probe must show when first checked, in percent of that at its start.
pub(crate) const FIRST_RISE_PERCENT: u64 = 115;
/// Rising: in percent of the goodput a moment ago.
pub(crate) const RISING_PERCENT: u64 = 103;
pub(crate) const RISING_OVER: Duration = Duration::from_secs(1);
/// A change of the efficient ones' goodput that invalidates what was found about them, in percent.
pub(crate) const CHANGED_PERCENT: u64 = 30;
/// Two access points carry equally many packets above this percentage.
pub(crate) const EQUAL_PERCENT: u64 = 85;
/// How long goodput takes to settle after a change of who carries.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(3);
/// The first pauses: between trials, between probes without a hint, and between probes with one.
pub(crate) const FIRST_TRIAL_PAUSE: Duration = Duration::from_secs(3);
pub(crate) const FIRST_PROBE_PAUSE: Duration = Duration::from_secs(10);
pub(crate) const FIRST_HINT_PAUSE: Duration = Duration::from_secs(2);
