//! Runs the daemon on a host's own interfaces, in the foreground.

use crate::agent::{self, Supervised};
use crate::log::Chronicle;
use crate::notify;
use crate::plan::{self, Planned};
use crate::recording::Spool;
use crate::reload::{self, Reload};
use crate::server::{Answering, Sockets};
use anyhow::Context as _;
use host::config::NetworksConfig;
use host::control::Stopped;
use host::doctor;
use host::log::Form;
use host::up::{self, Args};
use linux::bpf::cc::{Controller, Coupled};
use linux::daemon::{
    self, AskError, Daemon, FlowRule, Inlet, InletSender, NamesSetup, NetworksSetup, Probing, RunError,
    Sender, Setup, Stopper,
};
use linux::wifi::{self, Prepared, Starter, Views};
use nix::sys::signal::{SigSet, Signal};
use record::Recording;
use show::exit::{self, Refused};
use std::path::PathBuf;
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

/// Does everything that can fail before the first change to the host. Starts again after a reload.
fn work(args: &Args) -> anyhow::Result<ExitCode> {
    let reload = Arc::new(Reload::new(args));
    let outcome = keep(args, &reload)?;
    if !reload.is_wanted() {
        return Ok(outcome);
    }
    let error = reload::start_again();
    Err(error.context("the daemon has ended for a reload, and cannot be started again"))
}

/// Runs one daemon to its end.
fn keep(args: &Args, reload: &Arc<Reload>) -> anyhow::Result<ExitCode> {
    let planned = plan::plan(args.config.as_deref(), args.cc.as_deref()).map_err(Refused::because)?;
    if let Some(refusal) = doctor::refusal() {
        return Err(Refused::because(refusal));
    }
    let interfaces = planned.interfaces();
    linux::limits::raise_descriptors();
    // Before any thread starts: all of them must leave these signals to the one that waits for them.
    let signals = stop_signals();
    signals.thread_block().context("blocking signals")?;
    let _lock = args.place.lock().map_err(Refused::because)?;
    let sockets = Sockets::bind(&args.place).map_err(Refused::because)?;
    let (spool, record) = recording(args, &planned.config.policy)?.unzip();
    let relay = planned.config.relay.as_ref();
    let metrics = args.place.agent_metrics();
    let agent = relay
        .map(|relay| agent::start(relay, interfaces, metrics))
        .transpose();
    let agent = agent.context("starting the agent; see `ulimit -u`")?;
    let (inlet_sender, inlet) = daemon::inlet().context("no file descriptor left; see `ulimit -n`")?;
    let access_points = access_points(&planned, args, &inlet_sender).map_err(Refused::because)?;
    let (access_points, views) = access_points.unzip();
    let (associates, joining) = match access_points.map(Prepared::split) {
        Some((associates, joining, changer)) => {
            reload.may_change(&planned, changer);
            (Some(associates), Some(joining))
        }
        None => (None, None),
    };
    let answering = Answering {
        inlet: inlet_sender,
        stopper: inlet.stopper(),
        reload: Arc::clone(reload),
        policy: planned.config.policy.to_string(),
        agent: agent.as_ref().map(Supervised::questions),
        access_points: views,
    };
    helpers(&sockets, &answering, signals).context("starting threads; see `ulimit -u`")?;
    let setup = Setup {
        associate: associates,
        assign: None,
        ..setup(planned, inlet, record, args)
    };
    let mut daemon =
        Daemon::start(setup).map_err(|error| Refused::because(exit::sentence(&anyhow::Error::new(error))))?;
    // The daemon has changed the host by now, so it must run, and restore the host at its end.
    if let Some(Err(error)) = joining.map(Starter::start) {
        tracing::warn!("access points are not joined: no thread can be started ({error}); see `ulimit -u`");
    }
    let outcome = daemon.run();
    if reload.is_wanted() {
        notify::reloading();
    } else {
        notify::stopping();
    }
    drop(agent);
    drop(daemon);
    if let Some(Err(error)) = spool.map(Spool::finish) {
        tracing::warn!("the recording ends early: {error}; free the disk or record on another one");
    }
    end(outcome, &sockets)
}

