//! Evidence about links besides their connections: when something beyond the next hop was heard, and which
//! probes are open.
//!
//! [`crate::alive::idle`] sends the probes, and decides what follows.
//!
//! # Checked by
//! `tests::liveness`.

use super::hosts::Hosts;
use super::suspicion::Suspicion;
use super::tuning::{CLEARED_PAUSE, FIRST_WATCH_PAUSE, LOOKBACK, NEWS_PAUSE, ONE_WAY, OPEN_PAUSE};
use crate::io::{HostEvent, HostId, LinkId};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Evidence about links besides their connections.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    pub(crate) hosts: Hosts,
    pub(crate) watches: BTreeMap<LinkId, Watch>,
    pub(crate) open: VecDeque<Question>,
    /// Probes that may be sent while nothing is wrong, and since when the next one accrues.
    pub(crate) saved: Option<(u32, Instant)>,
    /// The link to probe next while nothing is wrong.
    pub(crate) turn: Option<LinkId>,
}

/// An open probe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    pub(crate) probe: u32,
    pub(crate) link: LinkId,
    pub(crate) host: HostId,
}

/// The watch on one link.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// When something beyond the next hop was last heard over it.
    pub(crate) heard: Option<Instant>,
    /// When it was last probed while nothing was wrong.
    pub(crate) asked: Option<Instant>,
    pub(crate) stage: Stage,
    /// The pause after a suspicion that came to nothing.
    pub(crate) pause: Option<Pause>,
    pub(crate) counted: Option<Counted>,
    /// The hosts whose silence proved the link dead.
    pub(crate) lost: Vec<HostId>,
}

/// No suspicion is raised for a while. The time is short for hosts that are not in `cleared`.
#[derive(Debug, Clone)]
pub(crate) struct Pause {
    pub(crate) from: Instant,
    pub(crate) lasts: Duration,
    /// Hosts that were silent then.
    pub(crate) cleared: Vec<HostId>,
}

/// The counters of an interface since this moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) since: Instant,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// The latest counters.
    pub(crate) latest: (u64, u64),
}

/// What is being tested about a link.
#[derive(Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Quiet,
    /// One host was probed.
    Asked(Asked),
    /// Several hosts are probed.
    Suspected(Suspicion),
}

/// One host that was probed alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) host: HostId,
    pub(crate) at: Instant,
    /// It has replied.
    pub(crate) replied: bool,
}

impl Watch {
    /// Whether the interface receives nearly nothing for what it sends.
    pub(crate) fn is_one_way(&self, now: Instant) -> bool {
        let Some(Counted {
            since,
            sent,
            received,
            latest,
        }) = self.counted
        else {
            return false;
        };
        let (least, time) = ONE_WAY;
        let (sent, received) = (latest.0.saturating_sub(sent), latest.1.saturating_sub(received));
        now - since >= time && sent >= least && received.saturating_mul(4) <= sent
    }

    fn count(&mut self, now: Instant, sent: u64, received: u64) {
        let latest = (sent, received);
        match &mut self.counted {
            Some(counted) if now - counted.since < LOOKBACK => counted.latest = latest,
            _ => {
                self.counted = Some(Counted {
                    since: now,
                    sent,
                    received,
                    latest,
                });
            }
        }
    }

    /// Whether a new suspicion raised by these hosts is worth its probes.
    pub(crate) fn may_suspect(&self, now: Instant, by: &[HostId]) -> bool {
        self.pause.as_ref().is_none_or(|pause| {
            let is_news = by.iter().any(|host| !pause.cleared.contains(host));
            let lasts = if is_news {
                pause.lasts.min(NEWS_PAUSE)
            } else {
                pause.lasts
            };
            now - pause.from >= lasts
        })
    }

