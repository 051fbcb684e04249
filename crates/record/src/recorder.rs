//! Writes a recording while the engine works.

use crate::acts::{Acts, Digest, Names};
use crate::codec::Codec;
use crate::entry::{self, Entry, Times};
use crate::{Header, MAGIC, VERSION};
use policy::{Action, Input};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, mem};
use units::Instant;

/// What is to be recorded of an engine that begins.
pub struct Recording {
    /// What it is, in words for people.
    pub about: String,
    /// The seed of the run.
    pub seed: Option<u64>,
    /// Whether to keep actions as text, which shows differences and takes up most of a file. Digests are
    /// always kept.
    pub texts: bool,
    /// Where it goes. Called on the engine's thread, once for each call of the engine: must not wait.
    pub out: Box<dyn Write + Send>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

/// Bytes in memory that a recording can go to. Clones are the same bytes.
#[derive(Debug, Clone, Default)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// Takes what was written, and leaves the buffer empty.
    pub fn take(&self) -> Vec<u8> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// See the module. Dropped, it writes the end mark.
///
/// After a failure nothing more is written: the file lacks its end then, and a replay says so.
pub struct Recorder {
    out: Box<dyn Write + Send>,
    texts: bool,
    times: Times,
    acts: Acts,
    names: Names,
    /// A call was made, and nothing was polled since.
    owes_poll: bool,
    calls: u64,
    sum: Digest,
    bytes: Vec<u8>,
    failed: bool,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Writes the header.
    pub fn new(header: &Header, out: Box<dyn Write + Send>) -> Self {
        let mut recorder = Self {
            out,
            texts: header.texts,
            times: Times::from(header.start),
            acts: Acts::new(header.texts),
            names: Names::default(),
            owes_poll: false,
            calls: 0,
            sum: Digest::default(),
            bytes: MAGIC.to_vec(),
            failed: false,
        };
        VERSION.encode(&mut recorder.bytes);
        header.encode(&mut recorder.bytes);
        recorder.write();
        recorder
    }

    /// Records an input of the engine.
    pub fn handle(&mut self, now: Instant, input: &Input) {
        self.call();
        self.names.learn(input);
        self.times.handle(now, input, &mut self.bytes);
    }

    /// Records a tick of the engine.
    pub fn tick(&mut self, now: Instant) {
        self.call();
        self.times.tick(now, &mut self.bytes);
    }

    fn call(&mut self) {
        self.calls += 1;
        self.owes_poll = true;
    }

    /// The engine asked for this.
    pub fn acted(&mut self, action: &Action) {
        self.acts.add(action, &self.names);
    }

    /// The engine has no more actions, and asks to be woken then.
    pub fn polled(&mut self, wake_at: Option<Instant>) {
        if self.owes_poll || !self.acts.is_empty() {
            let acts = mem::replace(&mut self.acts, Acts::new(self.texts));
            self.times.polled(&acts.end(wake_at), self.texts, &mut self.bytes);
            self.owes_poll = false;
            self.write();
        }
    }

    /// Writes an entry as it is.
    pub fn keep(&mut self, entry: &Entry) {
        match entry {
            Entry::Handle(now, input) => self.handle(*now, input),
            Entry::Tick(now) => self.tick(*now),
            Entry::Polled(polled) => {
                self.times.polled(polled, self.texts, &mut self.bytes);
                self.owes_poll = false;
                self.write();
            }
        }
    }

    fn write(&mut self) {
        self.sum.add(&self.bytes);
        self.failed = self.failed || self.out.write_all(&self.bytes).is_err();
        self.bytes.clear();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        entry::end(&mut self.bytes);
        self.sum.add(&self.bytes);
        self.bytes.extend_from_slice(&self.sum.get().to_le_bytes());
        if !self.failed {
            // Reading detects a file without its end.
            let _ = self.out.write_all(&self.bytes).and_then(|()| self.out.flush());
        }
    }
}
