//! One suspicion: which hosts are probed over which links, and what their replies prove.
//!
//! # Sources
//! - None of its own: [`crate::alive::idle`] has them, and the table of verdicts.
//!
//! # Checked by
//! `tests::liveness`.

use super::tuning::{METERED_FROM, MOST_OTHERS, MOST_ROUNDS, OF_EACH, ROUND};
use crate::io::reason::Evidence;
use crate::io::{HostId, LinkId};
use crate::known::hosts::Hosts;
use crate::known::suspicion::{Counts, Suspicion, Target};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// A link to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Other {
    pub(crate) metered: bool,
    pub(crate) link: LinkId,
}

/// The outcome of a suspicion.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Replies may still arrive.
    Open,
    /// The link is dead, and this proves it.
    Dead(Evidence),
    /// Undecided.
    Nothing,
}

impl Suspicion {
    /// Starts a suspicion. `None` if no host is known whose silence would prove anything.
    pub(super) fn new(
        now: Instant,
        link: LinkId,
        lasts: Duration,
        hosts: &Hosts,
        others: &[Other],
    ) -> Option<Self> {
        let mut targets: Vec<Target> = Vec::new();
        let mut add = |host: HostId, counts: Counts| {
            if targets.iter().all(|target| target.host != host) {
                targets.push(Target {
                    host,
                    counts,
                    elsewhere: None,
                });
            }
        };
        for (host, _) in hosts.unanswered(now, link).into_iter().take(OF_EACH) {
            add(host, Counts::Wanted);
        }
        let before = hosts.heard(now, link);
        let (near, far): (Vec<HostId>, Vec<HostId>) =
            before.into_iter().partition(|&host| hosts.is_near(link, host));
        far.into_iter()
            .take(OF_EACH)
            .for_each(|host| add(host, Counts::Before));
        near.into_iter()
            .take(1)
            .for_each(|host| add(host, Counts::NextHop));
        let borrowed = others
            .iter()
            .flat_map(|other| {
                let heard = hosts.heard(now, other.link).into_iter();
                heard.map(move |host| (other.link, host))
            })
            .filter(|&(other, host)| !hosts.is_near(other, host));
        borrowed
            .take(OF_EACH)
            .for_each(|(_, host)| add(host, Counts::Nothing));
        let says_something = targets.iter().any(|target| target.counts != Counts::Nothing);
        says_something.then_some(Self {
            since: now,
            link,
            until: now + lasts,
            next: now,
            rounds: 0,
            targets,
            living: None,
        })
    }

    /// The probes that are due: over which link, to whom, and how.
    pub(super) fn round(
        &mut self,
        now: Instant,
        link: LinkId,
        others: &[Other],
        hosts: &Hosts,
    ) -> Vec<(LinkId, HostId, bool)> {
        if now < self.next || self.rounds == MOST_ROUNDS {
            return Vec::new();
        }
        let costs_too_much = |other: &&Other| {
            let is_early = self.rounds < METERED_FROM || self.living.is_some();
            other.metered && is_early && others.iter().any(|other| !other.metered)
        };
        let others = others.iter().filter(|other| !costs_too_much(other));
        let others: Vec<LinkId> = others.map(|other| other.link).take(MOST_OTHERS).collect();
        (self.next, self.rounds) = (now + ROUND, self.rounds + 1);
        let mut probes = Vec::new();
        for target in &self.targets {
            probes.push((link, target.host, target.counts != Counts::Wanted));
            let compared = matches!(target.counts, Counts::Wanted | Counts::Before);
            if compared && target.elsewhere.is_none() {
                let gently = target.counts != Counts::Wanted;
                probes.extend(others.iter().map(|&other| (other, target.host, gently)));
            }
        }
        if self.living.is_none() {
            let own = others
                .iter()
                .filter_map(|&other| Some((other, hosts.easiest(other)?, true)));
            probes.extend(own);
        }
        probes.sort_unstable();
        probes.dedup();
        probes
    }

    /// The outcome so far.
    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        let count = |counts: Counts| {
            self.targets
                .iter()
                .filter(|target| target.counts == counts)
                .count()
        };
        let silent = count(Counts::Wanted) + count(Counts::Before) + count(Counts::NextHop);
        if silent == 0 {
            return Verdict::Nothing;
        }
        if now < self.until || self.rounds < MOST_ROUNDS {
            return Verdict::Open;
        }
        let counting = self
            .targets
            .iter()
            .filter(|target| target.counts != Counts::Nothing);
        let reached: Vec<LinkId> = counting.filter_map(|target| target.elsewhere).collect();
        let used_to = count(Counts::Before) + 2 * count(Counts::NextHop);
        let elsewhere = reached.first().copied().or(self.living.filter(|_| used_to >= 2));
        let Some(elsewhere) = elsewhere else {
            return Verdict::Nothing;
        };
        let (probes, waited) = (self.rounds, now - self.since);
        Verdict::Dead(if reached.is_empty() {
            Evidence::StoppedReplying {
                hosts: silent,
                probes,
                waited,
                works: elsewhere,
            }
        } else {
            Evidence::ReachedElsewhere {
                hosts: silent,
                probes,
                waited,
                over: elsewhere,
                reached: reached.len(),
            }
        })
    }

    /// The hosts whose silence counts.
    pub(super) fn lost(&self) -> Vec<HostId> {
        let counting = self
            .targets
            .iter()
            .filter(|target| target.counts != Counts::Nothing);
        let mut lost: Vec<Target> = counting.copied().collect();
        lost.sort_by_key(|target| target.elsewhere.is_none());
        lost.into_iter().map(|target| target.host).collect()
    }
}
