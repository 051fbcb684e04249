//! Which hosts are known over each link, and which of them are worth a probe.
//!
//! # Sources
//! - None. [`crate::alive::idle`] says what a reply proves.
//!
//! # Where we differ, and why
//! 1. A host counts as silent only over a link over which it has replied before. Many hosts never reply to a
//!    probe, so their silence proves nothing.
//!
//! # Checked by
//! `tests::liveness`.

use super::tuning::{HOST_FRESH, MOST_HOSTS, MOST_TRIES, REMEMBERED};
use crate::io::{HostEvent, HostId, LinkId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use units::{Duration, Instant};

/// What is known of one host over one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// When it last replied to a probe, or a program received something from it.
    heard: Option<Instant>,
    /// When it last replied to a probe.
    replied: Option<Instant>,
    /// The round-trip time of that probe.
    rtt: Duration,
    /// Since when programs wait for it, and when the world last reported that.
    waiting: Option<(Instant, Instant)>,
    /// Unanswered probes since its last reply.
    tries: u8,
    resolves: bool,
    near: bool,
}

impl Standing {
    const fn has_replied(&self) -> bool {
        self.replied.is_some()
    }

    fn latest(&self) -> Option<Instant> {
        self.heard.max(self.waiting.map(|(_, told)| told))
    }
}

/// All hosts, by link.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    known: BTreeMap<(LinkId, HostId), Standing>,
}

impl Hosts {
    /// Records a host's event.
    pub(crate) fn told(&mut self, now: Instant, link: LinkId, host: HostId, event: HostEvent) {
        let standing = self.known.entry((link, host)).or_default();
        match event {
            HostEvent::Resolves { near } => (standing.resolves, standing.near) = (true, near),
            HostEvent::Heard => {
                standing.heard = Some(now);
                standing.waiting = None;
            }
            HostEvent::Unanswered => {
                let since = standing.waiting.filter(|(_, told)| now - *told < HOST_FRESH);
                standing.waiting = Some((since.map_or(now, |(since, _)| since), now));
            }
        }
        self.bound(link);
    }

    /// Records a reply to a probe. Returns whether it proves that the link reaches beyond the next hop.
    pub(crate) fn replied(&mut self, now: Instant, link: LinkId, host: HostId, rtt: Duration) -> bool {
        let standing = self.known.entry((link, host)).or_default();
        standing.rtt = rtt;
        (standing.heard, standing.replied, standing.tries) = (Some(now), Some(now), 0);
        let is_far = !standing.near;
        self.bound(link);
        is_far
    }

    /// Records that a probe had no reply in time.
    pub(crate) fn missed(&mut self, link: LinkId, host: HostId) {
        if let Some(standing) = self.known.get_mut(&(link, host)) {
            standing.tries = standing.tries.saturating_add(1);
        }
    }

    /// Drops the hosts of a link that leads to another network, or is gone.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.known.retain(|(of, _), _| *of != link);
    }

    fn bound(&mut self, link: LinkId) {
        let of_link = || self.known.iter().filter(move |((of, _), _)| *of == link);
        if of_link().count() <= MOST_HOSTS {
            return;
        }
        let oldest = of_link().filter(|(_, standing)| !standing.resolves);
        let oldest = oldest.min_by_key(|(_, standing)| standing.latest());
        if let Some(key) = oldest.map(|(&key, _)| key) {
            self.known.remove(&key);
        }
    }

    fn over(&self, link: LinkId) -> impl Iterator<Item = (HostId, &Standing)> {
        let first = (link, HostId(0));
        let last = (link, HostId(u32::MAX));
        let known = self.known.range(first..=last);
        known.map(|(&(_, host), standing)| (host, standing))
    }

    pub(crate) fn is_near(&self, link: LinkId, host: HostId) -> bool {
        self.known
            .get(&(link, host))
            .is_some_and(|standing| standing.near)
    }

    /// When it last replied to a probe over this link, and that probe's round-trip time.
    pub(crate) fn last_reply(&self, link: LinkId, host: HostId) -> Option<(Instant, Duration)> {
        let standing = self.known.get(&(link, host))?;
        Some((standing.replied?, standing.rtt))
    }

    /// Whether it may still be worth a probe to learn whether it replies over this link.
    pub(crate) fn is_untried(&self, link: LinkId, host: HostId) -> bool {
        let untried = |standing: &Standing| !standing.has_replied() && standing.tries < MOST_TRIES;
        self.known.get(&(link, host)).is_none_or(untried)
    }

    /// Whether it has replied or was heard over this link within [`REMEMBERED`].
    pub(crate) fn was_heard(&self, now: Instant, link: LinkId, host: HostId) -> bool {
        let heard = self.known.get(&(link, host)).and_then(|standing| standing.heard);
        heard.is_some_and(|at| now - at < REMEMBERED)
    }

    /// The host beyond the next hop with the latest reply to a probe over this link.
    pub(crate) fn surest(&self, link: LinkId) -> Option<HostId> {
        let far = self.over(link).filter(|(_, standing)| !standing.near);
        let replied = far.filter(|(_, standing)| standing.has_replied());
        replied
            .max_by_key(|(_, standing)| standing.replied)
            .map(|(host, _)| host)
    }

    /// The host to probe while nothing is wrong: one that replies, preferably beyond the next hop, or else
    /// one that may reply.
    pub(crate) fn easiest(&self, link: LinkId) -> Option<HostId> {
        let willing = |standing: &Standing| standing.has_replied() || standing.tries < MOST_TRIES;
        let known = self.over(link).filter(|(_, standing)| willing(standing));
        let order = |standing: &Standing| {
            let rank = (!standing.has_replied(), standing.near, !standing.resolves);
            (rank, Reverse(standing.replied), Reverse(standing.heard))
        };
        known
            .min_by_key(|(_, standing)| order(standing))
            .map(|(host, _)| host)
    }

    /// Hosts for which programs wait over this link, the latest first, and since when they wait.
    pub(crate) fn unanswered(&self, now: Instant, link: LinkId) -> Vec<(HostId, Instant)> {
        let waiting = self.over(link).filter_map(|(host, standing)| {
            let (since, told) = standing.waiting?;
            (now - told < HOST_FRESH).then_some((host, since))
        });
        let mut waiting: Vec<(HostId, Instant)> = waiting.collect();
        waiting.sort_by_key(|(host, since)| (Reverse(*since), *host));
        waiting
    }

    /// Hosts heard over this link, the latest first. Those that reply to probes precede the others.
    pub(crate) fn heard(&self, now: Instant, link: LinkId) -> Vec<HostId> {
        let lately = |standing: &Standing| standing.heard.is_some_and(|at| now - at < REMEMBERED);
        let mut heard: Vec<(HostId, &Standing)> =
            self.over(link).filter(|(_, standing)| lately(standing)).collect();
        heard.sort_by_key(|(host, standing)| {
            (
                !standing.has_replied(),
                Reverse(standing.replied.max(standing.heard)),
                *host,
            )
        });
        heard.into_iter().map(|(host, _)| host).collect()
    }
}
