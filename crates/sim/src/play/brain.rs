//! The engine in the loop: it hears what a monitor interface on each of the client's radios would show it, and what it decides is written down.
//!
//! # Where we differ, and why
//! 1. The client is associated with every access point in reach, and nothing that the engine asks for changes that: datagrams go where the scenario
//!    sends them. What it says about links is what is looked at.
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

/// One engine, and who its links are on the air.
#[derive(Debug)]
pub(super) struct Brain {
    engine: Recorded,
    names: Vec<String>,
    /// The link whose access point each station is.
    links: Vec<Option<usize>>,
    /// Of each station: what its radio has heard, if it is the client's.
    heard: Vec<Option<Airtime>>,
    /// Of each access point's link: payload received, and the client's station on its channel.
    received: Vec<Option<(Bytes, StationId)>>,
    now: Instant,
}

impl Brain {
    /// It is told of all links; which of them are up, of each of these.
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
        brain.meet(plan, cast);
        brain
    }

    /// The links that there are.
    fn meet(&mut self, plan: &Plan, cast: &Cast) {
        for (index, link) in plan.links.iter().enumerate() {
            let radio = cast
                .radios
                .iter()
                .find(|radio| radio.walker == 0 && Some(radio.channel.into()) == link.kind.channel());
            self.received[index] = radio.map(|radio| (Bytes::ZERO, radio.station));
            self.tell(Instant::ZERO, index, LinkEvent::Appeared(spec(link)));
        }
    }

    /// The client's association with a link's access point has changed.
    pub(super) fn turn(&mut self, now: Instant, link: usize, state: LinkState) {
        let (carrier, usable) = match state {
            LinkState::Down | LinkState::Joining => (false, false),
            LinkState::Carrier => (true, false),
            LinkState::Up => (true, true),
        };
        self.tell(now, link, LinkEvent::Carrier(carrier));
        self.tell(now, link, LinkEvent::Usable(usable));
    }

    fn tell(&mut self, now: Instant, link: usize, event: LinkEvent) {
        self.now = self.now.max(now);
        self.engine
            .handle(self.now, Input::Link(LinkId(link as u16), event));
    }

    /// A monitor has shown a frame.
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
            self.tell(now, link, LinkEvent::Frame(seen));
        }
    }

    /// What a driver's survey says now.
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
            self.tell(now, link, LinkEvent::Survey(sight));
        }
    }

    /// Lets time pass; what was decided goes to `record`.
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
                    why: note.why,
                };
                record(self.now, what);
            }
        }
    }

    /// What the engine says about each link: its name and a sentence.
    pub(super) fn explain(&self) -> Vec<(String, String)> {
        let all = self.engine.explain().into_iter();
        all.map(|about| (about.name, about.why)).collect()
    }
}

/// What the engine is told of a frame that a monitor has shown: of those with a number, as `linux`'s capture code does.
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
