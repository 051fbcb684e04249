//! `[walkers.NAME]`: the client and others.

use super::air::Hearing;
use super::group::{self, Known, Places};
use super::place::point;
use super::{dbm, names, nanos, radio, rate};
use crate::plan::{Link, LinkKind, Medium, Members, Point, Scatter, Thresholds, Walker, Waypoint};
use crate::quantity::Quantity;
use crate::section::Section;
use std::collections::BTreeMap;
use units::{Dbm, Duration};

/// What hand-held radios transmit with: less than access points, for the battery's sake.
const USUAL_POWER: Dbm = Dbm::from_dbm(15);

/// What the rest of the file says that walkers need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub links: &'a [Link],
    pub medium: Medium,
    pub hearing: Hearing,
    pub run: Duration,
}

impl Around<'_> {
    /// Whether there are access points, so that it matters where the client is.
    fn needs_place(&self) -> bool {
        let is_ap = |link: &Link| matches!(link.kind, LinkKind::Wifi(_));
        self.links.iter().any(is_ap)
    }
}

/// The walkers of a file, and its groups of them.
#[derive(Debug, Default)]
pub(super) struct Walkers {
    pub walkers: Vec<Walker>,
    pub groups: Vec<Known>,
    pub scatters: Vec<Scatter>,
    /// Index of the first walker of each name.
    pub by_name: BTreeMap<String, usize>,
}

/// Reads all walkers, the client first.
pub(super) fn all(root: &Section<'_>, around: Around<'_>) -> Walkers {
    let mut sections = root.named("walkers", "walker");
    let mut all = Walkers::default();
    match sections.iter().position(|(name, _)| *name == "client") {
        Some(index) => sections[..=index].rotate_right(1),
        None => {
            if around.needs_place() {
                root.missing("walkers.client", "[walkers.client] with `at_m = [x, y]` or a `way`: with access points, the client needs a position");
            }
            let client = standing("client", USUAL_POWER, Point::default());
            let thresholds = around.hearing.complete();
            all.walkers.push(Walker { thresholds, ..client });
        }
    }
    for (name, section) in &sections {
        all.add(name, section, around);
    }
    refuse_same_names(&sections, &all);
    for (place, walker) in all.walkers.iter().enumerate() {
        all.by_name.entry(walker.name.clone()).or_insert(place);
    }
    all
}

