//! Thresholds of slow links.

use units::Duration;

// mod.rs
/// A link with up to this share is a backup until it has proven itself.
pub(crate) const POOR_PERCENT: u64 = 14;
/// Blocked: one part in this many of what may be in flight is out of order, on average.
pub(crate) const BLOCKED_PART: u64 = 4;
/// Blocking must last this long.
pub(crate) const CONVINCED_AFTER: Duration = Duration::from_millis(300);
/// Blocked badly: one part in this many, while the slow link has a queue.
pub(crate) const BLOCKED_BADLY_PART: u64 = 2;
/// Bad blocking must last this long.
pub(crate) const CONVINCED_BADLY_AFTER: Duration = Duration::from_millis(100);
/// Replaces [`crate::window::tuning::ROUNDS_TO_GROW`] where a queue shows that the link has found its rate.
pub(crate) const ROUNDS_TO_QUEUE: u32 = 4;
/// How long the backlog of a demoted link may take to arrive.
pub(crate) const DRAINS_FOR: Duration = Duration::from_secs(2);
/// A link at this percentage of its rate when it was first blamed is still finding its rate.
pub(crate) const GROWING_PERCENT: u64 = 110;
/// A link is in demand if it carries this share of its best rate.
pub(crate) const BUSY_PERCENT: u64 = 50;
/// Goodput under this share of the links' rates means that the application asks for little.
pub(crate) const ASKING_PERCENT: u64 = 40;
/// Goodput must be short of the links' rates for this long, while bytes are out of order, before those rates
/// are distrusted.
pub(crate) const SHORT_FOR: Duration = Duration::from_secs(1);
/// A link pays for its place if goodput rises by this percentage of what the link carried.
pub(crate) const PAYS_PERCENT: u64 = 50;
/// Time to the first trial.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// Time to the first trial where a queue showed that the others waited for this slow link.
pub(crate) const PLAIN_PAUSE: Duration = Duration::from_secs(60);
/// The longest time between trials, in seconds.
pub(crate) const LONGEST_PAUSE_S: u64 = 240;
/// A link that was better in use is not judged again for this long: its rate, and the others beside it,
/// change as the host moves.
pub(crate) const PROVEN_FOR: Duration = Duration::from_secs(LONGEST_PAUSE_S);
/// Promote a demoted link once it would carry at least this share of the total.
pub(crate) const FAIR_PERCENT: u64 = 20;
/// Goodput covers this many marks.
pub(crate) const MARKS: usize = 5;
/// Milliseconds between marks.
pub(crate) const MARK_EVERY_MS: u64 = 100;
