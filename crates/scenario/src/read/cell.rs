//! `[cells.NAME]`: cellular links.

use super::link::Around;
use super::wire::{self, LimitKeys};
use super::{bps, nanos};
use crate::document::Value;
use crate::mahimahi::RateTrace;
use crate::plan::{Aqm, Cell, Hole, Holes, LaneRate, Queue, QueueLimit, RadioStates, Repeats};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bitrate, Duration, Ratio};

/// Keys of the limit of a cellular buffer.
const BUFFER: LimitKeys = ["buffer_packets", "buffer_bytes", "buffer_ms"];

/// A base station's buffer holds about a second (imc13 §4.2: LTE's round trip grows four- to tenfold under
/// load).
const USUAL_BUFFER: QueueLimit = QueueLimit::Time(Duration::from_secs(1));

/// Holes drawn closer than this are jitter.
const DRAWN_S: Quantity = Quantity {
    min: 0.1,
    ..Quantity::SOME_S
};

/// What a radio is that says how it behaves by what it is.
const RADIOS: [(&str, Option<RadioStates>); 3] = [
    ("always-on", None),
    ("lte", Some(RadioStates::LTE)),
    ("3g", Some(RadioStates::UMTS)),
];

/// The same of what it repeats.
const REPEATS: [(&str, Option<Repeats>); 2] = [("none", None), ("lte", Some(Repeats::LTE))];

/// More than any radio is configured for (TS 36.331, `maxHARQ-Tx`: up to 28).
const MOST_TRANSMISSIONS: i64 = 28;

pub(super) fn read(section: &Section<'_>, around: &Around<'_>) -> Cell {
    let limit = wire::limit(section, &BUFFER).unwrap_or(USUAL_BUFFER);
    Cell {
        up: lane(section, "up_mbps", "up_trace", around),
        down: lane(section, "down_mbps", "down_trace", around),
        rtt: wire::rtt(section),
        jitter: wire::jitter(section),
        queue: Queue {
            limit,
            aqm: Aqm::TailDrop,
        },
        holes: holes(section),
        radio: radio(section),
        repeats: repeats(section),
    }
}

/// One direction of a cell: `rate_mbps` for both, a rate of its own, or a trace.
fn lane(section: &Section<'_>, rate: &'static str, trace: &'static str, around: &Around<'_>) -> LaneRate {
    let given: Vec<&'static str> = ["rate_mbps", rate, trace]
        .into_iter()
        .filter(|key| section.has(key))
        .collect();
    if let [first, second, ..] = given[..] {
        section.note(
            second,
            format!("`{second}` contradicts `{first}`"),
            "keep one of them for each direction",
        );
    }
    let nothing = LaneRate::Constant(Bitrate::ZERO);
    match given.first() {
        None => {
            section.missing(
                rate,
                &format!("`rate_mbps` for both directions, `{rate}`, or `{trace} = \"FILE\"`"),
            );
            nothing
        }
        Some(&key) if key == trace => recorded(section, key, around).map_or(nothing, LaneRate::Trace),
        Some(&key) => section
            .amount(key, &Quantity::MBPS)
            .map_or(nothing, |rate| LaneRate::Constant(bps(rate))),
    }
}

fn recorded(section: &Section<'_>, key: &'static str, around: &Around<'_>) -> Option<RateTrace> {
    let path = section.text(key)?;
    let at = section.place_of(key);
    let (name, content) = (around.files)(path)
        .map_err(|error| {
            let shown: String = path.chars().take(80).collect();
            let instead = "name a Mahimahi trace, relative to the directory of the scenario";
            section.note(key, format!("cannot read \"{shown}\": {error}"), instead);
        })
        .ok()?;
    RateTrace::parse(&name, path, &content)
        .map_err(|problem| section.log.note_problem(at, problem))
        .ok()
}

fn holes(section: &Section<'_>) -> Holes {
    match section.entry("holes").map(|entry| &entry.node.value) {
        None => Holes::default(),
        Some(Value::Table(_)) => section
            .child("holes", "the holes")
            .map_or_else(Holes::default, |drawn| drawn_holes(&drawn)),
        Some(_) => {
            let tables = section.tables("holes", "hole");
            let holes: Vec<Hole> = tables.iter().map(hole).collect();
            for (index, pair) in holes.windows(2).enumerate() {
                if pair[1].at <= pair[0].at + pair[0].lasts {
                    tables[index + 1].note(
                        "at_s",
                        "this hole begins before the previous one ends",
                        "list holes in order of time",
                    );
                }
            }
            Holes::Listed(holes)
        }
    }
}

fn hole(section: &Section<'_>) -> Hole {
    for key in ["at_s", "for_s"] {
        if !section.has(key) {
            section.missing(key, "`at_s` and `for_s`: when coverage ends, and for how long");
        }
    }
    let hole = Hole {
        at: section.amount("at_s", &Quantity::S).map_or(Duration::ZERO, nanos),
        lasts: section
            .amount("for_s", &Quantity::SOME_S)
            .map_or(Duration::ZERO, nanos),
    };
    section.finish();
    hole
}

fn drawn_holes(section: &Section<'_>) -> Holes {
    let span = |key: &'static str| {
        if !section.has(key) {
            section.missing(key, &format!("`{key} = [from, to]` in seconds"));
        }
        let (from, to) = section.span(key, &DRAWN_S).unwrap_or_default();
        (nanos(from), nanos(to))
    };
    let holes = Holes::Drawn {
        covered: span("covered_s"),
        lasts: span("for_s"),
    };
    section.finish();
    holes
}

fn is_text(section: &Section<'_>, key: &'static str) -> bool {
    section
        .entry(key)
        .is_some_and(|entry| matches!(entry.node.value, Value::Text(_)))
}

/// When the radio sleeps: by what it is, or by its two times.
fn radio(section: &Section<'_>) -> Option<RadioStates> {
    if is_text(section, "radio") {
        return section.choice("radio", &RADIOS).flatten();
    }
    let table = section.child("radio", format!("`radio` of {}", section.what))?;
    let usual = RadioStates::LTE;
    let time = |key: &'static str, what: &str, usual: Duration| {
        if !table.has(key) {
            table.missing(key, &format!("`{key} = {}`: {what}", usual.as_millis()));
        }
        table.amount(key, &Quantity::MS).map_or(usual, nanos)
    };
    let states = RadioStates {
        promotion: time(
            "promotion_ms",
            "time from the first packet until the radio is up",
            usual.promotion,
        ),
        tail: time(
            "tail_ms",
            "time that it stays up after the last packet",
            usual.tail,
        ),
    };
    table.finish();
    Some(states)
}

/// What the radio repeats by itself: as LTE does, or by its numbers.
fn repeats(section: &Section<'_>) -> Option<Repeats> {
    if is_text(section, "repeats") {
        return section.choice("repeats", &REPEATS).flatten();
    }
    let table = section.child("repeats", format!("`repeats` of {}", section.what))?;
    let usual = Repeats::LTE;
    if !table.has("loss_percent") {
        table.missing(
            "loss_percent",
            "`loss_percent = 10`: the share of transmissions that are lost",
        );
    }
    let repeats = Repeats {
        loss: table
            .amount("loss_percent", &Quantity::SOME_PERCENT)
            .map_or(usual.loss, |ppm| Ratio::from_ppm(ppm as u32)),
        after: table
            .amount("after_ms", &Quantity::SOME_MS)
            .map_or(usual.after, nanos),
        transmissions: table
            .count("transmissions", 1..=MOST_TRANSMISSIONS)
            .map_or(usual.transmissions, |most| most as u32),
    };
    table.finish();
    Some(repeats)
}
