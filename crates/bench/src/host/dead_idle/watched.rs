//! The daemon in the client's namespace, and a count of its decisions.

use super::home::{Home, LINES, SERVER};
use anyhow::Context as _;
use linux::daemon::{
    self, Daemon, DeclaredLink, InletSender, NetworksSetup, Observation, Probing, Setup, Stopper,
};
use policy::{Action, LinkId, LinkKind, LinkSpec, Role, Tariff, Verb};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// A running daemon.
pub struct Watched {
    inlet: InletSender,
    stopper: Stopper,
    thread: JoinHandle<anyhow::Result<()>>,
    decided: Arc<AtomicU64>,
    moved: Arc<AtomicU64>,
    /// Directory that replaces the host's own files.
    root: PathBuf,
}

/// How the daemon is set up.
pub struct Options {
    /// Whether a resolver is known.
    pub resolver: bool,
    pub seed: u64,
    pub networks: Option<NetworksSetup>,
    /// The kind of all lines.
    pub kind: LinkKind,
}

impl Watched {
    /// Starts the daemon, with or without a known resolver, and waits until all lines are usable.
    pub fn start(home: &Home, resolver: bool, seed: u64) -> anyhow::Result<Self> {
        Self::start_with(
            home,
            Options {
                resolver,
                seed,
                networks: None,
                kind: LinkKind::Cable,
            },
        )
    }

    /// The same with more options.
    pub fn start_with(home: &Home, options: Options) -> anyhow::Result<Self> {
        let Options { resolver, seed, .. } = options;
        let root = std::env::temp_dir().join(format!("slowhand-idle-{}-{seed}", std::process::id()));
        std::fs::create_dir_all(root.join("etc"))?;
        if resolver {
            std::fs::write(root.join("etc/resolv.conf"), format!("nameserver {SERVER}\n"))?;
        }
        let (inlet, end) = daemon::inlet()?;
        let decided = Arc::new(AtomicU64::new(0));
        let moved = Arc::new(AtomicU64::new(0));
        let (counted, moves) = (Arc::clone(&decided), Arc::clone(&moved));
        let setup = Setup {
            engine: policy::Config {
                policy: policy::Policy::Slowhand,
                peer_subflows: 2,
            },
            links: (0..LINES).map(|line| declared(line, options.kind)).collect(),
            epoch_ns: daemon::monotonic_ns(),
            inlet: end,
            sender: None,
            reports: None,
            associate: None,
            assign: None,
            observe: Box::new(move |_, observation| {
                if is_decision(&observation) {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                if let Observation::Done(Action::Move(..)) = observation {
                    moves.fetch_add(1, Ordering::Relaxed);
                }
            }),
            window: None,
            fallback_window: None,
            probing: Some(Probing {
                root: root.clone(),
                check: None,
            }),
            networks: options.networks,
            monitor: Some(false),
            plain: false,
            record: None,
            journal: None,
        };
        let netns = home.client.try_clone()?;
        let (ready, started) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("daemon".to_owned())
            .spawn(move || {
                netns.enter()?;
                let mut daemon = Daemon::start(setup)?;
                // The caller waits for exactly this.
                let _ = ready.send(daemon.stopper());
                Ok(daemon.run()?)
            })?;
        let Ok(stopper) = started.recv() else {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("the daemon panicked"))??;
            anyhow::bail!("the daemon exited before the measurement began");
        };
        let watched = Self {
            inlet,
            stopper,
            thread,
            decided,
            moved,
            root,
        };
        watched.until_usable()?;
        Ok(watched)
    }

    fn until_usable(&self) -> anyhow::Result<()> {
        let begun = std::time::Instant::now();
        loop {
            let report = self.inlet.report(PATIENCE)?;
            if report.links.iter().all(|link| !link.addresses.is_empty()) {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < PATIENCE, "the lines cannot be used");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether no line is down, dead or suspect.
    pub fn trusts_all(&self) -> anyhow::Result<bool> {
        let report = self.inlet.report(PATIENCE)?;
        let is_bad =
            |state| ["down", "no-uplink", "no-address", "in-doubt", "held-out", "dead"].contains(&state);
        Ok(report.why.iter().all(|link| !is_bad(link.state)))
    }

    /// Decisions so far.
    pub fn decided(&self) -> u64 {
        self.decided.load(Ordering::Relaxed)
    }

    /// Flows that the daemon has moved so far.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    pub fn stop(self) -> anyhow::Result<()> {
        self.stopper.stop();
        let _ = std::fs::remove_dir_all(&self.root);
        let ended = self.thread.join();
        ended
            .map_err(|_| anyhow::anyhow!("the daemon panicked"))?
            .context("the daemon ended early")
    }
}

fn declared(line: u8, kind: LinkKind) -> DeclaredLink {
    let interface = format!("line{line}");
    DeclaredLink {
        id: LinkId(line.into()),
        interface: interface.clone(),
        spec: LinkSpec {
            name: interface,
            kind,
            role: Role::Primary,
            channel: None,
        },
        gateway: None,
        tariff: Tariff::Flat,
    }
}

/// Whether this changes what the host does, or suspects a link.
fn is_decision(observation: &Observation<'_>) -> bool {
    match observation {
        Observation::Done(Action::DefaultRoute(..)) => true,
        Observation::Done(Action::Note(note)) => !matches!(note.verb, Verb::Window | Verb::Mark),
        _ => false,
    }
}
