//! Load on the host: MPTCP downloads, an upload, short connections that open and close, and UDP.

use super::site::{SERVER, Site};
use lab::clock::Clock;
use lab::traffic::{self, Server, Task, Via};
use scenario::Work;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use units::{Bitrate, Bytes};

const PORT: u16 = 5_001;
const CC: &str = "reno";
/// Size of a transfer that lasts several rounds.
const LONG: Bytes = Bytes::new(10_000_000);
/// Size of a transfer that lasts about one round: it starts in one and ends in the next.
const MIDDLE: Bytes = Bytes::new(1_000_000);
const SHORT: Bytes = Bytes::new(30_000);
/// Pause between two short connections.
const PAUSE: Duration = Duration::from_millis(20);
/// Longer than any benchmark.
const FOR_EVER: Duration = Duration::from_secs(24 * 3_600);

/// Counts of transfers.
#[derive(Debug, Default)]
pub struct Counts {
    transfers: AtomicU64,
    broken: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Counts {
    /// Completed transfers, and connections that broke.
    pub fn totals(&self) -> (u64, u64) {
        (
            self.transfers.load(Ordering::Relaxed),
            self.broken.load(Ordering::Relaxed),
        )
    }

    /// Returns what was received otherwise than sent, and clears the list.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut wrong)
    }

    fn add(&self, name: &str, outcome: &traffic::Outcome) {
        self.transfers.fetch_add(1, Ordering::Relaxed);
        let broken = outcome.broken.len() as u64;
        self.broken.fetch_add(broken, Ordering::Relaxed);
        if !outcome.intact {
            self.tell(format!("{name}: not every byte arrived as it was sent"));
        }
    }

    fn tell(&self, wrong: String) {
        let mut all = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(wrong);
    }
}

/// The running load, stopped when this is dropped.
pub struct Load {
    stop: Arc<AtomicBool>,
    flows: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts the load on a site.
    pub fn start(site: &Site, seed: u64, counts: &Arc<Counts>) -> anyhow::Result<Self> {
        let clock = Clock::start();
        let listen = |address| Server::start(&site.internet, SocketAddr::new(address, PORT), CC, clock);
        let [v4, v6] = SERVER.map(listen);
        let (v4, v6) = (Arc::new(v4?), Arc::new(v6?));
        let download = |size, mbps| Work::Download {
            size: Some(size),
            limit: Some(Bitrate::from_mbps(mbps)),
        };
        let upload = Work::Upload {
            size: Some(MIDDLE),
            limit: Some(Bitrate::from_mbps(8)),
        };
        let short = Work::Download {
            size: Some(SHORT),
            limit: None,
        };
        let flows = [
            ("download", download(MIDDLE, 8), &v4),
            ("film", download(LONG, 4), &v4),
            ("download6", download(MIDDLE, 8), &v6),
            ("upload", upload, &v4),
            ("page", short, &v4),
            ("page6", short, &v6),
        ];
        let mut load = Self {
            stop: Arc::default(),
            flows: Vec::new(),
        };
        for (number, (name, work, server)) in (1..).zip(flows) {
            let task = Task {
                name: name.to_owned(),
                work,
                via: Via::Mptcp,
                server: server.address(),
                cc: CC.to_owned(),
                seed: seed.wrapping_mul(1_000).wrapping_add(number) << 24,
                clock,
                until: clock.now() + FOR_EVER,
                stop: Arc::clone(&load.stop),
                watchlist: traffic::Watchlist::default(),
            };
            load.flow(site, task, server, counts)?;
        }
        load.datagrams(site, counts)?;
        Ok(load)
    }

    /// Starts UDP flows, each of a new socket, that nobody replies to.
    fn datagrams(&mut self, site: &Site, counts: &Arc<Counts>) -> anyhow::Result<()> {
        let (netns, stop, counts) = (site.host.try_clone()?, Arc::clone(&self.stop), Arc::clone(counts));
        let send = move || {
            if let Err(error) = netns.enter() {
                return counts.tell(error.to_string());
            }
            while !stop.load(Ordering::Relaxed) {
                // While no link is up, no route leads there.
                let _ = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
                    .and_then(|socket| socket.send_to(b"?", (SERVER[0], PORT)));
                std::thread::sleep(PAUSE);
            }
        };
        let thread = std::thread::Builder::new().name("up-down-udp".into());
        self.flows.push(thread.spawn(send)?);
        Ok(())
    }

    /// Starts a flow that repeats one transfer.
    fn flow(
        &mut self,
        site: &Site,
        mut task: Task,
        server: &Arc<Server>,
        counts: &Arc<Counts>,
    ) -> anyhow::Result<()> {
        let (netns, server, counts) = (site.host.try_clone()?, Arc::clone(server), Arc::clone(counts));
        let again = move || {
            if let Err(error) = netns.enter() {
                return counts.tell(error.to_string());
            }
            while !task.stop.load(Ordering::Relaxed) {
                task.seed += 1;
                match traffic::run(&task, &server, &|_, _| {}) {
                    Ok(outcome) => counts.add(&task.name, &outcome),
                    Err(error) => counts.tell(format!("{}: {error}", task.name)),
                }
                std::thread::sleep(PAUSE);
            }
        };
        let thread = std::thread::Builder::new().name("up-down-flow".into());
        self.flows.push(thread.spawn(again)?);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for flow in self.flows.drain(..) {
            // The panic of a flow was already printed.
            let _ = flow.join();
        }
    }
}
