//! State of one connection and its subflows.

use super::tuning::{FREED_FOR, MOST_DOUBLINGS, RARELY};
use crate::estimate::acked::Acked;
use crate::estimate::arrivals::Arrivals;
use crate::estimate::carries::Carries;
use crate::estimate::losses::Losses;
use crate::estimate::segments::Segments;
use crate::estimate::tuning::SEGMENT;
use crate::io::reason::Queue;
use crate::io::{ConnSample, JoinFailure, LinkId, RemoteId, SubflowId, SubflowSample};
use crate::known::path::Path;
use crate::known::remotes::{Remotes, Target};
use crate::known::renewals::Renewals;
use crate::known::traffic::Traffic;
use crate::slow::Slow;
use crate::window::Window;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Instant};

/// A connection.
#[derive(Debug)]
pub(crate) struct Conn {
    /// Whether its first subflow was reported. Nothing can be added to it until then.
    pub(crate) begun: bool,
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) joining: Vec<Joining>,
    /// Subflows lately withdrawn with RM_ADDR.
    pub(crate) withdrawn: Vec<Withdrawn>,
    /// The peer's addresses.
    pub(crate) remotes: Remotes,
    /// Joins that failed since the last one over their link succeeded.
    pub(crate) failed: Vec<Failed>,
    /// When the peer was last notified that one of its places is free, or freed one itself.
    freed: Option<Instant>,
    /// The number of subflows that the peer lets us add.
    pub(crate) peer_subflows: usize,
    pub(crate) sample: ConnSample,
    pub(crate) window: Window,
    /// The reason for the present window.
    pub(crate) window_reason: Option<Queue>,
    /// The reason for the cap on unsent bytes, while there is one.
    pub(crate) unsent_reason: Option<Queue>,
    pub(crate) slow: Slow,
    pub(crate) traffic: Traffic,
    pub(crate) renewals: Renewals,
    /// When data last arrived in order.
    pub(crate) advanced: Instant,
}

/// A requested join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Joining {
    pub(crate) link: LinkId,
    pub(crate) remote: RemoteId,
    pub(crate) since: Instant,
}

/// A link and an address of the peer between which the last join failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) link: LinkId,
    pub(crate) remote: RemoteId,
    at: Instant,
    /// No join is tried for this long. Longer where the peer refused it and no place can be free.
    pause: Duration,
    reason: JoinFailure,
    /// Failures in a row for this reason.
    times: u32,
}

/// How long no join is tried after the first failure.
const fn first_pause(reason: JoinFailure) -> Duration {
    match reason {
        JoinFailure::Refused => Duration::from_millis(500),
        JoinFailure::Timeout => Duration::from_secs(2),
        JoinFailure::Local => Duration::from_secs(1),
        JoinFailure::NoAddress => Duration::from_secs(5),
        JoinFailure::Elsewhere => Duration::from_secs(10),
        JoinFailure::Untimely => Duration::from_millis(250),
    }
}

/// A subflow withdrawn with RM_ADDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Withdrawn {
    pub(crate) subflow: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) at: Instant,
    pub(crate) repeated: bool,
    /// Bytes that may have arrived over it unknown to the peer, which therefore reinjects them, too. Zero for
    /// a backup.
    pub(crate) unheard: Bytes,
}

