//! `networks-cost` and `networks-flows`: what the interface that never changes costs, and whether many new
//! flows leave by the right links.
//!
//! In `networks-cost` a flow sends datagrams of 1,200 bytes to a server over a router. The figure is the
//! processor time of the benchmark's process for each byte that arrives: sender, daemon and receiver. The
//! kernel does the work of virtual cables in the sender's time.
//!
//! In `networks-flows` each flow has a socket of its own and sends one datagram. Flows to even ports have a
//! rule for one link, those to odd ports for the other one. The server sees over which link each came.

use super::dead_idle::home::{Home, LINES, SERVER};
use super::dead_idle::watched::Watched;
use super::networks::{PORT, networks, options};
use crate::cpu;
use crate::declaration::Setup;
use anyhow::Context as _;
use linux::daemon::{FlowRule, Target};
use policy::LinkKind;
use runs::progress::Progress;
use show::exit::Refused;
use show::tell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trace::BenchRow;

/// Payload of a datagram: QUIC's smallest full one (RFC 9000 §14.1).
const PAYLOAD: usize = 1_200;
/// Datagrams in each [`TICK`]: 250 Mb/s of payload.
const PER_TICK: u32 = 26;
const TICK: Duration = Duration::from_millis(1);
/// How long a flow of `networks-cost` sends.
const LASTS: Duration = Duration::from_secs(10);
/// The server replies to one datagram of so many.
const REPLIES_EVERY: u64 = 64;
/// Share of the datagrams that must arrive for a trial to count, in percent.
const MOST: u64 = 95;
/// New flows in each [`TICK`]: 10,000 a second.
const FLOWS_PER_TICK: u32 = 10;
/// Ticks of a trial of `networks-flows`.
const FLOW_TICKS: u32 = 5_000;
/// Room for datagrams that the server has not read yet, in bytes.
const ROOM: usize = 8 << 20;

/// Compares the processor time of the same flow with and without `[networks]`.
pub fn cost(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let row = setup.only_row();
    let progress = Progress::new(&row.name, setup.trials() as usize);
    let (mut ratios, mut microseconds) = (Vec::new(), Vec::new());
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        progress.begin(trial as usize, format_args!("seed {seed}"));
        let of = |with| seconds_per_gb(seed, with).with_context(|| format!("{}: seed {seed}", row.name));
        // The one that goes first changes from trial to trial.
        let (with, without) = if trial % 2 == 0 {
            let with = of(true)?;
            (with, of(false)?)
        } else {
            let without = of(false)?;
            (of(true)?, without)
        };
        progress.end(trial as usize);
        let more = (with - without) * PAYLOAD as f64 / 1e3;
        tell!(
            "{}: seed {seed}: {with:.2} and {without:.2} s/GB, {more:.2} µs more for a datagram",
            row.name
        );
        ratios.push(with / without);
        microseconds.push(more);
    }
    microseconds.sort_by(f64::total_cmp);
    let more = microseconds.get(microseconds.len() / 2).copied();
    Ok(vec![row.trials(&ratios).with("more_us_per_datagram", more)])
}

/// Processor time of a flow for each gigabyte that arrives.
fn seconds_per_gb(seed: u64, with_networks: bool) -> anyhow::Result<f64> {
    let home = Home::new()?;
    let sink = Sink::start(&home, &[PORT])?;
    let networks = with_networks.then(|| networks(Vec::new()));
    let watched = Watched::start_with(&home, options(networks, seed, LinkKind::Cable))?;
    let socket = home.client.run(|| connected(PORT))??;
    let payload = [0; PAYLOAD];
    let mut sent = 0;
    let mut burst = |count| {
        for _ in 0..count {
            // A full queue refuses.
            sent += u64::from(socket.send(&payload).is_ok());
        }
        anyhow::Ok(())
    };
    // Its connection tracking and caches are filled before anything counts.
    paced(1_000, || burst(PER_TICK))?;
    let own = std::process::id();
    let before = cpu::seconds(own)?;
    paced(LASTS.as_millis() as u32, || burst(PER_TICK))?;
    let used = cpu::seconds(own)? - before;
    watched.stop()?;
    let arrived: u64 = sink.stop()?.iter().flatten().sum();
    anyhow::ensure!(
        arrived * 100 >= sent * MOST,
        "only {arrived} of {sent} datagrams arrived; run on a less busy machine"
    );
    let share = LASTS.as_secs_f64() / (LASTS.as_secs_f64() + 1.0);
    Ok(used / (arrived as f64 * share * PAYLOAD as f64 / 1e9))
}

