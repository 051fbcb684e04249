//! A daemon that is stepped by hand, with an engine that decides nothing, so that each action can be tested
//! on its own. And one that runs on a thread with the real engine.

use super::net::{Net, PORT, SERVER, gateway};
use crate::bpf::WindowKind;
use crate::daemon::act::error::ActError;
use crate::daemon::api::inlet::Stopper;
use crate::daemon::api::observe::Observation;
use crate::daemon::flows::book::Phase;
use crate::daemon::host::controllers::Controllers;
use crate::daemon::os::clock::monotonic_ns;
use crate::daemon::{
    Daemon, DeclaredLink, FallbackReport, InletSender, LeftAlone, LeverReport, Probing, Setup, inlet,
};
use crate::testing::Patience;
use policy::{
    Action, Config, ConnEvent, ConnId, Input, JoinFailure, LinkId, LinkKind, LinkSpec, Policy, Role,
};
use policy::{Reason, RemoteId, SubflowEvent, SubflowId, Tariff, Verb};
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Bytes;

/// Deadline for conditions. Only a failing test waits this long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A test's journal file. Removed with the test.
pub(super) struct Record(pub(super) PathBuf);

impl Record {
    pub(super) fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("slowhand-daemon-{}-{test}", std::process::id())))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What an observer has seen.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    pub(super) told: Vec<Input>,
    pub(super) done: Vec<Action>,
    pub(super) failed: Vec<String>,
}

impl Seen {
    /// Links that were found dead, and why.
    pub(super) fn given_up(&self) -> impl Iterator<Item = (LinkId, &Reason)> {
        self.done.iter().filter_map(|action| match action {
            Action::Note(note) if note.verb == Verb::Remove => Some((note.link?, &note.reason)),
            _ => None,
        })
    }
}

pub(super) fn declared(links: u8) -> Vec<DeclaredLink> {
    (0..links)
        .map(|i| DeclaredLink {
            id: LinkId(i.into()),
            interface: format!("w{i}"),
            spec: LinkSpec {
                name: format!("w{i}"),
                kind: LinkKind::Cable,
                role: Role::Primary,
                channel: None,
            },
            gateway: Some(gateway(i)),
            tariff: Tariff::Flat,
        })
        .collect()
}

fn setup(
    policy: Policy,
    links: Vec<DeclaredLink>,
    journal: Option<PathBuf>,
) -> (Setup, InletSender, Arc<Mutex<Seen>>) {
    let (sender, inlet) = inlet().unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let log = Arc::clone(&seen);
    let observe = Box::new(move |_, observation: Observation<'_>| {
        let mut seen = log.lock().unwrap();
        match observation {
            Observation::Told(input) => seen.told.push(input.clone()),
            Observation::Done(action) => seen.done.push(action.clone()),
            Observation::Failed { action, why } => seen.failed.push(format!("{action:?}: {why}")),
            Observation::Trouble { what, why } => seen.failed.push(format!("{what}: {why}")),
            Observation::Subflow { .. } | Observation::LeftAlone { .. } | Observation::Resumed(_) => {}
        }
    });
    let engine = Config {
        policy,
        peer_subflows: 8,
    };
    let epoch_ns = monotonic_ns();
    (
        Setup {
            engine,
            links,
            epoch_ns,
            inlet,
            associate: None,
            assign: None,
            sender: None,
            reports: None,
            observe,
            window: None,
            fallback_window: None,
            probing: None,
            networks: None,
            monitor: Some(false),
            plain: false,
            record: record::Recording::of_test(),
            journal,
        },
        sender,
        seen,
    )
}

/// A daemon that is stepped by hand, on a thread in the client's namespace.
pub(super) struct Manual {
    pub(super) daemon: Daemon,
    seen: Arc<Mutex<Seen>>,
}

impl Manual {
    /// Starts a daemon whose new connections begin on link 0.
    pub(super) fn start(links: u8) -> Self {
        Self::bounding(links, None)
    }

