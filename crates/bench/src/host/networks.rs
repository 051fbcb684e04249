//! `networks-silent`, `networks-down` and `networks-wrong`: a UDP flow behind the interface that never
//! changes.
//!
//! Two lines lead to a server that echoes, each with a router of its own. A flow sends 100 packets a second.
//! In `networks-silent` the router of its line stops forwarding, in `networks-down` the line goes down. The
//! figure is the time between the last reply before the fault and the first one after it. The control is the
//! same host with a daemon without `[networks]`, in the same run.
//!
//! `networks-wrong` has no fault. It counts the moves of a flow in situations that only look like one.

use super::dead_idle::home::{Home, SERVER};
use super::dead_idle::watched::{Options, Watched};
use crate::declaration::Setup;
use anyhow::Context as _;
use linux::daemon::{FlowRule, NetworksSetup};
use policy::LinkKind;
use runs::progress::Progress;
use show::exit::Refused;
use show::tell;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trace::BenchRow;

pub(super) const PORT: u16 = 7_000;
/// Interval between two packets of a flow.
const EVERY: Duration = Duration::from_millis(10);
/// Least time of a flow before the fault, and the most that is added to it.
const SETTLE: Duration = Duration::from_secs(2);
/// How long a flow may take to have replies again.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same without `[networks]`: such a flow never has any.
const CONTROL: Duration = Duration::from_secs(3);
/// How long a situation of `networks-wrong` lasts.
const HEALTHY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Silent,
    Down,
}

/// The line of the flow drops everything, and stays up.
pub fn silent(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, Fault::Silent)
}

/// The line of the flow goes down.
pub fn down(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, Fault::Down)
}

fn measure(setup: &Setup, fault: Fault) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let row = setup.only_row();
    let progress = Progress::new(&row.name, setup.trials() as usize);
    let (mut gaps, mut resumed) = (Vec::new(), 0_u32);
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        progress.begin(trial as usize, format_args!("seed {seed}"));
        let gap = gap(seed, fault, true).with_context(|| format!("{}: seed {seed}", row.name))?;
        let gap = gap.with_context(|| format!("{}: seed {seed}: the flow did not resume", row.name))?;
        resumed += u32::from(gap_without(seed, fault)?.is_some());
        progress.end(trial as usize);
        tell!("{}: seed {seed}: {:.0} ms", row.name, gap.as_secs_f64() * 1e3);
        gaps.push(gap.as_secs_f64() * 1e3);
    }
    Ok(vec![row.trials(&gaps).with("resumed_without", resumed)])
}

fn gap_without(seed: u64, fault: Fault) -> anyhow::Result<Option<Duration>> {
    gap(seed, fault, false).with_context(|| format!("seed {seed}, without [networks]"))
}

/// One trial. `None`: the flow had no reply after the fault.
fn gap(seed: u64, fault: Fault, with_networks: bool) -> anyhow::Result<Option<Duration>> {
    let mut rng = units::Rng::named(seed, "networks");
    let home = Home::new()?;
    let echo = Echo::start(&home)?;
    let networks = with_networks.then(|| networks(Vec::new()));
    let watched = Watched::start_with(&home, options(networks, seed, LinkKind::Cable))?;
    let mut flow = Flow::begin(&home)?;
    flow.run(SETTLE + rng.duration_up_to(SETTLE), |_| false)?;
    let (line, before) = flow.heard.context("the flow had no reply before the fault")?;
    anyhow::ensure!(
        before.elapsed() < SETTLE / 2,
        "the flow had no reply shortly before the fault"
    );
    match fault {
        Fault::Silent => home.connect(line, false)?,
        Fault::Down => home.set_up(line, false)?,
    }
    // What was on its way still arrives over the line.
    let patience = if with_networks { PATIENCE } else { CONTROL };
    let (mut last, mut resumed) = (before, None);
    flow.run(patience, |(over, at)| {
        if over == line {
            last = at;
        } else {
            resumed = Some(at);
        }
        resumed.is_some()
    })?;
    watched.stop()?;
    echo.stop();
    Ok(resumed.map(|at| at - last))
}

/// The interface that never changes, with these rules.
pub(super) fn networks(rules: Vec<FlowRule>) -> NetworksSetup {
    NetworksSetup {
        interface: "slow0".parse().expect("a short name"),
        address: Ipv4Addr::new(100, 64, 0, 1),
        rules,
        names: None,
    }
}

pub(super) fn options(networks: Option<NetworksSetup>, seed: u64, kind: LinkKind) -> Options {
    Options {
        resolver: false,
        seed,
        networks,
        kind,
    }
}

/// A flow that only looks as if its line were cut.
struct Situation {
    name: &'static str,
    kind: LinkKind,
    /// Share of packets that both lines lose in each direction, in percent.
    loss: u8,
    /// How long the program of the server works, and how long it then pauses.
    server: Option<(Duration, Duration)>,
    /// How long the flow sends, and how long it then is silent.
    sends: Option<(Duration, Duration)>,
    /// How long its line delivers, and how long it then does not.
    line: Option<(Duration, Duration)>,
}

const HEALTHY_LINE: Situation = Situation {
    name: "",
    kind: LinkKind::Cable,
    loss: 0,
    server: None,
    sends: None,
    line: None,
};

