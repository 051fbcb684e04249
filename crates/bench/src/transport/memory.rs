//! `memory-connection`: heap that one more idle MPTCP connection takes at both ends together.
//!
//! Each has two subflows and has carried one short request and its reply. All use the same two paths.

use anyhow::{Context as _, ensure};
use sim::hosts::{App, Pair, Replies, Schedule};
use sim::mptcp::Config;
use sim::tcp::Control;
use trace::BenchRow;
use units::{Bitrate, Duration};

use super::{cables, over};
use crate::declaration::Setup;
use crate::heap;

const FEW: u32 = 1_000;
const MANY: u32 = 10_000;
/// Bytes of a request and of its reply.
const REQUEST: u64 = 300;
const REPLY: u64 = 1_000;
/// Interval between two requests of a connection: it is idle after the first.
const EVERY: Duration = Duration::from_secs(3_600);

/// Runs the benchmark: bytes at 10,000 connections minus those at 1,000, for each of the 9,000.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let [few, many] = [held_by(setup.seed, FEW)?, held_by(setup.seed, MANY)?];
    let bytes = many.saturating_sub(few) as f64 / f64::from(MANY - FEW);
    Ok(vec![setup.only_row().trials(&[bytes])])
}

fn held_by(seed: u64, connections: u32) -> anyhow::Result<usize> {
    let before = heap::in_use();
    let pair = idle(seed, connections)?;
    let held = heap::in_use().saturating_sub(before);
    drop(pair);
    Ok(held)
}

/// Hosts with this many connections, after the last has become idle.
fn idle(seed: u64, connections: u32) -> anyhow::Result<Pair> {
    let control = Control::named("lia").context("the benchmark's own controller")?;
    let config = Config::stock(control, true);
    let paths = cables(2, Bitrate::from_mbps(1_000), Duration::from_millis(20));
    let mut pair = Pair::new(seed, paths, config, config).context("the benchmark's own plan")?;
    for conn in 0..connections {
        let schedule = Schedule::new(EVERY, REQUEST, REPLY);
        let replies = Replies::new(REQUEST, REPLY);
        pair.start(conn, over(0), [App::Schedule(schedule), App::Replies(replies)]);
        let now = pair.now();
        pair.act(conn, |connection, out| connection.join(now, over(1), false, out));
        pair.run_for(Duration::from_micros(100));
    }
    pair.run_until(pair.now() + Duration::from_secs(10));
    for conn in 0..connections {
        let connection = pair.client.connection(conn);
        let subflows = connection.map_or(0, |connection| connection.subflows(pair.now()).count());
        ensure!(
            subflows == 2 && pair.read(conn) == REPLY,
            "connection {conn} has {subflows} subflows, and has read {} of {REPLY} bytes",
            pair.read(conn)
        );
    }
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Instant;

    #[test]
    fn idle_connections_have_two_subflows_and_nothing_to_do() {
        let pair = idle(1, 50).unwrap();
        // The next request is the next event.
        let next = pair.next().unwrap();
        assert!(next > Instant::from_secs(3_599), "{next}");
    }
}
