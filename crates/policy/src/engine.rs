//! The engine: inputs go in, actions come out. It only dispatches.

use crate::alive::silence;
use crate::choose::cost;
use crate::explain::{self, ConnExplanation, Explanation};
use crate::flow::assign::{self, Assignments};
use crate::io::{Action, ConnEvent, ConnId, Input, LinkEvent, LinkId, Reason, SubflowEvent, SubflowId};
use crate::known::change::Change;
use crate::known::cost::Allowed;
use crate::known::state::State;
use crate::strategy::energy_schedule::Variant;
use crate::strategy::foresight::Foresight;
use crate::strategy::handover::{Form, Handover};
use crate::strategy::kernel::{self, KernelPaths};
use crate::strategy::slowhand::{LOOK_EVERY, Slowhand};
use crate::strategy::steered::{Ecn, OneAtATime};
use crate::strategy::thrift::Thrift;
use crate::wifi::outlook::Outlooks;
use crate::wifi::radios::Radios;
use crate::wifi::steer;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// The engine considers its host starved if it is called this much later than requested.
const OVERSLEPT: Duration = Duration::from_millis(15);

/// The strategy that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Plain TCP over one link.
    Tcp(LinkId),
    /// One access point at a time, break before make (nsdi15 §6.3).
    Handover,
    /// `Handover`, with the next access point already associated.
    HandoverWarm,
    /// `HandoverWarm` for WiFi, with the cellular links joined throughout (cla).
    HandoverCell,
    /// WiFi where there is any, otherwise cellular. One path at a time (mobiarch11 §3.2).
    WifiFirst,
    /// Every link joined, with only the kernel's own path manager and scheduler.
    Mptcp,
    /// `Mptcp`, with marks on packets from access points whose packets cost clearly more airtime than the
    /// best one's (nsdi15 §5.2).
    Ecn(steer::Form),
    /// Every link joined. Of the access points of a channel, one is used at a time (FatVAP, juggler).
    OneAtATime,
    /// One path at a time, the best of the next ten seconds, in a world that foresees them (mobiarch11 §3.1).
    Omniscient,
    /// Radios on and off by their bits per joule (mobiarch11 §3.3).
    Energy(Variant),
    /// All of slowhand's functions.
    Slowhand,
    /// All of slowhand's functions except those that limit queues: no window, no unsent limit, no marks or
    /// pacing caps. Slow links are not demoted, low-traffic connections use all links, and no subflow is
    /// replaced.
    SlowhandNoWindow,
}

impl Policy {
    /// Whether it probes links, and asks whether they lead to the Internet.
    pub const fn probes_links(self) -> bool {
        matches!(self, Self::Slowhand | Self::SlowhandNoWindow)
    }

    /// Whether it uses frames and surveys. It compares the access points of one channel by them.
    pub const fn uses_frames(self) -> bool {
        match self {
            Self::Ecn(_) | Self::OneAtATime | Self::Slowhand | Self::SlowhandNoWindow => true,
            Self::Tcp(_)
            | Self::Mptcp
            | Self::Handover
            | Self::HandoverWarm
            | Self::HandoverCell
            | Self::WifiFirst
            | Self::Omniscient
            | Self::Energy(_) => false,
        }
    }
}

/// Settings that do not change during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The strategy that decides.
    pub policy: Policy,
    /// How many subflows the peer lets us add to a connection (a stock Linux server: 2).
    pub peer_subflows: usize,
}

#[derive(Debug)]
enum Strategy {
    Tcp(LinkId),
    Kernel(KernelPaths),
    Ecn(Ecn),
    OneAtATime(OneAtATime),
    Handover(Handover),
    Foresight(Foresight),
    Thrift(Thrift),
    Slowhand(Box<Slowhand>),
}

/// The decision engine. See the crate's documentation for the contract.
#[derive(Debug)]
pub struct Engine {
    state: State,
    strategy: Strategy,
    allowed: Allowed,
    assignments: Assignments,
    outlooks: Outlooks,
    radios: Radios,
    now: Instant,
    next_look: Instant,
    /// Cached, since it is read after every input and depends on every link.
    wake_at: Option<(Instant, &'static str)>,
}

impl Engine {
    /// An engine without links.
    pub fn new(config: Config) -> Self {
        Self {
            state: State::new(config.peer_subflows),
            strategy: Strategy::of(config.policy),
            allowed: Allowed::default(),
            assignments: Assignments::default(),
            outlooks: Outlooks::default(),
            radios: Radios::default(),
            now: Instant::ZERO,
            next_look: Instant::ZERO,
            wake_at: None,
        }
    }

