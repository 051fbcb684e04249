//! Times between the packets that a client's radio receives.
//!
//! # Where we differ, and why
//! 1. Only datagrams: they are played without applications, so that every frame has its own time.
//!    Associations and beacons are left out.

use anyhow::ensure;
use policy::estimate::delivery::Receiver;
use scenario::Plan;
use sim::{Cast, World, digest};
use units::{Duration, Instant};

/// Frames are taken this often, so that few wait.
const STEP: Duration = Duration::from_millis(100);

/// In ms, from short to long.
pub(super) fn between(plan: &Plan, seed: u64) -> anyhow::Result<Vec<f64>> {
    ensure!(
        !plan.sends_by_tcp(),
        "times between packets are known for datagrams alone; give all flows `transport = \"udp\"`"
    );
    ensure!(
        plan.faults.is_empty(),
        "`gap` is not measured with faults; remove `gap` or [[faults]]"
    );
    let cast = Cast::of(plan)?;
    let mut world = World::new(seed, &cast.air, cast.flows.clone())?.with_under_way(&cast.under_way);
    cast.client_radios().for_each(|radio| world.monitor(radio));
    // Per station: the number of its last frame.
    let mut numbers = vec![None; cast.air.stations.len()];
    let mut times: Vec<Instant> = Vec::new();
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + plan.duration {
        world.run_for(STEP);
        now += STEP;
        while let Some(frame) = world.overheard() {
            let Some(seen) = digest(&frame).filter(|seen| seen.receiver == Receiver::Us) else {
                continue;
            };
            // A frame is repeated if its acknowledgement was lost.
            let last = numbers[frame.from.0 as usize].replace(seen.number);
            if !(seen.retry && last == Some(seen.number)) {
                times.push(frame.end);
            }
        }
    }
    let gap = |pair: &[Instant]| pair[1].since(pair[0]).as_secs_f64() * 1e3;
    let mut gaps: Vec<f64> = times.windows(2).map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    Ok(gaps)
}
