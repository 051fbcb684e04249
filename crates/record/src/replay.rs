//! Replays a recording into today's engine, and compares what the engine asks for.

use crate::acts::{Acts, Names, Polled};
use crate::entry::Entry;
use crate::file::{File, ReadError};
use crate::{Buffer, Recorder};
use policy::Engine;
use std::fmt;
use units::Instant;

/// The result of a replay, which ends at the first difference in actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Number of calls made.
    pub calls: u64,
    /// Actions that resulted; all are identical but those of a difference.
    pub actions: u64,
    /// The first difference in what is done, or in when the engine asks to be woken.
    pub acts: Option<Difference>,
    /// The first difference in sentences of notes.
    pub sentences: Option<Difference>,
    /// How many polls have other sentences.
    pub reworded: u64,
}

impl Replayed {
    /// Whether nothing differs, sentences included.
    pub const fn is_identical(&self) -> bool {
        self.acts.is_none() && self.sentences.is_none()
    }
}

/// A poll that gave something else than the recording says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The number of the last call before it, counted from 1.
    pub call: u64,
    /// When that was.
    pub at: Instant,
    /// What it was.
    pub what: String,
    /// What the recording says.
    pub recorded: Polled,
    /// What the engine asks for now, with its text.
    pub now: Polled,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, at, what, .. } = self;
        writeln!(f, "call {call} at {at}: {what}")?;
        show(f, "recorded", &self.recorded)?;
        show(f, "now", &self.now)
    }
}

fn show(f: &mut fmt::Formatter<'_>, whose: &str, polled: &Polled) -> fmt::Result {
    let Polled {
        actions,
        acts,
        sentences,
        wake_at,
        text,
    } = polled;
    let plural = if *actions == 1 { "" } else { "s" };
    let wake = wake_at.map_or("never".to_owned(), |at| format!("at {at}"));
    writeln!(
        f,
        "  {whose}: {actions} action{plural}, digests {acts:016x} {sentences:016x}, wake {wake}"
    )?;
    text.lines().try_for_each(|line| writeln!(f, "    {line}"))
}

/// Replays a recording from its bytes.
///
/// # Errors
/// When they are no recording that this crate reads.
pub fn replay(bytes: &[u8]) -> Result<Replayed, ReadError> {
    follow(&File::read(bytes)?, &mut |_| ())
}

/// Rewrites the recording with today's sentences, for tests after sentences were reworded. Compare the
/// actions first.
///
/// # Errors
/// As of [`replay`].
pub fn with_new_sentences(bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let file = File::read(bytes)?;
    let buffer = Buffer::default();
    let mut recorder = Recorder::new(file.header(), Box::new(buffer.clone()));
    follow(&file, &mut |entry| recorder.keep(&entry))?;
    drop(recorder);
    Ok(buffer.take())
}

/// Follows a recording; each entry is handed on as the engine of today makes it.
fn follow(file: &File<'_>, each: &mut dyn FnMut(Entry)) -> Result<Replayed, ReadError> {
    let mut engine = Engine::new(file.header().config);
    let mut names = Names::default();
    let mut last = None;
    let mut replayed = Replayed {
        calls: 0,
        actions: 0,
        acts: None,
        sentences: None,
        reworded: 0,
    };
    for entry in file.entries() {
        match entry? {
            Entry::Polled(recorded) => {
                let now = poll(&mut engine, &names);
                replayed.compare(&recorded, &now, last.as_ref());
                let text = if file.header().texts {
                    now.text
                } else {
                    String::new()
                };
                each(Entry::Polled(Polled { text, ..now }));
            }
            call => {
                replayed.calls += 1;
                match &call {
                    Entry::Handle(now, input) => {
                        names.learn(input);
                        engine.handle(*now, input.clone());
                    }
                    Entry::Tick(now) => engine.tick(*now),
                    Entry::Polled(_) => {}
                }
                each(call.clone());
                last = Some(call);
            }
        }
        if replayed.acts.is_some() {
            break;
        }
    }
    Ok(replayed)
}

fn poll(engine: &mut Engine, names: &Names) -> Polled {
    let mut acts = Acts::new(true);
    while let Some(action) = engine.poll() {
        acts.add(&action, names);
    }
    acts.end(engine.wake_at().map(|(at, _)| at))
}

impl Replayed {
    fn compare(&mut self, recorded: &Polled, now: &Polled, last: Option<&Entry>) {
        self.actions += now.actions;
        let facts = |polled: &Polled| (polled.actions, polled.acts, polled.wake_at);
        if facts(recorded) != facts(now) {
            self.acts = Some(self.difference(recorded, now, last));
        } else if recorded.sentences != now.sentences {
            self.reworded += 1;
            if self.sentences.is_none() {
                self.sentences = Some(self.difference(recorded, now, last));
            }
        }
    }

    fn difference(&self, recorded: &Polled, now: &Polled, last: Option<&Entry>) -> Difference {
        let (at, what) = match last {
            Some(Entry::Handle(at, input)) => (*at, format!("{input:?}")),
            Some(Entry::Tick(at)) => (*at, "tick".to_owned()),
            Some(Entry::Polled(_)) | None => (Instant::ZERO, "before the first call".to_owned()),
        };
        Difference {
            call: self.calls,
            at,
            what,
            recorded: recorded.clone(),
            now: now.clone(),
        }
    }
}
