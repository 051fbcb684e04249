//! The engine: takes facts in, hands actions out. It only dispatches.

use crate::io::{Action, Input, LinkId};
use alloc::collections::VecDeque;
use units::Instant;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which strategy decides.
    pub policy: Policy,
    /// How many subflows the peer lets us add to a connection before one has been refused (Linux: 2).
    pub peer_subflows: usize,
}

/// The decision engine. See the crate's documentation for the contract.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    actions: VecDeque<Action>,
}

impl Engine {
    /// An engine that knows of no link yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            actions: VecDeque::new(),
        }
    }

    /// Takes in one fact that happened at `now`, which never runs backwards.
    pub fn handle(&mut self, _now: Instant, _input: Input) {}

    /// Lets time pass with nothing to report.
    pub fn tick(&mut self, _now: Instant) {}

    /// The next thing the world should do.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`Engine::tick`], and which timer asked.
    pub fn wake_at(&self) -> Option<(Instant, &'static str)> {
        None
    }

    /// Whether connections are managed by the kernel's own path manager (`true`) or by this engine.
    pub fn uses_kernel_path_manager(&self) -> bool {
        matches!(self.config.policy, Policy::Mptcp | Policy::Tcp(_))
    }
}
