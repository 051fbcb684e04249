//! `networks-cuts`: an upload through many cuts of its link, half of them silent.
//!
//! Its datagrams have the number of a session. The server replies to wherever the latest one came from, as
//! servers of QUIC and WireGuard do. So the upload may continue from another address. Blocks that are not
//! acknowledged are sent again. The figure is the number of cuts that stopped it for [`PATIENCE`]. At the end
//! the server must have every block, in order, in the one session. The control is the same upload with a
//! daemon without `[networks]`.
//!
//! `crates/cli/tests/host/quic.rs` does the same with QUIC (`quinn`) and WireGuard.

use super::dead_idle::home::{Home, SERVER};
use super::dead_idle::watched::Watched;
use super::networks::{PORT, networks, options};
use crate::declaration::Setup;
use anyhow::Context as _;
use policy::LinkKind;
use runs::progress::Progress;
use show::exit::Refused;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trace::BenchRow;

const CUTS: usize = 20;
/// A cut that stops the upload for longer counts.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the upload runs before a cut.
const SETTLE: Duration = Duration::from_millis(500);
/// How long a link may take until it is in use again.
const RETURNS: Duration = Duration::from_secs(30);
/// Blocks without acknowledgement.
const WINDOW: u64 = 8;
/// Bytes of a block.
const BLOCK: usize = 1_000;
/// Time between two looks for replies, and until blocks are sent again.
const EVERY: Duration = Duration::from_millis(10);

/// Counts the cuts that stop the upload.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let row = setup.only_row();
    let progress = Progress::new(&row.name, setup.trials() as usize);
    let (mut stopped, mut without) = (Vec::new(), 0);
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        progress.begin(trial as usize, format_args!("seed {seed}"));
        stopped.push(cuts(seed, true).with_context(|| format!("seed {seed}"))? as f64);
        without += cuts(seed, false).with_context(|| format!("seed {seed}, without [networks]"))?;
        progress.end(trial as usize);
    }
    Ok(vec![row.trials(&stopped).with("stopped_without", without)])
}

/// The number of cuts that stop an upload.
fn cuts(seed: u64, with_networks: bool) -> anyhow::Result<u64> {
    let mut rng = units::Rng::named(seed, "cuts");
    let home = Home::new()?;
    let server = Server::start(&home)?;
    let networks = with_networks.then(|| networks(Vec::new()));
    let watched = Watched::start_with(&home, options(networks, seed, LinkKind::Cable))?;
    let mut upload = Upload::begin(&home, seed)?;
    let mut stopped = 0;
    for number in 0..CUTS {
        upload.run(SETTLE + rng.duration_up_to(SETTLE), |_| false)?;
        let line = upload.line.context("the upload has no replies")?;
        if number % 2 == 0 {
            home.connect(line, false)?;
        } else {
            home.set_up(line, false)?;
        }
        stopped += u64::from(!upload.run(PATIENCE, |over| over != line)?);
        if number % 2 == 0 {
            home.connect(line, true)?;
        } else {
            home.restore(line)?;
        }
        let restored = Instant::now();
        while !watched.trusts_all()? {
            anyhow::ensure!(restored.elapsed() < RETURNS, "line {line} is not trusted again");
            upload.run(SETTLE, |_| false)?;
        }
    }
    let sent = upload.end()?;
    watched.stop()?;
    let received = server.stop()?;
    anyhow::ensure!(received == sent, "the server has {received} of {sent} blocks");
    Ok(stopped)
}

/// An upload of a program, in one session.
struct Upload {
    socket: UdpSocket,
    session: u64,
    /// Blocks that the server has.
    acknowledged: u64,
    /// The line over which the last block came that the server has.
    line: Option<u8>,
}

impl Upload {
    fn begin(home: &Home, session: u64) -> anyhow::Result<Self> {
        let socket = home.client.run(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((SERVER, PORT))?;
            anyhow::Ok(socket)
        })??;
        socket.set_read_timeout(Some(EVERY))?;
        Ok(Self {
            socket,
            session,
            acknowledged: 0,
            line: None,
        })
    }

    /// Uploads for this long, or until `on` returns true for the line of a new block. Returns whether it did.
    fn run(&mut self, lasts: Duration, mut on: impl FnMut(u8) -> bool) -> anyhow::Result<bool> {
        let end = Instant::now() + lasts;
        while Instant::now() < end {
            let before = self.acknowledged;
            self.send(before..before + WINDOW);
            self.listen(before + WINDOW);
            if self.acknowledged > before && self.line.is_some_and(&mut on) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn send(&self, blocks: std::ops::Range<u64>) {
        for block in blocks {
            let mut datagram = [0; 16 + BLOCK];
            datagram[..8].copy_from_slice(&self.session.to_le_bytes());
            datagram[8..16].copy_from_slice(&block.to_le_bytes());
            // A line that is down refuses.
            let _ = self.socket.send(&datagram);
        }
    }

    /// Takes in replies until the server has all blocks before this one, or says nothing for a while.
    fn listen(&mut self, until: u64) {
        let mut reply = [0; 9];
        while self.acknowledged < until {
            match self.socket.recv(&mut reply) {
                Ok(9) => {
                    let next = u64::from_le_bytes(reply[..8].try_into().expect("eight bytes"));
                    if next > self.acknowledged {
                        (self.acknowledged, self.line) = (next, Some(reply[8]));
                    }
                }
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(EVERY);
                    return;
                }
                _ => return,
            }
        }
    }

    /// Waits for what the server does not have yet. Returns the number of blocks.
    fn end(mut self) -> anyhow::Result<u64> {
        let until = Instant::now() + PATIENCE;
        let all = self.acknowledged + WINDOW;
        while self.acknowledged < all {
            anyhow::ensure!(Instant::now() < until, "the upload does not end");
            self.send(self.acknowledged..all);
            self.listen(all);
        }
        Ok(all)
    }
}

/// Takes the blocks of one session, in order.
struct Server {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Server {
    fn start(home: &Home) -> anyhow::Result<Self> {
        let socket = home.server.run(|| UdpSocket::bind((SERVER, PORT)))??;
        socket.set_read_timeout(Some(EVERY))?;
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut session, mut next) = (None, 0_u64);
            let mut datagram = [0; 16 + BLOCK];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut datagram) else {
                    continue;
                };
                let of =
                    |at: usize| u64::from_le_bytes(datagram[at..at + 8].try_into().expect("eight bytes"));
                let IpAddr::V4(address) = from.ip() else { continue };
                if length < datagram.len() || *session.get_or_insert(of(0)) != of(0) {
                    continue;
                }
                next += u64::from(of(8) == next);
                let mut reply = [0; 9];
                reply[..8].copy_from_slice(&next.to_le_bytes());
                reply[8] = address.octets()[2];
                // Its line may have gone meanwhile.
                let _ = socket.send_to(&reply, from);
            }
            next
        });
        Ok(Self { stop, thread })
    }

    /// The number of blocks that it has.
    fn stop(self) -> anyhow::Result<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("the server panicked"))
    }
}
