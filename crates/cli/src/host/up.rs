//! `slowhand up`: the daemon on a host's own interfaces, in the foreground.

use super::config::{Asked, Config, DEFAULT, LinkConfig};
use super::control::Stopped;
use super::doctor;
use super::log::{Chronicle, Level, Log};
use super::notify::{Notify, watchdog_period};
use super::place::Place;
use super::server::{Answering, Sockets};
use crate::exit::{self, Refused};
use anyhow::Context as _;
use linux::bpf::cc::{Controller, Coupled};
use linux::daemon::{
    self, Daemon, DeclaredLink, InletSender, Probing, RunError, Sender, Setup, SignalReports, Stopper,
};
use linux::portal::from_network_manager;
use nix::sys::signal::{SigSet, Signal};
use policy::{LinkId, LinkSpec, Policy, Tariff};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use trace::PolicyName;

/// Keep this host's connections alive over all its links, until stopped.
///
/// Runs in the foreground (a service manager is told when it is ready). Everything it changes is put back when it stops, and
/// after a crash when it starts again.
#[derive(Debug, clap::Args)]
#[command(after_help = concat!(
    "\
Examples:
  sudo slowhand up
  sudo slowhand up --config ./slowhand.toml
  sudo slowhand up --cc lia

Rights: CAP_NET_ADMIN and CAP_NET_RAW; CAP_BPF and CAP_PERFMON to bound windows and queues of running connections. `slowhand doctor` says what is
missing; where it says that slowhand cannot work, this command refuses in the same words. One daemon runs in a network namespace.

Listens on no network. In the runtime directory are two Unix sockets: control.sock for root (`down`), and status.sock, on which every user may
ask `status` and `why`. What it sends by itself goes to hosts in use, to the links' resolvers and to the URL of the portal check; `probe = false`
ends the last two. SECURITY.md names each kind, and how often.

Configuration files that others can write to, and a key that others can read, are refused.

Connections that fall back to plain TCP, because the server or something on the way does not speak MPTCP, are left alone, unless the
configuration says how much their servers may have in flight (fallback_window_bytes).

The configuration, of which every key but a link's interface and kind may be left out:
",
    include_str!("example.toml")
))]
pub struct Args {
    /// Configuration file; `conf.d/*.toml` beside it is read too. Left out: /etc/slowhand/slowhand.toml, and where there is none, every adapter is
    /// used by its kind.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Send new connections with this congestion controller instead of the configuration's: one of the kernel's, or lia, olia, balia or
    /// cla, which are loaded for as long as the daemon runs.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// How long a daemon may take to answer its own watchdog.
const WATCHDOG_PATIENCE: Duration = Duration::from_secs(2);

/// Works until a signal or `slowhand down`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let log = Log::to_stderr();
    let outcome = work(args, log);
    match (&outcome, log) {
        (Err(error), Log::Journal) => {
            log.write(Level::Error, &format!("{error:#}"));
            let refused = error.is::<Refused>();
            Ok(if refused {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            })
        }
        _ => outcome,
    }
}

/// What can fail comes before the first change to the host.
fn work(args: &Args, log: Log) -> anyhow::Result<ExitCode> {
    let config = configuration(args).map_err(Refused::because)?;
    let links = declared(&config.links);
    let policy = policy(&config.policy, &links).map_err(Refused::because)?;
    let reports = reports(&config).map_err(Refused::because)?;
    if let Some(refusal) = doctor::refusal() {
        return Err(Refused::because(refusal));
    }
    let cc = args.cc.as_deref().or(config.cc.as_deref());
    cc.map_or(Ok(()), check_controller).map_err(Refused::because)?;
    linux::limits::raise_descriptors();
    // Before any thread is made: all of them must leave these signals to the one that waits for them.
    let signals = stop_signals();
    signals.thread_block().context("blocking signals")?;
    let _lock = args.place.lock().map_err(Refused::because)?;
    let sockets = Sockets::bind(&args.place).map_err(Refused::because)?;
    let (inlet_sender, inlet) = daemon::inlet().context("no file descriptor left; see `ulimit -n`")?;
    let answering = Answering {
        inlet: inlet_sender,
        stopper: inlet.stopper(),
        policy: config.policy.to_string(),
    };
    helpers(&sockets, &answering, signals).context("starting threads; see `ulimit -u`")?;
    let names = links.iter().map(|link| (link.id, link.spec.name.clone()));
    let mut chronicle = Chronicle::of(names);
    let setup = Setup {
        engine: policy::Config {
            policy,
            peer_subflows: usize::from(config.peer_subflows),
        },
        links,
        epoch_ns: daemon::monotonic_ns(),
        inlet,
        sender: cc.and_then(|name| sender(name, log)),
        reports,
        associate: Box::new(|_| {}),
        observe: Box::new(move |_, observation| {
            if let Some((level, line)) = chronicle.line(&observation) {
                log.write(level, &line);
            }
        }),
        window: None,
        fallback_window: config.fallback_window,
        probing: probing(&config),
        record: None,
        journal: Some(args.place.journal()),
    };
    let mut daemon =
        Daemon::start(setup).map_err(|error| Refused::because(exit::sentence(&anyhow::Error::new(error))))?;
    let outcome = daemon.run();
    Notify::from_environment().say("STOPPING=1");
    end(outcome, &sockets, log)
}

