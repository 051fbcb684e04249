//! Which links a connection should use, which it should keep warm, in which order.
//!
//! A rank is a value: links are compared field by field, and the order of the fields is the policy.
//!
//! # Sources
//! - nsdi15 §6.2.1, figure 6c: more than three or four access points of one channel slow each other down; the
//!   client should use the few best. §4: on one air, each packet of a poor access point costs the good one
//!   several.
//! - mobiarch11 §2.1: make before break.
//!
//! # Where we differ, and why
//! 1. One access point of a channel is used, the others are kept joined as backup: two of one channel share
//!    one air, so the second adds nothing while the first is good, and MP_PRIO exchanges them without a
//!    pause.
//! 2. An access point is judged by the signal it will have, not by the one it has.
//! 3. Every channel with a good access point is used. Only where one radio has to listen to more of them than
//!    fit into its cycle, those that promise most are taken ([`best_first`]).
//!
//! 4. Links of which no signal is known (cables, modems, access points whose beacons nobody reports) are
//!    ranked by what they are known to carry. One that has shown nothing yet is given a chance
//!    (`audition.rs`).
//! 5. An access point whose channel is not known has an air of its own: nothing shows that it shares one.
//!
//! # Checked by
//! `tests`; `tests/engine_select.rs`: channels, modems, tariffs; `tests/engine_properties.rs`: never flaps;
//! `walk` in the benchmarks.

use crate::estimate::signal::{EDGE, expected_goodput};
use crate::io::{LinkId, LinkKind, Role};
use crate::known::conn::Subflow;
use crate::known::path::Path;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use units::{Bitrate, Db, Duration, Instant};

/// How far ahead an access point is judged: a join and the drain of what was under way.
const AHEAD: Duration = Duration::from_millis(700);
/// A better access point must stay better for this long.
const CONVINCED_AFTER: Duration = Duration::from_millis(250);
/// What a signal may be wrong by. Two access points that are equally loud near a step of the rate table would
/// otherwise take turns.
const DOUBT: Db = Db::from_centi(200);
/// The same of a signal [`SOON`]: what its slope may be wrong by is added.
const DOUBT_AHEAD: Db = Db::from_centi(400);
/// Above [`EDGE`]: under this, a WiFi link is not worth a packet if there is another way.
const FADING_ABOVE_EDGE: Db = Db::from_centi(350);
/// How far ahead a fading link is foreseen.
const SOON: Duration = Duration::from_secs(1);

/// What should be done with a link; lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Joined and used.
    Active,
    /// Joined as backup.
    Warm,
}

/// Where a link stands among the others; the least is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    purpose: Use,
    role: Role,
    metered: bool,
    expected: Reverse<Bitrate>,
    kind: LinkKind,
    link: LinkId,
}

/// What a link counts among others: one that has a place counts a tenth more than one that has none.
fn standing(path: &Path) -> Bitrate {
    match path.tally.joined {
        _ if path.is_heard() => prospect(path),
        true => path.worth.percent(110),
        false => path.worth,
    }
}

/// A link that a connection should have, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) link: LinkId,
    pub(crate) purpose: Use,
}

/// What access points share when they slow each other down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Medium {
    Channel(u16),
    /// Of one access point alone, whose channel is not known.
    Own(LinkId),
}

impl Medium {
    fn of(link: LinkId, path: &Path) -> Self {
        path.spec.channel.map_or(Self::Own(link), Self::Channel)
    }
}

/// The access point in use on each medium, and who challenges it.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    best: BTreeMap<Medium, Holder>,
    /// Links that were about to be too weak and are not clearly better since.
    fading: BTreeSet<LinkId>,
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
        let mut ranks: Vec<Rank> = paths
            .iter()
            .filter(|(_, path)| path.is_candidate())
            .map(|(&link, path)| self.rank(link, path))
            .collect();
        ranks.sort_unstable();
        promote_if_none_is_active(&mut ranks, paths);
        ranks
            .iter()
            .map(|rank| Want {
                link: rank.link,
                purpose: rank.purpose,
            })
            .collect()
    }

    fn rank(&self, link: LinkId, path: &Path) -> Rank {
        let chosen = !path.is_wifi()
            || self
                .best
                .get(&Medium::of(link, path))
                .is_some_and(|holder| holder.link == link);
        let purpose = if chosen && path.spec.role == Role::Primary && !self.fading.contains(&link) {
            Use::Active
        } else {
            Use::Warm
        };
        Rank {
            purpose,
            role: path.spec.role,
            metered: path.cost.is_metered(),
            expected: Reverse(standing(path)),
            kind: path.spec.kind,
            link,
        }
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

/// Where a network stands among those that share a radio; the least is the best.
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

/// What a WiFi link promises: goodput first; among equals, the stronger signal.
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

/// A tenth more goodput, and that still if its signal were a little weaker; or the same from a signal that is
/// 6 dB stronger while the old one is no longer strong.
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

/// The same, with so much less signal than it is said to have.
fn prospect_below(path: &Path, doubt: Db) -> Bitrate {
    match path.signal_ahead(AHEAD) {
        Some(signal) => expected_goodput(signal - doubt).min(path.expected().max(Bitrate::from_bps(1))),
        None => path.expected(),
    }
}

/// The most that a subflow has brought lately, or for WiFi what a known signal promises.
pub(crate) fn shown(now: Instant, subflow: &Subflow, path: &Path) -> Bitrate {
    let promised = if path.is_heard() {
        prospect(path)
    } else {
        Bitrate::ZERO
    };
    subflow.arrivals.best_rate(now).max(promised)
}

/// A WiFi link whose signal is about to be too weak, or is already.
pub(crate) fn is_fading(path: &Path) -> bool {
    is_weak_in(path, SOON, Db::from_db(0))
}

/// A WiFi link that will be fading soon, if its signal goes on as it does.
pub(crate) fn is_sinking(path: &Path) -> bool {
    is_weak_in(path, Duration::from_secs(4), Db::from_db(0))
}

fn is_weak_in(path: &Path, time: Duration, doubt: Db) -> bool {
    let weak = |signal: units::Dbm| signal - doubt - EDGE < FADING_ABOVE_EDGE;
    path.signal_ahead(time).is_some_and(weak)
}

/// A WiFi link over which nothing gets through any more.
pub(crate) fn is_faded(path: &Path) -> bool {
    path.is_wifi() && path.signal.mean().is_some_and(|signal| signal < EDGE)
}

fn promote_if_none_is_active(ranks: &mut [Rank], paths: &BTreeMap<LinkId, Path>) {
    if ranks
        .iter()
        .any(|rank| rank.purpose == Use::Active && paths[&rank.link].is_alive())
    {
        return;
    }
    let alive = ranks
        .iter_mut()
        .find(|rank| rank.purpose == Use::Warm && paths[&rank.link].is_alive());
    if let Some(rank) = alive {
        rank.purpose = Use::Active;
    }
    ranks.sort_unstable();
}
