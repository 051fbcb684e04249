//! `slowhand up`: the daemon on a host's own interfaces, in the foreground.

use super::config::{Config, LinkConfig};
use super::control::Server;
use super::notify::{Notify, watchdog_period};
use super::place::Place;
use crate::exit::Refused;
use anyhow::Context as _;
use linux::bpf::cc::{Controller, Coupled};
use linux::daemon::{
    self, Daemon, DeclaredLink, InletSender, Observation, Probing, Sender, Setup, SignalReports,
};
use linux::portal::from_network_manager;
use nix::sys::signal::{SigSet, Signal};
use policy::{LinkId, LinkSpec, Policy, Tariff};
use std::path::PathBuf;
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

Connections that fall back to plain TCP, because the server or something on the way does not speak MPTCP, are left alone, unless the
configuration says how much their servers may have in flight (fallback_window_bytes).

The configuration, of which every key but a link's interface and kind may be left out:
",
    include_str!("example.toml")
))]
pub struct Args {
    /// Configuration file; `conf.d/*.toml` beside it is read too. Without one, every adapter is used by its kind.
    #[arg(long, value_name = "FILE", default_value = "/etc/slowhand/slowhand.toml")]
    config: PathBuf,

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
    let config = Config::read(&args.config).map_err(Refused::because)?;
    let links = declared(&config.links);
    let policy = policy(&config.policy, &links).map_err(Refused::because)?;
    // Before any thread is made: all of them must leave these signals to the one that waits for them.
    let signals = stop_signals();
    signals.thread_block().context("blocking signals")?;
    let _lock = args.place.lock().map_err(Refused::because)?;
    let (inlet_sender, inlet) = daemon::inlet().context("no file descriptor left; see `ulimit -n`")?;
    let names: Vec<(LinkId, String)> = links
        .iter()
        .map(|link| (link.id, link.spec.name.clone()))
        .collect();
    let setup = Setup {
        engine: policy::Config {
            policy,
            peer_subflows: usize::from(config.peer_subflows),
        },
        links,
        epoch_ns: daemon::monotonic_ns(),
        inlet,
        sender: args.cc.as_deref().or(config.cc.as_deref()).and_then(sender),
        reports: reports(&config).map_err(Refused::because)?,
        associate: Box::new(|_| {}),
        observe: Box::new(move |_, observation| log(&names, &observation)),
        window: None,
        fallback_window: config.fallback_window,
        probing: probing(&config),
        journal: Some(args.place.journal()),
    };
    let mut daemon =
        Daemon::start(setup).map_err(|error| Refused::because(format!("{:#}", anyhow::Error::new(error))))?;
    let server = Server::bind(
        &args.place.socket(),
        inlet_sender.clone(),
        daemon.stopper(),
        config.policy.to_string(),
    )
    .with_context(|| {
        format!(
            "{}: cannot listen; is the directory writable?",
            args.place.socket().display()
        )
    })?;
    helpers(server, &daemon, signals, inlet_sender)?;
    let outcome = daemon.run();
    Notify::from_environment().say("STOPPING=1");
    // A daemon that has ended must not look like one that does not answer.
    let _ = std::fs::remove_file(args.place.socket());
    outcome.context("the daemon ended early; what it changed has been put back")?;
    Ok(ExitCode::SUCCESS)
}

/// Loads the controller if it is one of ours. A host whose kernel does not take it is better off with the kernel's own than without a daemon.
fn sender(name: &str) -> Option<Sender> {
    let Some(coupled) = Coupled::from_id(name) else {
        return Some(Sender::Kernel(name.to_owned()));
    };
    match Controller::load_beside_others(coupled) {
        Ok(loaded) => Some(Sender::Coupled(Arc::new(loaded))),
        Err(error) => {
            let error = anyhow::Error::new(error);
            tell!("without `{name}`: {error:#}; connections keep the kernel's own controller");
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
fn helpers(server: Server, daemon: &Daemon, signals: SigSet, inlet: InletSender) -> anyhow::Result<()> {
    let stopper = daemon.stopper();
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("signals").spawn(move || {
        if signals.wait().is_ok() {
            stopper.stop();
        }
    })?;
    thread("control").spawn(move || server.serve())?;
    thread("notify").spawn(move || keep_telling(&inlet))?;
    Ok(())
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
    let links = links.iter().map(|link| (link.id, link.spec.name.as_str()));
    name.in_engine(links)
        .map_err(|error| format!("{error}; add a [[link]] or change the policy"))
}

/// Decisions, and what did not work, for the service's log.
fn log(names: &[(LinkId, String)], observation: &Observation<'_>) {
    match observation {
        // Asked, and mostly answered within milliseconds: `slowhand status` shows what is in doubt.
        Observation::Done(policy::Action::Note(note)) if note.verb == policy::Verb::Suspect => {}
        Observation::Done(policy::Action::Note(note)) => {
            let link = note
                .link
                .and_then(|id| names.iter().find(|(other, _)| *other == id));
            let subject = link.map_or("connections", |(_, name)| name.as_str());
            tell!("{subject}: {}: {}", note.verb.id(), note.why);
        }
        Observation::Failed { action, why } => tell!("{action:?}: {why}"),
        Observation::Trouble { what, why } => tell!("{what}: {why}"),
        Observation::LeftAlone { conn, why } => {
            tell!("connection {:08x} is left alone: {}", conn.0, why.why())
        }
        Observation::Resumed(slept) => tell!("awake again after {slept:.1?}"),
        Observation::Told(_) | Observation::Done(_) | Observation::Subflow { .. } => {}
    }
}
