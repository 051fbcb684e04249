//! `optimal_mbps`: what a plan's links could carry at most, on average over a run.
//!
//! # Sources
//! - [`links::optimal`]: the most at one moment.
//!
//! # Where we differ, and why
//! 1. Data goes up where every flow goes up, and down otherwise: there is one figure for a run.
//! 2. It is computed every 100 ms, the interval at which goodput is reported.
//! 3. The warm-up does not count.
//! 4. With a relay, it is at most the rate of the wire behind it.
//! 5. If all flows are datagrams, it is what they could carry: for each channel the fastest flow alone, and
//!    what each other link with a flow could carry in its direction. Paces are ignored, as limits of TCP are.
//!    Stations that contend waste less time than one alone, so a full channel may exceed it by some percent.
//!
//! # Checked by
//! `tests/models.rs`; `cli`'s `tests/both_worlds.rs`.

use super::position;
use crate::plan::{Flow, Plan, Transport, Way, Work};
use links::wifi::Radio;
use links::{Condition, Direction, NetworkConfig, Position, Shared, Stream};
use std::collections::BTreeMap;
use std::ops::Range;
use trace::SERIES_BIN;
use units::{Bitrate, Duration, Instant};

/// The mean over a run of length `lasts`. `conditions` gives the state of the links under faults at a moment,
/// for data in that direction.
pub fn optimal(
    plan: &Plan,
    network: &NetworkConfig,
    lasts: Duration,
    conditions: impl Fn(Instant, Direction) -> Vec<Condition>,
) -> Bitrate {
    if let Some(streams) = streams(plan) {
        return of_datagrams(plan, network, lasts, &streams, conditions);
    }
    let direction = direction(plan);
    let conditions = placed(plan, conditions);
    let most = moments(plan, counted(plan, lasts)).map(|(at, here)| {
        let most = links::optimal(network, direction, at, here, &conditions(at, direction));
        let most = plan.relay.map_or(most, |relay| most.min(relay.rate));
        u128::from(most.as_bps())
    });
    let (count, sum) = most.fold((0_u128, 0_u128), |(count, sum), most| (count + 1, sum + most));
    Bitrate::from_bps(sum.checked_div(count).unwrap_or(0) as u64)
}

/// What this link could carry by itself at every moment of a time of length `lasts`.
pub fn alone(
    plan: &Plan,
    network: &NetworkConfig,
    link: usize,
    lasts: Duration,
    conditions: impl Fn(Instant, Direction) -> Vec<Condition>,
) -> Vec<Bitrate> {
    let direction = direction(plan);
    let only = NetworkConfig {
        links: vec![network.links[link].clone()],
        ..network.clone()
    };
    let conditions = placed(plan, conditions);
    let most = |(at, here)| {
        let condition = conditions(at, direction)[link];
        links::optimal(&only, direction, at, here, &[condition])
    };
    moments(plan, 0..bins(lasts)).map(most).collect()
}

/// These conditions with the places of the access points that walkers carry.
fn placed(
    plan: &Plan,
    conditions: impl Fn(Instant, Direction) -> Vec<Condition>,
) -> impl Fn(Instant, Direction) -> Vec<Condition> {
    let carried: Vec<(usize, usize)> = plan
        .access_points()
        .filter_map(|(link, ap)| Some((link, ap.carried_by?)))
        .collect();
    move |at, direction| {
        let mut conditions = conditions(at, direction);
        for &(link, by) in &carried {
            if conditions.len() <= link {
                conditions.resize(link + 1, Condition::default());
            }
            let there = plan.walkers[by].position(at.since(Instant::ZERO));
            conditions[link].place = Some(position(there));
        }
        conditions
    }
}

/// How many times a [`SERIES_BIN`] fits into this time.
const fn bins(time: Duration) -> u32 {
    (time.as_nanos() / SERIES_BIN.as_nanos()) as u32
}

