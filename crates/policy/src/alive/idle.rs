//! Whether links still lead anywhere while no connection of ours shows it.
//!
//! A link that dies while no MPTCP connection is open leaves no subflow that falls silent. The evidence left
//! is the traffic of this host's programs, and an occasional probe.
//!
//! | evidence | raises |
//! |---|---|
//! | a program retransmits, and nothing beyond the next hop was heard | a probe; a suspicion if unanswered |
//! | an interface sends and receives next to nothing (UDP) | the same |
//! | once a minute, one link after the other: a host that has replied before does not reply | a suspicion |
//!
//! A suspicion probes up to five hosts over the suspect. Hosts whose silence counts are also probed over
//! other links. The outcomes are:
//!
//! | found | verdict |
//! |---|---|
//! | a host beyond the next hop replies over the suspect, or a program hears one | alive |
//! | no reply, but another link reaches a host that a program waits for or that replied here before | dead |
//! | no reply from two hosts that replied here before, or from the next hop; another link is alive | dead |
//! | anything else: all links are silent together, or nobody reaches the host | none |
//!
//! # Sources
//! - RFC 1122 §4.2.3.5: a retransmitted SYN shows that the path or the host fails, but not which. Hence the
//!   same host is probed over another link.
//! - RFC 792, RFC 4443 §4.2: a host should reply to an echo, and many do not. Hence the silence of a host
//!   that never replied does not count.
//! - RFC 8305 §5: one attempt in a quarter of a second while others are open. The probes of a suspicion are
//!   as far apart.
//! - RFC 6298 §2.1: the first retransmission of a SYN comes after 1 s. Most suspicions begin with it.
//!
//! # Where we differ, and why
//! 1. A suspicion is not a doubt ([`crate::known::doubt`]): the link stays in use, since a program that
//!    connects to closed ports raises one. The interface's receive counter decides nothing here: a LAN is
//!    full of neighbours' broadcasts even while nothing beyond the router is reachable.
//! 2. A reply from the next hop proves only that the next hop is alive. A router replies, and resolves names
//!    from its cache, while its own uplink is dead.
//! 3. One silent host does not prove a link dead, unless another link reaches it at that moment. Limit: if
//!    the only host that this machine knows is cut off on one link alone, that link counts as dead although
//!    it may reach others.
//! 4. Without another link to compare with, nothing is probed and nothing follows.
//! 5. While nothing is wrong, one link a minute is probed, in turn, except those over which something was
//!    heard in the last minute. Metered links are not probed, nor modems that new connections do not use: a
//!    probe keeps an LTE radio awake for 11.6 s ([`crate::estimate::energy`]).
//! 6. Limit: health is per link. If IPv4 fails and IPv6 works, the link counts as alive.
//!
//! # Checked by
//! `tests::liveness`; `tests/engine_any_inputs.rs`; `daemon::tests::idle` on a real kernel; `dead-idle` in
//! the benchmarks.

use super::suspicion::{Other, Verdict};
use super::tuning::{
    ASK_EVERY, FIRST_RETRY, HOPELESS, IDLE_LATELY, IDLE_PATIENCE, IDLE_PAUSE, MOST_OPEN, MOST_SAVED, ROUNDS,
};
use crate::io::reason::Evidence;
use crate::io::{HostEvent, HostId, LinkId, LinkKind, Verb};
use crate::known::path::{Health, Path};
use crate::known::state::State;
use crate::known::suspicion::Suspicion;
use crate::known::tuning::{CLEARED_PAUSE, OPEN_PAUSE};
use crate::known::watches::{Asked, Liveness, Question, Stage};
use alloc::vec::Vec;
use units::{Duration, Instant};

impl Liveness {
    fn ask(&mut self, state: &mut State, link: LinkId, host: HostId, gently: bool) {
        let probe = state.ask(link, host, gently);
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Question { probe, link, host });
    }

    /// Whether a probe may be sent while nothing is wrong. If so, it uses one up.
    fn spend(&mut self, now: Instant) -> bool {
        let (mut saved, mut since) = self.saved.unwrap_or((MOST_SAVED, now));
        while saved < MOST_SAVED && now - since >= ASK_EVERY {
            (saved, since) = (saved + 1, since + ASK_EVERY);
        }
        if saved == MOST_SAVED {
            since = now;
        }
        let may = saved > 0;
        self.saved = Some((saved - u32::from(may), since));
        may
    }

    /// Whether something beyond the next hop was heard over a link since then.
    fn was_heard_since(&self, link: LinkId, since: Instant) -> bool {
        let heard = self.watches.get(&link).and_then(|watch| watch.heard);
        heard.is_some_and(|at| at >= since)
    }
}

