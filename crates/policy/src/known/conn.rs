//! Everything known about one connection and its subflows.

use crate::estimate::acked::Acked;
use crate::estimate::arrivals::Arrivals;
use crate::estimate::carries::Carries;
use crate::estimate::losses::Losses;
use crate::estimate::segments::Segments;
use crate::estimate::trickle::Trickle;
use crate::io::{ConnSample, JoinFailure, LinkId, SubflowId, SubflowSample};
use crate::known::path::Path;
use crate::known::renewals::Renewals;
use crate::known::traffic::Thin;
use crate::slow::Slow;
use crate::window::Window;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Instant};

/// Payload of a full segment on Ethernet with time stamps and a DSS option.
const SEGMENT: u64 = 1_448;
/// While a place may be free, a peer that has refused a join six times is asked every half a minute.
const MOST_DOUBLINGS: u32 = 6;
/// While none can be, it is asked so rarely: only its limit may have changed.
const RARELY: Duration = Duration::from_secs(120);
/// The word that frees a place may be so long on its way.
const FREED_FOR: Duration = Duration::from_secs(5);

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
    /// When the peer was last told that one of its places is free, or gave one back.
    freed: Option<Instant>,
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
    pub(crate) renewals: Renewals,
    /// When something last came in order.
    pub(crate) advanced: Instant,
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
    at: Instant,
    /// For this long no join is tried; longer where the peer refused it and no place can be free.
    pause: Duration,
    reason: JoinFailure,
    /// How often in a row for this reason.
    times: u32,
}

/// How long no join is tried after the first failure, and what is said of it.
const fn consequence(reason: JoinFailure) -> (Duration, &'static str) {
    match reason {
        JoinFailure::Refused => (Duration::from_millis(500), "the peer takes no more subflows"),
        JoinFailure::Timeout => (Duration::from_secs(2), "the peer did not answer a join"),
        JoinFailure::Local => (Duration::from_secs(1), "this host's kernel refused a join"),
        JoinFailure::NoAddress => (
            Duration::from_secs(5),
            "it has no address of the peer's family (IPv4 or IPv6)",
        ),
        JoinFailure::Elsewhere => (
            Duration::from_secs(10),
            "the user's routes lead to its peer by a network of its own, not over this link",
        ),
        JoinFailure::Untimely => (Duration::from_millis(250), "a join came at the wrong moment"),
    }
}

