//! Thresholds of the choice of links.

use units::{Db, Duration};

// audition.rs
/// How long the links in use must have been in demand.
pub(crate) const BUSY_FOR: Duration = Duration::from_secs(5);
/// Links that carry less than this share of their known capacity are not in demand.
pub(crate) const BUSY_PERCENT: u64 = 40;
/// Time between trials.
pub(crate) const PAUSE: Duration = Duration::from_secs(30);
/// How long a joined link is measured.
pub(crate) const SHOWS: Duration = Duration::from_secs(4);
/// A trial without a result ends after this time.
pub(crate) const LIMIT: Duration = Duration::from_secs(8);

// departures.rs
/// How long an access point must have faded, and carried nothing, before it is left.
pub(crate) const LEAVE_AFTER: Duration = Duration::from_secs(10);

// overflow.rs
pub(crate) const FULL_PERCENT: u64 = 90;
pub(crate) const FULL_FOR: Duration = Duration::from_secs(1);
pub(crate) const CALM_PERCENT: u64 = 70;
pub(crate) const CALM_FOR: Duration = Duration::from_secs(5);

// rank.rs
/// How far ahead an access point is ranked: the time of a join and of draining what was in flight.
pub(crate) const AHEAD: Duration = Duration::from_millis(700);
/// How long a better access point must stay better.
pub(crate) const CONVINCED_AFTER: Duration = Duration::from_millis(250);
/// After a needless promotion: for how long a silence no longer than the sender's usual pauses promotes no
/// backup.
pub(crate) const WARY: Duration = Duration::from_secs(10);
/// Error margin of a signal. Without it, two equally loud access points near a step of the rate table would
/// alternate.
pub(crate) const DOUBT: Db = Db::from_centi(200);
/// Error margin of a signal [`SOON`]: includes the error of its slope.
pub(crate) const DOUBT_AHEAD: Db = Db::from_centi(400);
/// Margin above [`EDGE`] below which a WiFi link is not worth using if there is another.
pub(crate) const FADING_ABOVE_EDGE: Db = Db::from_centi(350);
/// How far ahead fading is predicted.
pub(crate) const SOON: Duration = Duration::from_secs(1);

// routes.rs
/// How long a link must have been good before new connections return to it.
pub(crate) const RETURN_AFTER: Duration = Duration::from_secs(5);
/// How long a link with a carrier may take to become usable: it has the user's route before it has ours.
pub(crate) const COMING_FOR: Duration = Duration::from_secs(1);
