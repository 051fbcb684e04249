//! `relay-idle`: memory of the relay's process for each connection on which nothing happens.

use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use linux::netns::Netns;
use trace::BenchRow;

use super::haproxy::{self, Haproxy};
use super::rig::{self, PATIENCE, Rig, Server, Through};
use super::{Goal, beside, judged};
use crate::declaration::Setup;

const CONNECTIONS: usize = 10_000;
const THREADS: usize = 8;
/// Connections before the first look: what a process takes once does not count.
const WARM: usize = 64;

/// Runs the benchmark: the relay, then HAProxy.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let count = CONNECTIONS.min(rig::most_connections());
    let (ours, theirs) = measure(count)?;
    let row = setup
        .only_row()
        .trials(&[ours / 1024.0])
        .with("connections", count);
    let row = match theirs {
        None => row.with("control", haproxy::MISSING),
        Some(theirs) => beside(row, haproxy::NAME, &[theirs / 1024.0]),
    };
    Ok(vec![judged(row, Goal { must: 2.0, aim: 1.0 })])
}

/// Bytes for each connection: the relay's, and HAProxy's if it is installed.
fn measure(count: usize) -> anyhow::Result<(f64, Option<f64>)> {
    let rig = Rig::new(&["127.0.0.0/8"])?;
    let served = Arc::new(Mutex::new(Vec::new()));
    let held = served.clone();
    let server = Server::start(&rig.netns, move |stream: TcpStream| {
        held.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
    })?;
    let ours = growth(&rig.netns, &rig.through(server.address()), rig.process()?, count)?;
    // The same descriptors serve the control.
    served.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let control = Haproxy::start(&rig.netns, server.address())?;
    let theirs = control
        .as_ref()
        .map(|haproxy| growth(&rig.netns, &haproxy.through(), haproxy.process(), count));
    let theirs = theirs.transpose()?;
    server.stop(&rig.netns)?;
    Ok((ours, theirs))
}

fn growth(netns: &Netns, through: &Through, process: u32, count: usize) -> anyhow::Result<f64> {
    let _warm = open(netns, through, WARM)?;
    let before = rig::resident(process)?;
    let held = open(netns, through, count - WARM)?;
    let after = settled(process)?;
    Ok((after.saturating_sub(before)) as f64 / held.len() as f64)
}

/// Memory once it has stopped to grow.
fn settled(process: u32) -> anyhow::Result<u64> {
    let mut last = 0;
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        let now = rig::resident(process)?;
        if now == last || std::time::Instant::now() > until {
            return Ok(now);
        }
        last = now;
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn open(netns: &Netns, through: &Through, count: usize) -> anyhow::Result<Vec<TcpStream>> {
    let mut threads = Vec::new();
    for thread in 0..THREADS {
        let share = count / THREADS + usize::from(thread < count % THREADS);
        let through = through.clone();
        let work = move || {
            (0..share)
                .map(|_| through.open())
                .collect::<std::io::Result<Vec<_>>>()
        };
        threads.push(std::thread::spawn(rig::netns_of(netns, work)?));
    }
    let mut held = Vec::new();
    for thread in threads {
        held.extend(
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a client panicked; please report this"))??,
        );
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_are_held_while_memory_is_read() {
        let (ours, _) = measure(400).unwrap();
        assert!(ours > 0.0 && ours < 100_000.0, "{ours} bytes for each connection");
    }
}
