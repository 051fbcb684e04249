//! Why a queue is limited or marked.

use units::{Bitrate, Bytes, Duration, Ratio};

/// Why a queue is limited or marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// A connection needs this receive window and no more.
    Window {
        /// The window, without the room for losses.
        window: Bytes,
        /// Whether it has room for out-of-order bytes behind a loss.
        loses: bool,
        /// The rate of the connection's links together.
        rate: Bitrate,
        /// The longest base round-trip time of these.
        rtt: Duration,
    },
    /// The window is narrow while an empty subflow is closed.
    Narrowed {
        /// The window, without the room for losses.
        window: Bytes,
        /// Whether it has room for out-of-order bytes behind a loss.
        loses: bool,
    },
    /// Much of an upload waits unsent.
    Unsent {
        /// The limit on each path.
        limit: Bytes,
        /// Unsent bytes on all paths.
        unsent: Bytes,
        /// The time to send them, if the rate is known.
        lasts: Option<Duration>,
    },
    /// An upload's slow start begins to fill a queue.
    SlowStart {
        /// The pacing rate's cap.
        rate: Bitrate,
        /// How long the cap lasts.
        lasts: Duration,
        /// The present round-trip time.
        rtt: Duration,
    },
    /// A queue is too long.
    Marked {
        /// The queueing delay.
        queue: Duration,
        /// The target. `None` if a slow start is marked before it reaches that.
        target: Option<Duration>,
        /// The share of packets that are marked.
        rate: Ratio,
        /// Whether packets sent from here are marked, and not those that arrive.
        sent: bool,
    },
}

impl Queue {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Window { .. } => "window",
            Self::Narrowed { .. } => "window-narrowed",
            Self::Unsent { .. } => "unsent",
            Self::SlowStart { .. } => "slow-start",
            Self::Marked { .. } => "queue",
        }
    }
}
