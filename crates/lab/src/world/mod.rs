//! A run of a scenario: two hosts, the links between them in real time, the daemon on the client, applications that move data, and
//! everything that happens written down.
//!
//! The order in which a run is built: what can be wrong with the plan is found first; then namespaces and devices; then the
//! daemon; then, at time zero, the links come to life and the applications connect. At the end everything is taken down in
//! the opposite order, whatever ended it. Namespaces and devices have no names outside the process, so a run that is killed
//! leaves nothing behind.
//!
//! # Where we differ, and why
//! 1. The sender is a stock kernel with default settings; the lab looks at its sockets to *tell* what it queues, never to decide.
//! 2. Datagrams of other walkers than the client go over the air without a kernel (`others`); their other flows are carried by the client's host.
//!
//! # Checked by
//! `tests/world.rs`, `tests/killed.rs`, `tests/shell.rs`.

mod brain;
mod choice;
mod conduct;
mod controllers;
mod error;
mod flows;
mod glue;
mod network;
mod note;
mod observe;
mod others;
mod paths;
mod ready;
mod script;
mod stage;
mod summary;

pub use brain::BrainError;
pub use controllers::{NoController, ReadBack, StockSender};
pub use error::PlayError;
pub use network::{PlanError, network_config};
pub use script::script;

use crate::emulator::{Report, Tuning};
use crate::shell::{Programs, ProgramsEnded};
use crate::stop::Stop;
use conduct::Conductor;
use linux::bpf::{RunTime, WindowKind};
use linux::cla::Heard;
use linux::daemon;
use record::Buffer;
use scenario::Plan;
use stage::Stage;
use trace::{Event, PolicyName, Run, RunRecord, Stall, What};

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Play<'p> {
    /// The scenario. Its `cc` is the sender's congestion controller: one of the kernel's, or `lia`, `olia`, `balia` or `cla`.
    pub plan: &'p Plan,
    /// Who decides.
    pub policy: PolicyName,
    /// The seed of everything that is random.
    pub seed: u64,
    /// How the emulator works.
    pub tuning: Tuning,
    /// Programs to run instead of the scenario's flows.
    pub programs: Option<Programs>,
    /// How windows are bounded. `None`: the best way that the kernel offers.
    pub window: Option<WindowKind>,
    /// Count what our congestion controller costs; counting costs about 20 ns a run itself.
    pub count_cost: bool,
    /// Nobody tells the senders' `cla` of the radio: what it does without being told.
    pub unadvised: bool,
    /// Where the inputs and actions of the daemon's engine are recorded; complete once the run is over. `None`: nowhere.
    pub record: Option<Buffer>,
}

impl<'p> Play<'p> {
    /// The plan's flows under this policy, with the plan's own seed.
    pub fn new(plan: &'p Plan, policy: PolicyName) -> Self {
        Self {
            plan,
            policy,
            seed: plan.seed,
            tuning: Tuning::default(),
            programs: None,
            window: None,
            count_cost: false,
            unadvised: false,
            record: None,
        }
    }

    /// The sender's congestion controller, as results name it; `None` where nothing is sent by TCP. Programs may do as they like.
    fn sender(&self) -> Option<String> {
        let by_tcp = self.programs.is_some() || self.plan.sends_by_tcp();
        by_tcp.then(|| self.plan.cc.clone())
    }
}

/// What a receiving application saw, closer than a result shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowDetail {
    /// Bytes read in each 100 ms since the start of the run.
    pub series: Vec<u64>,
    /// Every gap between reads of 10 ms and more.
    pub waits: Vec<Stall>,
    /// Every request that was answered: from written, or from due if the one before was not answered by then, to its reply complete.
    pub requests: Vec<Stall>,
    /// Those that were due and not answered when the run ended: until then.
    pub unanswered: Vec<Stall>,
}

/// What reached `cla` of the client's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advised {
    /// Windows that were ordered, by the client's daemon and by a server that hears it.
    pub orders: u32,
    /// What that server heard, if it runs slowhand.
    pub heard: Option<Heard>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Its row of the result.
    pub run: Run,
    /// Everything that happened, in order of time.
    pub record: RunRecord,
    /// What each flow's receiving application saw, in the order of the plan. A flow that came to no end has none.
    pub flows: Vec<FlowDetail>,
    /// What the emulator did.
    pub emulator: Report,
    /// Everything the daemon knew at the end, unless it was too busy to say.
    pub daemon: Option<daemon::Report>,
    /// Packets that the client's own kernel had taken in marked by then (`IpExt: InCEPkts`), if it counts them.
    pub received_ce: Option<u64>,
    /// How the programs ended, if there were any.
    pub programs: Option<ProgramsEnded>,
    /// What our congestion controller took for its work per acknowledgement, if that was counted.
    pub per_ack: Option<RunTime>,
    /// What the senders' `cla` was told of the client's signals; nothing with another controller.
    pub advised: Option<Advised>,
    /// Which controllers its sockets really used; nothing is read of programs' own.
    pub controllers: ReadBack,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Played {
    /// Adds something that a reader must know, in the result and in the record.
    pub fn note(&mut self, note: String) {
        for event in &mut self.record.events {
            if let What::RunEnd { summary } = &mut event.what {
                summary.notes.push(note.clone());
            }
        }
        self.run.notes.push(note);
    }
}

/// Plays a scenario to its end, or until `stop`. Every event is shown to `watch` as it happens, on this thread.
pub fn play(what: &Play<'_>, stop: &Stop, watch: &mut dyn FnMut(&Event)) -> Result<Played, PlayError> {
    let stage = Stage::build(what)?;
    Conductor::begin(what, stage, stop, watch)?.conduct()
}
