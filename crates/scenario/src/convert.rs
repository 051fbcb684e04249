//! The plan in the flat records of traces, for pictures.

use crate::plan::{Backhaul, Change, Link, LinkKind, Plan, Standard, Target, Walker, Wall};
use units::{Bitrate, Duration};

impl Plan {
    /// The plan as a trace carries it. Times and places become seconds and metres.
    pub fn to_trace(&self) -> trace::Plan {
        trace::Plan {
            name: self.name.clone(),
            sentence: self.sentence.clone(),
            duration_s: self.duration.as_secs_f64(),
            links: self.links.iter().map(link).collect(),
            walls: self.place.walls.iter().map(wall).collect(),
            walkers: self.walkers.iter().map(walker).collect(),
            faults: self.faults_in_words(),
        }
    }

    /// The faults of the plan's own seed, each beginning and end in a few words.
    fn faults_in_words(&self) -> Vec<trace::PlanFault> {
        let mut faults = Vec::new();
        for (index, fault) in self.faults.iter().enumerate() {
            for at in self.beginnings(fault, index, self.seed) {
                let name = |what: &str, at: Duration| {
                    self.names(&fault.target)
                        .map(|link| trace::PlanFault {
                            t_s: at.as_secs_f64(),
                            link,
                            what: what.to_owned(),
                        })
                        .collect::<Vec<_>>()
                };
                let (begins, ends) = words(fault.change);
                faults.extend(name(begins, at));
                let end = fault
                    .lasts
                    .map(|lasts| at + lasts)
                    .filter(|&end| end < self.duration);
                faults.extend(end.map(|end| name(ends, end)).unwrap_or_default());
            }
        }
        faults.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        faults
    }

    fn names<'p>(&'p self, target: &'p Target) -> Box<dyn Iterator<Item = String> + 'p> {
        match target {
            Target::Links(links) => Box::new(links.iter().map(|&link| self.links[link].name.clone())),
            Target::Busiest => Box::new(std::iter::once("busiest".to_owned())),
        }
    }
}

const fn words(change: Change) -> (&'static str, &'static str) {
    match change {
        Change::Blackhole => ("drops everything silently", "delivers again"),
        Change::Down { new_address: false } => ("is down", "is up again"),
        Change::Down { new_address: true } => ("is down", "is up again with a new address"),
        Change::Rate { .. } => ("changes its rate", "has its old rate again"),
        Change::Fade { .. } => ("begins to fade", "begins to come back"),
        Change::NewAddress => ("gets a new address", ""),
    }
}

fn link(link: &Link) -> trace::PlanLink {
    let plain = trace::PlanLink::new(&link.name, link.kind.word());
    let rate = match &link.kind {
        LinkKind::Wifi(ap) => Some(ap.backhaul.down).filter(|_| ap.backhaul != Backhaul::NONE),
        LinkKind::Cell(cell) => Some(cell.down.mean()),
        LinkKind::Cable(cable) => Some(cable.down.rate),
    };
    let common = trace::PlanLink {
        rate_mbps: rate.map(Bitrate::as_mbps_f64),
        delay_ms: Some(link.rtt().as_secs_f64() * 1e3),
        role: Some(link.role),
        channel: link.kind.channel(),
        ..plain
    };
    match &link.kind {
        LinkKind::Wifi(ap) => trace::PlanLink {
            x_m: Some(ap.at.as_m_f64().0),
            y_m: Some(ap.at.as_m_f64().1),
            standard: Some(letter(ap.standard).to_owned()),
            ..common
        },
        LinkKind::Cell(_) | LinkKind::Cable(_) => common,
    }
}

/// The letter of a standard, as files spell it.
pub(crate) const fn letter(standard: Standard) -> &'static str {
    match standard {
        Standard::A => "a",
        Standard::B => "b",
        Standard::G => "g",
    }
}

fn wall(wall: &Wall) -> [f64; 4] {
    let ((x1, y1), (x2, y2)) = (wall.from.as_m_f64(), wall.to.as_m_f64());
    [x1, y1, x2, y2]
}

fn walker(walker: &Walker) -> trace::Walker {
    let point = |waypoint: &crate::Waypoint| {
        let (x_m, y_m) = waypoint.point.as_m_f64();
        trace::Waypoint {
            t_s: waypoint.at.as_secs_f64(),
            x_m,
            y_m,
        }
    };
    trace::Walker {
        name: walker.name.clone(),
        points: walker.way.iter().map(point).collect(),
    }
}
