//! `links`: packets that the link models move per second of wall time, without a kernel.
//!
//! One cable is kept full: whenever a packet leaves, the next one enters, so that queue, bottleneck and wire
//! are all busy.

use std::time::Instant as Wall;

use links::{CableConfig, Direction, Input, LinkConfig, LinkId, Network, NetworkConfig, Output, Packet};
use trace::BenchRow;
use units::{Bitrate, Duration, Instant};

use crate::declaration::Setup;

/// Packets of one run: enough to make the clock's own cost negligible.
const PACKETS: u64 = 2_000_000;

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let rates: Vec<f64> = (0..setup.trials())
        .map(|_| packets_per_second())
        .collect::<Result<_, _>>()?;
    Ok(vec![setup.only_row().trials(&rates)])
}

fn packets_per_second() -> anyhow::Result<f64> {
    let cable = CableConfig::symmetric("cable", Bitrate::from_mbps(1_000), Duration::from_millis(10));
    let mut network = Network::new(1, NetworkConfig::from(vec![LinkConfig::Cable(cable)]))?;
    let started = Wall::now();
    let moved = saturate(&mut network, PACKETS);
    Ok(moved as f64 / started.elapsed().as_secs_f64())
}

/// Moves at least that many packets. Returns how many came out.
fn saturate(network: &mut Network, packets: u64) -> u64 {
    let mut now = Instant::ZERO;
    // Enough to fill the wire and some of the queue: 10 ms at 1 Gb/s are 833 packets.
    (0..1_200).for_each(|token| enter(network, now, token));
    let mut moved = 0;
    while moved < packets {
        let Some((due, _)) = network.wake_at() else { break };
        now = due;
        network.tick(now);
        while let Some(output) = network.poll() {
            if let Output::Delivered { packet, .. } = output {
                moved += 1;
                enter(network, now, packet.token);
            }
        }
    }
    moved
}

fn enter(network: &mut Network, now: Instant, token: u64) {
    let packet = Packet {
        link: LinkId(0),
        direction: Direction::Down,
        bytes: 1_500,
        ect: false,
        flow: 0,
        token,
    };
    network.handle(now, Input::Packet(packet));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cable_moves_what_it_is_asked_to_and_loses_nothing() {
        let cable = CableConfig::symmetric("cable", Bitrate::from_mbps(1_000), Duration::from_millis(10));
        let mut network = Network::new(1, NetworkConfig::from(vec![LinkConfig::Cable(cable)])).unwrap();
        assert!(saturate(&mut network, 5_000) >= 5_000);
        assert_eq!(network.counters(LinkId(0)).dropped, 0);
    }
}
