//! The engine: takes facts in, hands actions out. It only dispatches.

use crate::baseline::{self, KernelPaths};
use crate::detect;
use crate::explain::{self, Explanation};
use crate::handover::{Form, Handover};
use crate::io::{Action, Input, LinkEvent, LinkId, SubflowEvent, SubflowId};
use crate::slowhand::{LOOK_EVERY, Slowhand};
use crate::state::{Change, State};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Later than this after the time that it asked for, the engine takes its host for starved.
const OVERSLEPT: Duration = Duration::from_millis(15);

/// Which strategy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Plain TCP over one link.
    Tcp(LinkId),
    /// One access point at a time, break before make (nsdi15 §6.3).
    Handover,
    /// The same choice, but the next access point is already associated.
    HandoverWarm,
    /// `HandoverWarm` for WiFi with the cellular links joined throughout (cla).
    HandoverCell,
    /// WiFi where there is any, otherwise cellular; one path at a time (mobiarch11 §3.2).
    WifiFirst,
    /// Every link joined; the kernel's own path manager and scheduler and nothing else.
    Mptcp,
    /// All of ours.
    Slowhand,
    /// All of ours but the window.
    SlowhandNoWindow,
}

/// What does not change during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Which strategy decides.
    pub policy: Policy,
    /// How many subflows the peer lets us add to a connection (a stock Linux server: 2).
    pub peer_subflows: usize,
}

#[derive(Debug)]
enum Strategy {
    Tcp(LinkId),
    Kernel(KernelPaths),
    Handover(Handover),
    Slowhand(Slowhand),
}

/// The decision engine. See the crate's documentation for the contract.
#[derive(Debug)]
pub struct Engine {
    state: State,
    strategy: Strategy,
    now: Instant,
    next_look: Instant,
}

impl Engine {
    /// An engine that knows of no link yet.
    pub fn new(config: Config) -> Self {
        let strategy = match config.policy {
            Policy::Tcp(link) => Strategy::Tcp(link),
            Policy::Mptcp => Strategy::Kernel(KernelPaths::default()),
            Policy::Handover => Strategy::Handover(Handover::new(Form::Cold)),
            Policy::HandoverWarm => Strategy::Handover(Handover::new(Form::Warm)),
            Policy::HandoverCell => Strategy::Handover(Handover::new(Form::WarmAndCellular)),
            Policy::WifiFirst => Strategy::Handover(Handover::new(Form::WifiFirst)),
            Policy::Slowhand => Strategy::Slowhand(Slowhand::new(true)),
            Policy::SlowhandNoWindow => Strategy::Slowhand(Slowhand::new(false)),
        };
        Self {
            state: State::new(config.peer_subflows),
            strategy,
            now: Instant::ZERO,
            next_look: Instant::ZERO,
        }
    }

    /// Takes in one fact that happened at `now`, which never runs backwards.
    pub fn handle(&mut self, now: Instant, input: Input) {
        debug_assert!(now >= self.now, "time ran backwards: {now} after {}", self.now);
        self.wake(now);
        let sampled = sampled_subflow(&input);
        if let Input::Link(link, LinkEvent::Usable(true)) = input {
            self.state.forget_route(link);
        }
        let change = self.state.learn(now, input);
        if let (Some(subflow), Strategy::Slowhand(slowhand)) = (sampled, &mut self.strategy)
            && let Some(conn) = self.state.conn_of(subflow)
        {
            slowhand.sampled(now, &mut self.state, conn, subflow);
        }
        if change == Change::Shape || self.due(now) {
            self.decide(now);
        }
    }

    /// Lets time pass with nothing to report.
    pub fn tick(&mut self, now: Instant) {
        self.wake(now);
        if self.due(now) {
            self.decide(now);
        }
    }

    /// Time has come this far. Being called long after the time that was asked for is itself a fact.
    fn wake(&mut self, now: Instant) {
        let late = self
            .wake_at()
            .map_or(Duration::ZERO, |(at, _)| now - at.max(self.now));
        self.now = self.now.max(now);
        if late >= OVERSLEPT {
            detect::overslept(&mut self.state, late);
        }
    }

    fn due(&self, now: Instant) -> bool {
        self.wake_at().is_some_and(|(at, _)| now >= at)
    }

    fn decide(&mut self, now: Instant) {
        self.next_look = now + LOOK_EVERY;
        match &mut self.strategy {
            Strategy::Tcp(link) => baseline::one_link(now, &mut self.state, *link),
            Strategy::Kernel(kernel) => kernel.decide(now, &mut self.state),
            Strategy::Handover(handover) => handover.decide(now, &mut self.state),
            Strategy::Slowhand(slowhand) => slowhand.decide(now, &mut self.state),
        }
    }

    /// The next thing the world should do.
    pub fn poll(&mut self) -> Option<Action> {
        self.state.poll()
    }

    /// When to call [`Engine::tick`], and which timer asked.
    pub fn wake_at(&self) -> Option<(Instant, &'static str)> {
        let look = (!self.state.paths.is_empty()).then_some((self.next_look, "look"));
        let doubt = match self.strategy {
            Strategy::Slowhand(_) => detect::wake_at(&self.state).map(|at| (at, "doubt")),
            _ => None,
        };
        [look, doubt].into_iter().flatten().min()
    }

    /// Whether connections are managed by the kernel's own path manager (`true`) or by this engine.
    pub const fn uses_kernel_path_manager(&self) -> bool {
        matches!(self.strategy, Strategy::Kernel(_) | Strategy::Tcp(_))
    }

    /// Whether a link is in doubt: then every sample counts, and the world should look twice as often.
    pub fn is_in_doubt(&self) -> bool {
        self.state.paths.values().any(|path| path.doubt().is_some())
    }

    /// For every link, what it is used for and why.
    pub fn explain(&self) -> Vec<Explanation> {
        explain::all(&self.state)
    }
}

const fn sampled_subflow(input: &Input) -> Option<SubflowId> {
    match input {
        Input::Subflow(subflow, SubflowEvent::Sample(_)) => Some(*subflow),
        _ => None,
    }
}
