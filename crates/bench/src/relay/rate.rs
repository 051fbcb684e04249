//! `relay-rate`: connections in a second, each with a reply of 1 KiB.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linux::netns::Netns;
use trace::BenchRow;

use super::haproxy::{self, Haproxy};
use super::rig::{self, Rig, Server, Through};
use super::speed::against;
use super::{Goal, beside};
use crate::declaration::Setup;

const CLIENTS: usize = 8;
const REPLY: usize = 1_024;
const LASTS: Duration = Duration::from_secs(2);

/// Runs the benchmark: in each trial the relay, then HAProxy.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (ours, theirs) = trials(setup.trials(), LASTS)?;
    let row = setup.only_row().trials(&ours);
    let row = match theirs.is_empty() {
        true => row.with("control", haproxy::MISSING),
        false => beside(row, haproxy::NAME, &theirs),
    };
    Ok(vec![against(row, Goal { must: 0.9, aim: 1.5 })])
}

fn trials(count: u32, lasts: Duration) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let rig = Rig::new(&["127.0.0.0/8"])?;
    let server = Server::start(&rig.netns, |mut stream: TcpStream| {
        // A client that has gone gets nothing.
        let _ = stream.write_all(&[7; REPLY]);
    })?;
    let control = Haproxy::start(&rig.netns, server.address())?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        ours.push(per_second(&rig.netns, &rig.through(server.address()), lasts)?);
        if let Some(haproxy) = &control {
            theirs.push(per_second(&rig.netns, &haproxy.through(), lasts)?);
        }
    }
    server.stop(&rig.netns)?;
    Ok((ours, theirs))
}

fn per_second(netns: &Netns, through: &Through, lasts: Duration) -> anyhow::Result<f64> {
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let began = Instant::now();
    let mut threads = Vec::new();
    for _ in 0..CLIENTS {
        let (through, over, done) = (through.clone(), over.clone(), done.clone());
        let work = move || -> std::io::Result<()> {
            while !over.load(Ordering::Relaxed) {
                fetch(&through)?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        threads.push(std::thread::spawn(rig::netns_of(netns, work)?));
    }
    std::thread::sleep(lasts);
    let rate = done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread
            .join()
            .map_err(|_| anyhow::anyhow!("a client panicked; please report this"))??;
    }
    Ok(rate)
}

fn fetch(through: &Through) -> std::io::Result<()> {
    let mut stream = through.open()?;
    let mut reply = Vec::with_capacity(REPLY);
    stream.read_to_end(&mut reply)?;
    match reply.len() {
        REPLY => Ok(()),
        other => Err(std::io::Error::other(format!(
            "a reply of {other} bytes instead of {REPLY}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_complete() {
        let (ours, _) = trials(1, Duration::from_millis(200)).unwrap();
        assert!(ours[0] > 10.0, "{ours:?}");
    }
}
