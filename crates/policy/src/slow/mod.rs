//! Whether a slow link pays for its place in a connection.
//!
//! The inputs are the rates of one connection's links and its out-of-order bytes. The output is the links
//! that are better backups, each with its reason. `choose::slow_links` requests and applies it.
//!
//! A sender gives every link a share of the data, and the data from a slow link blocks everything behind it.
//! Beside links that carry twenty times as much, its deep buffer costs more than the link carries, so it is
//! better as a backup. No sign visible to a client proves that, so it is tried again and again: first after
//! 15 s, or after a minute where a queue had shown which link it is. Several slow links are demoted one after
//! the other, each once the backlog of the previous one has arrived. One at a time is tried.
//!
//! | the link carries, of all | many bytes out of order | another is starved, or this link loses | then |
//! |---|---|---|---|
//! | up to a seventh | for 300 ms | yes | it becomes a backup; later it is tried in use |
//! | up to a seventh, with a queue before it | half of all, for 100 ms | yes | the same |
//! | up to a seventh | | no | it stays in use |
//! | more | | | it stays in use |
//!
//! # Sources
//! - Measurements in the project's window notes: with 5 % of the sum a link was better as a backup (one
//!   case), with 25 and 37 % never.
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: a subflow with an empty queue is given the
//!   next bytes, up to 64 KiB, however slow it is. A model of that scheduler in a tight window: beside 30 +
//!   30 Mb/s, 3 to 9 Mb/s are better as a backup, 12 and more in use.
//! - RFC 8684 §3.3.8: MP_PRIO changes roles on a live connection. Here that costs no gap.
//!
//! # Where we differ, and why
//! 1. Not by round-trip times, as schedulers do: the queue that matters is at the server's end of the link,
//!    where the client does not see it.
//! 2. A trial in use ends after a second if it shows a clear cost (`estimate::experiment`). The time to the
//!    next doubles with each verdict, up to four minutes. That includes a success, which counts for four
//!    minutes.
//! 3. An application that asks for little says nothing about links: then nothing is tried and nothing
//!    changes. If it pauses during a trial, the trial ends without a verdict.
//! 4. A link that has just been promoted gets time to find its rate: slow start and its losses look like a
//!    slow link. A queue shows that it has found its rate. With ten round trips for all links, 3 Mb/s beside
//!    30 + 30 cost half of the first second. If little arrives although bytes are out of order, losses slow
//!    the others. A backup is then compared with their present goodput, not with what they showed in slow
//!    start, before the first loss.
//! 5. Bytes may be out of order and harm nobody: a link is blamed only while another one, without a queue,
//!    carries much less than it has shown or promises. A link whose signal falls counts, too. Without that,
//!    links of 6 Mb/s beside one of 60 Mb/s were demoted though all three carried what they could. A link
//!    that loses packets at random is blamed even if no other is starved: a timeout of its sender blocks all
//!    of them. When a link with 1 % loss stayed in use, 3 of 24 runs under reno stalled for 430 to 750 ms
//!    after a cut of another link. As a backup, it cost at most 184 ms in 20 runs.
//! 6. Downloads only: the receiver sees out-of-order bytes, and for an upload the peer is the receiver.
//!
//! # Checked by
//! `tests`, against a fluid model; `window-thin` and `window-mixes` in the benchmarks.

#[cfg(test)]
mod tests;
mod tuning;

use crate::estimate::experiment::{Experiment, Pause};
use crate::estimate::meter::RateMeter;
use crate::estimate::tuning::LOST_PERCENT;
use crate::io::reason::{Choice, SlowLink};
use crate::io::{LinkId, Verb};
use crate::queue::tuning::STARVED_PERCENT;
use crate::window::tuning::ROUNDS_TO_GROW;
use alloc::vec::Vec;
use tuning::{
    ASKING_PERCENT, BLOCKED_BADLY_PART, BLOCKED_PART, BUSY_PERCENT, CONVINCED_AFTER, CONVINCED_BADLY_AFTER,
    DRAINS_FOR, FAIR_PERCENT, FIRST_PAUSE, GROWING_PERCENT, LONGEST_PAUSE_S, MARK_EVERY_MS, MARKS,
    PAYS_PERCENT, PLAIN_PAUSE, POOR_PERCENT, PROVEN_FOR, ROUNDS_TO_QUEUE, SHORT_FOR,
};
use units::{Bitrate, Bytes, Duration, Instant};

