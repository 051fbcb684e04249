//! Runs the daemon on a host's own interfaces, in the foreground.

use crate::log::Chronicle;
use crate::notify;
use crate::recording::Spool;
use crate::server::{Answering, Sockets};
use anyhow::Context as _;
use host::config::{Asked, Config, ConfigError, DEFAULT, LinkConfig};
use host::control::Stopped;
use host::log::Form;
use host::up::{self, Args};
use host::{doctor, report_key};
use linux::bpf::cc::{Controller, Coupled};
use linux::daemon::{
    self, Daemon, DeclaredLink, InletSender, Probing, RunError, Sender, Setup, SignalReports, Stopper,
};
use linux::portal::from_network_manager;
use nix::sys::signal::{SigSet, Signal};
use policy::{LinkId, LinkSpec, Policy, Tariff};
use record::Recording;
use show::exit::{self, Refused};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use trace::PolicyName;
use tracing::Level;

/// Time in which a daemon must answer its own watchdog.
const WATCHDOG_PATIENCE: Duration = Duration::from_secs(2);

/// Runs until a signal or `slowhand down`.
pub fn run(program: &up::Daemon) -> anyhow::Result<ExitCode> {
    let form = Form::of_stderr();
    let started = program.log.start(form).map_err(Refused::because);
    let outcome = started.and_then(|()| work(&program.args));
    match (&outcome, form) {
        (Err(error), Form::Journal) => {
            // No filter hides why the daemon ended.
            form.write(Level::ERROR, &format!("{error:#}"));
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

/// Does everything that can fail before the first change to the host.
fn work(args: &Args) -> anyhow::Result<ExitCode> {
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
    // Before any thread starts: all of them must leave these signals to the one that waits for them.
    let signals = stop_signals();
    signals.thread_block().context("blocking signals")?;
    let _lock = args.place.lock().map_err(Refused::because)?;
    let sockets = Sockets::bind(&args.place).map_err(Refused::because)?;
    let (spool, record) = recording(args, &config.policy)?.unzip();
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
        sender: cc.and_then(sender),
        reports,
        associate: None,
        observe: Box::new(move |_, observation| chronicle.log(&observation)),
        window: None,
        fallback_window: config.fallback_window,
        probing: probing(&config),
        record,
        journal: Some(args.place.journal()),
    };
    let mut daemon =
        Daemon::start(setup).map_err(|error| Refused::because(exit::sentence(&anyhow::Error::new(error))))?;
    let outcome = daemon.run();
    notify::stopping();
    drop(daemon);
    if let Some(Err(error)) = spool.map(Spool::finish) {
        tracing::warn!("the recording ends early: {error}; free the disk or record on another one");
    }
    end(outcome, &sockets)
}

/// Reports how it ended, and what could not be restored.
fn end(outcome: Result<(), RunError>, sockets: &Sockets) -> anyhow::Result<ExitCode> {
    let (left, early) = match outcome {
        Ok(()) => (Vec::new(), None),
        Err(RunError::Left(left)) => (left, None),
        Err(RunError::Journal(error)) => (vec![error.to_string()], Some(RunError::Journal(error))),
        Err(error) => (Vec::new(), Some(error)),
    };
    for left in &left {
        tracing::warn!("left as it is: {left}");
    }
    let how = match left[..] {
        [] => "the daemon ended early; what it changed has been restored",
        _ => "the daemon ended early",
    };
    sockets.say_stopped(&Stopped { left });
    early.map_or(Ok(ExitCode::SUCCESS), |error| {
        Err(anyhow::Error::new(error).context(how))
    })
}

/// Begins a recording, if one was asked for.
fn recording(args: &Args, policy: &PolicyName) -> anyhow::Result<Option<(Spool, Recording)>> {
    let begin = |path: &PathBuf| Spool::begin(path, format!("slowhand up, policy {policy}"));
    args.record
        .as_ref()
        .map(begin)
        .transpose()
        .map_err(Refused::because)
}

fn configuration(args: &Args) -> Result<Config, ConfigError> {
    match &args.config {
        Some(path) => Config::read(path, Asked::ByName),
        None => Config::read(Path::new(DEFAULT), Asked::ByDefault),
    }
}

/// Our controllers are not in the kernel yet.
fn check_controller(name: &str) -> Result<(), daemon::SenderError> {
    match Coupled::from_id(name) {
        Some(_) => Ok(()),
        None => daemon::check_controller(name),
    }
}

/// Loads the controller if it is one of ours. If the kernel refuses it, the kernel's own is better than no
/// daemon.
fn sender(name: &str) -> Option<Sender> {
    let Some(coupled) = Coupled::from_id(name) else {
        return Some(Sender::Kernel(name.to_owned()));
    };
    match Controller::load_beside_others(coupled) {
        Ok(loaded) => Some(Sender::Coupled(Arc::new(loaded))),
        Err(error) => {
            let error = anyhow::Error::new(error);
            tracing::warn!("without `{name}`: {error:#}; connections keep the kernel's own controller");
            None
        }
    }
}

/// Where to send signal reports.
fn reports(config: &Config) -> Result<Option<SignalReports>, String> {
    let Some(path) = &config.report_key_file else {
        return Ok(None);
    };
    let key = report_key::read(path)?;
    let port = config.report_port;
    Ok(Some(SignalReports { key, port }))
}

/// How links are probed while no connection shows that they live.
fn probing(config: &Config) -> Option<Probing> {
    let root = PathBuf::from("/");
    // `slowhand doctor` reports a check of NetworkManager that cannot be made here.
    let check = config.portal.clone();
    let check = check.or_else(|| from_network_manager(&root).ok().flatten());
    config.probe.then_some(Probing { root, check })
}

fn stop_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect()
}

/// Starts the threads beside the loop: signals, questions, and the service manager.
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

/// Reports ready when the loop answers for the first time, then alive for as long as it answers.
fn keep_telling(inlet: &InletSender) {
    if inlet.report(WATCHDOG_PATIENCE).is_ok() {
        notify::ready();
    }
    let Some(period) = notify::watchdog_period() else {
        return;
    };
    loop {
        if inlet.report(WATCHDOG_PATIENCE.min(period)).is_ok() {
            notify::alive();
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
    if let Some(unmet) = crate::needs::unmet(name, links.iter().map(|link| &link.spec)) {
        return Err(unmet);
    }
    let links = links.iter().map(|link| (link.id, link.spec.name.as_str()));
    name.in_engine(links)
        .map_err(|error| format!("{error}; add a [[link]] or change the policy"))
}