/// One connection's part over one link.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(crate) id: SubflowId,
    pub(crate) link: LinkId,
    pub(crate) initial: bool,
    pub(crate) since: Instant,
    /// The backup flag last requested.
    pub(crate) backup: bool,
    pub(crate) arrivals: Arrivals,
    pub(crate) acked: Acked,
    pub(crate) carries: Carries,
    pub(crate) losses: Losses,
    pub(crate) segments: Segments,
    /// Since when data is in flight and nothing was acknowledged.
    pub(crate) waiting: Option<Instant>,
    pub(crate) sample: SubflowSample,
    /// Whether its slow start was slowed down. That happens once.
    pub(crate) held_back: bool,
    /// Since when it drains. It is closed once nothing arrives any longer.
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
            remotes: Remotes::default(),
            failed: Vec::new(),
            freed: None,
            peer_subflows,
            sample: ConnSample::default(),
            window: Window::default(),
            window_reason: None,
            unsent_reason: None,
            slow: Slow::default(),
            traffic: Traffic::default(),
            renewals: Renewals::default(),
            advanced: Instant::ZERO,
        }
    }

    /// Updates its counters.
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

    /// Number of added subflows that occupy one of the peer's places.
    pub(crate) fn places_taken(&self) -> usize {
        self.joining.len() + self.subflows.iter().filter(|subflow| !subflow.initial).count()
    }

    /// The address of the peer for the next join over this link.
    pub(crate) fn target(&self, link: LinkId, path: &Path) -> Target {
        let failed_at = |remote| self.failure(link, remote).map(|failed| failed.at);
        self.remotes.target(link, path.families, failed_at)
    }

    /// Whether a join to this address may end no other subflow. That holds if this host has no address of its
    /// family. It also holds if the peer announced it, has accepted no join there yet, and the last one over
    /// this link failed.
    pub(crate) fn is_doubtful(&self, link: LinkId, target: Target) -> bool {
        let failed = self.failure(link, target.remote).is_some();
        !target.has_way || (failed && !self.remotes.is_proven(target.remote))
    }

    fn failure(&self, link: LinkId, remote: RemoteId) -> Option<&Failed> {
        let mut failed = self.failed.iter();
        failed.find(|failed| (failed.link, failed.remote) == (link, remote))
    }

    /// Whether a join over this link may be tried now. An address that has not failed may be tried at once.
    /// If the peer refused a join, it is not retried until a place may be free, unless the connection has
    /// nothing else left.
    pub(crate) fn may_join(&self, now: Instant, link: LinkId, remote: RemoteId, stranded: bool) -> bool {
        if self.failure(link, remote).is_none() {
            return true;
        }
        let hopeful = stranded || self.freed.is_some_and(|freed| now - freed < FREED_FOR);
        let waits = |failed: &Failed| match failed.reason {
            JoinFailure::Refused if !hopeful => failed.pause.max(RARELY),
            _ => failed.pause,
        };
        let mut failed = self.failed.iter().filter(|failed| failed.link == link);
        failed.all(|failed| now - failed.at >= waits(failed))
    }

    /// Records that the last join over this link failed. Returns whether that is worth reporting.
    ///
    /// The pause before the next attempt doubles with each refusal and with each untimely join. It also
    /// doubles with each join to an announced address that has accepted none. It starts again at its first
    /// value if the last failure was long ago. Two failures are not reported: a refusal while our RM_ADDR may
    /// still be on its way, and the kernel's first one. The reason of that may still be unknown.
    pub(crate) fn join_failed(&mut self, now: Instant, link: LinkId, reason: JoinFailure) -> bool {
        let remote = self.last_tried(link);
        self.joining.retain(|join| join.link != link);
        let before = self.failure(link, remote);
        let again = before.filter(|failed| failed.reason == reason && now - failed.at < RARELY);
        let times = again.map_or(0, |failed| failed.times);
        let doublings = match reason {
            JoinFailure::Refused | JoinFailure::Untimely => times.min(MOST_DOUBLINGS),
            _ if !self.remotes.is_proven(remote) => times.min(MOST_DOUBLINGS),
            JoinFailure::Timeout | JoinFailure::Local | JoinFailure::NoAddress | JoinFailure::Elsewhere => 0,
        };
        let pause = (first_pause(reason) * (1 << doublings)).min(RARELY / 2);
        self.failed
            .retain(|failed| (failed.link, failed.remote) != (link, remote));
        self.failed.push(Failed {
            link,
            remote,
            at: now,
            pause,
            reason,
            times: times.saturating_add(1),
        });
        let is_hopeful = self.freed.is_some_and(|freed| now + pause < freed + FREED_FOR);
        match reason {
            JoinFailure::Refused => !is_hopeful,
            JoinFailure::Local => times > 0,
            JoinFailure::Timeout | JoinFailure::NoAddress | JoinFailure::Elsewhere => true,
            JoinFailure::Untimely => false,
        }
    }

    /// The address of the last join over this link.
    fn last_tried(&self, link: LinkId) -> RemoteId {
        let joining = self.joining.iter().find(|join| join.link == link);
        let failed = self.failed.iter().filter(|failed| failed.link == link);
        joining
            .map(|join| join.remote)
            .or_else(|| failed.max_by_key(|failed| failed.at).map(|failed| failed.remote))
            .unwrap_or(RemoteId::FIRST)
    }

    /// The peer has accepted a subflow over this link.
    pub(crate) fn joined(&mut self, link: LinkId) {
        if let Some(join) = self.joining.iter().find(|join| join.link == link) {
            self.remotes.accepted(link, join.remote);
        }
        self.joining.retain(|join| join.link != link);
        self.failed.retain(|failed| failed.link != link);
    }

    /// The peer has a place again, or will have one once RM_ADDR arrives: refused joins may be retried at
    /// once.
    pub(crate) fn place_freed(&mut self, now: Instant) {
        self.freed = Some(now);
        self.failed.retain(|failed| failed.reason != JoinFailure::Refused);
    }
}

impl Subflow {
    /// A subflow of which nothing is known yet.
    pub(crate) fn new(now: Instant, (id, link): (SubflowId, LinkId), initial: bool, backup: bool) -> Self {
        Self {
            id,
            link,
            initial,
            since: now,
            backup,
            arrivals: Arrivals::new(now),
            acked: Acked::default(),
            carries: Carries::default(),
            losses: Losses::default(),
            segments: Segments::default(),
            waiting: None,
            sample: SubflowSample::default(),
            held_back: false,
            draining: None,
            cleared: None,
        }
    }

    /// Its link goes over another access point: it is measured like a new subflow. A slow start that was
    /// slowed down is over, and a drain continues.
    pub(crate) fn roamed(&mut self, now: Instant) {
        self.arrivals.restart(now);
        (self.since, self.waiting, self.cleared) = (now, None, None);
        (self.acked, self.carries) = (Acked::default(), Carries::default());
        (self.losses, self.segments) = (Losses::default(), Segments::default());
    }

    /// Updates its counters as read at `now`. Returns whether anything arrived.
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
        self.sample = sample;
        self.arrivals.read(now, sample.segs_in, sample.bytes_received)
    }

    /// The rate at which this host sends over it, as the kernel computes it: bytes in flight per round trip.
    pub(crate) fn sends(&self) -> Bitrate {
        let under_way = Bytes::new(u64::from(self.sample.unacked) * SEGMENT);
        match self.sample.srtt {
            Duration::ZERO => Bitrate::ZERO,
            srtt => under_way.per(srtt),
        }
    }

    /// The round-trip time, including any queue built by this host's own data.
    pub(crate) fn loaded_rtt(&self) -> Duration {
        if self.sample.unacked > 0 {
            self.sample.srtt
        } else {
            Duration::ZERO
        }
    }
}

/// Whether its queue is at least half a base round trip, as of the last data.
pub(crate) fn is_queued(subflow: &Subflow, path: &Path) -> bool {
    subflow.sample.data_rtt >= path.rtt() * 3 / 2
}
