//! `relay-intact`: flows whose ends close, half-close or reset at random. What arrives must be what was sent.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::SockRef;
use trace::BenchRow;
use units::Rng;

use super::rig::{self, Rig, Server, Through};
use super::{Goal, judged};
use crate::declaration::Setup;

const FLOWS: u64 = 10_000;
const THREADS: u64 = 8;
/// Greatest length of one direction, in bytes.
const MOST: u64 = 96 * 1024;
const SEED: usize = 8;

/// How a flow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client closes its direction first, and the server answers then.
    HalfClose,
    /// The server sends at once.
    Both,
    /// The client resets in the middle.
    ClientResets,
    /// The server resets in the middle.
    ServerResets,
}

/// One flow: both ends draw it from its seed.
#[derive(Debug, Clone, Copy)]
struct Flow {
    seed: u64,
    up: u64,
    down: u64,
    end: End,
}

impl Flow {
    fn of(seed: u64) -> Self {
        let mut random = Rng::named(seed, "flow");
        let [up, down] = [(), ()].map(|()| random.below(MOST));
        let end = [End::HalfClose, End::Both, End::ClientResets, End::ServerResets];
        let end = end[random.below(4) as usize];
        Self { seed, up, down, end }
    }

    const fn is_reset(self) -> bool {
        matches!(self.end, End::ClientResets | End::ServerResets)
    }

    /// The bytes of one direction.
    fn bytes(self, way: &str, length: u64) -> Vec<u8> {
        let mut random = Rng::named(self.seed, way);
        let words = length.div_ceil(8);
        let mut bytes = Vec::from_iter((0..words).flat_map(|_| random.next_u64().to_le_bytes()));
        bytes.truncate(length as usize);
        bytes
    }
}

/// What the ends of all flows saw.
#[derive(Debug, Default)]
struct Outcome {
    intact: u64,
    resets: u64,
    wrong: Vec<String>,
}

/// Runs the benchmark. The figure is the share of flows whose bytes were intact, in %.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let outcome = play(FLOWS, setup.seed)?;
    let share = outcome.intact as f64 * 100.0 / FLOWS as f64;
    let row = setup.only_row().trials(&[share]);
    let row = row.with("flows", FLOWS).with("reset", outcome.resets);
    let first = outcome.wrong.first().cloned();
    let row = match first {
        Some(first) => row.with("first_wrong", first),
        None => row,
    };
    Ok(vec![judged(
        row,
        Goal {
            must: 100.0,
            aim: 100.0,
        },
    )])
}

fn play(flows: u64, seed: u64) -> anyhow::Result<Outcome> {
    let rig = Rig::new(&["127.0.0.0/8"])?;
    let server = Server::start(&rig.netns, |stream| drop(serve(stream)))?;
    let through = rig.through(server.address());
    let mut threads = Vec::new();
    for thread in 0..THREADS {
        let own = (0..flows).filter(move |flow| flow % THREADS == thread);
        let through = through.clone();
        let work = move || {
            let mut outcome = Outcome::default();
            for flow in own {
                outcome.count(Flow::of(seed.wrapping_mul(1 << 20) + flow), &through);
            }
            outcome
        };
        threads.push(std::thread::spawn(rig::netns_of(&rig.netns, work)?));
    }
    let mut all = Outcome::default();
    for thread in threads {
        let own = thread
            .join()
            .map_err(|_| anyhow::anyhow!("a client panicked; please report this"))?;
        all.intact += own.intact;
        all.resets += own.resets;
        all.wrong.extend(own.wrong);
    }
    server.stop(&rig.netns)?;
    Ok(all)
}

impl Outcome {
    fn count(&mut self, flow: Flow, through: &Through) {
        self.resets += u64::from(flow.is_reset());
        match fetch(flow, through) {
            Ok(()) => self.intact += 1,
            Err(error) => self.wrong.push(format!("{flow:?}: {error}")),
        }
    }
}

/// The client's end. It checks what the server sends, and reads the server's verdict on its own bytes.
fn fetch(flow: Flow, through: &Through) -> io::Result<()> {
    let mut stream = through.open()?;
    let up = flow.bytes("up", flow.up);
    stream.write_all(&flow.seed.to_le_bytes())?;
    if flow.end == End::ClientResets {
        stream.write_all(&up[..up.len() / 2])?;
        return reset(&stream);
    }
    let mut writer = stream.try_clone()?;
    let sent = std::thread::spawn(move || {
        writer.write_all(&up)?;
        writer.shutdown(Shutdown::Write)
    });
    let (got, ended) = all_of(&mut stream);
    let sent = sent.join().map_err(|_| io::Error::other("the writer panicked"))?;
    let down = flow.bytes("down", flow.down);
    if flow.end == End::ServerResets {
        return match ended {
            _ if !down.starts_with(&got) => Err(io::Error::other("other bytes came before the reset")),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(error),
            // A socket reports a reset once, and the writer has heard of it.
            Ok(()) if sent.is_err() => Ok(()),
            Ok(()) => Err(io::Error::other("the server's reset came as an ordinary end")),
        };
    }
    sent?;
    ended?;
    // The last byte is the server's verdict on what it read.
    match got.split_last() {
        Some((1, content)) if content == down => Ok(()),
        Some((0, _)) => Err(io::Error::other("the server read other bytes")),
        _ => Err(io::Error::other(format!(
            "{} of {} bytes, or others",
            got.len(),
            down.len() + 1
        ))),
    }
}

/// The server's end.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(rig::PATIENCE))?;
    stream.set_write_timeout(Some(rig::PATIENCE))?;
    let mut seed = [0; SEED];
    stream.read_exact(&mut seed)?;
    let flow = Flow::of(u64::from_le_bytes(seed));
    let down = flow.bytes("down", flow.down);
    match flow.end {
        End::ServerResets => {
            stream.write_all(&down[..down.len() / 2])?;
            return reset(&stream);
        }
        End::ClientResets => return all_of(&mut stream).1,
        End::HalfClose | End::Both => {}
    }
    let at_once = (flow.end == End::Both).then(|| {
        let (mut writer, down) = (stream.try_clone(), down.clone());
        std::thread::spawn(move || writer.as_mut().map(|writer| writer.write_all(&down)).is_ok())
    });
    let (got, ended) = all_of(&mut stream);
    let is_right = ended.is_ok() && got == flow.bytes("up", flow.up);
    match at_once {
        Some(writer) => drop(writer.join()),
        None => stream.write_all(&down)?,
    }
    stream.write_all(&[u8::from(is_right)])?;
    stream.shutdown(Shutdown::Write)
}

/// All bytes until the end, and how it ended.
fn all_of(stream: &mut TcpStream) -> (Vec<u8>, io::Result<()>) {
    let mut got = Vec::new();
    let ended = stream.read_to_end(&mut got).map(drop);
    (got, ended)
}

/// Ends a connection with a reset once it is dropped.
fn reset(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_arrives_as_it_was_sent_however_it_ends() {
        let outcome = play(240, 1).unwrap();
        assert_eq!(outcome.wrong, Vec::<String>::new());
        assert!((60..180).contains(&outcome.resets), "{outcome:?}");
    }
}
