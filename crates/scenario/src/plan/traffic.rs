//! What the applications move.

use units::{Bitrate, Bytes, Duration};

/// One application between the client and the server, and its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Index of its walker in [`super::Plan::walkers`].
    pub by: usize,
    /// How it is carried.
    pub transport: Transport,
    /// Its sender's congestion controller, if not the scenario's: competing traffic.
    pub cc: Option<String>,
    /// When the application connects.
    pub start: Duration,
    /// What it moves.
    pub work: Work,
}

/// How a flow is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// MPTCP, over what the policy under test chooses.
    Mptcp,
    /// Plain TCP over this link (an index in [`super::Plan::links`]), whatever the policy: competing traffic.
    Tcp {
        /// The link.
        over: usize,
    },
    /// UDP over this link (an index in [`super::Plan::links`]), whatever the policy.
    Udp {
        /// The link.
        over: usize,
    },
    /// Plain TCP of the client: a connection for each link, bound to it. A policy for one link leaves that
    /// one.
    EachLink,
    /// Plain TCP of the client to several peers: a connection for each, over the link that the engine
    /// assigns. A policy for one link leaves that one.
    EachPeer {
        /// How many peers there are.
        peers: u16,
    },
}

/// What a flow moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Bytes to the client.
    Download {
        /// How many; `None`: until the run ends.
        size: Option<Bytes>,
        /// The application offers no more than this.
        limit: Option<Bitrate>,
    },
    /// Bytes from the client.
    Upload {
        /// How many; `None`: until the run ends.
        size: Option<Bytes>,
        /// The application offers no more than this.
        limit: Option<Bitrate>,
    },
    /// Bytes of a source that sends all it can, and pauses, in turns, until the run ends.
    OnOff {
        /// Whether the client sends.
        up: bool,
        /// When it sends.
        turns: OnOff,
    },
    /// Requests of the client, each answered.
    Requests {
        /// From one request to the next; one that is due while the last is unanswered waits for it.
        every: Duration,
        /// Bytes of a request.
        request: Bytes,
        /// Bytes of a reply.
        reply: Bytes,
    },
    /// A file that the client fetches by byte ranges, one block at a time over each connection.
    Stripe {
        /// Bytes of the file.
        size: Bytes,
        /// Bytes of a block. The last one may be shorter.
        block: Bytes,
        /// How a slow link is kept from the block that is due first.
        skip: Skip,
        /// The player that plays it.
        video: Option<Video>,
    },
    /// A file that the client fetches from several peers, each of which has all of it.
    Swarm {
        /// Bytes of the file.
        size: Bytes,
        /// Bytes of a piece. The last one may be shorter.
        piece: Bytes,
    },
    /// Datagrams that nobody answers, until the run ends.
    Datagrams {
        /// From which end to which.
        way: Way,
        /// When the next one is sent.
        pace: Pace,
        /// Payload of each.
        payload: Bytes,
    },
}

impl Work {
    /// The interval at which datagrams are sent. Zero: whenever it is possible, as with all other work.
    pub const fn interval(&self) -> Duration {
        match self {
            Self::Datagrams {
                pace: Pace::Every(interval),
                ..
            } => *interval,
            _ => Duration::ZERO,
        }
    }
}

/// Turns of a source that sends and pauses. The first turn sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnOff {
    /// How long it sends.
    pub on: Duration,
    /// How long it pauses.
    pub off: Duration,
}

impl OnOff {
    /// Whether the source sends, this long after its first turn began, and how long that turn still lasts. A
    /// source without turns always sends.
    pub fn at(self, elapsed: Duration) -> (bool, Duration) {
        let period = self.on + self.off;
        if period.is_zero() {
            return (true, Duration::MAX);
        }
        let into = Duration::from_nanos_u128(elapsed.as_nanos() % period.as_nanos());
        match into < self.on {
            true => (true, self.on - into),
            false => (false, period - into),
        }
    }
}

/// Which blocks a slow link leaves to the others. `policy::flow::Skip` has what each does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Skip {
    /// None: each link fetches the block that is due first.
    None,
    /// As many as juggler's delta says (§6.2.2).
    Delta,
    /// Those that the others fetch while it fetches one.
    #[default]
    Finish,
}

/// A player of what is fetched. It changes nothing of what is fetched when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Video {
    /// Bytes that it plays in a time.
    pub rate: Bitrate,
    /// How much of the video it has before it plays, at the start and after each gap.
    pub buffer: Duration,
}

/// The direction of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the client.
    Down,
    /// From the client.
    Up,
    /// From an access point to every receiver in range.
    Everyone,
}

/// When the next datagram is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As soon as there is room for it.
    Saturated,
    /// One in every interval, at least a microsecond.
    Every(Duration),
}