const SITUATIONS: [Situation; 4] = [
    Situation {
        name: "server-pauses",
        server: Some((Duration::from_secs(3), Duration::from_secs(2))),
        ..HEALTHY_LINE
    },
    Situation {
        name: "loses-a-fifth",
        loss: 20,
        ..HEALTHY_LINE
    },
    Situation {
        name: "speaks-and-listens",
        sends: Some((Duration::from_millis(900), Duration::from_millis(700))),
        ..HEALTHY_LINE
    },
    Situation {
        name: "lte-gaps",
        kind: LinkKind::Cellular,
        line: Some((Duration::from_secs(3), Duration::from_millis(300))),
        ..HEALTHY_LINE
    },
];

/// Counts moves of flows whose lines work.
pub fn wrong(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let mut row = setup.only_row();
    let mut all = Vec::new();
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        let mut sum = 0;
        for situation in &SITUATIONS {
            let moves = moves(situation, seed).with_context(|| format!("{}: seed {seed}", situation.name))?;
            tell!("networks-wrong: seed {seed}: {}: {moves}", situation.name);
            row = row.with(&situation.name.replace('-', "_"), moves);
            sum += moves;
        }
        all.push(sum as f64);
    }
    Ok(vec![row.trials(&all)])
}

/// Moves of a flow while this lasts.
fn moves(situation: &Situation, seed: u64) -> anyhow::Result<u64> {
    let home = Home::new()?;
    let echo = Echo::start(&home)?;
    for line in 0..super::dead_idle::home::LINES {
        home.lose(line, situation.loss)?;
    }
    let watched = Watched::start_with(&home, options(Some(networks(Vec::new())), seed, situation.kind))?;
    let mut flow = Flow::begin(&home)?;
    flow.run(SETTLE, |_| false)?;
    let before = watched.moved();
    let (end, mut replies) = (Instant::now() + HEALTHY, 0_u64);
    let mut count = |_| {
        replies += 1;
        false
    };
    while Instant::now() < end {
        if let Some((works, pauses)) = situation.server {
            flow.run(works, &mut count)?;
            echo.pauses(true);
            flow.run(pauses, &mut count)?;
            echo.pauses(false);
        } else if let Some((sends, is_silent)) = situation.sends {
            flow.run(sends, &mut count)?;
            std::thread::sleep(is_silent);
        } else if let Some((delivers, pauses)) = situation.line {
            flow.run(delivers, &mut count)?;
            let (line, _) = flow.heard.context("the flow has no replies")?;
            home.connect(line, false)?;
            flow.run(pauses, &mut count)?;
            home.connect(line, true)?;
        } else {
            flow.run(Duration::from_secs(1), &mut count)?;
        }
    }
    anyhow::ensure!(replies > 1_000, "the flow had only {replies} replies in a minute");
    let moved = watched.moved() - before;
    watched.stop()?;
    echo.stop();
    Ok(moved)
}

/// A flow of a program.
struct Flow {
    socket: UdpSocket,
    /// The line over which the latest reply arrived, and when.
    heard: Option<(u8, Instant)>,
}

impl Flow {
    fn begin(home: &Home) -> anyhow::Result<Self> {
        let socket = home.client.run(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((SERVER, PORT))?;
            anyhow::Ok(socket)
        })??;
        Ok(Self { socket, heard: None })
    }

    /// Sends for this long, and passes on each reply: the line over which it arrived, and when. Ends early if
    /// `on` returns true.
    fn run(&mut self, lasts: Duration, mut on: impl FnMut((u8, Instant)) -> bool) -> anyhow::Result<()> {
        let (mut due, end) = (Instant::now(), Instant::now() + lasts);
        let mut packet = [0; 64];
        while due < end {
            // A line that is down refuses.
            let _ = self.socket.send(b"ping");
            due += EVERY;
            while let Some(left) = due
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())
            {
                self.socket.set_read_timeout(Some(left))?;
                match self.socket.recv(&mut packet) {
                    Ok(1) => {
                        let heard = (packet[0], Instant::now());
                        self.heard = Some(heard);
                        if on(heard) {
                            return Ok(());
                        }
                    }
                    Err(error) if error.kind() != ErrorKind::WouldBlock => std::thread::sleep(left),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Replies to every packet with the number of the line over which it came.
struct Echo {
    stop: Arc<AtomicBool>,
    pause: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Echo {
    fn start(home: &Home) -> anyhow::Result<Self> {
        let socket = home.server.run(|| UdpSocket::bind((SERVER, PORT)))??;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let (stop, pause) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (stopped, pauses) = (Arc::clone(&stop), Arc::clone(&pause));
        let thread = std::thread::spawn(move || {
            let mut packet = [0; 64];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((_, from)) = socket.recv_from(&mut packet) else {
                    continue;
                };
                if let std::net::IpAddr::V4(address) = from.ip()
                    && !pauses.load(Ordering::Relaxed)
                {
                    // Its line may have gone meanwhile.
                    let _ = socket.send_to(&[address.octets()[2]], from);
                }
            }
        });
        Ok(Self { stop, pause, thread })
    }

    fn pauses(&self, pauses: bool) {
        self.pause.store(pauses, Ordering::Relaxed);
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        // A server that panicked has failed its trial already.
        let _ = self.thread.join();
    }
}
