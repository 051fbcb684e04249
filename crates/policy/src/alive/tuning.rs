//! Thresholds of liveness.

use units::Duration;

// silence.rs
/// Silence after which a busy subflow is probed.
pub(crate) const BUSY_SILENCE: Duration = Duration::from_millis(20);
/// The same over a cable, where nothing waits for its turn on the air: the first sample of the counters that
/// shows nothing new. With as short a limit for WiFi, `fade` had gaps of 84 ms (median) and 220 ms: each
/// probe wakes a link that is kept as backup.
pub(crate) const BUSY_CABLE_SILENCE: Duration = Duration::from_millis(8);
/// Silence after which any other subflow is probed.
pub(crate) const THIN_SILENCE: Duration = Duration::from_millis(150);
/// Data in flight for this much longer than its round trip should take raises a doubt.
pub(crate) const ACK_SLACK: Duration = Duration::from_millis(30);
/// After a reply, the same silence is probed again only after this time, and another one only when it is
/// twice as long.
pub(crate) const CLEARED_FOR: Duration = Duration::from_millis(500);
/// Data that arrived within this time shows the present queue.
pub(crate) const LATELY: Duration = Duration::from_secs(1);
/// A cap on the round-trip time of a low-traffic subflow, whose samples may include its sender's pauses.
pub(crate) const LONGEST_ROUND: Duration = Duration::from_millis(150);

// idle.rs
/// A link over which nothing was heard for this long is probed while nothing is wrong.
pub(crate) const IDLE_PAUSE: Duration = Duration::from_secs(60);
/// Probe interval over all links together while nothing is wrong. Including neighbour discovery at both ends,
/// a probe is six packets.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(60);
/// The most probes that may accrue.
pub(crate) const MOST_SAVED: u32 = 2;
/// How long the reply to a probe may take, beyond two round trips.
pub(crate) const IDLE_PATIENCE: Duration = Duration::from_millis(500);
/// Anything heard within this time proves that a link is alive now.
pub(crate) const IDLE_LATELY: Duration = Duration::from_secs(2);
/// The most probes whose replies may still arrive.
pub(crate) const MOST_OPEN: usize = 128;
/// First retry interval of a dead link. It doubles each time.
pub(crate) const FIRST_RETRY: Duration = Duration::from_millis(200);
/// A dead link without a known host is tried again after this many retries.
pub(crate) const HOPELESS: u32 = 8;

// flows.rs
/// Interval between two rounds of probes.
pub(crate) const FLOW_ROUND: Duration = Duration::from_millis(40);
/// The most rounds.
pub(crate) const FLOW_MOST_ROUNDS: u32 = 6;
/// The most other links that are probed.
pub(crate) const FLOW_MOST_OTHERS: usize = 2;
/// Interval at which a reply over another link is awaited, once that over the own link is overdue.
pub(crate) const FLOW_STEP: Duration = Duration::from_millis(10);
/// The silence after which a flow moves whose server never replied to probes.
pub(crate) const ALONE: Duration = Duration::from_millis(400);
/// The same, as a multiple of the flow's longest usual silence.
pub(crate) const USUALLY: u32 = 4;
/// How long a doubt lasts beyond the time at which its reply is overdue.
pub(crate) const FLOW_LASTS: Duration = Duration::from_millis(1_000);
/// The longest silence that makes a difference.
pub(crate) const FLOW_LONGEST: Duration = Duration::from_secs(3_600);
/// The most doublings of [`ALONE`].
pub(crate) const MOST_DOUBLINGS: u32 = 8;

// reserves.rs
/// A connection that received something within this time is busy.
pub(crate) const BUSY_WITHIN: Duration = Duration::from_secs(1);
/// The silence of a busy connection's backup after which it is probed.
pub(crate) const BUSY_PAUSE: Duration = Duration::from_secs(5);
/// How long a reply may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

// portal.rs
/// A check without a result after this time has failed.
pub(crate) const OVERDUE: Duration = Duration::from_secs(30);
/// A check that passed over another link this recently proves that the URL works.
pub(crate) const PORTAL_FRESH: Duration = Duration::from_secs(330);

// suspicion.rs
/// Interval between rounds of probes.
pub(crate) const ROUND: Duration = Duration::from_millis(250);
/// The most rounds.
pub(crate) const MOST_ROUNDS: u32 = 4;
/// Time from the first round to the last.
pub(crate) const ROUNDS: Duration = Duration::from_millis(750);
/// Hosts of each kind to probe.
pub(crate) const OF_EACH: usize = 2;
/// The most links to compare with.
pub(crate) const MOST_OTHERS: usize = 3;
/// First round in which metered links are compared with, if there are others and none of those has replied.
pub(crate) const METERED_FROM: u32 = 2;