    /// A daemon that limits windows in this way.
    pub(super) fn bounding(links: u8, window: Option<WindowKind>) -> Self {
        Self::with(links, None, |setup| Setup { window, ..setup })
    }

    /// A daemon that limits connections that fall back to plain TCP.
    pub(super) fn bounding_fallbacks(links: u8, window: Bytes) -> Self {
        let fallback_window = Some(window);
        Self::with(links, None, |setup| Setup {
            fallback_window,
            ..setup
        })
    }

    /// A daemon that records its changes in this journal.
    pub(super) fn on_record(links: u8, journal: PathBuf) -> Self {
        Self::with(links, Some(journal), |setup| setup)
    }

    /// A daemon with the real engine. Windows are the kernel's.
    pub(super) fn deciding(links: u8) -> Self {
        Self::with_policy(links, Policy::SlowhandNoWindow)
    }

    /// A daemon with this policy's engine.
    pub(super) fn with_policy(links: u8, policy: Policy) -> Self {
        let engine = Config {
            policy,
            peer_subflows: 8,
        };
        Self::with(links, None, |setup| Setup { engine, ..setup })
    }

    fn with(links: u8, journal: Option<PathBuf>, change: impl FnOnce(Setup) -> Setup) -> Self {
        // This baseline moves between access points, and there are none.
        let (setup, _, seen) = setup(Policy::Handover, declared(links), journal);
        let mut daemon = Daemon::start(change(setup)).unwrap();
        daemon.begin().unwrap();
        let mut manual = Self { daemon, seen };
        for family in policy::Family::ALL {
            manual.act(Action::DefaultRoute(family, Some(LinkId(0)))).unwrap();
        }
        manual
    }

    /// Opens a connection that neither the kernel nor the engine knows.
    pub(super) fn pretend_open(&mut self, conn: ConnId) {
        let opened = self.daemon.world.conns.flows.open(conn, (SERVER, PORT).into());
        opened.phase = Phase::Open;
    }

    pub(super) fn act(&mut self, action: Action) -> Result<(), ActError> {
        let now = self.daemon.world.host.outlet.now;
        self.daemon.world.carry_out(now, &action)
    }

    /// Runs the daemon until `done` holds.
    pub(super) fn until(&mut self, what: &str, mut done: impl FnMut(&Daemon, &Seen) -> bool) {
        let mut until = Patience::of(PATIENCE);
        while !done(&self.daemon, &self.seen.lock().unwrap()) {
            assert!(until.lasts(), "waited too long until {what}; {:?}", self.facts());
            self.daemon.turn(Some(Duration::from_millis(10))).unwrap();
        }
    }

