//! `mptcp-2x1`, `mptcp-2x100`: packets that MPTCP downloads deliver per second of wall time, beside htsim.
//!
//! Each connection has two paths of its own, of 25 Mb/s and 50 ms with tail drop at 100 packets of 1,500 B,
//! and LIA. It runs for 5 s, and then for 60 s, over which the goodput is measured.
//!
//! Connections that share no path are islands, as the channels of [`sim::Islands`] are: each runs to its end
//! by itself, on one of the cores. `one_world` beside it has all of them in one world, on one core.
//!
//! # Where we differ from the peer's program, and why
//! 1. Its packets have no headers, and its TCP has neither handshakes nor SACK, delayed ACKs, receive windows
//!    or data sequence numbers. Ours has all of them, and a scheduler.
//! 2. Its goodput counts whole packets. Ours counts what the application has read, with each packet's headers
//!    beside it.
//! 3. It has one event list for all connections, and uses one core.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Instant as Wall;

use anyhow::Context as _;
use runs::progress::Progress;
use sim::hosts::{App, Pair};
use sim::mptcp::Config;
use sim::tcp::Control;
use trace::{BenchRow, Better};
use units::{Bitrate, Duration, Instant, Rng};

use super::{cables, over};
use crate::calibration::{self, Stored};
use crate::declaration::Setup;

const RATE: Bitrate = Bitrate::from_mbps(25);
const RTT: Duration = Duration::from_millis(50);
/// Connections start at random moments of the first RTT: started together, all would do the same at once.
const STARTS: Duration = RTT;
const WARM: Instant = Instant::from_secs(5);
const TIME: Duration = Duration::from_secs(60);
/// Bytes of a full packet, and its payload over IPv4 and MPTCP.
const PACKET: f64 = 1_500.0;
const PAYLOAD: f64 = 1_420.0;

/// One connection.
pub fn one_connection(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(setup, 1, 3.8e6)
}

/// A hundred connections.
pub fn hundred_connections(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(setup, 100, 1.22e6)
}

/// What a run of all connections carries.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    /// Full packets that reached the client. Short ones count as the part of a full one that they carry.
    packets: f64,
    /// Bytes read in the last 60 s.
    bytes: u64,
}

/// Figures of a trial.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// Full packets that reached the client per second of wall time, as islands and in one world.
    islands: f64,
    one_world: f64,
    /// Bytes read per connection, in Mb/s.
    goodput_mbps: f64,
}

fn run(setup: &Setup, connections: u16, figure: f64) -> anyhow::Result<Vec<BenchRow>> {
    let row = setup.only_row();
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let progress = Progress::new(&row.name, setup.trials() as usize);
    let mut trials = Vec::new();
    for trial in 0..setup.trials() {
        progress.begin(trial as usize, format_args!("trial {}", trial + 1));
        trials.push(measured(setup.seed + u64::from(trial), connections, cores)?);
        let line = format_args!("{}: trial {} of {}", row.name, trial + 1, setup.trials());
        progress.end_with(trial as usize, line);
    }
    let values = |of: fn(&Trial) -> f64| trials.iter().map(of).collect::<Vec<f64>>();
    let median = |of| BenchRow::new("", "", Better::Higher).trials(&values(of)).p50;
    let goodput = median(|trial| trial.goodput_mbps);
    let htsim = Stored {
        peer: "htsim",
        figure,
    };
    let row = row.trials(&values(|trial| trial.islands));
    let row = htsim.compared(row, &[], calibration::against_stored);
    Ok(vec![
        row.with("one_world", median(|trial| trial.one_world))
            .with("cores", cores.get() as f64)
            .with("goodput_mbps", goodput)
            .with("with_headers_mbps", goodput.map(|mbps| mbps * PACKET / PAYLOAD))
            .with("peer_goodput_mbps", 49.982),
    ])
}

