//! An engine that may be recorded: worlds drive it as they would drive [`Engine`] itself.

use crate::{Header, Recorder, Recording};
use policy::{Action, Config, Engine, Input};
use std::ops::Deref;
use units::Instant;

/// See the module. Without a recording each call costs one comparison.
#[derive(Debug)]
pub struct Recorded {
    engine: Engine,
    recorder: Option<Box<Recorder>>,
}

impl Recorded {
    /// Makes an engine that knows no link yet. If there is a `recording`, it starts with the first call.
    pub fn new(config: Config, recording: Option<Recording>) -> Self {
        let recorder = recording.map(|recording| {
            let header = Header {
                about: recording.about,
                seed: recording.seed,
                texts: recording.texts,
                config,
                start: Instant::ZERO,
            };
            Box::new(Recorder::new(&header, recording.out))
        });
        Self {
            engine: Engine::new(config),
            recorder,
        }
    }

    /// See [`Engine::handle`].
    pub fn handle(&mut self, now: Instant, input: Input) {
        if let Some(recorder) = &mut self.recorder {
            recorder.handle(now, &input);
        }
        self.engine.handle(now, input);
    }

    /// See [`Engine::tick`].
    pub fn tick(&mut self, now: Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(now);
        }
        self.engine.tick(now);
    }

    /// See [`Engine::poll`].
    pub fn poll(&mut self) -> Option<Action> {
        let action = self.engine.poll();
        if let Some(recorder) = &mut self.recorder {
            match &action {
                Some(action) => recorder.acted(action),
                None => recorder.polled(self.engine.wake_at().map(|(at, _)| at)),
            }
        }
        action
    }
}

/// What an engine says of itself changes nothing in it, and is not recorded.
impl Deref for Recorded {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}