/// Counts flows that leave by another link than that of their rule.
pub fn flows(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let row = setup.only_row();
    let progress = Progress::new(&row.name, setup.trials() as usize);
    let (mut wrong, mut seen, mut rates) = (Vec::new(), 0, Vec::new());
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        progress.begin(trial as usize, format_args!("seed {seed}"));
        let load = many_flows(seed).with_context(|| format!("{}: seed {seed}", row.name))?;
        progress.end(trial as usize);
        tell!(
            "{}: seed {seed}: {} of {} flows wrong, {:.0} new flows/s",
            row.name,
            load.wrong,
            load.arrived,
            load.per_second
        );
        wrong.push(load.wrong as f64);
        seen += load.arrived;
        rates.push(load.per_second);
    }
    let least = rates.iter().copied().reduce(f64::min);
    Ok(vec![
        row.trials(&wrong)
            .with("flows", seen)
            .with("least_flows_per_second", least),
    ])
}

/// What many new flows did.
struct Many {
    wrong: u64,
    arrived: u64,
    per_second: f64,
}

fn many_flows(seed: u64) -> anyhow::Result<Many> {
    let home = Home::new()?;
    let ports: Vec<u16> = (0..u16::from(LINES)).map(|line| PORT + line).collect();
    let sink = Sink::start(&home, &ports)?;
    let rules = (0..LINES).zip(&ports).map(|(line, port)| rule(line, *port));
    let networks = networks(rules.collect());
    let watched = Watched::start_with(&home, options(Some(networks), seed, LinkKind::Cable))?;
    let (mut number, began) = (0, Instant::now());
    let begin_some = || {
        for _ in 0..FLOWS_PER_TICK {
            connected(ports[number % ports.len()])?.send(b"hello")?;
            number += 1;
        }
        Ok(())
    };
    home.client.run(|| paced(FLOW_TICKS, begin_some))??;
    let per_second = number as f64 / began.elapsed().as_secs_f64();
    watched.stop()?;
    let counts = sink.stop()?;
    let arrived: u64 = counts.iter().flatten().sum();
    let right: u64 = (0..counts.len()).map(|line| counts[line][line]).sum();
    anyhow::ensure!(
        arrived * 100 >= number as u64 * MOST,
        "only {arrived} of {number} flows arrived; run on a less busy machine"
    );
    Ok(Many {
        wrong: arrived - right,
        arrived,
        per_second,
    })
}

fn rule(line: u8, port: u16) -> FlowRule {
    FlowRule {
        user: None,
        to: None,
        port: Some(port),
        mark: None,
        cgroup: None,
        network: Target::Link(format!("line{line}")),
        holds: false,
    }
}

/// Does something in every tick. Ticks that are late follow at once.
fn paced(ticks: u32, mut tick: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let began = Instant::now();
    for number in 0..ticks {
        if let Some(left) = (began + TICK * number).checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
        tick()?;
    }
    Ok(())
}

/// A socket that is connected to this port of the server.
fn connected(port: u16) -> anyhow::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((SERVER, port))?;
    Ok(socket)
}

/// Counts the datagrams for some ports of the server by the line over which they came.
struct Sink {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<[u64; LINES as usize]>>,
}

impl Sink {
    fn start(home: &Home, ports: &[u16]) -> anyhow::Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let listen = |port: &u16| {
            let socket = home.server.run(|| UdpSocket::bind((SERVER, *port)))??;
            socket2::SockRef::from(&socket).set_recv_buffer_size(ROOM)?;
            socket.set_read_timeout(Some(Duration::from_millis(100)))?;
            let stopped = Arc::clone(&stop);
            anyhow::Ok(std::thread::spawn(move || count(&socket, &stopped)))
        };
        let threads = ports.iter().map(listen).collect::<anyhow::Result<_>>()?;
        Ok(Self { stop, threads })
    }

    /// The datagrams for each port, by line.
    fn stop(self) -> anyhow::Result<Vec<[u64; LINES as usize]>> {
        // What is on its way still arrives.
        std::thread::sleep(Duration::from_millis(300));
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.into_iter().map(JoinHandle::join);
        ended
            .map(|counts| counts.map_err(|_| anyhow::anyhow!("the server panicked")))
            .collect()
    }
}

fn count(socket: &UdpSocket, stopped: &AtomicBool) -> [u64; LINES as usize] {
    let (mut counts, mut all) = ([0; LINES as usize], 0_u64);
    let mut packet = [0; PAYLOAD];
    while !stopped.load(Ordering::Relaxed) {
        let Ok((_, from)) = socket.recv_from(&mut packet) else {
            continue;
        };
        if let Some(line) = line_of(from) {
            counts[line] += 1;
        }
        all += 1;
        if all.is_multiple_of(REPLIES_EVERY) {
            // Its line may have gone meanwhile.
            let _ = socket.send_to(b"ok", from);
        }
    }
    counts
}

/// The line that a client's address belongs to.
fn line_of(from: SocketAddr) -> Option<usize> {
    match from.ip() {
        IpAddr::V4(address) => Some(address.octets()[2].into()).filter(|line| *line < LINES.into()),
        IpAddr::V6(_) => None,
    }
}
