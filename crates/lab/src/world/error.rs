//! Why a run could not be played to its end.

use super::{BrainError, PlanError};
use crate::emulator::StartError;
use crate::hosts::{BuildError, OpenError, PlugError};
use crate::relay;
use crate::shell::ProgramError;
use crate::traffic::{ServeError, TransferError};
use linux::bpf::cc::CcError;
use linux::cla::{AdviceError, ListenError};
use linux::daemon;
use linux::journal::SharedError;
use std::io;
use thiserror::Error;
use trace::PolicyError;

/// Why a run could not be played to its end. Everything that was created has been removed.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The congestion controller is not allowed in namespaces, and could not be allowed.
    #[error("cannot allow the congestion controller `{cc}` in the lab's namespaces")]
    Controller {
        /// Its name.
        cc: String,
        /// Why.
        source: SharedError,
    },
    /// Our own controller could not be loaded.
    #[error("cannot load the congestion controller `{cc}`")]
    Coupled {
        /// Its name.
        cc: String,
        /// Why.
        source: CcError,
    },
    /// The kernel does not measure BPF programs.
    #[error("cannot measure the run time of BPF programs without CAP_SYS_ADMIN; run as root")]
    Counting(#[source] io::Error),
    /// The server's controller cannot use the signals that it receives.
    #[error("cannot control the server's congestion controller")]
    Advice(#[from] AdviceError),
    /// The server cannot listen to the client.
    #[error("cannot receive the client's signal reports on the server")]
    Listen(#[from] ListenError),
    /// The hosts.
    #[error(transparent)]
    Hosts(#[from] BuildError),
    /// The links of the client, or of another walker.
    #[error(transparent)]
    Plugs(#[from] OpenError),
    /// A link could not be plugged in or out.
    #[error(transparent)]
    Plug(#[from] PlugError),
    /// The monitor interfaces cannot be opened.
    #[error(transparent)]
    Capture(#[from] linux::capture::OpenError),
    /// The server.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The daemon of the client, or of another walker, did not start.
    #[error("cannot start a daemon in a namespace of the lab")]
    Brain(#[from] BrainError),
    /// One of these daemons ended.
    #[error("a daemon in a namespace of the lab ended early")]
    Daemon(#[source] daemon::RunError),
    /// The daemon's inlet.
    #[error("cannot open a descriptor for the daemon; check the limit `ulimit -n`")]
    Inlet(#[source] io::Error),
    /// The relay or the agent did not start.
    #[error(transparent)]
    Relay(#[from] relay::StartError),
    /// The emulator.
    #[error(transparent)]
    Emulator(#[from] StartError),
    /// A flow.
    #[error("flow `{flow}` failed")]
    Flow {
        /// Its name.
        flow: String,
        /// Why.
        source: TransferError,
    },
    /// A program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A fault was applied, yet packets passed: no measurement of this run is valid.
    #[error(
        "{passed} packets passed the fault on `{link}` at {at}, so the result is invalid; please report this"
    )]
    FaultHadNoEffect {
        /// Which link.
        link: String,
        /// When it was applied.
        at: units::Instant,
        /// How many passed.
        passed: u64,
    },
    /// No thread.
    #[error("cannot start a thread; check the limit `ulimit -u`")]
    Thread(#[source] io::Error),
    /// A bug.
    #[error("the {0} of the lab panicked; please report its output")]
    Panicked(&'static str),
}