fn setup(planned: Planned, inlet: Inlet, record: Option<Recording>, args: &Args) -> Setup {
    let probing = probing(&planned);
    let Planned {
        config,
        links,
        policy,
        reports,
        cc,
        networks: _,
    } = planned;
    let names = links.iter().map(|link| (link.id, link.spec.name.clone()));
    let mut chronicle = Chronicle::of(names);
    Setup {
        engine: policy::Config {
            policy,
            peer_subflows: usize::from(config.peer_subflows),
        },
        links,
        epoch_ns: daemon::monotonic_ns(),
        inlet,
        sender: cc.as_deref().and_then(sender),
        reports,
        associate: None,
        assign: None,
        observe: Box::new(move |_, observation| chronicle.log(&observation)),
        window: None,
        fallback_window: config.fallback_window,
        probing,
        networks: config.networks.map(networks),
        monitor: config.monitor,
        plain: args.plain,
        record,
        journal: Some(args.place.journal()),
    }
}

/// What joins access points, and what it shows. `None`: the configuration names no networks.
fn access_points(
    planned: &Planned,
    args: &Args,
    inlet: &InletSender,
) -> Result<Option<(Prepared, Views)>, wifi::StartError> {
    let Some(config) = &planned.config.wifi else {
        return Ok(None);
    };
    let setup = wifi::Setup {
        radio: config.radio.clone(),
        take_over: config.take_over,
        drawn: config.random_addresses.then(wifi::draw),
        networks: planned.networks.clone(),
        directory: args.place.wifi(),
        leases: args.place.leases(),
        // Who has turned probes off wants no check.
        checks: !planned.config.probe || planned.check().is_some(),
        asks: planned.config.probe && planned.policy.probes_links(),
    };
    Prepared::new(setup, inlet.clone()).map(Some)
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

/// Networks for flows that cannot use several links.
fn networks(config: NetworksConfig) -> NetworksSetup {
    let rules = config.flows.into_iter().map(|flow| FlowRule {
        user: flow.user,
        to: flow.to,
        port: flow.port,
        mark: flow.mark,
        cgroup: flow.cgroup,
        network: flow.network,
        holds: flow.holds,
    });
    NetworksSetup {
        interface: config.interface,
        address: config.address,
        rules: rules.collect(),
        names: Some(NamesSetup {
            address: config.dns,
            root: PathBuf::from("/"),
        }),
    }
}

/// How links are probed while no connection shows that they live.
fn probing(planned: &Planned) -> Option<Probing> {
    let root = PathBuf::from("/");
    let check = planned.check();
    planned.config.probe.then_some(Probing { root, check })
}

fn stop_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect()
}

/// Starts the threads beside the loop: signals, questions, and the service manager.
fn helpers(sockets: &Sockets, answering: &Answering, signals: SigSet) -> std::io::Result<()> {
    let (stopper, inlet) = (answering.stopper.clone(), answering.inlet.clone());
    let reload = Arc::clone(&answering.reload);
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("signals").spawn(move || stop_at(&signals, &stopper, &reload))?;
    sockets.serve(answering)?;
    thread("notify").spawn(move || keep_telling(&inlet))?;
    Ok(())
}

/// Stops the daemon at a signal. At SIGHUP it takes over its configuration, unless that comes of a terminal
/// that was closed.
fn stop_at(signals: &SigSet, stopper: &Stopper, reload: &Reload) {
    while let Ok(signal) = signals.wait() {
        if signal == Signal::SIGHUP && !reload.has_lost_terminal() {
            if let Err(why) = reload.check() {
                tracing::error!("not reloaded: {why}; the daemon continues as before");
                continue;
            }
            if reload.change() {
                continue;
            }
            reload.request();
        } else {
            reload.cancel();
        }
        stopper.stop();
    }
}

/// Reports ready when the loop answers for the first time, then alive for as long as it answers. A start may
/// take longer than [`WATCHDOG_PATIENCE`], on a busy host or where BPF programs are loaded.
fn keep_telling(inlet: &InletSender) {
    loop {
        match inlet.report(WATCHDOG_PATIENCE) {
            Ok(_) => break,
            Err(AskError::Busy) => {}
            Err(AskError::Ended) => return,
        }
    }
    notify::ready();
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