/// A link in use, as one connection sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) link: LinkId,
    /// The best rate that it has shown lately, or promises.
    pub(crate) best: Bitrate,
    /// Its present rate.
    pub(crate) rate: Bitrate,
    /// Whether it has a queue of half a base round trip: it has found its rate.
    pub(crate) queued: bool,
    /// Whether it loses packets at random, so that some of its bytes arrive late.
    pub(crate) loses: bool,
}

impl View {
    /// Adds another subflow over the same link.
    pub(crate) fn add(&mut self, other: Self) {
        self.best = self.best.max(other.best);
        self.rate = self.rate + other.rate;
        self.queued |= other.queued;
        self.loses |= other.loses;
    }

    /// Whether it carries less than it could, though it has no queue.
    fn is_starved(&self) -> bool {
        !self.queued && self.rate < self.best.percent(STARVED_PERCENT)
    }
}

/// The inputs, every 50 ms or so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    /// Sound links that this connection may use, the demoted ones too.
    pub(crate) links: &'a [View],
    /// The longest base round-trip time of these.
    pub(crate) rtt: Duration,
    /// Out-of-order bytes.
    pub(crate) held: Bytes,
    /// The receive window, if it is capped: no more can be out of order.
    pub(crate) window: Option<Bytes>,
    /// Bytes received so far.
    pub(crate) received: Bytes,
}

/// Which of a connection's links are kept as backups because they are slow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slow {
    /// Backups. The next one to try comes first.
    spared: Vec<Spared>,
    /// A link in use on trial.
    trial: Option<Experiment<Spared>>,
    /// Since when each link has been in use.
    used: Vec<(LinkId, Instant)>,
    /// Recent out-of-order bytes, smoothed.
    held: Bytes,
    /// Since when much is out of order while the slowest link has not grown, and its rate then.
    blocked: Option<(Instant, Bitrate)>,
    trials: Pause<LONGEST_PAUSE_S>,
    /// Since when less arrives than the links in use have shown, although bytes are out of order.
    short: Option<Instant>,
    /// Links that were better in use. They are not demoted while that is recent.
    proven: Vec<Proven>,
    /// Goodput of about the last half second.
    goodput: RateMeter<MARKS, MARK_EVERY_MS>,
}

/// A slow link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spared {
    link: LinkId,
    /// Its rate when it was last in use.
    carried: Bitrate,
    /// Since when it has been a backup.
    since: Instant,
    because: SlowLink,
}

/// A slow link that pays for its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Proven {
    link: LinkId,
    /// When that was found.
    seen: Instant,
    with: Bitrate,
    without: Bitrate,
}

/// A change of roles, or a link that keeps its role after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) link: LinkId,
    pub(crate) in_use: bool,
    pub(crate) because: SlowLink,
}

impl Slow {
    /// Whether this link is better as a backup.
    pub(crate) fn spares(&self, link: LinkId) -> bool {
        self.spared.iter().any(|spared| spared.link == link)
    }

    /// Whether this link is a backup, is tried in use, or was lately better in use, and why. `None` for a
    /// link that is used like any other.
    pub(crate) fn role(&self, link: LinkId) -> Option<(Verb, Choice)> {
        let spared = self.spared.iter().find(|spared| spared.link == link);
        let tried = self.trial.iter().find(|trial| trial.subject.link == link);
        let proven = self.proven.iter().find(|proven| proven.link == link);
        let role = spared
            .map(|spared| (Verb::Demote, spared.because))
            .or_else(|| tried.map(|trial| (Verb::Use, reason(trial))))
            .or_else(|| proven.map(|proven| (Verb::Use, proven.reason())));
        role.map(|(verb, because)| (verb, Choice::Slow(because)))
    }

    /// Whether the backlog of a link that was just demoted is still on its way.
    pub(crate) fn drains(&self, now: Instant) -> bool {
        self.spared.iter().any(|spared| now - spared.since < DRAINS_FOR)
    }

    /// Processes the inputs. Returns a change, if any.
    pub(crate) fn look(&mut self, now: Instant, look: &Look<'_>) -> Option<Changed> {
        self.goodput.read(now, look.received);
        self.proven.retain(|proven| now - proven.seen < PROVEN_FOR);
        self.held = match self.drains(now) {
            // Those bytes wait for the demoted link.
            true => Bytes::ZERO,
            false => (self.held * 15 + look.held) / 16,
        };
        self.note_used(now, look.links);
        if let Some(subject) = self.subject() {
            self.forget_absent(look.links);
            let is_there = look.links.iter().any(|view| view.link == subject.link);
            if self.subject().is_none() || look.links.len() < 2 {
                *self = Self::default();
                return is_there.then(|| subject.promoted(SlowLink::OnlyLink));
            }
            if self.in_use(look.links).next().is_none() {
                let next = self.spared.remove(0);
                return Some(next.promoted(SlowLink::FasterGone));
            }
        }
        if let Some(trial) = self.trial {
            return self.try_with(now, look, trial);
        }
        self.reconsider(now, look).or_else(|| self.suspect(now, look))
    }