/// Sends the probes that are due, and removes links proven dead.
pub(crate) fn look(now: Instant, state: &mut State) {
    let mut liveness = core::mem::take(&mut state.liveness);
    let links: Vec<LinkId> = state
        .paths
        .iter()
        .filter(|(_, path)| path.is_candidate())
        .map(|(&link, _)| link)
        .collect();
    liveness.watches.retain(|link, _| state.paths.contains_key(link));
    liveness.turn = liveness.longest_unheard(now, state, &links);
    for &link in &links {
        liveness.look_at(now, state, link);
    }
    state.liveness = liveness;
}

impl Liveness {
    fn look_at(&mut self, now: Instant, state: &mut State, link: LinkId) {
        let watch = self.watches.entry(link).or_default();
        match core::mem::take(&mut watch.stage) {
            Stage::Quiet => self.begin(now, state, link),
            Stage::Asked(asked) => self.wait(now, state, link, asked),
            Stage::Suspected(suspicion) => self.pursue(now, state, link, suspicion),
        }
    }

    /// Starts a probe or suspicion for a link with no open one.
    fn begin(&mut self, now: Instant, state: &mut State, link: LinkId) {
        if others(state, link).is_empty() {
            return;
        }
        let watch = &self.watches[&link];
        let unanswered = self.hosts.unanswered(now, link);
        let lately = now - IDLE_LATELY;
        let is_silent = |since: &Instant| watch.heard.is_none_or(|heard| heard < lately.max(*since));
        let hosts: Vec<HostId> = unanswered
            .into_iter()
            .filter(|(_, since)| is_silent(since))
            .map(|(host, _)| host)
            .collect();
        let is_quiet = watch.heard.is_none_or(|heard| heard < lately);
        let is_wrong = !hosts.is_empty() || is_quiet && watch.is_one_way(now);
        if is_wrong && watch.may_suspect(now, &hosts) {
            match self.hosts.surest(link) {
                Some(host) => self.question(now, state, link, host),
                None => self.suspect(now, state, link),
            }
        } else if self.turn == Some(link)
            && let Some(host) = self.hosts.easiest(link)
            && self.spend(now)
        {
            self.question(now, state, link, host);
        }
    }

    /// Of the links due for a probe while nothing is wrong, the one least recently probed or heard.
    fn longest_unheard(&self, now: Instant, state: &State, links: &[LinkId]) -> Option<LinkId> {
        let last = |link: LinkId| {
            let watch = self.watches.get(&link);
            watch.and_then(|watch| watch.heard.max(watch.asked))
        };
        let is_due = |link: &LinkId| last(*link).is_none_or(|at| now - at >= IDLE_PAUSE);
        let can = |link: &LinkId| may_be_asked(state, *link) && self.hosts.easiest(*link).is_some();
        let due = links.iter().copied().filter(|link| is_due(link) && can(link));
        due.min_by_key(|&link| last(link))
    }

    fn question(&mut self, now: Instant, state: &mut State, link: LinkId, host: HostId) {
        self.ask(state, link, host, true);
        if let Some(watch) = self.watches.get_mut(&link) {
            watch.asked = Some(now);
            watch.stage = Stage::Asked(Asked {
                host,
                at: now,
                replied: false,
            });
        }
    }

    /// Waits for the reply of the one host that was probed.
    fn wait(&mut self, now: Instant, state: &mut State, link: LinkId, asked: Asked) {
        let Asked { host, at, replied } = asked;
        if self.was_heard_since(link, at) {
            return self.survive(now, link);
        }
        if replied {
            return;
        }
        if now - at < patience(now, state, link) {
            if let Some(watch) = self.watches.get_mut(&link) {
                watch.stage = Stage::Asked(asked);
            }
            return;
        }
        let is_known = self.hosts.was_heard(now, link, host);
        self.hosts.missed(link, host);
        if is_known {
            self.suspect(now, state, link);
        }
    }

    /// Ends the test, as something was heard. If a program still waits for a host, that host is the cause.
    fn survive(&mut self, now: Instant, link: LinkId) {
        let waiting = self.hosts.unanswered(now, link);
        let Some(watch) = self.watches.get_mut(&link) else {
            return;
        };
        if waiting.is_empty() && !watch.is_one_way(now) {
            watch.stage = Stage::Quiet;
        } else {
            let cleared = waiting.into_iter().map(|(host, _)| host).collect();
            watch.rest(now, CLEARED_PAUSE, cleared);
        }
    }

    fn suspect(&mut self, now: Instant, state: &mut State, link: LinkId) {
        let lasts = patience(now, state, link) + ROUNDS;
        let suspicion = Suspicion::new(now, link, lasts, &self.hosts, &others(state, link));
        let Some(suspicion) = suspicion else {
            // No host is known whose silence would prove anything.
            if let Some(watch) = self.watches.get_mut(&link) {
                watch.rest(now, OPEN_PAUSE, Vec::new());
            }
            return;
        };
        state.remark(None, Some(link), Verb::Suspect, suspicion.reason(now));
        self.pursue(now, state, link, suspicion);
    }

