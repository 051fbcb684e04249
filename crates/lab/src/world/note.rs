//! What the threads of a run report to the thread that conducts it.

use crate::emulator;
use crate::traffic::{Outcome, Told, TransferError};
use linux::daemon::Association;
use policy::slot::Slot;
use units::Instant;

/// One report.
#[derive(Debug)]
pub(super) enum Note {
    /// An event of the emulator.
    Links(emulator::Event),
    /// A request of the daemon to associate or leave.
    Asked(Association),
    /// A request of the daemon to divide the time of the client's single radio.
    Divided(Vec<Slot>),
    /// An event of the daemon, for the trace.
    Happened(trace::Event),
    /// Progress of the flow with this index.
    Flow(usize, Instant, Told),
    /// The flow with this index is over.
    FlowEnded(usize, Box<Result<Outcome, TransferError>>),
    /// The program in the client's namespace has ended.
    ProgramEnded,
}
