//! Which links a connection uses, which it keeps as backups, and in which order.
//!
//! A rank is a value: links are compared field by field, and the order of the fields is the policy.
//!
//! # Sources
//! - nsdi15 §6.2.1, figure 6c: more than three or four access points of one channel slow each other down, so
//!   the client should use the few best. §4: in shared air, each packet of a poor access point costs the good
//!   one several.
//! - mobiarch11 §2.1: make before break.
//!
//! # Where we differ, and why
//! 1. One access point of a channel is used, and the others stay joined as backups. Two of one channel share
//!    the air, so the second adds nothing while the first is good. MP_PRIO swaps them without a pause.
//! 2. An access point is ranked by the signal it will have, not by its present one.
//! 3. Every channel with a good access point is used. Only if one radio serves more of them than fit into its
//!    cycle, the most promising are chosen ([`best_first`]).
//!
//! 4. Links without a known signal (cables, modems, access points whose beacons nobody reports) are ranked by
//!    the goodput they are known to carry. An untested one gets a trial (`audition.rs`).
//! 5. An access point of unknown channel counts as alone on its channel: nothing shows that it shares one.
//!
//! # Checked by
//! `tests`, `tests::loss`; `tests/engine_select.rs`: channels, modems, tariffs; `tests/engine_properties.rs`:
//! never flaps; `walk` in the benchmarks.

use super::tuning::{AHEAD, CONVINCED_AFTER, DOUBT, DOUBT_AHEAD, FADING_ABOVE_EDGE, SOON, WARY};
use crate::estimate::signal::{EDGE, expected_goodput};
use crate::io::reason::Choice;
use crate::io::{LinkId, LinkKind, Role, Verb};
use crate::known::conn::Subflow;
use crate::known::path::Path;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use units::{Bitrate, Db, Duration, Instant};

/// How a link should be used. Lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Joined and used.
    Active,
    /// Joined as backup.
    Warm,
}

/// The rank of a link. Lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    purpose: Use,
    role: Role,
    metered: bool,
    expected: Reverse<Bitrate>,
    kind: LinkKind,
    link: LinkId,
}

/// A link with its rank, and why it has its purpose.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    rank: Rank,
    because: Choice,
}

/// The goodput by which a link is ranked. One that has a place counts a tenth more.
fn standing(path: &Path) -> Bitrate {
    match path.tally.joined {
        _ if path.is_heard() => prospect(path),
        true => path.worth.percent(110),
        false => path.worth,
    }
}

/// A link that a connection should have, in which use, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) link: LinkId,
    pub(crate) purpose: Use,
    pub(crate) because: Choice,
}

impl Want {
    /// A link to use.
    pub(crate) const fn active(link: LinkId, because: Choice) -> Self {
        Self {
            link,
            purpose: Use::Active,
            because,
        }
    }

    /// The verb that reports it.
    pub(crate) const fn verb(&self) -> Verb {
        match self.purpose {
            Use::Active => Verb::Use,
            Use::Warm => Verb::Demote,
        }
    }
}

/// What access points share when they slow each other down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Medium {
    Channel(u16),
    /// The air of one access point whose channel is unknown.
    Own(LinkId),
}

impl Medium {
    fn of(link: LinkId, path: &Path) -> Self {
        path.spec.channel.map_or(Self::Own(link), Self::Channel)
    }
}

/// The access point in use on each medium, and its challenger.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    best: BTreeMap<Medium, Holder>,
    /// Links that were about to be too weak, and are not clearly better yet.
    fading: BTreeSet<LinkId>,
    /// The link in use whose doubt alone has promoted a backup.
    doubted: Option<LinkId>,
    /// When such a doubt was last refuted.
    misled: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Holder {
    link: LinkId,
    challenger: Option<(LinkId, Instant)>,
}

impl Selection {
    /// Every link worth having, best first.
    pub(crate) fn wants(&mut self, now: Instant, paths: &BTreeMap<LinkId, Path>) -> Vec<Want> {
        self.hold_media(now, paths);
        self.hold_fading(paths);
        let mut ranked: Vec<Ranked> = paths
            .iter()
            .filter(|(_, path)| path.is_candidate())
            .map(|(&link, path)| self.rank(link, path))
            .collect();
        ranked.sort_unstable_by_key(|ranked| ranked.rank);
        self.promote_if_none_is_active(now, &mut ranked, paths);
        let want = |ranked: &Ranked| Want {
            link: ranked.rank.link,
            purpose: ranked.rank.purpose,
            because: ranked.because,
        };
        ranked.iter().map(want).collect()
    }

