//! `tcp-air`: packets that a TCP download over a wire and the air delivers per second of wall time, beside
//! ns-3.
//!
//! A server behind 20 Mb/s and 25 ms with a queue of 100 packets sends to a station at an access point of
//! 802.11a at 54 Mb/s, for 60 s.
//!
//! # Where we differ from the peer's program, and why
//! 1. Its receive buffer is fixed at 4 MiB. Ours grows as in Linux, to more than the path needs.
//! 2. Its sender has no RACK, TLP or PRR. Both count ACKs in congestion avoidance, not segments.

use anyhow::{Context as _, ensure};
use runs::progress::Progress;
use sim::hosts::{App, Pair};
use sim::mptcp::Config;
use sim::tcp::{Control, Growth};
use std::time::Instant as Wall;
use trace::BenchRow;
use units::wifi::Standard;
use units::{Bitrate, Duration};

use super::over;
use crate::air::Ns3;
use crate::calibration::{self, Stored};
use crate::declaration::Setup;
use links::wifi::Backhaul;
use links::{
    LinkConfig, LinkId, LinkState, Medium, NetworkConfig, Position, QueueConfig, QueueLimit, WifiConfig,
};

const TIME: Duration = Duration::from_secs(60);
/// Payload of a full segment with time stamps, in bytes.
const SEGMENT: f64 = 1_448.0;
const NS3: Stored = Stored {
    peer: "ns-3 3.37",
    figure: 9_200.0,
};

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let row = setup.only_row();
    let ns3 = Ns3::build("ns3_tcp");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut goodput = (0.0, None);
    let progress = Progress::new(&row.name, setup.trials() as usize);
    for trial in 0..setup.trials() {
        progress.begin(trial as usize, format_args!("trial {}", trial + 1));
        let started = Wall::now();
        let bytes = carried(setup.seed + u64::from(trial), TIME)? as f64;
        ours.push(bytes / SEGMENT / started.elapsed().as_secs_f64());
        goodput.0 = bytes * 8e-6 / TIME.as_secs_f64();
        let seconds = [TIME.as_secs_f64().to_string()];
        if let Some((rate, mbps)) = ns3.as_ref().and_then(|ns3| ns3.packets_per_second(&seconds)) {
            theirs.push(rate);
            goodput.1 = Some(mbps);
        }
        let line = format_args!("{}: trial {} of {}", row.name, trial + 1, setup.trials());
        progress.end_with(trial as usize, line);
    }
    let row = NS3.compared(row.trials(&ours), &theirs, calibration::against_stored);
    let row = row.with("goodput_mbps", goodput.0);
    Ok(vec![match goodput.1 {
        Some(mbps) => row.with("peer_goodput_mbps", mbps),
        None => row,
    }])
}

/// The access point, and the wire behind it.
fn network() -> NetworkConfig {
    let wifi = WifiConfig {
        channel: 36,
        standard: Standard::A,
        rate: Some(Bitrate::from_mbps(54)),
        backhaul: Backhaul {
            queue: QueueConfig::tail_drop(QueueLimit::Packets(100)),
            ..Backhaul::new(Bitrate::from_mbps(20), Duration::from_millis(25))
        },
        ..WifiConfig::new("access point", Position { x_mm: 5_000, y_mm: 0 })
    };
    NetworkConfig {
        medium: Medium::Frames,
        ..NetworkConfig::from(vec![LinkConfig::Wifi(wifi)])
    }
}

/// Bytes that the station reads in this time, after it has associated.
fn carried(seed: u64, time: Duration) -> anyhow::Result<u64> {
    let mut config = Config::stock(
        Control::named("reno").context("the benchmark's own controller")?,
        false,
    );
    config.sender.growth = Growth::PerAck;
    let mut pair = Pair::new(seed, network(), config, config).context("the benchmark's own plan")?;
    pair.associate(LinkId(0));
    pair.run_for(Duration::from_secs(5));
    ensure!(
        pair.network().state(LinkId(0)) == LinkState::Up,
        "the station has not associated within 5 s"
    );
    pair.start(0, over(0), [App::Sink, App::Bulk]);
    pair.run_for(time);
    Ok(pair.read(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ns-3 3.37 carries 19.199 Mb/s.
    #[test]
    fn the_download_carries_what_it_does_in_ns3() {
        for seed in 1..=3 {
            let mbps = carried(seed, TIME).unwrap() as f64 * 8e-6 / TIME.as_secs_f64();
            assert!((mbps / 19.199 - 1.0).abs() < 0.02, "seed {seed}: {mbps} Mb/s");
        }
    }
}