/// Runs these connections as islands, and in one world.
fn measured(seed: u64, connections: u16, cores: NonZeroUsize) -> anyhow::Result<Trial> {
    let (islands, rate) = timed(|| in_islands(seed, connections, cores.get()))?;
    let one_world = match connections {
        1 => rate,
        _ => timed(|| carried(seed, connections))?.1,
    };
    let mbps = islands.bytes as f64 * 8e-6 / TIME.as_secs_f64();
    Ok(Trial {
        islands: rate,
        one_world,
        goodput_mbps: mbps / f64::from(connections),
    })
}

/// Times a run. Returns what it carries, and packets per second of wall time. The time includes building the
/// hosts and paths.
fn timed(run: impl FnOnce() -> anyhow::Result<Carried>) -> anyhow::Result<(Carried, f64)> {
    let started = Wall::now();
    let carried = run()?;
    let wall = started.elapsed().as_secs_f64();
    Ok((carried, carried.packets / wall))
}

/// No two connections share a path, so each runs to its end by itself, on one of the cores.
fn in_islands(seed: u64, connections: u16, cores: usize) -> anyhow::Result<Carried> {
    let seeds: Vec<u64> = (0..connections).map(|conn| seed + u64::from(conn)).collect();
    let all = sim::sweep(&seeds, cores, |&seed| carried(seed, 1));
    all.into_iter().try_fold(Carried::default(), |sum, one| {
        let one = one?;
        Ok(Carried {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    })
}

/// Runs these connections in one world.
fn carried(seed: u64, connections: u16) -> anyhow::Result<Carried> {
    let config = Config::stock(
        Control::named("lia").context("the benchmark's own controller")?,
        true,
    );
    let paths = cables(2 * connections, RATE, RTT);
    let mut pair = Pair::new(seed, paths, config, config).context("the benchmark's own plan")?;
    start(&mut pair, seed, connections);
    pair.run_until(WARM);
    let before = read(&pair, connections);
    pair.run_until(WARM + TIME);
    Ok(Carried {
        packets: (0..connections).map(|conn| packets(&pair, conn)).sum(),
        bytes: read(&pair, connections) - before,
    })
}

/// Starts connection n over paths 2n and 2n + 1.
fn start(pair: &mut Pair, seed: u64, connections: u16) {
    let mut random = Rng::named(seed, "starts");
    let mut starts: Vec<_> = (0..connections)
        .map(|conn| (random.duration_up_to(STARTS), conn))
        .collect();
    starts.sort_unstable();
    for (at, conn) in starts {
        pair.run_until(Instant::ZERO + at);
        pair.start(conn.into(), over(2 * conn), [App::Sink, App::Bulk]);
        let now = pair.now();
        pair.act(conn.into(), |connection, out| {
            connection.join(now, over(2 * conn + 1), false, out);
        });
    }
}

fn read(pair: &Pair, connections: u16) -> u64 {
    (0..connections).map(|conn| pair.read(conn.into())).sum()
}

/// Full packets that have reached the client's end of a connection.
fn packets(pair: &Pair, conn: u16) -> f64 {
    let connection = pair.client.connection(conn.into()).into_iter();
    let subflows = connection.flat_map(|connection| connection.subflows(pair.now()));
    let bytes: u64 = subflows.map(|subflow| subflow.received.in_order).sum();
    bytes as f64 / PAYLOAD
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of 70 connections, which have 140 links, gets both its paths.
    #[test]
    fn every_connection_fills_its_own_paths() {
        let config = Config::stock(Control::named("lia").unwrap(), true);
        let mut pair = Pair::new(1, cables(140, RATE, RTT), config, config).unwrap();
        start(&mut pair, 1, 70);
        pair.run_until(Instant::from_secs(4));
        let most = 4.0 * 50e6 / 12e3;
        for conn in 0..70 {
            let part = packets(&pair, conn) / most;
            assert!((0.85..1.0).contains(&part), "{conn}: {part}");
        }
    }
}