    /// Starts the next pause. It is longer than the last one, unless that was long ago.
    pub(crate) fn rest(&mut self, now: Instant, most: Duration, cleared: Vec<HostId>) {
        let before = self.pause.take();
        let lasts = before
            .filter(|pause| now - pause.from < pause.lasts * 2 + CLEARED_PAUSE)
            .map_or(FIRST_WATCH_PAUSE, |pause| (pause.lasts * 2).min(most));
        self.pause = Some(Pause {
            from: now,
            lasts,
            cleared,
        });
        self.stage = Stage::Quiet;
        self.counted = None;
    }
}

impl Liveness {
    /// Records a host's event. Returns whether it proves the link alive.
    pub(crate) fn told(&mut self, now: Instant, link: LinkId, host: HostId, event: HostEvent) -> bool {
        self.hosts.told(now, link, host, event);
        let is_heard = event == HostEvent::Heard;
        if is_heard {
            self.heard(now, link);
        }
        is_heard
    }

    /// Records that something beyond the next hop was heard over this link.
    pub(crate) fn heard(&mut self, now: Instant, link: LinkId) {
        self.watches.entry(link).or_default().heard = Some(now);
    }

    /// Records the counters of an interface.
    pub(crate) fn count(&mut self, now: Instant, link: LinkId, sent: u64, received: u64) {
        self.watches.entry(link).or_default().count(now, sent, received);
    }

    /// Handles a reply, if its probe was sent from here. Returns whether it proves the link alive.
    pub(crate) fn replied(&mut self, now: Instant, link: LinkId, probe: u32, rtt: Duration) -> Option<bool> {
        let at = self
            .open
            .iter()
            .position(|open| (open.probe, open.link) == (probe, link))?;
        let host = self.open.remove(at)?.host;
        let is_far = self.hosts.replied(now, link, host, rtt);
        let watch = self.watches.entry(link).or_default();
        if is_far {
            watch.heard = Some(now);
        }
        let shows_life = is_far || watch.lost.contains(&host);
        if let Stage::Asked(asked) = &mut watch.stage {
            asked.replied |= asked.host == host;
        }
        for watch in self.watches.values_mut() {
            if let Stage::Suspected(suspicion) = &mut watch.stage {
                suspicion.replied(link, host);
            }
        }
        Some(shows_life)
    }

    /// Drops a probe that could not be sent: a missing reply proves nothing.
    pub(crate) fn failed(&mut self, now: Instant, link: LinkId, probe: u32) {
        let Some(at) = self
            .open
            .iter()
            .position(|open| (open.probe, open.link) == (probe, link))
        else {
            return;
        };
        let host = self.open.remove(at).map(|question| question.host);
        let Some((watch, host)) = self.watches.get_mut(&link).zip(host) else {
            return;
        };
        match &mut watch.stage {
            Stage::Asked(asked) if asked.host == host => {
                watch.rest(now, OPEN_PAUSE, Vec::new());
                self.hosts.missed(link, host);
            }
            Stage::Suspected(suspicion) => suspicion.failed(host),
            _ => {}
        }
    }

    /// Drops a link that leads to another network, or is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.hosts.forget(link);
        self.watches.remove(&link);
    }

    /// Restarts open probes, because this host did not run.
    pub(crate) fn begin_anew(&mut self) {
        for watch in self.watches.values_mut() {
            (watch.stage, watch.counted) = (Stage::Quiet, None);
        }
    }

    /// Whether the link was found dead here, and not by a connection's probes.
    pub(crate) fn has_lost(&self, link: LinkId) -> bool {
        self.watches
            .get(&link)
            .is_some_and(|watch| !watch.lost.is_empty())
    }

    /// The link is alive again.
    pub(crate) fn found(&mut self, link: LinkId) {
        if let Some(watch) = self.watches.get_mut(&link) {
            watch.lost.clear();
            (watch.stage, watch.pause, watch.counted) = (Stage::Quiet, None, None);
        }
    }

    /// The open suspicion of a link, if any.
    pub(crate) fn suspicion(&self, link: LinkId) -> Option<&Suspicion> {
        match &self.watches.get(&link)?.stage {
            Stage::Suspected(suspicion) => Some(suspicion),
            Stage::Quiet | Stage::Asked(_) => None,
        }
    }
}