    pub(super) fn for_a_while(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.daemon.turn(Some(Duration::from_millis(10))).unwrap();
        }
    }

    /// The levers in force.
    pub(super) fn report(&self) -> LeverReport {
        self.daemon.report().levers
    }

    /// Leaves the connection alone from now on, as if it had fallen back.
    pub(super) fn leave_alone(&mut self, conn: ConnId) {
        let world = &mut self.daemon.world;
        let why = LeftAlone::FellBack;
        world.conns.leave_alone(conn, why, &mut world.host);
    }

    /// Reports the connection as closed.
    pub(super) fn closed(&mut self, conn: ConnId) {
        let world = &mut self.daemon.world;
        world.conns.closed(conn, &mut world.host);
    }

    /// The connections that have fallen back.
    pub(super) fn fallbacks(&self, controllers: &Controllers) -> Vec<FallbackReport> {
        let world = &self.daemon.world;
        let fallbacks = &world.conns.bounds.fallbacks;
        fallbacks.report(&world.conns.flows, &world.links, controllers)
    }

    /// All inputs of the engine except samples of counters.
    pub(super) fn facts(&self) -> Vec<Input> {
        let seen = self.seen.lock().unwrap();
        seen.told
            .iter()
            .filter(|input| !is_number(input))
            .cloned()
            .collect()
    }

    /// Links that were found dead, and why.
    pub(super) fn given_up(&self) -> Vec<(LinkId, Reason)> {
        let seen = self.seen.lock().unwrap();
        seen.given_up().map(|(link, why)| (link, why.clone())).collect()
    }

    pub(super) fn failures(&self) -> Vec<String> {
        self.seen.lock().unwrap().failed.clone()
    }

    /// The only connection, once it is open.
    pub(super) fn conn(&mut self) -> ConnId {
        self.until("a connection opens", |daemon, _| {
            daemon.world.conns.flows.living().next().is_some()
        });
        self.daemon.world.conns.flows.conns().next().unwrap().id
    }

    /// The living, proven subflow over this link, once there is one.
    pub(super) fn subflow(&mut self, link: u8) -> SubflowId {
        let link = LinkId(link.into());
        let over = |input: &Input| match *input {
            Input::Subflow(id, SubflowEvent::Established { link: over, .. }) if over == link => Some(id),
            _ => None,
        };
        let mut found = None;
        self.until(&format!("there is a subflow over {link:?}"), |daemon, seen| {
            let latest = seen.told.iter().rev().find_map(over);
            found = latest.filter(|id| {
                daemon
                    .world
                    .conns
                    .flows
                    .subflow(*id)
                    .is_some_and(|subflow| subflow.living())
            });
            found.is_some()
        });
        found.unwrap()
    }

    pub(super) fn join(&mut self, link: u8) -> SubflowId {
        let conn = self.conn();
        self.request(conn, LinkId(link.into()));
        self.subflow(link)
    }

    /// Requests a join at the peer's first address.
    pub(super) fn request(&mut self, conn: ConnId, link: LinkId) {
        let join = Action::Join {
            conn,
            link,
            remote: RemoteId::FIRST,
            backup: false,
        };
        self.act(join).unwrap();
    }

    /// Waits for the next failed join and returns the reason.
    pub(super) fn join_failure(&mut self) -> JoinFailure {
        let failure = |input: &Input| match *input {
            Input::Conn(_, ConnEvent::JoinFailed { reason, .. }) => Some(reason),
            _ => None,
        };
        let mut found = None;
        self.until("a join fails", |_, seen| {
            found = seen.told.iter().find_map(failure);
            found.is_some()
        });
        self.seen.lock().unwrap().told.clear();
        found.unwrap()
    }

    /// Bytes that the subflow has received, by the latest sample.
    pub(super) fn received(&self, id: SubflowId) -> u64 {
        self.daemon
            .world
            .conns
            .flows
            .subflow(id)
            .unwrap()
            .sample
            .bytes_received
            .get()
    }

    pub(super) fn until_received(&mut self, id: SubflowId, more: u64) {
        let goal = self.received(id) + more;
        self.until(&format!("{id:?} has received {goal} bytes"), |daemon, _| {
            daemon
                .world
                .conns
                .flows
                .subflow(id)
                .unwrap()
                .sample
                .bytes_received
                .get()
                >= goal
        });
    }
}

impl Drop for Manual {
    fn drop(&mut self) {
        let left = self.daemon.world.leave();
        assert!(left.is_ok() || std::thread::panicking(), "{left:?}");
    }
}

fn is_number(input: &Input) -> bool {
    matches!(
        input,
        Input::Subflow(_, SubflowEvent::Sample(_))
            | Input::Conn(_, ConnEvent::Sample(_))
            | Input::Link(_, policy::LinkEvent::Received { .. })
    )
}

/// Runs a test of this program in its own process, in the client's namespace: the victim, which looks for the
/// variables in `wishes`.
pub(super) fn victim(net: &Net, test: &str, wishes: &[(&str, &OsStr)]) -> Child {
    victim_where(net, test, wishes, |_| {})
}

