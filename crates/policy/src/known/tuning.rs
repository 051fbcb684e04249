//! Thresholds of what is known of connections.

use crate::estimate::delivery::Config;
use units::{Bytes, Duration};

// traffic.rs
/// Low traffic: less than this in a second. Idle connections do not change their state.
pub(crate) const LOW: Bytes = Bytes::from_kib(48);
/// High traffic: more than this in a second or less.
pub(crate) const HIGH: Bytes = Bytes::from_kib(96);
/// Traffic covers this many marks.
pub(crate) const MARKS: usize = 5;
/// Milliseconds between marks.
pub(crate) const MARK_EVERY_MS: u64 = 250;
/// Another link is quicker if its delay is at most this percentage of the present link's.
pub(crate) const QUICKER_PERCENT: u32 = 75;

// conn.rs
/// Limit of the backoff: while a place may be free, a peer that refused six joins is retried every 30 s.
pub(crate) const MOST_DOUBLINGS: u32 = 6;
/// Retry interval while no place can be free: only the peer's limit may have changed.
pub(crate) const RARELY: Duration = Duration::from_secs(120);
/// Time allowed for RM_ADDR to reach the peer.
pub(crate) const FREED_FOR: Duration = Duration::from_secs(5);

// state/rates.rs
/// Age by which a subflow has found its rate.
pub(crate) const GROWN_AFTER: Duration = Duration::from_secs(3);
/// If all others carry this share of what they can, the application demands more than they have. What a link
/// then carries is its capacity.
pub(crate) const FULL_PERCENT: u64 = 80;

// watches.rs
/// Packets sent, and for how long, with nearly nothing received, before counters alone raise a suspicion.
pub(crate) const ONE_WAY: (u64, Duration) = (4, Duration::from_secs(2));
/// Counters are compared over at most this long.
pub(crate) const LOOKBACK: Duration = Duration::from_secs(6);
/// Pause where a new host is unanswered that was not probed then.
pub(crate) const NEWS_PAUSE: Duration = Duration::from_secs(2);
/// First pause after a suspicion that came to nothing. It doubles each time.
pub(crate) const FIRST_WATCH_PAUSE: Duration = Duration::from_secs(5);
/// Longest such pause where the link was found alive.
pub(crate) const CLEARED_PAUSE: Duration = Duration::from_secs(60);
/// Longest such pause where the outcome stayed open.
pub(crate) const OPEN_PAUSE: Duration = Duration::from_secs(15);

// doubt.rs
/// Interval between the probes of one doubt.
pub(crate) const PROBE_EVERY: Duration = Duration::from_millis(12);
/// Probes that must stay unanswered: one may be lost on a lossy path.
pub(crate) const LEAST_PROBES: u32 = 3;
/// A world whose call is this late was stopped. One that is less late was busy.
pub(crate) const STOPPED: Duration = Duration::from_millis(200);

// remotes.rs
/// Most addresses remembered for one peer: its first one, and 8 that it announces, as Linux does at most.
pub(crate) const MOST_REMOTES: usize = 9;

// portals.rs
/// Interval between checks while they pass.
pub(crate) const WHILE_OPEN: Duration = Duration::from_secs(300);
/// Interval while the link is held out, or may have to be.
pub(crate) const WHILE_HELD: Duration = Duration::from_secs(30);
/// Time to the next check after the first one without a reply.
pub(crate) const PORTAL_AGAIN: Duration = Duration::from_secs(5);
/// Checks without a reply after which a link is held out.
pub(crate) const LEAST_FAILURES: u32 = 2;

// hosts.rs
/// The most hosts remembered per link.
pub(crate) const MOST_HOSTS: usize = 16;
/// Unanswered probes after which a host that never replied is not probed while nothing is wrong.
pub(crate) const MOST_TRIES: u8 = 2;
/// The world reports an unanswered host again at least this often.
pub(crate) const HOST_FRESH: Duration = Duration::from_secs(3);
/// A reply older than this proves nothing about what the link reaches now.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(1_800);

// air.rs
/// The fewest frames in the window for a valid figure.
pub(crate) const LEAST_FRAMES: u32 = 50;
/// How long a measured packet time stays valid after the last frames.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(5);
/// Length of the estimator's window.
pub(crate) const AIR_WINDOW: Duration = Config::LEGACY.window;
/// Access points are compared by packets of this size, in bytes.
pub(crate) const AIR_PACKET: u32 = 1_500;

// state.rs
/// More links than any host has: limits memory, whatever a world reports.
pub(crate) const MOST_LINKS: usize = 1_024;
/// The most connections watched. Others are left to the kernel.
pub(crate) const MOST_CONNS: usize = 16_384;

// state/endings.rs
/// ACKs sent within this time may have been lost with the link. Longer than it takes to find that a link is
/// dead.
pub(crate) const LATELY: Duration = Duration::from_secs(2);
