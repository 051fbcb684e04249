//! Tells an engine with another policy what a recording holds, and compares what both ask for.
//!
//! The other engine's actions change nothing: the inputs are those that followed the recorded actions. So the
//! comparison shows what it would have decided in each recorded situation, not what would have come of it.

use crate::acts::act;
use crate::entry::Entry;
use crate::file::{File, ReadError};
use policy::{Config, Engine, Input, LinkEvent, LinkId, Policy};
use std::collections::BTreeMap;
use units::Instant;

/// What two engines asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compared {
    /// Number of calls made to each.
    pub calls: u64,
    /// How often each kind of action was asked for: by the engine as recorded, and by the other one.
    pub actions: BTreeMap<String, [u64; 2]>,
    /// The first time at which they asked for different actions: when, and the lines of both.
    pub first: Option<(Instant, [String; 2])>,
    /// Number of polls that gave different actions.
    pub different: u64,
    /// Number of polls.
    pub polls: u64,
}

/// The links of a recording with their names, in the order in which they appeared.
///
/// # Errors
/// When the bytes are no recording that this crate reads.
pub fn links(bytes: &[u8]) -> Result<Vec<(LinkId, String)>, ReadError> {
    let mut links = Vec::new();
    for entry in File::read(bytes)?.entries() {
        if let Entry::Handle(_, Input::Link(link, LinkEvent::Appeared(spec))) = entry? {
            links.push((link, spec.name));
        }
    }
    Ok(links)
}

/// Replays a recording into an engine as recorded and into one with another policy.
///
/// # Errors
/// When the bytes are no recording that this crate reads.
pub fn replay_as(bytes: &[u8], policy: Policy) -> Result<Compared, ReadError> {
    let file = File::read(bytes)?;
    let config = file.header().config;
    let mut engines = [Engine::new(config), Engine::new(Config { policy, ..config })];
    let mut compared = Compared::default();
    let mut at = file.header().start;
    for entry in file.entries() {
        match entry? {
            Entry::Handle(now, input) => {
                at = now;
                compared.calls += 1;
                engines
                    .iter_mut()
                    .for_each(|engine| engine.handle(now, input.clone()));
            }
            Entry::Tick(now) => {
                at = now;
                compared.calls += 1;
                engines.iter_mut().for_each(|engine| engine.tick(now));
            }
            Entry::Polled(_) => compared.poll(at, &mut engines),
        }
    }
    Ok(compared)
}

impl Compared {
    fn poll(&mut self, at: Instant, engines: &mut [Engine; 2]) {
        let mut texts = [String::new(), String::new()];
        for (index, (engine, text)) in engines.iter_mut().zip(&mut texts).enumerate() {
            while let Some(action) = engine.poll() {
                let line = act(&action);
                let kind = line.split(' ').next().unwrap_or_default();
                self.actions.entry(kind.to_owned()).or_default()[index] += 1;
                text.push_str(&line);
                text.push('\n');
            }
        }
        self.polls += 1;
        if texts[0] != texts[1] {
            self.different += 1;
            self.first.get_or_insert((at, texts));
        }
    }
}
