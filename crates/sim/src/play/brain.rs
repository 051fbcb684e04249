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
use links::air::{Addresses, FrameKind, Overheard, StationId, Subtype};
use policy::estimate::bandwidth::Sight;
use policy::estimate::delivery::{Frame, Receiver};
use policy::{Action, Input, LinkEvent, LinkId, LinkSpec};
use record::{Recorded, Recording};
use scenario::Plan;
use trace::What;
use units::{Bytes, Instant};

use super::cast::Cast;
use super::frames::{Airtime, shown_at};

/// One engine, with the stations behind its links.
#[derive(Debug)]
pub(super) struct Brain {
    engine: Recorded,
    names: Vec<String>,
    /// Per station: the link of the access point that it is.
    links: Vec<Option<usize>>,
    /// Per station: the air time that its radio has heard, if it is the client's.
    heard: Vec<Option<Airtime>>,
    /// Per link of an access point: payload received, and the client's station on its channel.
    received: Vec<Option<(Bytes, StationId)>>,
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
        let mut heard = vec![None; cast.air.stations.len()];
        for station in cast.client_radios() {
            heard[station.0 as usize] = Some(Airtime::default());
        }
        let mut brain = Self {
            engine: Recorded::new(config, recording),
            names: plan.links.iter().map(|link| link.name.clone()).collect(),
            links: cast.access_points.clone(),
            heard,
            received: vec![None; plan.links.len()],
            now: Instant::ZERO,
        };
        brain.report_links(plan, cast);
        brain
    }

    /// Reports the links to the engine.
    fn report_links(&mut self, plan: &Plan, cast: &Cast) {
        for (index, link) in plan.links.iter().enumerate() {
            let radio = cast
                .radios
                .iter()
                .find(|radio| radio.walker == 0 && Some(radio.channel.into()) == link.kind.channel());
            self.received[index] = radio.map(|radio| (Bytes::ZERO, radio.station));
            self.report(Instant::ZERO, index, LinkEvent::Appeared(spec(link)));
        }
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
        let now = shown_at(frame);
        if let Some(channel) = &mut self.heard[frame.monitor.0 as usize] {
            channel.add(frame);
        }
        let link = self.links.get(frame.from.0 as usize).copied().flatten();
        if let (Some(link), Some(seen)) = (link, digest(frame)) {
            if seen.receiver == Receiver::Us
                && !seen.retry
                && let Some((received, _)) = &mut self.received[link]
            {
                *received += Bytes::new(u64::from(frame.bytes));
            }
            self.report(now, link, LinkEvent::Frame(seen));
        }
    }

    /// Reports the current state of a driver's survey.
    pub(super) fn survey(&mut self, now: Instant) {
        for link in 0..self.received.len() {
            let Some((received, station)) = self.received[link] else {
                continue;
            };
            let Some(channel) = self.heard[station.0 as usize] else {
                continue;
            };
            let sight = Sight {
                received,
                busy: channel.sum,
                exchanges: channel.count,
            };
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

/// The engine's view of a frame that a monitor has shown. Only frames with a sequence number have one, as in
/// `linux`'s capture code.
pub fn digest(frame: &Overheard) -> Option<Frame> {
    let FrameKind::Data {
        number,
        retry,
        subtype,
        tid,
        ..
    } = frame.kind
    else {
        return None;
    };
    (subtype != Subtype::PsPoll).then(|| Frame {
        receiver: match frame.to {
            None => Receiver::Group,
            Some(to) if to == frame.monitor => Receiver::Us,
            Some(to) => Receiver::Other(Addresses::mac(to)),
        },
        tid: tid.filter(|_| frame.to.is_some()),
        number,
        retry,
        rate: frame.mode.rate(),
        bytes: u16::try_from(frame.bytes).unwrap_or(u16::MAX),
        aggregate: frame.aggregate,
    })
}

fn spec(link: &scenario::Link) -> LinkSpec {
    LinkSpec {
        name: link.name.clone(),
        kind: link.kind.word().into(),
        role: link.role.into(),
        channel: link.kind.channel(),
    }
}
