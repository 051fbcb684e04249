//! What happened: one schema for the lab, a real host and the simulator.
//!
//! A world reports what happens during a run to a [`Recorder`] ([`Event`]), and sums it up at the end
//! ([`Run`]). Front ends (the command line, the terminal view, the page) read only this crate's types. This
//! crate knows nothing of how decisions are made.
//!
//! - `policy_name`, `names`: policies; roles, modes and worlds: spelled as users type them.
//! - `engine`: the same names as the engine's types.
//! - `plan`: the scenario as flat records, enough to draw it.
//! - `event`: the events, and the lines of a trace file.
//! - `run`, `bench`, `papers`: the `--json` documents of `play`, `bench` and `papers`.
//! - `meter`, `stall`: from bytes read at an application to goodput and stalls, by one definition.
//! - `best`: the row `tcp-best`, which is computed from the `tcp:<link>` runs.
//! - `view`: a comparison downsampled, as every front end draws it.
//! - `recorder`: writing and reading trace files (JSON Lines).
//! - `shown`: text from outside, made safe for a terminal.
//! - `spot`: a place in a file, and a message about it.
//! - `suggest`: "did you mean", for a word in a file.

pub mod agent;
mod bench;
mod best;
mod document;
mod engine;
mod event;
mod levels;
mod meter;
mod names;
mod observer;
mod papers;
mod plan;
mod policy_name;
mod recorder;
mod run;
mod shown;
mod spot;
mod stall;
pub mod suggest;
mod view;
mod words;
mod wrapped;

pub use bench::{BenchDocument, BenchRow, Better, TheirsFrom};
pub use best::{BEST_WINDOW, tcp_best, versus_best};
pub use document::{BenchSchema, PapersSchema, PlaySchema, TraceSchema};
pub use engine::PolicyError;
pub use event::{Event, LatenessUs, LinkState, RunStart, SubflowEvent, What};
pub use levels::LevelMeter;
pub use meter::{FlowMeter, SERIES_BIN, summed_series};
pub use names::{Mode, Role, World};
pub use observer::Observer;
pub use papers::{Claim, ClaimKind, PaperFigure, PaperSeries, PapersDocument};
pub use plan::{LinkKind, Plan, PlanFault, PlanLink, Walker, Waypoint};
pub use policy_name::{ParsePolicyError, PolicyName};
pub use recorder::{ReadError, Recorder, RunRecord, event_line, header_line, read_runs, write_runs};
pub use run::{
    CDF_STEPS, Case, ChannelUse, Datagrams, Flow, Levels, LinkMarks, LinkUse, PathUse, PlayDocument,
    Playback, Run, SetValue, StationUse, TimesMs,
};
pub use shown::{Shown, is_shown, shown_json, shown_lines};
pub use spot::{Lines, Spot};
pub use stall::{STALL_THRESHOLD, Stall, StallDetector, WAIT_THRESHOLD};
pub use view::{Comparison, DecisionMark, FaultMark, Figures, LaneLevel, LaneSpan, PathSeries, Span, Track};
pub use words::UnknownWord;
pub use wrapped::wrapped;

#[cfg(test)]
mod tests;