    /// Handles an input that happened at `now`, which never runs backwards.
    pub fn handle(&mut self, now: Instant, input: Input) {
        debug_assert!(now >= self.now, "time ran backwards: {now} after {}", self.now);
        match input {
            Input::Link(link, LinkEvent::Frame(frame)) => self.state.overhear(now, link, &frame),
            input => self.take_in(now, input),
        }
    }

    fn take_in(&mut self, now: Instant, input: Input) {
        self.wake(now);
        let change = match self.dispatch(now, input) {
            Change::Cost => cost::judge(&mut self.state, self.allowed),
            change => change,
        };
        if change == Change::Doubt {
            self.wake_at = self.next_wake();
        }
        if change == Change::Shape || self.due(now) {
            self.decide(now);
        }
        debug_assert_eq!(self.wake_at, self.next_wake());
    }

    fn dispatch(&mut self, now: Instant, input: Input) -> Change {
        match input {
            Input::Radio(radio, event) => self.radios.about(now, &mut self.state, radio, event),
            Input::Flow(flow, event) => {
                self.assignments.about(now, &mut self.state, flow, event);
                return Change::Doubt;
            }
            Input::Allow(trust, allowed) => return self.allowed.set(trust, allowed),
            Input::Resumed => {
                silence::resumed(now, &mut self.state);
                self.assignments.resumed();
                return Change::Shape;
            }
            input => return self.learn(now, input),
        }
        Change::Counters
    }

    fn learn(&mut self, now: Instant, input: Input) -> Change {
        let sampled = sampled_subflow(&input);
        let read = read_conn(&input);
        if let Input::Link(link, LinkEvent::Gone) = input {
            self.radios.forget(now, &mut self.state, link);
        }
        if let Input::Link(link, LinkEvent::Roamed) = input {
            self.outlooks.forget(link);
        }
        let change = self.state.learn(now, input);
        if let (Some(conn), Strategy::Slowhand(slowhand)) = (read, &mut self.strategy) {
            slowhand.read(now, &mut self.state, conn);
        }
        if let (Some(subflow), Strategy::Slowhand(slowhand)) = (sampled, &mut self.strategy)
            && let Some(conn) = self.state.conn_of(subflow)
            && slowhand.sampled(now, &mut self.state, conn, subflow)
            && change == Change::Counters
        {
            return Change::Doubt;
        }
        change
    }

    /// Advances the time without an input. Everything that was read has been reported by then.
    pub fn tick(&mut self, now: Instant) {
        self.wake(now);
        if self.due(now) {
            silence::settle(now, &mut self.state);
            self.decide(now);
        }
        debug_assert_eq!(self.wake_at, self.next_wake());
    }

    /// Advances the time. A call long after the requested time is itself evidence.
    fn wake(&mut self, now: Instant) {
        let late = self
            .wake_at()
            .map_or(Duration::ZERO, |(at, _)| now - at.max(self.now));
        self.now = self.now.max(now);
        if late >= OVERSLEPT {
            silence::overslept(now, &mut self.state, late);
            self.wake_at = self.next_wake();
        }
    }

    fn due(&self, now: Instant) -> bool {
        self.wake_at().is_some_and(|(at, _)| now >= at)
    }

    fn decide(&mut self, now: Instant) {
        self.next_look = now + LOOK_EVERY;
        self.state.look_at_air(now);
        self.state.look_at_rates(now);
        if !self.uses_kernel_path_manager() {
            cost::evict(now, &mut self.state);
        }
        self.strategy.decide(now, &mut self.state);
        self.outlooks.look(now, &mut self.state);
        self.assignments.settle(now, &mut self.state);
        self.wake_at = self.next_wake();
    }

    /// The next action for the world to carry out.
    pub fn poll(&mut self) -> Option<Action> {
        self.state.poll()
    }

    /// When to call [`Engine::tick`], and the timer that requested it.
    pub const fn wake_at(&self) -> Option<(Instant, &'static str)> {
        self.wake_at
    }

    fn next_wake(&self) -> Option<(Instant, &'static str)> {
        let look = (!self.state.paths.is_empty()).then_some((self.next_look, "look"));
        let own = match &self.strategy {
            Strategy::Slowhand(_) => silence::wake_at(&self.state).map(|at| (at, "doubt")),
            Strategy::Foresight(foresight) => foresight.wake_at().map(|at| (at, "foresight")),
            Strategy::Thrift(thrift) => thrift.wake_at().map(|at| (at, "energy")),
            _ => None,
        };
        let flows = self.assignments.wake_at().map(|at| (at, "flow"));
        [look, own, flows].into_iter().flatten().min()
    }