/// Those of a run of length `lasts` after the warm-up.
fn counted(plan: &Plan, lasts: Duration) -> Range<u32> {
    plan.warmup.as_nanos().div_ceil(SERIES_BIN.as_nanos()) as u32..bins(lasts)
}

/// The beginning of each of these [`SERIES_BIN`]s, with the client's position.
fn moments(plan: &Plan, bins: Range<u32>) -> impl Iterator<Item = (Instant, Position)> {
    let client = plan.walkers.first();
    bins.map(move |moment| {
        let since = SERIES_BIN * moment;
        let here = client.map_or_else(Position::default, |client| position(client.position(since)));
        (Instant::ZERO + since, here)
    })
}

/// A flow of datagrams, and whose it is.
#[derive(Debug, Clone, Copy)]
struct Owned {
    stream: Stream,
    walker: usize,
}

/// All flows, if they are datagrams.
fn streams(plan: &Plan) -> Option<Vec<Owned>> {
    let stream = |flow: &Flow| match (flow.transport, flow.work) {
        (Transport::Udp { over }, Work::Datagrams { way, payload, .. }) => Some(Owned {
            stream: Stream {
                link: over,
                direction: match way {
                    Way::Up => Direction::Up,
                    Way::Down | Way::Everyone => Direction::Down,
                },
                payload,
            },
            walker: flow.by,
        }),
        _ => None,
    };
    let streams: Vec<Owned> = plan.flows.iter().map(stream).collect::<Option<_>>()?;
    (!streams.is_empty()).then_some(streams)
}

/// The mean over a run of what these streams could carry.
fn of_datagrams(
    plan: &Plan,
    network: &NetworkConfig,
    lasts: Duration,
    streams: &[Owned],
    conditions: impl Fn(Instant, Direction) -> Vec<Condition>,
) -> Bitrate {
    let moments = counted(plan, lasts);
    let conditions = placed(plan, conditions);
    let count = moments.len() as u128;
    // The air of a radio that stays where it is stays as it is.
    let mut known: Vec<Option<(Position, Condition, Bitrate)>> = vec![None; streams.len()];
    let mut sum = 0_u128;
    for moment in moments {
        let since = SERIES_BIN * moment;
        let at = Instant::ZERO + since;
        let [up, down] = [Direction::Up, Direction::Down].map(|direction| conditions(at, direction));
        let mut fastest: BTreeMap<Shared, Bitrate> = BTreeMap::new();
        for (Owned { stream, walker }, known) in streams.iter().zip(&mut known) {
            let faults = if stream.direction == Direction::Up {
                &up
            } else {
                &down
            };
            let condition = faults.get(stream.link).copied().unwrap_or_default();
            let shared = stream.shares(network);
            let position = position(plan.walkers[*walker].position(since));
            let rate = match *known {
                Some((there, then, rate))
                    if (there, then) == (position, condition) && matches!(shared, Shared::Channel(_)) =>
                {
                    rate
                }
                _ => {
                    let power = plan.walkers[*walker].tx_power;
                    stream.optimal(network, at, Radio { position, power }, condition)
                }
            };
            *known = Some((position, condition, rate));
            let most = fastest.entry(shared).or_insert(rate);
            *most = rate.max(*most);
        }
        sum += fastest
            .values()
            .map(|rate| u128::from(rate.as_bps()))
            .sum::<u128>();
    }
    Bitrate::from_bps(sum.checked_div(count).unwrap_or(0) as u64)
}

fn direction(plan: &Plan) -> Direction {
    let goes_up = |work| {
        matches!(
            work,
            Work::Upload { .. } | Work::OnOff { up: true, .. } | Work::Datagrams { way: Way::Up, .. }
        )
    };
    if !plan.flows.is_empty() && plan.flows.iter().all(|flow| goes_up(flow.work)) {
        Direction::Up
    } else {
        Direction::Down
    }
}
