//! Faults laid out in time: repeated, ramped, and with the end of each.

use crate::plan::{Change, Fault, LaneRate, Link, LinkKind, Plan, Target};
use units::{Bitrate, Db, Duration, Rng};

/// Something that happens to links at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineEvent {
    /// When, since the start of the run.
    pub at: Duration,
    /// Which fault of the plan this belongs to.
    pub fault: usize,
    /// What it affects.
    pub whom: FaultTarget,
    /// What happens.
    pub effect: Effect,
}

/// What a happening affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTarget {
    /// This link (an index in [`Plan::links`]).
    Link(usize),
    /// The link that delivered most bytes in the last second, chosen when round number `round` of the fault
    /// begins. All events of that fault and round affect the same link.
    Busiest {
        /// The round of a repeated fault.
        round: u32,
    },
}

/// What happens to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It starts or stops dropping everything silently.
    Blackhole(bool),
    /// It goes down visibly, or comes back.
    Down(bool),
    /// Its bottleneck has this rate from now on.
    Rate {
        /// From the client.
        up: Bitrate,
        /// To the client.
        down: Bitrate,
    },
    /// Its signal is this much weaker than the plan has it.
    Attenuation(Db),
    /// It has another address from now on.
    NewAddress,
}

/// A ramp of the signal is taken in steps this long.
const STEP: Duration = Duration::from_millis(100);

impl Plan {
    /// All effects of the faults in a run with this seed, in the order of time; those after the end are left
    /// out.
    ///
    /// If faults overlap on one link, the later event counts.
    pub fn timeline(&self, seed: u64) -> Vec<TimelineEvent> {
        let mut all: Vec<TimelineEvent> = self
            .faults
            .iter()
            .enumerate()
            .flat_map(|(index, fault)| self.of_fault(index, fault, seed))
            .filter(|happening| happening.at < self.duration)
            .collect();
        all.sort_by_key(|happening| happening.at);
        all
    }

    fn of_fault(&self, index: usize, fault: &Fault, seed: u64) -> Vec<TimelineEvent> {
        let beginnings = self.beginnings(fault, index, seed);
        (0..)
            .zip(beginnings)
            .flat_map(|(round, at)| self.of_round(index, fault, round, at))
            .collect()
    }

    /// When a fault (number `index` of the plan) happens in a run with this seed.
    pub(crate) fn beginnings(&self, fault: &Fault, index: usize, seed: u64) -> Vec<Duration> {
        let mut rng = Rng::named(seed, &format!("fault/{index}"));
        let first = fault.at.from + rng.duration_up_to(fault.at.to - fault.at.from);
        let Some(repeat) = fault.repeat else {
            return vec![first];
        };
        let rounds = repeat.times.map_or(usize::MAX, |times| times as usize);
        std::iter::successors(Some(first), |&last| Some(last + repeat.every))
            .take_while(|&at| at < self.duration)
            .take(rounds)
            .collect()
    }

    fn of_round(&self, index: usize, fault: &Fault, round: u32, at: Duration) -> Vec<TimelineEvent> {
        let of = |whom, link: Option<&Link>| {
            let begin = begin(fault.change)
                .into_iter()
                .map(move |(after, effect)| (at + after, effect));
            let end = fault.lasts.map(|lasts| {
                end(fault.change, link)
                    .into_iter()
                    .map(move |(after, effect)| (at + lasts + after, effect))
            });
            begin
                .chain(end.into_iter().flatten())
                .map(move |(at, effect)| TimelineEvent {
                    at,
                    fault: index,
                    whom,
                    effect,
                })
                .collect::<Vec<_>>()
        };
        match &fault.target {
            Target::Busiest => of(FaultTarget::Busiest { round }, None),
            Target::Links(links) => links
                .iter()
                .flat_map(|&link| of(FaultTarget::Link(link), self.links.get(link)))
                .collect(),
        }
    }
}

fn begin(change: Change) -> Vec<(Duration, Effect)> {
    match change {
        Change::Blackhole => vec![(Duration::ZERO, Effect::Blackhole(true))],
        Change::Down { .. } => vec![(Duration::ZERO, Effect::Down(true))],
        Change::Rate { up, down } => vec![(Duration::ZERO, Effect::Rate { up, down })],
        Change::Fade { loss, over } => ramp(loss, over).collect(),
        Change::NewAddress => vec![(Duration::ZERO, Effect::NewAddress)],
    }
}

/// How a fault ends. The address changes before the link reports that it is back, so that nobody sees the old
/// one.
fn end(change: Change, link: Option<&Link>) -> Vec<(Duration, Effect)> {
    let now = |effect| (Duration::ZERO, effect);
    match change {
        Change::Blackhole => vec![now(Effect::Blackhole(false))],
        Change::Down { new_address: true } => vec![now(Effect::NewAddress), now(Effect::Down(false))],
        Change::Down { new_address: false } => vec![now(Effect::Down(false))],
        Change::Rate { .. } => link.and_then(planned_rate).map(now).into_iter().collect(),
        Change::Fade { loss, over } => ramp(loss, over)
            .map(|(after, effect)| (after, mirrored(effect, loss)))
            .collect(),
        Change::NewAddress => Vec::new(),
    }
}

/// The rate that the plan gives a link.
fn planned_rate(link: &Link) -> Option<Effect> {
    match &link.kind {
        LinkKind::Cable(cable) => Some(Effect::Rate {
            up: cable.up.rate,
            down: cable.down.rate,
        }),
        LinkKind::Cell(cell) => match (&cell.up, &cell.down) {
            (LaneRate::Constant(up), LaneRate::Constant(down)) => Some(Effect::Rate { up: *up, down: *down }),
            _ => None,
        },
        LinkKind::Wifi(wifi) => Some(Effect::Rate {
            up: wifi.backhaul.up,
            down: wifi.backhaul.down,
        }),
    }
}

fn ramp(loss: Db, over: Duration) -> impl Iterator<Item = (Duration, Effect)> {
    let steps = i64::try_from(over.as_nanos().div_ceil(STEP.as_nanos()))
        .unwrap_or(i64::MAX)
        .max(1);
    (1..=steps).map(move |step| {
        let centi = i64::from(loss.as_centi()) * step / steps;
        let after = Duration::from_nanos((over.as_nanos() * step as u128 / steps as u128) as u64);
        (after, Effect::Attenuation(Db::from_centi(centi as i32)))
    })
}

fn mirrored(effect: Effect, loss: Db) -> Effect {
    match effect {
        Effect::Attenuation(reached) => Effect::Attenuation(loss + -reached),
        other => other,
    }
}