/// Says how it ended, and what is not as it was.
fn end(outcome: Result<(), RunError>, sockets: &Sockets, log: Log) -> anyhow::Result<ExitCode> {
    let (left, early) = match outcome {
        Ok(()) => (Vec::new(), None),
        Err(RunError::Left(left)) => (left, None),
        Err(RunError::Journal(error)) => (vec![error.to_string()], Some(RunError::Journal(error))),
        Err(error) => (Vec::new(), Some(error)),
    };
    for left in &left {
        log.write(Level::Warning, &format!("left as it is: {left}"));
    }
    let how = match left[..] {
        [] => "the daemon ended early; what it changed has been put back",
        _ => "the daemon ended early",
    };
    sockets.say_stopped(&Stopped { left });
    early.map_or(Ok(ExitCode::SUCCESS), |error| {
        Err(anyhow::Error::new(error).context(how))
    })
}

fn configuration(args: &Args) -> Result<Config, super::config::ConfigError> {
    match &args.config {
        Some(path) => Config::read(path, Asked::ByName),
        None => Config::read(Path::new(DEFAULT), Asked::ByDefault),
    }
}

/// Ours are not the kernel's yet.
fn check_controller(name: &str) -> Result<(), daemon::SenderError> {
    match Coupled::from_id(name) {
        Some(_) => Ok(()),
        None => daemon::check_controller(name),
    }
}

/// Loads the controller if it is one of ours. A host whose kernel does not take it is better off with the kernel's own than without a daemon.
fn sender(name: &str, log: Log) -> Option<Sender> {
    let Some(coupled) = Coupled::from_id(name) else {
        return Some(Sender::Kernel(name.to_owned()));
    };
    match Controller::load_beside_others(coupled) {
        Ok(loaded) => Some(Sender::Coupled(Arc::new(loaded))),
        Err(error) => {
            let error = anyhow::Error::new(error);
            let text = format!("without `{name}`: {error:#}; connections keep the kernel's own controller");
            log.write(Level::Warning, &text);
            None
        }
    }
}

/// Whom to tell how signals go.
fn reports(config: &Config) -> Result<Option<SignalReports>, String> {
    let Some(path) = &config.report_key_file else {
        return Ok(None);
    };
    let key = crate::cc::read_key(path)?;
    let port = config.report_port;
    Ok(Some(SignalReports { key, port }))
}

/// How links are watched while no connection shows whether they live.
fn probing(config: &Config) -> Option<Probing> {
    let root = PathBuf::from("/");
    // What NetworkManager asks for and cannot be asked here is told by `slowhand doctor`.
    let check = config.portal.clone();
    let check = check.or_else(|| from_network_manager(&root).ok().flatten());
    config.probe.then_some(Probing { root, check })
}

fn stop_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect()
}

/// Threads beside the loop: signals, questions, and the service manager.
fn helpers(sockets: &Sockets, answering: &Answering, signals: SigSet) -> std::io::Result<()> {
    let (stopper, inlet) = (answering.stopper.clone(), answering.inlet.clone());
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("signals").spawn(move || stop_at(&signals, &stopper))?;
    sockets.serve(answering)?;
    thread("notify").spawn(move || keep_telling(&inlet))?;
    Ok(())
}

fn stop_at(signals: &SigSet, stopper: &Stopper) {
    if signals.wait().is_ok() {
        stopper.stop();
    }
}

/// Ready when the loop answers for the first time; alive for as long as it does.
fn keep_telling(inlet: &InletSender) {
    let notify = Notify::from_environment();
    if inlet.report(WATCHDOG_PATIENCE).is_ok() {
        notify.say("READY=1");
    }
    let Some(period) = watchdog_period() else { return };
    loop {
        if inlet.report(WATCHDOG_PATIENCE.min(period)).is_ok() {
            notify.say("WATCHDOG=1");
        }
        std::thread::sleep(period);
    }
}

fn declared(links: &[LinkConfig]) -> Vec<DeclaredLink> {
    let numbered = (0..).map(LinkId).zip(links);
    numbered
        .map(|(id, link)| DeclaredLink {
            id,
            interface: link.interface.clone(),
            spec: spec(link),
            gateway: link.gateway,
            tariff: tariff(link),
        })
        .collect()
}

const fn tariff(link: &LinkConfig) -> Tariff {
    if link.metered {
        Tariff::Metered { cap: None }
    } else {
        Tariff::Flat
    }
}

fn spec(link: &LinkConfig) -> LinkSpec {
    LinkSpec {
        name: link.name.clone(),
        kind: link.kind.into(),
        role: link.role.into(),
        channel: link.channel,
    }
}

fn policy(name: &PolicyName, links: &[DeclaredLink]) -> Result<Policy, String> {
    if matches!(name, PolicyName::TcpBest | PolicyName::Ecn) {
        return Err(format!(
            "policy `{name}` cannot run on a live host; use `slowhand`"
        ));
    }
    if let Some(unmet) = super::needs::unmet(name, links.iter().map(|link| &link.spec)) {
        return Err(unmet);
    }
    let links = links.iter().map(|link| (link.id, link.spec.name.as_str()));
    name.in_engine(links)
        .map_err(|error| format!("{error}; add a [[link]] or change the policy"))
}