/// Notes names that a group gives to its members although the file has them, too.
fn refuse_same_names(sections: &[(&str, Section<'_>)], all: &Walkers) {
    for (name, section) in sections {
        let count = || all.walkers.iter().filter(|walker| walker.name == *name).count();
        let is_like_a_member = all.groups.iter().any(|group| {
            let rest = name.strip_prefix(group.name.as_str());
            rest.is_some_and(|rest| rest.starts_with('-'))
        });
        if is_like_a_member && count() > 1 {
            let what = format!("there are two walkers named \"{name}\"");
            section.log.note(section.at, what, "rename it, or the group");
        }
    }
}

impl Walkers {
    /// Adds a walker, or a group of them.
    fn add(&mut self, name: &str, section: &Section<'_>, around: Around<'_>) {
        let walker = one(name, section, around);
        let group = group::read(section, name, &["at_m", "way"]);
        section.finish();
        let first = self.walkers.len();
        let Some(group) = group else {
            return self.walkers.push(walker);
        };
        if name == "client" {
            section.note(
                "count",
                "there is one client",
                "give the others a name of their own",
            );
        }
        for (member, name) in group.names(name).enumerate() {
            let way = group.place(member).map(|point| {
                vec![Waypoint {
                    at: Duration::ZERO,
                    point,
                }]
            });
            self.walkers.push(Walker {
                name,
                way: way.unwrap_or_else(|| walker.way.clone()),
                ..walker.clone()
            });
        }
        let members = first..self.walkers.len();
        if let Places::Scatter { from, to } = group.places {
            self.scatters.push(Scatter {
                name: format!("walkers.{name}"),
                members: Members::Walkers(members.clone()),
                from,
                to,
            });
        }
        self.groups.push(Known {
            name: name.to_owned(),
            members,
        });
    }
}

fn standing(name: &str, tx_power: Dbm, point: Point) -> Walker {
    Walker {
        name: name.to_owned(),
        tx_power,
        rate: None,
        power_save: false,
        radio: None,
        thresholds: Thresholds::default(),
        associated: true,
        way: vec![Waypoint {
            at: Duration::ZERO,
            point,
        }],
    }
}

fn one(name: &str, section: &Section<'_>, around: Around<'_>) -> Walker {
    names::checked(section, section.at, "walker", name);
    let tx_power = section
        .amount("tx_power_dbm", &Quantity::DBM)
        .map_or(USUAL_POWER, dbm);
    let walker = match (section.has("at_m"), section.has("way")) {
        (false, true) => Walker {
            name: name.to_owned(),
            tx_power,
            rate: None,
            power_save: false,
            radio: None,
            thresholds: Thresholds::default(),
            associated: true,
            way: way(section),
        },
        (stands, walks) => {
            if stands && walks {
                section.note("way", "`way` contradicts `at_m`", "keep one of them");
            }
            let at = match group::places_members(section) {
                true => Point::default(),
                false => point(section, "at_m"),
            };
            standing(name, tx_power, at)
        }
    };
    let power_save = section.flag("power_save").unwrap_or(false);
    let associated = section.flag("associated").unwrap_or(true);
    let thresholds = Hearing::own(section, around.hearing, around.medium);
    Walker {
        rate: rate::of_walker(section),
        power_save,
        radio: radio::read(section, name, around),
        associated,
        thresholds,
        ..walker
    }
}

fn way(section: &Section<'_>) -> Vec<Waypoint> {
    let points = section.tables("way", "waypoint");
    if points.is_empty() {
        section.note(
            "way",
            "the way has no points",
            "add { at_m = [x, y], t_s = 0 }, or use `at_m` for one place",
        );
    }
    let way = match section.amount("speed_m_per_s", &Quantity::M_PER_S) {
        Some(speed) => at_speed(section, &points, speed.unsigned_abs()),
        None => timed(&points),
    };
    for point in &points {
        point.finish();
    }
    if way.is_empty() {
        vec![Waypoint {
            at: Duration::ZERO,
            point: Point::default(),
        }]
    } else {
        way
    }
}

/// Each point with its time.
fn timed(points: &[Section<'_>]) -> Vec<Waypoint> {
    let mut last = Duration::ZERO;
    let mut waypoint = |section: &Section<'_>| {
        if !section.has("t_s") {
            section.missing("t_s", "`t_s`, or give the walker a `speed_m_per_s`");
        }
        let at = section.amount("t_s", &Quantity::S).map_or(last, nanos);
        if at < last {
            section.note(
                "t_s",
                "this point is reached before the previous one",
                "list the way in order of time",
            );
        }
        last = last.max(at);
        Waypoint {
            at,
            point: point(section, "at_m"),
        }
    };
    points.iter().map(&mut waypoint).collect()
}

/// Points reached at one speed, with pauses.
fn at_speed(walker: &Section<'_>, points: &[Section<'_>], mm_per_s: u64) -> Vec<Waypoint> {
    let mut way: Vec<Waypoint> = Vec::new();
    let mut now = walker
        .amount("start_s", &Quantity::S)
        .map_or(Duration::ZERO, nanos);
    for section in points {
        if section.has("t_s") {
            section.note(
                "t_s",
                "a point cannot have a time if the walker has a speed",
                "use `pause_s`, or remove the speed",
            );
        }
        let point = point(section, "at_m");
        let gone = way.last().map_or(0, |last| last.point.distance_mm(point));
        now += Duration::from_nanos((u128::from(gone) * 1_000_000_000 / u128::from(mm_per_s)) as u64);
        way.push(Waypoint { at: now, point });
        if let Some(pause) = section.amount("pause_s", &Quantity::SOME_S) {
            now += nanos(pause);
            way.push(Waypoint { at: now, point });
        }
    }
    way
}