    /// Whether the kernel's own path manager (`true`) or this engine manages connections.
    pub const fn uses_kernel_path_manager(&self) -> bool {
        matches!(
            self.strategy,
            Strategy::Kernel(_) | Strategy::Tcp(_) | Strategy::Ecn(_)
        )
    }

    /// Whether connections should negotiate ECN: this strategy controls senders by marks.
    pub fn asks_for_ecn(&self) -> bool {
        match &self.strategy {
            Strategy::Ecn(_) => true,
            Strategy::Slowhand(slowhand) => slowhand.bounds_queues(),
            _ => false,
        }
    }

    /// Whether a link is suspect. Every sample counts then, and the world should poll twice as often.
    pub fn is_in_doubt(&self) -> bool {
        self.doubted().next().is_some()
    }

    /// The suspect links. When the time of [`Engine::wake_at`] has come, the world reports what their
    /// interfaces have received ([`LinkEvent::Received`]) before it ticks. So a doubt is decided by a poll,
    /// however rarely subflows are sampled.
    pub fn doubted(&self) -> impl Iterator<Item = LinkId> {
        let paths = self.state.paths.iter();
        paths.filter_map(|(&link, path)| path.doubt().map(|_| link))
    }

    /// The links that may carry flows that cannot use several, in order. If some are alive, those that are
    /// dead or held out are not among them.
    pub fn carrying_flows(&self) -> impl Iterator<Item = LinkId> + Clone {
        assign::carrying(&self.state)
    }

    /// The links over which names of the Internet may be resolved, in order: those that may carry flows, and
    /// whose last check has passed or that cannot be checked. If there is none, all that may carry flows.
    pub fn leading_out(&self) -> impl Iterator<Item = LinkId> + Clone {
        let is_open = |link: &LinkId| self.state.portals.is_open(*link);
        let none_is = !self.carrying_flows().any(|link| is_open(&link));
        self.carrying_flows().filter(move |link| none_is || is_open(link))
    }

    /// The state of every link, and why.
    pub fn explain(&self) -> Vec<Explanation> {
        explain::all(self.now, &self.state)
    }

    /// A reason as a sentence, with the names of this engine's links.
    pub fn sentence(&self, reason: &Reason) -> String {
        reason.sentence(&self.state.paths)
    }

    /// The reason for the window of every connection whose window is capped.
    pub fn explain_connections(&self) -> Vec<ConnExplanation> {
        explain::connections(&self.state)
    }
}

impl Strategy {
    fn of(policy: Policy) -> Self {
        match policy {
            Policy::Tcp(link) => Self::Tcp(link),
            Policy::Mptcp => Self::Kernel(KernelPaths::default()),
            Policy::Ecn(form) => Self::Ecn(Ecn::new(form)),
            Policy::OneAtATime => Self::OneAtATime(OneAtATime::default()),
            Policy::Handover => Self::Handover(Handover::new(Form::Cold)),
            Policy::HandoverWarm => Self::Handover(Handover::new(Form::Warm)),
            Policy::HandoverCell => Self::Handover(Handover::new(Form::WarmAndCellular)),
            Policy::WifiFirst => Self::Handover(Handover::new(Form::WifiFirst)),
            Policy::Omniscient => Self::Foresight(Foresight::default()),
            Policy::Energy(variant) => Self::Thrift(Thrift::new(variant)),
            Policy::Slowhand => Self::Slowhand(Box::new(Slowhand::new(true))),
            Policy::SlowhandNoWindow => Self::Slowhand(Box::new(Slowhand::new(false))),
        }
    }

    fn decide(&mut self, now: Instant, state: &mut State) {
        match self {
            Self::Tcp(link) => kernel::one_link(now, state, *link),
            Self::Kernel(kernel) => kernel.decide(now, state),
            Self::Ecn(ecn) => ecn.decide(now, state),
            Self::OneAtATime(one) => one.decide(now, state),
            Self::Handover(handover) => handover.decide(now, state),
            Self::Foresight(foresight) => foresight.decide(now, state),
            Self::Thrift(thrift) => thrift.decide(now, state),
            Self::Slowhand(slowhand) => slowhand.decide(now, state),
        }
    }
}

const fn sampled_subflow(input: &Input) -> Option<SubflowId> {
    match input {
        Input::Subflow(subflow, SubflowEvent::Sample(_)) => Some(*subflow),
        _ => None,
    }
}

const fn read_conn(input: &Input) -> Option<ConnId> {
    match input {
        Input::Conn(conn, ConnEvent::Sample(_)) => Some(*conn),
        _ => None,
    }
}