    fn rank(&self, link: LinkId, path: &Path) -> Ranked {
        let (purpose, because) = self.purpose(link, path);
        let rank = Rank {
            purpose,
            role: path.spec.role,
            metered: path.cost.is_metered(),
            expected: Reverse(standing(path)),
            kind: path.spec.kind,
            link,
        };
        Ranked { rank, because }
    }

    /// How a link should be used by itself, and why.
    fn purpose(&self, link: LinkId, path: &Path) -> (Use, Choice) {
        let holder = self.best.get(&Medium::of(link, path)).map(|holder| holder.link);
        let signal = path.signal.mean().filter(|_| path.is_wifi());
        if path.spec.role != Role::Primary {
            return (Use::Warm, Choice::Role(path.spec.role));
        }
        if self.fading.contains(&link) {
            let slope = libm::round(path.signal.slope_db_per_s() * 100.0);
            let because = Choice::Fading {
                signal: signal.unwrap_or(EDGE),
                slope: Db::from_centi(slope as i32),
            };
            return (Use::Warm, because);
        }
        if let Some(better) = holder.filter(|&holder| path.is_wifi() && holder != link) {
            return (Use::Warm, Choice::WorseOnChannel { better });
        }
        let because = match signal {
            None => Choice::Healthy,
            Some(signal) => {
                let expected = prospect(path);
                match path.spec.channel {
                    Some(_) => Choice::BestOfChannel { signal, expected },
                    None => Choice::ChannelUnknown { signal, expected },
                }
            }
        };
        (Use::Active, because)
    }

    fn hold_fading(&mut self, paths: &BTreeMap<LinkId, Path>) {
        self.fading.retain(|link| {
            paths
                .get(link)
                .is_some_and(|path| is_weak_in(path, SOON, DOUBT_AHEAD))
        });
        let fading = paths.iter().filter(|(_, path)| is_fading(path));
        self.fading.extend(fading.map(|(&link, _)| link));
    }

    /// Promotes the best backup while no link in use is alive. In shared air a needless promotion takes the
    /// time of the link that is alive. So after one, usual pauses of the sender promote no backup for a
    /// while. A longer silence promotes one with the next decision, 50 ms later at most.
    fn promote_if_none_is_active(
        &mut self,
        now: Instant,
        ranked: &mut [Ranked],
        paths: &BTreeMap<LinkId, Path>,
    ) {
        let path = |ranked: &Ranked| &paths[&ranked.rank.link];
        let is_alive = |ranked: &Ranked| path(ranked).is_alive();
        let active = || ranked.iter().filter(|ranked| ranked.rank.purpose == Use::Active);
        if active().any(is_alive) {
            let doubted = self.doubted.take().and_then(|link| paths.get(&link));
            if doubted.is_some_and(Path::is_alive) {
                self.misled = Some(now);
            }
            return;
        }
        let doubts = || active().filter_map(|active| Some((active.rank.link, path(active).doubt()?)));
        let is_wary = self.misled.is_some_and(|at| now - at < WARY);
        if is_wary && doubts().any(|(_, doubt)| !doubt.is_unusual(now)) {
            return;
        }
        let doubted = doubts().next().map(|(link, _)| link);
        let warm = |ranked: &&mut Ranked| ranked.rank.purpose == Use::Warm && is_alive(ranked);
        if let Some(first) = ranked.iter_mut().find(warm) {
            first.rank.purpose = Use::Active;
            first.because = Choice::LastResort;
            self.doubted = doubted;
        }
        ranked.sort_unstable_by_key(|ranked| ranked.rank);
    }

    fn hold_media(&mut self, now: Instant, paths: &BTreeMap<LinkId, Path>) {
        self.best
            .retain(|_, holder| paths.get(&holder.link).is_some_and(Path::is_candidate));
        let mut leaders: BTreeMap<Medium, (LinkId, &Path)> = BTreeMap::new();
        for (&link, path) in paths
            .iter()
            .filter(|(_, path)| path.is_wifi() && path.is_candidate())
        {
            let leader = leaders.entry(Medium::of(link, path)).or_insert((link, path));
            if merit(path) > merit(leader.1) {
                *leader = (link, path);
            }
        }
        for (medium, (leader, path)) in leaders {
            let holder = self.best.entry(medium).or_insert(Holder {
                link: leader,
                challenger: None,
            });
            holder.challenge(now, leader, path, paths);
        }
    }
}

