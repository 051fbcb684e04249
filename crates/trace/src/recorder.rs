//! Trace files: JSON Lines, the first of which names the schema.
//!
//! One file holds any number of runs in sequence, each from its `run_start` to its `run_end`. Each of several
//! parallel runs has its own [`Recorder`]; their events are written together at the end.

use crate::{Event, Run, RunStart, TraceSchema, What};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use units::Instant;

/// The events of one run, in order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunRecord {
    /// From its `run_start` to its `run_end`.
    pub events: Vec<Event>,
}

impl RunRecord {
    /// The parameters of the run.
    pub fn start(&self) -> Option<&RunStart> {
        self.events.iter().find_map(|event| match &event.what {
            What::RunStart(start) => Some(&**start),
            _ => None,
        })
    }

    /// Result of the run, if it has ended.
    pub fn summary(&self) -> Option<&Run> {
        self.events.iter().rev().find_map(|event| match &event.what {
            What::RunEnd { summary } => Some(&**summary),
            _ => None,
        })
    }

    /// Bytes of a flow that a link has carried up to and including `until`.
    pub fn carried(&self, flow: &str, link: &str, until: Instant) -> u64 {
        let before = self.events.iter().take_while(|event| event.at() <= until);
        let bytes = before.filter_map(|event| match &event.what {
            What::PathBytes {
                flow: of,
                link: over,
                bytes,
            } if of == flow && over == link => Some(*bytes),
            _ => None,
        });
        bytes.last().unwrap_or(0)
    }
}

/// Collects the events of one run and, if it was given a sink, writes each at once.
#[derive(Default)]
pub struct Recorder {
    record: RunRecord,
    sink: Option<Box<dyn Write + Send>>,
    failed: Option<io::Error>,
}

impl Recorder {
    /// Keeps events in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps events in memory and writes them to `sink`, after the line that names the schema. `sink` should
    /// be buffered.
    pub fn with_sink(mut sink: impl Write + Send + 'static) -> io::Result<Self> {
        write_header(&mut sink)?;
        Ok(Self {
            sink: Some(Box::new(sink)),
            ..Self::default()
        })
    }

    /// `what` happened at `now`.
    pub fn record(&mut self, now: Instant, what: What) {
        let event = Event::new(now, what);
        // The first failure ends the writing but not the run; `finish` reports it.
        if let Some(sink) = self.sink.as_mut().filter(|_| self.failed.is_none()) {
            self.failed = write_line(sink, &event).err();
        }
        self.record.events.push(event);
    }

    /// What has been recorded so far.
    pub const fn so_far(&self) -> &RunRecord {
        &self.record
    }

    /// Returns the record, and the first error of the sink if it had one.
    pub fn finish(mut self) -> (RunRecord, io::Result<()>) {
        let flushed = self.sink.as_mut().map_or(Ok(()), |sink| sink.flush());
        (self.record, self.failed.map_or(flushed, Err))
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("events", &self.record.events.len())
            .finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: TraceSchema,
}

fn write_header(sink: &mut impl Write) -> io::Result<()> {
    write_line(sink, &Header { schema: TraceSchema })
}

fn write_line(sink: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *sink, value)?;
    sink.write_all(b"\n")
}

/// The first line of a trace file.
pub fn header_line() -> String {
    line(&Header { schema: TraceSchema })
}

/// The line of an event.
pub fn event_line(event: &Event) -> String {
    line(event)
}

fn line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Our own types have only text keys, and writing to a vector cannot fail.
    write_line(&mut bytes, value).expect("an event is JSON");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Writes a trace file of these runs. Give it a buffered sink.
pub fn write_runs<'a>(
    sink: &mut impl Write,
    runs: impl IntoIterator<Item = &'a RunRecord>,
) -> io::Result<()> {
    write_header(sink)?;
    for event in runs.into_iter().flat_map(|run| &run.events) {
        write_line(sink, event)?;
    }
    sink.flush()
}

/// Why a trace file cannot be read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read at all.
    #[error("line {line}: cannot read it; check the file and its permissions")]
    Io {
        /// Where it happened.
        line: usize,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing in it.
    #[error("the file is empty; a trace starts with {{\"schema\":\"{name}\"}}", name = TraceSchema::NAME)]
    Empty,
    /// Not a trace, or one of another version.
    #[error("line 1: not a trace of this version: {source}; it must be {{\"schema\":\"{name}\"}}", name = TraceSchema::NAME)]
    Schema {
        /// What was wrong with it.
        source: serde_json::Error,
    },
    /// A line that is no event.
    #[error("line {line}, column {}: not an event: {source}", source.column())]
    Event {
        /// Where.
        line: usize,
        /// What was wrong with it.
        source: serde_json::Error,
    },
    /// The last line ends in the middle: the run was cut off while writing.
    #[error("line {line}: incomplete, as after a crash; delete that line to read the rest")]
    CutOff {
        /// Where.
        line: usize,
    },
    /// An event before any `run_start`.
    #[error("line {line}: no run has started; the second line must be a `run_start`")]
    NoRun {
        /// Where.
        line: usize,
    },
}

/// Reads a trace file back, run by run.
pub fn read_runs(source: impl BufRead) -> Result<Vec<RunRecord>, ReadError> {
    let mut lines = source.split(b'\n').enumerate().map(|(index, text)| {
        let line = index + 1;
        text.map(|text| (line, text))
            .map_err(|source| ReadError::Io { line, source })
    });
    let (_, header) = lines.next().unwrap_or(Err(ReadError::Empty))?;
    let _: Header = serde_json::from_slice(&header).map_err(|source| ReadError::Schema { source })?;
    let mut runs = Vec::new();
    for numbered in lines {
        let (line, text) = numbered?;
        if !text.trim_ascii().is_empty() {
            add_event(&mut runs, line, read_event(line, &text)?)?;
        }
    }
    Ok(runs)
}

fn read_event(line: usize, text: &[u8]) -> Result<Event, ReadError> {
    serde_json::from_slice(text).map_err(|source| match source.is_eof() {
        true => ReadError::CutOff { line },
        false => ReadError::Event { line, source },
    })
}

fn add_event(runs: &mut Vec<RunRecord>, line: usize, event: Event) -> Result<(), ReadError> {
    if matches!(event.what, What::RunStart(_)) {
        runs.push(RunRecord::default());
    }
    let run = runs.last_mut().ok_or(ReadError::NoRun { line })?;
    run.events.push(event);
    Ok(())
}
