//! `dead-idle` and `healthy-idle`: a host whose links carry no MPTCP connection, when one of them dies and
//! when none does.
//!
//! A trial of `dead-idle` has two lines with a router each, and no open connection. At a random moment the
//! router of the line that new connections use stops forwarding, but still answers for itself. Up to five
//! seconds later a program starts to open plain TCP connections to one server. It opens one every half
//! second, whatever becomes of the earlier ones. The figure is the time from its first attempt to the first
//! connection. In every second trial the host knows a resolver beyond both lines. In the others only the
//! program's traffic shows anything.

pub(super) mod home;
pub(super) mod watched;

use crate::declaration::Setup;
use anyhow::Context as _;
use home::{Home, SERVER};
use runs::progress::Progress;
use show::exit::Refused;
use show::tell;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use trace::BenchRow;
use watched::Watched;

const PORT: u16 = 8_080;
/// Time between two attempts of the program.
const ATTEMPT_EVERY: Duration = Duration::from_millis(500);
/// Time-out of an attempt, longer than the trial.
const PATIENCE: Duration = Duration::from_secs(60);
/// Trials in parallel: the measured times are seconds, and trials cost almost no processor time.
const SIDE_BY_SIDE: usize = 5;
/// Least quiet time before a line is cut, and the most that is added to it.
const SETTLE: Duration = Duration::from_secs(3);
/// How long a healthy host is observed.
const HEALTHY: Duration = Duration::from_secs(600);

/// Runs the benchmark. The figure is the median, with the maximum beside it.
pub fn dead(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let seeds: Vec<u64> = (0..u64::from(setup.trials()))
        .map(|trial| setup.seed + trial)
        .collect();
    let next = Mutex::new(seeds.iter().copied().enumerate());
    let progress = Progress::new("dead-idle", seeds.len());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE.min(seeds.len()) {
            scope.spawn(|| {
                loop {
                    // The lock is released before the trial runs.
                    let next = lock(&next).next();
                    let Some((index, seed)) = next else { return };
                    progress.begin(index, format_args!("seed {seed}"));
                    let trial = trial(seed).with_context(|| format!("dead-idle: seed {seed}"));
                    progress.end(index);
                    lock(&results).push(trial);
                }
            });
        }
    });
    let results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let took: Vec<f64> = results.into_iter().collect::<anyhow::Result<_>>()?;
    Ok(vec![setup.only_row().trials(&took)])
}

/// Counts packets per minute over both lines while nothing is wrong and no connection is open, and the
/// daemon's decisions. One daemon runs through all trials: six of them are an hour.
pub fn healthy(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let home = Home::new()?;
    let server = Server::start(&home)?;
    let watched = Watched::start(&home, true, setup.seed)?;
    std::thread::sleep(SETTLE);
    let decided = watched.decided();
    let mut rates = Vec::new();
    for trial in 1..=setup.trials() {
        let before = home.packets()?;
        std::thread::sleep(HEALTHY);
        let packets = home.packets()? - before;
        rates.push(packets as f64 * 60.0 / HEALTHY.as_secs_f64());
        tell!(
            "healthy-idle: {trial}: {packets} packets in {} s",
            HEALTHY.as_secs()
        );
    }
    let changes = watched.decided() - decided;
    watched.stop()?;
    server.stop();
    let row = setup.only_row().trials(&rates);
    Ok(vec![row.with("changes", changes)])
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs one trial. Returns its figure in seconds.
fn trial(seed: u64) -> anyhow::Result<f64> {
    let mut rng = units::Rng::named(seed, "dead-idle");
    let home = Home::new()?;
    let server = Server::start(&home)?;
    let watched = Watched::start(&home, seed.is_multiple_of(2), seed)?;
    let mut within = |time: Duration| rng.duration_up_to(time);
    std::thread::sleep(SETTLE + within(SETTLE));
    connected(&home, ATTEMPT_EVERY).context("the server is unreachable before any line is cut")?;
    let route = home.route()?;
    // Waits until nothing is left of that.
    std::thread::sleep(SETTLE);
    home.connect(route, false)?;
    std::thread::sleep(within(Duration::from_secs(5)));
    let took = connected(&home, PATIENCE)?;
    let moved = home.route()?;
    watched.stop()?;
    server.stop();
    anyhow::ensure!(moved != route, "a connection used a line that was cut");
    tell!("dead-idle: seed {seed}: {:.2} s", took.as_secs_f64());
    Ok(took.as_secs_f64())
}

/// Time until one of a program's attempts connects.
fn connected(home: &Home, patience: Duration) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let (done, first) = channel();
    while begun.elapsed() < patience {
        attempt(home, &done)?;
        if let Ok(took) = first.recv_timeout(ATTEMPT_EVERY) {
            return Ok(took - begun);
        }
    }
    anyhow::bail!("no connection within {} s", patience.as_secs())
}

/// Makes an attempt in its own thread, which ends with the trial's patience at the latest.
fn attempt(home: &Home, done: &Sender<Instant>) -> anyhow::Result<()> {
    let (netns, done) = (home.client.try_clone()?, done.clone());
    std::thread::Builder::new()
        .name("attempt".to_owned())
        .spawn(move || {
            let server = SocketAddr::from((SERVER, PORT));
            if netns.enter().is_ok() && TcpStream::connect_timeout(&server, PATIENCE).is_ok() {
                // Only the first success is awaited.
                let _ = done.send(Instant::now());
            }
        })?;
    Ok(())
}

/// Accepts every connection, and answers every DNS query.
struct Server {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Server {
    fn start(home: &Home) -> anyhow::Result<Self> {
        let pause = Some(Duration::from_millis(100));
        let listener = home.server.run(|| TcpListener::bind((SERVER, PORT)))??;
        listener.set_nonblocking(true)?;
        let resolver = home.server.run(|| UdpSocket::bind((SERVER, 53)))??;
        resolver.set_read_timeout(pause)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (accepts, resolves) = (Arc::clone(&stop), Arc::clone(&stop));
        let accept = std::thread::spawn(move || {
            while !accepts.load(Ordering::Relaxed) {
                drop(listener.accept());
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let resolve = std::thread::spawn(move || {
            let mut question = [0; 512];
            while !resolves.load(Ordering::Relaxed) {
                if let Ok((length, from)) = resolver.recv_from(&mut question) {
                    question[2] |= 0x80;
                    // A client that is gone asks again.
                    let _ = resolver.send_to(&question[..length], from);
                }
            }
        });
        Ok(Self {
            stop,
            threads: vec![accept, resolve],
        })
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // A server that panicked has failed its trial already.
            let _ = thread.join();
        }
    }
}