    /// The link to decide about: the one on trial, or the next one.
    fn subject(&self) -> Option<Spared> {
        let tried = self.trial.map(|trial| trial.subject);
        tried.or_else(|| self.spared.first().copied())
    }

    fn forget_absent(&mut self, links: &[View]) {
        let is_there = |spared: &Spared| links.iter().any(|view| view.link == spared.link);
        self.spared.retain(is_there);
        self.trial = self.trial.filter(|trial| is_there(&trial.subject));
    }

    /// Another subflow replaces that of this link: it finds its rate again.
    pub(crate) fn begins_anew(&mut self, link: LinkId) {
        self.used.retain(|(used, _)| *used != link);
    }

    /// The links that are not backups.
    fn in_use<'a>(&'a self, links: &'a [View]) -> impl Iterator<Item = &'a View> {
        links.iter().filter(|view| !self.spares(view.link))
    }

    fn note_used(&mut self, now: Instant, links: &[View]) {
        self.used
            .retain(|(link, _)| links.iter().any(|view| view.link == *link));
        for view in links {
            if self.used.iter().all(|(link, _)| *link != view.link) {
                self.used.push((view.link, now));
            }
        }
    }

    /// Whether this link has been in use for long enough to have found its rate.
    fn is_grown(&self, now: Instant, view: &View, rtt: Duration) -> bool {
        let rounds = if view.queued {
            ROUNDS_TO_QUEUE
        } else {
            ROUNDS_TO_GROW
        };
        let mut used = self.used.iter().filter(|(used, _)| *used == view.link);
        used.all(|(_, since)| now - *since >= rtt * rounds)
    }

    /// Finds the link that causes head-of-line blocking.
    fn suspect(&mut self, now: Instant, look: &Look<'_>) -> Option<Changed> {
        // Out-of-order bytes may still wait for the last demoted link.
        if self.drains(now) {
            return None;
        }
        let links: Vec<View> = self.in_use(look.links).copied().collect();
        let sum: Bitrate = links.iter().map(|view| view.best).sum();
        let room = (sum * look.rtt).min(look.window.unwrap_or(sum * look.rtt));
        let blocked = self.held * BLOCKED_PART >= room && self.held > Bytes::ZERO;
        let slowest = links.iter().min_by_key(|view| (view.best, view.link))?;
        let grown = self.is_grown(now, slowest, look.rtt);
        if !blocked || !grown || links.len() < 2 {
            self.blocked = None;
            return None;
        }
        let (since, then) = *self.blocked.get_or_insert((now, slowest.best));
        let is_plain = slowest.queued && self.held * BLOCKED_BADLY_PART >= room;
        if !is_plain && slowest.best > then.percent(GROWING_PERCENT) {
            self.blocked = None;
            return None;
        }
        let convinced_after = if is_plain {
            CONVINCED_BADLY_AFTER
        } else {
            CONVINCED_AFTER
        };
        // While others are backups, the pause belongs to them: it is the time between trials.
        let rests = self.spared.is_empty() && !self.trials.is_over(now);
        if now - since < convinced_after || rests {
            return None;
        }
        // An idle link does not block the others. A blocking one idles while the window is closed.
        let is_busy = slowest.rate >= slowest.best.percent(BUSY_PERCENT);
        let is_proven = self.proven.iter().any(|proven| proven.link == slowest.link);
        let is_poor = slowest.best <= sum.percent(POOR_PERCENT) && !is_proven;
        let mut others = links.iter().filter(|view| view.link != slowest.link);
        let is_harmful = slowest.loses || others.any(|view| view.is_starved());
        (is_busy && is_poor && is_harmful).then(|| self.demote(now, slowest, sum, is_plain))
    }

    fn demote(&mut self, now: Instant, slowest: &View, sum: Bitrate, is_plain: bool) -> Changed {
        let spared = Spared {
            link: slowest.link,
            carried: slowest.best,
            since: now,
            because: SlowLink::Blocks {
                rate: slowest.best,
                sum,
                held: self.held,
            },
        };
        self.spared.push(spared);
        if is_plain {
            self.trials.at_least(PLAIN_PAUSE);
        }
        self.rest(now);
        spared.demoted()
    }

