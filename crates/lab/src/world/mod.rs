//! Runs a scenario: the client and the server, the links between them in real time, the daemon on the client,
//! and applications that move data. Walkers with TCP of their own are further hosts (`walkers`). Everything
//! that happens is recorded.
//!
//! With a relay, the client's flows are plain TCP, and an agent carries them (`relay`).
//!
//! A run is built in this order: first the plan is checked, then namespaces and devices are created, then the
//! daemon starts. At time zero the links start and the applications connect. At the end everything is removed
//! in the opposite order, whatever ended the run. Namespaces and devices have no names outside the process,
//! so a run that is killed leaves nothing behind.
//!
//! # Where we differ, and why
//! 1. The sender is a stock kernel with default settings. The lab reads its sockets to *report* what it
//!    queues, never to decide.
//! 2. Walkers with nothing but datagrams over access points have no kernel: the models send these (`others`).
//!
//! # Checked by
//! `tests/world.rs`, `tests/walkers.rs`, `tests/killed.rs`, `tests/shell.rs`, `tests/relay.rs`,
//! `tests/single_radio.rs`.

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
mod recorder;
mod relay;
mod stage;
mod summary;
mod turns;
mod walkers;

pub use brain::BrainError;
pub use controllers::{NoController, ReadBack, StockSender};
pub use error::PlayError;
pub use network::{PlanError, network_config};

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

/// A run to execute.
#[derive(Debug, Clone)]
pub struct Play<'p> {
    /// The scenario. Its `cc` is the sender's congestion controller: one of the kernel's, or `lia`, `olia`,
    /// `balia` or `cla`.
    pub plan: &'p Plan,
    /// The policy that decides.
    pub policy: PolicyName,
    /// The seed of everything that is random.
    pub seed: u64,
    /// Settings of the emulator.
    pub tuning: Tuning,
    /// Programs to run instead of the scenario's flows.
    pub programs: Option<Programs>,
    /// How windows are limited. `None`: the best way that the kernel offers.
    pub window: Option<WindowKind>,
    /// Measure the CPU cost of our congestion controller. Measuring itself costs about 20 ns per run of the
    /// BPF program.
    pub count_cost: bool,
    /// Send no radio signals to the senders' `cla`, to see what it does without advice.
    pub unadvised: bool,
    /// Where to record the inputs and actions of the daemon's engine. It is complete once the run is over.
    /// `None`: nowhere.
    pub record: Option<Buffer>,
}

impl<'p> Play<'p> {
    /// Runs the plan's flows under this policy, with the plan's own seed.
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

    /// The sender's congestion controller, as results name it; `None` if nothing is sent by TCP. Programs may
    /// use any.
    fn sender(&self) -> Option<String> {
        let by_tcp = self.programs.is_some() || self.plan.sends_by_tcp();
        by_tcp.then(|| self.plan.cc.clone())
    }
}

/// What a receiving application saw, in more detail than a result shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowDetail {
    /// Bytes read in each 100 ms since the start of the run.
    pub series: Vec<u64>,
    /// Every gap between reads of 10 ms and more.
    pub waits: Vec<Stall>,
    /// Every request that was answered, until its reply was complete. The time counts from when the request
    /// was written. If the previous one was unanswered when it was due, it counts from then.
    pub requests: Vec<Stall>,
    /// Requests that were due and unanswered when the run ended, until that time.
    pub unanswered: Vec<Stall>,
}

/// The client's signals that reached `cla`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advised {
    /// Windows ordered by the client's daemon and by a server that listens to it.
    pub orders: u32,
    /// What that server received, if it runs slowhand.
    pub heard: Option<Heard>,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Its row of the result.
    pub run: Run,
    /// Everything that happened, in order of time.
    pub record: RunRecord,
    /// What each flow's receiving application saw, in the order of the plan. A flow without an outcome has
    /// none.
    pub flows: Vec<FlowDetail>,
    /// The emulator's report.
    pub emulator: Report,
    /// The daemon's report at the end, unless it was too busy to answer.
    pub daemon: Option<daemon::Report>,
    /// Packets that the client's own kernel had received with CE by then (`IpExt: InCEPkts`), if it counts
    /// them.
    pub received_ce: Option<u64>,
    /// How the programs ended, if there were any.
    pub programs: Option<ProgramsEnded>,
    /// CPU time of our congestion controller per acknowledgement, if measured.
    pub per_ack: Option<RunTime>,
    /// What the senders' `cla` received of the client's signals; `None` with another controller.
    pub advised: Option<Advised>,
    /// The controllers that its sockets really used. The sockets of programs are not read.
    pub controllers: ReadBack,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
}

impl Played {
    /// Adds a remark for the reader, in the result and in the record.
    pub fn note(&mut self, note: String) {
        for event in &mut self.record.events {
            if let What::RunEnd { summary } = &mut event.what {
                summary.notes.push(note.clone());
            }
        }
        self.run.notes.push(note);
    }
}

/// Plays a scenario to its end, or until `stop`. Passes every event to `watch` as it happens, on this thread.
pub fn play(what: &Play<'_>, stop: &Stop, watch: &mut dyn FnMut(&Event)) -> Result<Played, PlayError> {
    let stage = Stage::build(what)?;
    Conductor::begin(what, stage, stop, watch)?.conduct()
}
