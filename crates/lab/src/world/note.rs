//! What the threads of a run tell the one that conducts it.

use crate::emulator;
use crate::traffic::{Outcome, Told, TransferError};
use linux::daemon::Association;
use units::Instant;

/// One thing told.
#[derive(Debug)]
pub(super) enum Note {
    /// By the emulator.
    Links(emulator::Event),
    /// By the daemon: somebody should associate or leave.
    Asked(Association),
    /// By the daemon, for the trace.
    Happened(trace::Event),
    /// By the application of the flow with this index.
    Flow(usize, Instant, Told),
    /// The flow with this index is over.
    FlowEnded(usize, Box<Result<Outcome, TransferError>>),
    /// The program that was to be run in the client's namespace has ended.
    ProgramEnded,
}