/// A subflow of which the peer was told that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Withdrawn {
    pub(crate) subflow: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) at: Instant,
    pub(crate) repeated: bool,
    /// What may have come over it without the peer having heard of that: it is sent again, too. Nothing of a
    /// backup.
    pub(crate) unheard: Bytes,
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
    pub(crate) acked: Acked,
    pub(crate) carries: Carries,
    pub(crate) losses: Losses,
    pub(crate) trickle: Trickle,
    pub(crate) segments: Segments,
    /// Since when something is under way and nothing was acknowledged.
    pub(crate) waiting: Option<Instant>,
    pub(crate) sample: SubflowSample,
    /// Whether its slow start was held back; that is done once.
    pub(crate) held_back: bool,
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
            freed: None,
            peer_subflows,
            sample: ConnSample::default(),
            window: Window::default(),
            why: None,
            unsent_why: None,
            slow: Slow::default(),
            thin: Thin::default(),
            renewals: Renewals::default(),
            advanced: Instant::ZERO,
        }
    }

    /// Takes in what was read of it.
    pub(crate) fn read(&mut self, now: Instant, sample: ConnSample) {
        if sample.bytes_received > self.sample.bytes_received {
            self.advanced = now;
        }
        self.sample = sample;
    }

    pub(crate) fn find(&self, id: SubflowId) -> Option<&Subflow> {
        self.subflows.iter().find(|subflow| subflow.id == id)
    }

    pub(crate) fn over(&self, link: LinkId) -> impl Iterator<Item = &Subflow> {
        self.subflows.iter().filter(move |subflow| subflow.link == link)
    }

    /// Whether it has a subflow there that is to stay.
    pub(crate) fn has(&self, link: LinkId) -> bool {
        self.over(link).any(|subflow| subflow.draining.is_none())
    }

    /// Added subflows that take one of the peer's places.
    pub(crate) fn places_taken(&self) -> usize {
        self.joining.len() + self.subflows.iter().filter(|subflow| !subflow.initial).count()
    }

    /// Whether a join over this link may be tried now. What the peer has refused is not tried again until a
    /// place may be free, unless nothing else is left to the connection.
    pub(crate) fn may_join(&self, now: Instant, link: LinkId, stranded: bool) -> bool {
        let hopeful = stranded || self.freed.is_some_and(|freed| now - freed < FREED_FOR);
        let waits = |failed: &Failed| match failed.reason {
            JoinFailure::Refused if !hopeful => failed.pause.max(RARELY),
            _ => failed.pause,
        };
        let mut failed = self.failed.iter().filter(|failed| failed.link == link);
        failed.all(|failed| now - failed.at >= waits(failed))
    }

    /// A join over this link failed, and is not tried for a while; twice as long each time that the peer
    /// refuses it again or the moment is wrong again, unless that was long ago. What is to be said of it, if
    /// anything: a refusal is none while our own word that frees a place may be on its way, nor is the first
    /// of the kernel's, which may not have told us yet why.
    pub(crate) fn join_failed(
        &mut self,
        now: Instant,
        link: LinkId,
        reason: JoinFailure,
    ) -> Option<&'static str> {
        let mut before = self.failed.iter().filter(|failed| failed.link == link);
        let again = before.find(|failed| failed.reason == reason && now - failed.at < RARELY);
        let times = again.map_or(0, |failed| failed.times);
        let (pause, why) = consequence(reason);
        let doublings = match reason {
            JoinFailure::Refused | JoinFailure::Untimely => times.min(MOST_DOUBLINGS),
            JoinFailure::Timeout | JoinFailure::Local | JoinFailure::NoAddress | JoinFailure::Elsewhere => 0,
        };
        let pause = pause * (1 << doublings);
        self.failed.retain(|failed| failed.link != link);
        self.failed.push(Failed {
            link,
            at: now,
            pause,
            reason,
            times: times.saturating_add(1),
        });
        let is_hopeful = self.freed.is_some_and(|freed| now + pause < freed + FREED_FOR);
        let is_worth_saying = match reason {
            JoinFailure::Refused => !is_hopeful,
            JoinFailure::Local => times > 0,
            JoinFailure::Timeout | JoinFailure::NoAddress | JoinFailure::Elsewhere => true,
            JoinFailure::Untimely => false,
        };
        is_worth_saying.then_some(why)
    }

    /// The peer has a place again, or will have as soon as it hears of it: what it refused may be tried at
    /// once.
    pub(crate) fn place_freed(&mut self, now: Instant) {
        self.freed = Some(now);
        self.failed.retain(|failed| failed.reason != JoinFailure::Refused);
    }
}

impl Subflow {
    /// Takes in the counters as read at `now`; whether anything arrived.
    pub(crate) fn read(&mut self, now: Instant, mut sample: SubflowSample) -> bool {
        let acknowledged = sample.bytes_acked > self.sample.bytes_acked;
        self.waiting = match self.waiting {
            _ if sample.unacked == 0 => None,
            Some(since) if !acknowledged => Some(since),
            _ => Some(now),
        };
        self.acked.read(now, sample.bytes_acked);
        self.segments.read(now, sample.segs_in, sample.bytes_received);
        if !self.segments.are_full() {
            sample.data_rtt = Duration::ZERO;
        }
        let rtt = match sample.data_rtt {
            Duration::ZERO => sample.min_rtt,
            rtt => rtt,
        };
        self.losses.read(now, sample.disordered, sample.min_rtt, rtt);
        let (silence, best) = (self.arrivals.silence(now), self.arrivals.best_rate(now));
        let came = sample.segs_in.saturating_sub(self.sample.segs_in);
        self.trickle.read(now, came, silence, sample.min_rtt, best);
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

/// Whether a queue of half a base round trip stands before it, as of the last data.
pub(crate) fn is_queued(subflow: &Subflow, path: &Path) -> bool {
    subflow.sample.data_rtt >= path.rtt() * 3 / 2
}