    fn pursue(&mut self, now: Instant, state: &mut State, link: LinkId, mut suspicion: Suspicion) {
        if self.was_heard_since(link, suspicion.since) {
            return self.survive(now, link);
        }
        let others = others(state, link);
        match suspicion.verdict(now) {
            Verdict::Open => {
                for (over, host, gently) in suspicion.round(now, link, &others, &self.hosts) {
                    self.ask(state, over, host, gently);
                }
                if let Some(watch) = self.watches.get_mut(&link) {
                    watch.stage = Stage::Suspected(suspicion);
                }
            }
            Verdict::Dead(proof) => {
                if let Some(watch) = self.watches.get_mut(&link) {
                    watch.lost = suspicion.lost();
                    watch.stage = Stage::Quiet;
                }
                give_up(now, state, link, proof);
            }
            Verdict::Nothing => {
                if let Some(watch) = self.watches.get_mut(&link) {
                    watch.rest(now, OPEN_PAUSE, suspicion.lost());
                }
                state.portals.hurry(link);
            }
        }
    }

    /// Hosts that show whether a dead link is back.
    fn to_retry(&self, now: Instant, link: LinkId) -> Vec<HostId> {
        let lost = self.watches.get(&link).map(|watch| watch.lost.clone());
        let mut hosts = lost.unwrap_or_default();
        if hosts.is_empty() {
            hosts = self.hosts.heard(now, link);
            hosts.retain(|&host| !self.hosts.is_near(link, host));
        }
        hosts.truncate(2);
        hosts
    }
}

/// Probes a dead link that no connection can probe. Returns whether there was a host to probe. After `tries`
/// without one the link counts as alive, because its recovery could not be detected.
pub(crate) fn retry(now: Instant, state: &mut State, link: LinkId, tries: u32) {
    let mut liveness = core::mem::take(&mut state.liveness);
    let hosts = liveness.to_retry(now, link);
    for &host in &hosts {
        liveness.ask(state, link, host, tries > 2);
    }
    state.liveness = liveness;
    if hosts.is_empty() && tries >= HOPELESS {
        let path = state.paths.get_mut(&link);
        path.into_iter().for_each(|path| path.health = Health::Alive);
        state.note(Some(link), None, Verb::Clear, Evidence::NoHostToProbe);
    }
}

/// Probes a host gently over a link.
pub(super) fn ask(state: &mut State, link: LinkId, host: HostId) {
    let mut liveness = core::mem::take(&mut state.liveness);
    liveness.ask(state, link, host, true);
    state.liveness = liveness;
}

/// Suspects a link over which this host left probes unanswered, and replied over another.
pub(crate) fn suspect(now: Instant, state: &mut State, link: LinkId, host: HostId) {
    let mut liveness = core::mem::take(&mut state.liveness);
    liveness.hosts.told(now, link, host, HostEvent::Unanswered);
    let stage = liveness.watches.get(&link).map(|watch| &watch.stage);
    if !matches!(stage, Some(Stage::Suspected(_))) {
        liveness.suspect(now, state, link);
    }
    state.liveness = liveness;
}

fn give_up(now: Instant, state: &mut State, link: LinkId, proof: Evidence) {
    if let Some(path) = state.paths.get_mut(&link) {
        path.health = Health::Dead {
            next_try: now + FIRST_RETRY,
            tries: 0,
        };
    }
    state.note(Some(link), None, Verb::Remove, proof);
}

fn patience(now: Instant, state: &State, link: LinkId) -> Duration {
    let beyond = |path: &Path| path.rtt() * 2 + path.gap.patience(now, path.spec.kind) + path.cycle;
    IDLE_PATIENCE + state.paths.get(&link).map_or(Duration::ZERO, beyond)
}

/// Whether a probe while nothing is wrong costs no more than its packet.
fn may_be_asked(state: &State, link: LinkId) -> bool {
    state.paths.get(&link).is_some_and(|path| {
        let sleeps = path.spec.kind == LinkKind::Cellular && state.route() != Some(link);
        path.is_alive() && !path.cost.is_metered() && !sleeps
    })
}

/// Links to compare with, unmetered ones first.
pub(super) fn others(state: &State, suspect: LinkId) -> Vec<Other> {
    let sound = |path: &Path| path.is_alive() && path.is_candidate();
    let mut others: Vec<Other> = state
        .paths
        .iter()
        .filter(|(link, path)| **link != suspect && sound(path))
        .map(|(&link, path)| Other {
            metered: path.cost.is_metered(),
            link,
        })
        .collect();
    others.sort_unstable();
    others
}