/// The position of a network among those that share a radio. Lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    metered: bool,
    expected: Reverse<Bitrate>,
    link: LinkId,
}

/// Networks that share a radio, best first. Those that are `held` count a tenth more.
pub(crate) fn best_first(
    paths: &BTreeMap<LinkId, Path>,
    networks: impl Iterator<Item = LinkId>,
    held: impl Fn(LinkId) -> bool,
) -> Vec<LinkId> {
    let turn = |link| {
        let path = paths.get(&link)?;
        let percent = if held(link) { 110 } else { 100 };
        Some(Turn {
            metered: path.cost.is_metered(),
            expected: Reverse(prospect(path).percent(percent)),
            link,
        })
    };
    let mut turns: Vec<Turn> = networks.filter_map(turn).collect();
    turns.sort_unstable();
    turns.iter().map(|turn| turn.link).collect()
}

/// The merit of a WiFi link: goodput first. Among equals, the stronger signal.
fn merit(path: &Path) -> (Bitrate, Option<units::Dbm>) {
    (prospect(path), path.signal_ahead(AHEAD))
}

impl Holder {
    fn challenge(&mut self, now: Instant, leader: LinkId, path: &Path, paths: &BTreeMap<LinkId, Path>) {
        if leader == self.link
            || !paths
                .get(&self.link)
                .is_some_and(|held| is_clearly_better(path, held))
        {
            self.challenger = None;
            return;
        }
        let since = match self.challenger {
            Some((challenger, since)) if challenger == leader => since,
            _ => now,
        };
        self.challenger = Some((leader, since));
        if now - since >= CONVINCED_AFTER {
            *self = Self {
                link: leader,
                challenger: None,
            };
        }
    }
}

/// Whether it has a tenth more goodput, even with a slightly weaker signal. Alternatively, the same goodput
/// from a signal that is 6 dB stronger, while the old one is not strong.
fn is_clearly_better(path: &Path, held: &Path) -> bool {
    let (new, old) = (prospect_below(path, DOUBT), prospect(held));
    let stronger = match (path.signal_ahead(AHEAD), held.signal_ahead(AHEAD)) {
        (Some(new), Some(old)) => new - old > Db::from_db(6) && old - EDGE < Db::from_db(22),
        _ => false,
    };
    new > old.percent(110) || (stronger && new >= old)
}

/// The goodput that a link will have a moment from now.
pub(crate) fn prospect(path: &Path) -> Bitrate {
    prospect_below(path, Db::from_db(0))
}

/// Goodput expected of the link if its signal were weaker by `doubt`.
fn prospect_below(path: &Path, doubt: Db) -> Bitrate {
    match path.signal_ahead(AHEAD) {
        Some(signal) => expected_goodput(signal - doubt).min(path.expected().max(Bitrate::from_bps(1))),
        None => path.expected(),
    }
}

/// The best recent goodput of a subflow, or for WiFi what a known signal promises.
pub(crate) fn shown(now: Instant, subflow: &Subflow, path: &Path) -> Bitrate {
    let promised = if path.is_heard() {
        prospect(path)
    } else {
        Bitrate::ZERO
    };
    subflow.arrivals.best_rate(now).max(promised)
}

/// Whether a WiFi link's signal is too weak, or about to be.
pub(crate) fn is_fading(path: &Path) -> bool {
    is_weak_in(path, SOON, Db::from_db(0))
}

/// Whether a WiFi link will be fading soon at its present slope.
pub(crate) fn is_sinking(path: &Path) -> bool {
    is_weak_in(path, Duration::from_secs(4), Db::from_db(0))
}

fn is_weak_in(path: &Path, time: Duration, doubt: Db) -> bool {
    let weak = |signal: units::Dbm| signal - doubt - EDGE < FADING_ABOVE_EDGE;
    path.signal_ahead(time).is_some_and(weak)
}

/// Whether nothing gets through over a WiFi link any longer.
pub(crate) fn is_faded(path: &Path) -> bool {
    path.is_wifi() && path.signal.mean().is_some_and(|signal| signal < EDGE)
}
