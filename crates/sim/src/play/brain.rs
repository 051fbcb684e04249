//! The engine in the loop. It receives what a monitor interface on each of the client's radios would show,
//! and its decisions are recorded.
//!
//! # Where we differ, and why
//! 1. The client is associated with every access point in reach, and no request of the engine changes that:
//!    the scenario decides the paths of datagrams. What the engine reports about links is the result.
//!
//! # Checked by
//! `tests/play.rs`, `tests/capture.rs`.

use links::LinkState;
use links::air::Overheard;
use policy::{Action, Input, LinkEvent, LinkId};
use record::{Recorded, Recording};
use scenario::Plan;
use trace::What;
use units::Instant;

use super::cast::Cast;
use super::ears::Ears;

/// One engine, with the stations behind its links.
#[derive(Debug)]
pub(super) struct Brain {
    engine: Recorded,
    names: Vec<String>,
    ears: Ears,
    now: Instant,
}

impl Brain {
    /// Creates the engine and reports all links to it. Their states follow by [`Brain::set_state`].
    pub(super) fn new(
        policy: policy::Policy,
        plan: &Plan,
        cast: &Cast,
        recording: Option<Recording>,
    ) -> Self {
        let config = policy::Config {
            policy,
            peer_subflows: usize::from(plan.server_subflows),
        };
        let radio_of = |link: &scenario::Link| {
            let mut radios = cast.radios.iter().filter(|radio| radio.walker == 0);
            let radio = radios.find(|radio| Some(radio.channel.into()) == link.kind.channel());
            radio.map(|radio| radio.station)
        };
        let radios: Vec<_> = plan.links.iter().map(radio_of).collect();
        let mut brain = Self {
            engine: Recorded::new(config, recording),
            names: plan.links.iter().map(|link| link.name.clone()).collect(),
            ears: Ears::new(cast.access_points.clone(), &radios),
            now: Instant::ZERO,
        };
        for (index, link) in plan.links.iter().enumerate() {
            brain.report(Instant::ZERO, index, LinkEvent::Appeared(radio::spec(link)));
            if let Some(phy) = radio::phy(link) {
                brain.report(Instant::ZERO, index, LinkEvent::Phy(phy));
            }
        }
        brain
    }

    /// Reports a change of the client's association with a link's access point.
    pub(super) fn set_state(&mut self, now: Instant, link: usize, state: LinkState) {
        let (carrier, usable) = match state {
            LinkState::Down | LinkState::Joining => (false, false),
            LinkState::Carrier => (true, false),
            LinkState::Up => (true, true),
        };
        self.report(now, link, LinkEvent::Carrier(carrier));
        self.report(now, link, LinkEvent::Usable(usable));
    }

    fn report(&mut self, now: Instant, link: usize, event: LinkEvent) {
        self.now = self.now.max(now);
        self.engine
            .handle(self.now, Input::Link(LinkId(link as u16), event));
    }

    /// Reports a frame that a monitor has shown.
    pub(super) fn hear(&mut self, frame: &Overheard) {
        if let Some((at, link, frame)) = self.ears.hear(frame) {
            self.report(at, link, LinkEvent::Frame(frame));
        }
    }

    /// Reports the current state of a driver's survey.
    pub(super) fn survey(&mut self, now: Instant) {
        let surveys: Vec<_> = self.ears.surveys().collect();
        for (link, sight) in surveys {
            self.report(now, link, LinkEvent::Survey(sight));
        }
    }

    /// Runs the engine up to `now`. Decisions go to `record`.
    pub(super) fn tick(&mut self, now: Instant, mut record: impl FnMut(Instant, What)) {
        while let Some((due, _)) = self.engine.wake_at().filter(|(due, _)| *due <= now) {
            self.now = self.now.max(due);
            self.engine.tick(self.now);
            self.drain(&mut record);
        }
        self.drain(&mut record);
    }

    fn drain(&mut self, record: &mut impl FnMut(Instant, What)) {
        while let Some(action) = self.engine.poll() {
            if let Action::Note(note) = action {
                let what = What::Decision {
                    link: note.link.map(|link| self.names[usize::from(link.0)].clone()),
                    conn: note.conn.map(|conn| conn.0),
                    verb: note.verb.id().to_owned(),
                    reason: note.reason.id().to_owned(),
                    why: note.reason.sentence(&self.names[..]),
                };
                record(self.now, what);
            }
        }
    }

    /// The engine's explanation of each link: name and sentence.
    pub(super) fn explain(&self) -> Vec<(String, String)> {
        let all = self.engine.explain().into_iter();
        all.map(|about| (about.name, about.why)).collect()
    }
}
