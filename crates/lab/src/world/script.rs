//! What happens by itself in a run: the client's walk and the faults, as the emulator's schedule.

use super::network::position;
use crate::emulator::{Scheduled, Step, Whom};
use links::{Fault, LinkId};
use scenario::{Effect, Plan, Walker};
use units::{Duration, Instant};

/// The client's place is told this often while it walks.
const STRIDE: Duration = Duration::from_millis(100);

/// The whole script of a run with this seed, in the order of time.
pub fn script(plan: &Plan, seed: u64) -> Vec<Scheduled> {
    let faults = plan.timeline(seed).into_iter().map(|happening| {
        let whom = whom(happening.fault, happening.whom);
        Scheduled {
            at: Instant::ZERO + happening.at,
            step: step(whom, happening.effect),
        }
    });
    let walk = plan
        .walkers
        .first()
        .map(|client| walk(client, plan.duration))
        .unwrap_or_default();
    let mut all: Vec<Scheduled> = walk.into_iter().chain(faults).collect();
    // Stable: what the timeline says of one moment stays in its order.
    all.sort_by_key(|scheduled| scheduled.at);
    all
}

fn whom(fault: usize, whom: scenario::Whom) -> Whom {
    match whom {
        scenario::Whom::Link(link) => Whom::Link(LinkId(link as u16)),
        scenario::Whom::Busiest { round } => Whom::Busiest((fault as u32) << 16 | round & 0xffff),
    }
}

const fn step(whom: Whom, effect: Effect) -> Step {
    match effect {
        Effect::Blackhole(on) => Step::Fault(whom, Fault::Blackhole(on)),
        Effect::Down(down) => Step::Fault(whom, Fault::Down(down)),
        Effect::Rate { up, down } => Step::Fault(whom, Fault::Rate { up, down }),
        Effect::Attenuation(loss) => Step::Fault(whom, Fault::Attenuation(loss)),
        Effect::NewAddress => Step::Renew(whom),
    }
}

/// Where the client is every [`STRIDE`], as long as it moves.
fn walk(client: &Walker, duration: Duration) -> Vec<Scheduled> {
    let strides = (duration.as_nanos() / STRIDE.as_nanos()) as u32;
    let mut here = client.position(Duration::ZERO);
    let moves = (1..=strides).filter_map(|stride| {
        let at = STRIDE * stride;
        let there = client.position(at);
        (std::mem::replace(&mut here, there) != there).then(|| Scheduled {
            at: Instant::ZERO + at,
            step: Step::Move(position(there)),
        })
    });
    moves.collect()
}
