//! `dcf-1`, `dcf-10`, `dcf-50`: packets that saturated 802.11a cells deliver per second of wall time, beside
//! ns-3.
//!
//! # Where we differ from the peer's program, and why
//! 1. Its access point sends a beacon every 102.4 ms, at 6 Mb/s, and its stations associate. Ours send only
//!    data and acknowledgements. That is one frame more among some 250 of a saturated cell in that time.
//! 2. Its stations stand 5 m around their access point, ours all at its position. At 54 Mb/s a frame without
//!    a collision arrives either way, and of several frames that collide none is the stronger one.
//! 3. In its cell of one station the access point sends and the station receives. In ours it is the other way
//!    round. To DCF that is the same.

use runs::progress::Progress;
use std::time::Instant as Wall;

use anyhow::Context as _;
use sim::World;
use sim::cells::{self, Plan};
use trace::BenchRow;
use units::wifi::Standard;
use units::{Bitrate, Duration};

use super::peer::Ns3;
use crate::calibration::{self, Stored};
use crate::declaration::Setup;

const PAYLOAD: u32 = 1_470;

struct Cell {
    name: &'static str,
    stations: u32,
    seconds: u64,
    /// Packets per second of wall time of ns-3.
    stored: f64,
}

/// One station sends to its access point, 60 s.
pub fn cell_of_1(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(
        setup,
        &Cell {
            name: "dcf-1",
            stations: 1,
            seconds: 60,
            stored: 10_800.0,
        },
    )
}

/// Ten stations send to their access point, 20 s.
pub fn cell_of_10(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(
        setup,
        &Cell {
            name: "dcf-10",
            stations: 10,
            seconds: 20,
            stored: 2_100.0,
        },
    )
}

/// Fifty stations send to their access point, 20 s.
pub fn cell_of_50(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(
        setup,
        &Cell {
            name: "dcf-50",
            stations: 50,
            seconds: 20,
            stored: 480.0,
        },
    )
}

fn run(setup: &Setup, cell: &Cell) -> anyhow::Result<Vec<BenchRow>> {
    let plan = cells::cell(Standard::A, Bitrate::from_mbps(54), cell.stations, PAYLOAD);
    let ns3 = Ns3::build("ns3_dcf");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut goodput = (0.0, None);
    let progress = Progress::new(cell.name, setup.trials() as usize);
    for trial in 0..setup.trials() {
        progress.begin(trial as usize, format_args!("trial {}", trial + 1));
        let (rate, mbps) = packets_per_second(setup.seed + u64::from(trial), &plan, cell.seconds)?;
        ours.push(rate);
        goodput.0 = mbps;
        let arguments = [cell.stations.to_string(), cell.seconds.to_string()];
        if let Some((rate, mbps)) = ns3.as_ref().and_then(|ns3| ns3.packets_per_second(&arguments)) {
            theirs.push(rate);
            goodput.1 = Some(mbps);
        }
        let line = format_args!("{}: trial {} of {}", cell.name, trial + 1, setup.trials());
        progress.end_with(trial as usize, line);
    }
    let row = setup.only_row().trials(&ours);
    let peer = Stored {
        peer: "ns-3 3.37",
        figure: cell.stored,
    };
    let row = peer
        .compared(row, &theirs, calibration::against_stored)
        .with("goodput_mbps", goodput.0);
    Ok(vec![match goodput.1 {
        Some(mbps) => row.with("peer_goodput_mbps", mbps),
        None => row,
    }])
}

/// Packets received per second of wall time, and goodput in Mb/s. The time includes building the stations.
fn packets_per_second(seed: u64, plan: &Plan, seconds: u64) -> anyhow::Result<(f64, f64)> {
    let flows = plan.flows.clone();
    let started = Wall::now();
    let mut world = World::new(seed, &plan.air, flows).context("the benchmark's own plan")?;
    let time = Duration::from_secs(seconds);
    world.run_for(time);
    let wall = started.elapsed().as_secs_f64();
    let total = world.total();
    Ok((total.received as f64 / wall, total.mbps(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_delivers_what_its_medium_allows() {
        let plan = cells::cell(Standard::A, Bitrate::from_mbps(54), 10, PAYLOAD);
        let (rate, mbps) = packets_per_second(1, &plan, 2).unwrap();
        assert!(rate > 0.0 && (26.5..28.0).contains(&mbps), "{mbps}");
    }
}