    /// Tries a backup from time to time, and promotes it at once when the others have become slow or it fast.
    fn reconsider(&mut self, now: Instant, look: &Look<'_>) -> Option<Changed> {
        if self.spared.is_empty() {
            return None;
        }
        let total = self.goodput.rate()?;
        let others = self.others(now, look, total)?;
        let would_carry = |spared: &Spared| {
            let view = look.links.iter().find(|view| view.link == spared.link);
            view.map_or(spared.carried, |view| view.best.max(spared.carried))
        };
        let is_fair =
            |spared: &Spared| would_carry(spared) >= (others + would_carry(spared)).percent(FAIR_PERCENT);
        if let Some(at) = self.spared.iter().position(is_fair) {
            let spared = self.spared.remove(at);
            self.blocked = None;
            let rate = would_carry(&spared);
            return Some(spared.promoted(SlowLink::FastEnough { rate, others }));
        }
        self.trials.is_over(now).then(|| {
            let spared = self.spared.remove(0);
            let trial = Experiment::begin(now, spared, total);
            self.trial = Some(trial);
            spared.promoted(reason(&trial))
        })
    }

    /// The rate of the links in use with which a backup is compared. `None` if the application asks for
    /// little.
    fn others(&mut self, now: Instant, look: &Look<'_>, total: Bitrate) -> Option<Bitrate> {
        let shown: Bitrate = self.in_use(look.links).map(|view| view.best).sum();
        if total > Bitrate::ZERO && total >= shown.percent(ASKING_PERCENT) {
            self.short = None;
            return Some(shown);
        }
        let waits = self.held > Bytes::ZERO && self.held * BLOCKED_PART >= total * look.rtt;
        if !waits {
            self.short = None;
            return None;
        }
        let since = *self.short.get_or_insert(now);
        (now - since >= SHORT_FOR).then_some(total)
    }

    fn try_with(&mut self, now: Instant, look: &Look<'_>, mut trial: Experiment<Spared>) -> Option<Changed> {
        let (spared, without) = (trial.subject, trial.before);
        let goal = without + spared.carried.percent(PAYS_PERCENT);
        let goodput = self.goodput.rate().unwrap_or_default();
        let Some(verdict) = trial.judge(now, goodput, goal) else {
            self.trial = Some(trial);
            return None;
        };
        self.trial = None;
        let with = verdict.with;
        if verdict.kept {
            return Some(self.prove(now, spared.link, without, with));
        }
        if with < without.percent(LOST_PERCENT) && look.held == Bytes::ZERO {
            return Some(self.end_without_verdict(now, spared));
        }
        let failed = Spared {
            since: now,
            because: SlowLink::NoGain { with, without },
            ..spared
        };
        self.spared.push(failed);
        self.fail(now);
        Some(failed.demoted())
    }

    /// Keeps the link in use.
    fn prove(&mut self, now: Instant, link: LinkId, without: Bitrate, with: Bitrate) -> Changed {
        self.fail(now);
        let proven = Proven {
            link,
            seen: now,
            with,
            without,
        };
        self.proven.retain(|other| other.link != link);
        self.proven.push(proven);
        Changed {
            link,
            in_use: true,
            because: proven.reason(),
        }
    }

    /// Ends a trial in which less arrives with no bytes out of order: the application asks for less.
    fn end_without_verdict(&mut self, now: Instant, spared: Spared) -> Changed {
        self.trial = None;
        self.spared.push(Spared { since: now, ..spared });
        self.rest(now);
        spared.demoted()
    }

    fn rest(&mut self, now: Instant) {
        self.blocked = None;
        self.trials.at_least(FIRST_PAUSE);
        self.trials.rest(now);
    }

    /// Delays the next trial for longer than the last one.
    fn fail(&mut self, now: Instant) {
        self.rest(now);
        self.trials.double();
    }
}

impl Spared {
    const fn demoted(self) -> Changed {
        Changed {
            link: self.link,
            in_use: false,
            because: self.because,
        }
    }

    const fn promoted(self, because: SlowLink) -> Changed {
        Changed {
            link: self.link,
            in_use: true,
            because,
        }
    }
}

impl Proven {
    const fn reason(self) -> SlowLink {
        SlowLink::Gain {
            with: self.with,
            without: self.without,
        }
    }
}

const fn reason(trial: &Experiment<Spared>) -> SlowLink {
    SlowLink::Tried { before: trial.before }
}
