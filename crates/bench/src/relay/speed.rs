//! `relay-speed` and `relay-cpu`: bytes per second in both directions, and what they cost.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linux::netns::Netns;
use serde_json::json;
use trace::BenchRow;

use super::haproxy::{self, Haproxy};
use super::rig::{self, Rig, Server, Through};
use super::{Goal, beside, judged};
use crate::cpu;
use crate::declaration::Setup;

/// Connections at once.
const CONNECTIONS: usize = 4;
const LASTS: Duration = Duration::from_secs(2);
const CHUNK: usize = 256 * 1024;

/// The direction of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To the client.
    Down,
    /// To the server.
    Up,
}

impl Way {
    const BOTH: [Self; 2] = [Self::Down, Self::Up];

    const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// Figures of one transfer.
#[derive(Debug, Clone, Copy)]
struct Carried {
    way: Way,
    gb_per_s: f64,
    cpu_s_per_gb: f64,
}

/// Runs the benchmark: in each trial the relay, then HAProxy, in each direction.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (ours, theirs) = trials(setup.trials(), LASTS)?;
    let all = |carried: &[Carried], figure: fn(&Carried) -> f64| Vec::from_iter(carried.iter().map(figure));
    let speed: fn(&Carried) -> f64 = |carried| carried.gb_per_s;
    let cost: fn(&Carried) -> f64 = |carried| carried.cpu_s_per_gb;
    let row = |name: &str, figure: fn(&Carried) -> f64| {
        let row = setup.row(name).trials(&all(&ours, figure));
        match theirs.is_empty() {
            true => row.with("control", haproxy::MISSING),
            false => beside(row, haproxy::NAME, &all(&theirs, figure)),
        }
    };
    let speed_row = row("relay-speed", speed);
    let cost_row = row("relay-cpu", cost).with("each", table(&ours, &theirs));
    // Under 1.5 times of a control is equal to it: the spread of one machine is as large.
    Ok(vec![
        against(speed_row, Goal { must: 0.9, aim: 1.5 }),
        against(
            cost_row,
            Goal {
                must: 1.0 / 1.5,
                aim: 2.0,
            },
        ),
    ])
}

/// Judges the ratio to the control, where more is better.
pub(super) fn against(row: BenchRow, goal: Goal) -> BenchRow {
    let ratio = BenchRow {
        ours: row.ratio,
        ..BenchRow::new("", "", trace::Better::Higher)
    };
    let verdict = judged(ratio, goal).extra;
    let with = |row: BenchRow, key: &str, to: &str| match verdict.get(key) {
        Some(value) => row.with(to, value.clone()),
        None => row,
    };
    let row = with(row, "must", "must_ratio");
    with(with(row, "aim", "aim_ratio"), "verdict", "verdict")
}

fn table(ours: &[Carried], theirs: &[Carried]) -> serde_json::Value {
    let median = |carried: &[Carried], way: Way, figure: fn(&Carried) -> f64| {
        let figures = Vec::from_iter(carried.iter().filter(|one| one.way == way).map(figure));
        BenchRow::new("", "", trace::Better::Higher).trials(&figures).p50
    };
    let line = |who: &str, carried: &[Carried], way: Way| {
        json!({
            "through": who, "way": way.word(),
            "gb_per_s": median(carried, way, |one| one.gb_per_s),
            "cpu_s_per_gb": median(carried, way, |one| one.cpu_s_per_gb),
        })
    };
    let both = [("relay", ours), (haproxy::NAME, theirs)];
    let lines = both.into_iter().filter(|(_, carried)| !carried.is_empty());
    lines
        .flat_map(|(who, carried)| Way::BOTH.map(|way| line(who, carried, way)))
        .collect()
}

type Both = (Vec<Carried>, Vec<Carried>);

fn trials(count: u32, lasts: Duration) -> anyhow::Result<Both> {
    let rig = Rig::new(&["127.0.0.0/8"])?;
    let received = Arc::new(AtomicU64::new(0));
    let counted = received.clone();
    let server = Server::start(&rig.netns, move |stream| serve(stream, &counted))?;
    let control = Haproxy::start(&rig.netns, server.address())?;
    let relay = (rig.through(server.address()), rig.process()?);
    let haproxy = control
        .as_ref()
        .map(|haproxy| (haproxy.through(), haproxy.process()));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        for way in Way::BOTH {
            ours.push(carry(&rig.netns, &relay, way, &received, lasts)?);
            if let Some(haproxy) = &haproxy {
                theirs.push(carry(&rig.netns, haproxy, way, &received, lasts)?);
            }
        }
    }
    server.stop(&rig.netns)?;
    Ok((ours, theirs))
}

/// Sends without end, or counts what comes, as the first byte says.
fn serve(mut stream: TcpStream, received: &AtomicU64) {
    let mut way = [0];
    let mut buffer = vec![0; CHUNK];
    if stream.read_exact(&mut way).is_err() {
        return;
    }
    if way[0] == Way::Down as u8 {
        while stream.write_all(&buffer).is_ok() {}
        return;
    }
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        received.fetch_add(count as u64, Ordering::Relaxed);
    }
}

fn carry(
    netns: &Netns,
    (through, process): &(Through, u32),
    way: Way,
    received: &Arc<AtomicU64>,
    lasts: Duration,
) -> anyhow::Result<Carried> {
    let over = Arc::new(AtomicBool::new(false));
    received.store(0, Ordering::Relaxed);
    let cpu = cpu::seconds(*process)?;
    let began = Instant::now();
    let mut threads = Vec::new();
    for _ in 0..CONNECTIONS {
        let (through, over, received) = (through.clone(), over.clone(), received.clone());
        let work = move || {
            let stream = through.open()?;
            move_bytes(stream, way, &over, &received)
        };
        threads.push(std::thread::spawn(rig::netns_of(netns, work)?));
    }
    std::thread::sleep(lasts);
    let bytes = received.load(Ordering::Relaxed) as f64;
    let (took, used) = (began.elapsed().as_secs_f64(), cpu::seconds(*process)? - cpu);
    over.store(true, Ordering::Relaxed);
    for thread in threads {
        let moved = thread
            .join()
            .map_err(|_| anyhow::anyhow!("a client panicked; please report this"))?;
        moved?;
    }
    anyhow::ensure!(bytes > 0.0, "nothing arrived; please report this");
    Ok(Carried {
        way,
        gb_per_s: bytes / 1e9 / took,
        cpu_s_per_gb: used / (bytes / 1e9),
    })
}

fn move_bytes(
    mut stream: TcpStream,
    way: Way,
    over: &AtomicBool,
    received: &AtomicU64,
) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    stream.write_all(&[way as u8])?;
    while !over.load(Ordering::Relaxed) {
        match way {
            Way::Up => stream.write_all(&buffer)?,
            Way::Down => {
                let count = stream.read(&mut buffer)?;
                received.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
    }
    // The peer may have gone already.
    let _ = stream.shutdown(Shutdown::Both);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_carried() {
        let (ours, _) = trials(1, Duration::from_millis(200)).unwrap();
        let ways = Vec::from_iter(ours.iter().map(|carried| carried.way));
        assert_eq!(ways, Way::BOTH);
        assert!(ours.iter().all(|carried| carried.gb_per_s > 0.001), "{ours:?}");
    }
}
