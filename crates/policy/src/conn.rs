//! Everything known about one connection and its subflows.

use crate::estimate::arrivals::Arrivals;
use crate::estimate::carries::Carries;
use crate::estimate::losses::Losses;
use crate::io::{ConnSample, LinkId, SubflowId, SubflowSample};
use crate::slow::Slow;
use crate::thin::Thin;
use crate::window::Window;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Instant};

/// Payload of a full segment on Ethernet with time stamps and a DSS option.
const SEGMENT: u64 = 1_448;
/// A peer that has refused a join eight times is asked every two minutes.
const MOST_DOUBLINGS: u32 = 8;

/// A connection.
#[derive(Debug)]
pub(crate) struct Conn {
    /// Its first subflow has been reported: until then nothing can be added to it.
    pub(crate) begun: bool,
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) joining: Vec<Joining>,
    /// Subflows that the peer was told to give up, lately.
    pub(crate) withdrawn: Vec<Withdrawn>,
    /// Links over which the last join failed.
    pub(crate) failed: Vec<Failed>,
    /// How many subflows the peer lets us add.
    pub(crate) peer_subflows: usize,
    pub(crate) sample: ConnSample,
    pub(crate) window: Window,
    /// Why the window is what it is.
    pub(crate) why: Option<String>,
    /// Why what waits unsent is bounded, while it is.
    pub(crate) unsent_why: Option<String>,
    pub(crate) slow: Slow,
    pub(crate) thin: Thin,
}

/// A subflow that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Joining {
    pub(crate) link: LinkId,
    pub(crate) since: Instant,
}

/// A link over which the last join failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) link: LinkId,
    /// When it may be tried again.
    pub(crate) until: Instant,
    /// How often in a row the peer has refused it.
    pub(crate) refusals: u32,
}

/// A subflow of which the peer was told that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Withdrawn {
    pub(crate) subflow: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) at: Instant,
    pub(crate) repeated: bool,
}

/// One connection's share of one link.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(crate) id: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) initial: bool,
    pub(crate) since: Instant,
    /// What was last asked for.
    pub(crate) backup: bool,
    pub(crate) arrivals: Arrivals,
    pub(crate) carries: Carries,
    pub(crate) losses: Losses,
    /// Since when something is under way and nothing was acknowledged.
    pub(crate) waiting: Option<Instant>,
    pub(crate) sample: SubflowSample,
    /// Since when it only drains; it is ended when nothing comes any more.
    pub(crate) draining: Option<Instant>,
    /// When a probe over its link was last answered.
    pub(crate) cleared: Option<Instant>,
}

impl Conn {
    pub(crate) fn new(peer_subflows: usize) -> Self {
        Self {
            begun: false,
            subflows: Vec::new(),
            joining: Vec::new(),
            withdrawn: Vec::new(),
            failed: Vec::new(),
            peer_subflows,
            sample: ConnSample::default(),
            window: Window::default(),
            why: None,
            unsent_why: None,
            slow: Slow::default(),
            thin: Thin::default(),
        }
    }

    pub(crate) fn over(&self, link: LinkId) -> impl Iterator<Item = &Subflow> {
        self.subflows.iter().filter(move |subflow| subflow.link == link)
    }

    /// Added subflows that take one of the peer's places.
    pub(crate) fn places_taken(&self) -> usize {
        self.joining.len() + self.subflows.iter().filter(|subflow| !subflow.initial).count()
    }

    /// Whether a join over this link may be tried now.
    pub(crate) fn may_join(&self, now: Instant, link: LinkId) -> bool {
        !self
            .failed
            .iter()
            .any(|failed| failed.link == link && now < failed.until)
    }

    /// A join over this link failed, and may be tried again after this pause; twice as long each time that the peer refuses it again.
    pub(crate) fn join_failed(&mut self, now: Instant, link: LinkId, pause: Duration, refused: bool) {
        let before = self.failed.iter().find(|failed| failed.link == link);
        let refusals = before.map_or(0, |failed| failed.refusals);
        let until = now + pause * (1 << refusals.min(MOST_DOUBLINGS));
        self.failed.retain(|failed| failed.link != link);
        self.failed.push(Failed {
            link,
            until,
            refusals: if refused { refusals + 1 } else { 0 },
        });
    }

    /// The peer has a place again: what it refused may be tried at once.
    pub(crate) fn place_freed(&mut self) {
        self.failed.retain(|failed| failed.refusals == 0);
    }
}

impl Subflow {
    /// Takes in the counters as read at `now`; whether anything arrived.
    pub(crate) fn read(&mut self, now: Instant, sample: SubflowSample) -> bool {
        let acknowledged = sample.bytes_acked > self.sample.bytes_acked;
        self.waiting = match self.waiting {
            _ if sample.unacked == 0 => None,
            Some(since) if !acknowledged => Some(since),
            _ => Some(now),
        };
        self.losses
            .read(now, sample.disordered, sample.min_rtt, sample.data_rtt);
        self.sample = sample;
        self.arrivals.read(now, sample.segs_in, sample.bytes_received)
    }

    /// What this host sends over it, as the kernel counts: what is under way in a round trip.
    pub(crate) fn sends(&self) -> Bitrate {
        let under_way = Bytes::new(u64::from(self.sample.unacked) * SEGMENT);
        match self.sample.srtt {
            Duration::ZERO => Bitrate::ZERO,
            srtt => under_way.per(srtt),
        }
    }

    /// The round-trip time with whatever queue this host's own data has built.
    pub(crate) fn loaded_rtt(&self) -> Duration {
        if self.sample.unacked > 0 {
            self.sample.srtt
        } else {
            Duration::ZERO
        }
    }
}