/// Starts the child as [`victim`] does, after `change` has modified its command.
pub(super) fn victim_where(
    net: &Net,
    test: &str,
    wishes: &[(&str, &OsStr)],
    change: impl FnOnce(&mut Command),
) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .envs(wishes.iter().copied())
        .stdin(Stdio::piped());
    change(&mut command);
    net.client.prepare(&mut command).spawn().unwrap()
}

/// Keeps a victim alive until it is killed. If the test fails first, its end of the pipe closes.
pub(super) fn live_on() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A daemon that runs by itself, with the real engine.
pub(super) struct Running {
    pub(super) inlet: InletSender,
    seen: Arc<Mutex<Seen>>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(super) fn start(net: &Net, policy: Policy, links: u8, journal: Option<PathBuf>) -> Self {
        Self::over(net, policy, declared(links), journal)
    }

    pub(super) fn over(
        net: &Net,
        policy: Policy,
        links: Vec<DeclaredLink>,
        journal: Option<PathBuf>,
    ) -> Self {
        let (setup, inlet, seen) = setup(policy, links, journal);
        Self::with(net, setup, (inlet, seen))
    }

    /// Starts a daemon that watches and probes links while there is no connection.
    pub(super) fn probing(net: &Net, links: Vec<DeclaredLink>, probing: Probing) -> Self {
        let (setup, inlet, seen) = setup(Policy::Slowhand, links, None);
        let probing = Some(probing);
        Self::with(net, Setup { probing, ..setup }, (inlet, seen))
    }

    /// Starts a daemon whose peers accept two subflows beside the first, like an unmodified server.
    pub(super) fn with_stock_servers(net: &Net, links: u8) -> Self {
        let (setup, inlet, seen) = setup(Policy::Slowhand, declared(links), None);
        let engine = Config {
            peer_subflows: 2,
            ..setup.engine
        };
        Self::with(net, Setup { engine, ..setup }, (inlet, seen))
    }

    /// Starts a daemon that limits windows in this way.
    pub(super) fn bounding(net: &Net, links: u8, journal: PathBuf, window: WindowKind) -> Self {
        let (setup, inlet, seen) = setup(Policy::Slowhand, declared(links), Some(journal));
        let window = Some(window);
        Self::with(net, Setup { window, ..setup }, (inlet, seen))
    }

    /// The kernel's windows, with a limit on connections that fall back to plain TCP.
    pub(super) fn bounding_fallbacks(net: &Net, journal: PathBuf, window: Bytes) -> Self {
        let (setup, inlet, seen) = setup(Policy::SlowhandNoWindow, declared(2), Some(journal));
        let fallback_window = Some(window);
        let setup = Setup {
            fallback_window,
            ..setup
        };
        Self::with(net, setup, (inlet, seen))
    }

    fn with(net: &Net, setup: Setup, (inlet, seen): (InletSender, Arc<Mutex<Seen>>)) -> Self {
        let netns = net.client.try_clone().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            netns.enter().unwrap();
            let mut daemon = Daemon::start(setup).unwrap();
            send.send(daemon.stopper()).unwrap();
            daemon.run().unwrap();
        });
        let running = Self {
            inlet,
            seen,
            stopper: receive.recv().unwrap(),
            thread: Some(thread),
        };
        // The first report comes when the daemon knows everything that existed.
        running.inlet.report(PATIENCE).unwrap();
        running
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn until(&self, what: &str, mut done: impl FnMut(&Seen) -> bool) {
        let mut until = Patience::of(PATIENCE);
        while !done(&self.seen.lock().unwrap()) {
            let facts: Vec<_> = self
                .seen()
                .told
                .into_iter()
                .filter(|input| !is_number(input))
                .collect();
            assert!(until.lasts(), "waited too long until {what}; {facts:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn stop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            assert!(joined.is_ok() || std::thread::panicking(), "the daemon panicked");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
