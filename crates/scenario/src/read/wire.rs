//! `[cables.NAME]`, `[cells.NAME]`, `[bottlenecks.NAME]`, and the queues and rates of all links.

use super::link::Around;
use super::{bps, bytes, names, nanos};
use crate::load::text_of;
use crate::mahimahi::RateTrace;
use crate::plan::{Aqm, Bottleneck, Cable, Cell, Hole, Holes, LaneRate, Queue, QueueLimit, Wire};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bitrate, Duration, Ratio};

/// Keys that say how much a queue holds: packets, bytes, milliseconds.
pub(super) type LimitKeys = [&'static str; 3];

/// Of a queue.
pub(super) const QUEUE: LimitKeys = ["queue_packets", "queue_bytes", "queue_ms"];

/// Of a cellular buffer.
const BUFFER: LimitKeys = ["buffer_packets", "buffer_bytes", "buffer_ms"];

/// A base station's buffer holds about a second (imc13 §4.2: LTE's round trip grows four- to tenfold under load).
const USUAL_BUFFER: QueueLimit = QueueLimit::Time(Duration::from_secs(1));

/// The limit of Linux's `codel`.
const CODEL_LIMIT: QueueLimit = QueueLimit::Packets(1_000);

/// Holes drawn closer than this are jitter.
const DRAWN_S: Quantity = Quantity {
    min: 0.1,
    ..Quantity::SOME_S
};

pub(super) fn bottlenecks(root: &Section<'_>) -> Vec<Bottleneck> {
    let one = |(name, section): (&str, Section<'_>)| {
        let (up, down) = rates(&section);
        let bottleneck = Bottleneck {
            name: names::checked(&section, section.at, "bottleneck", name).to_owned(),
            up,
            down,
            queue: queue(&section, QueueLimit::Bdp),
        };
        section.finish();
        bottleneck
    };
    root.named("bottlenecks", "bottleneck")
        .into_iter()
        .map(one)
        .collect()
}

pub(super) fn cable(section: &Section<'_>, around: &Around<'_>) -> Cable {
    let behind = behind(section, around.bottlenecks);
    let (up, down, queue) = match behind {
        Some(index) => {
            refuse_own_bottleneck(section);
            let shared = &around.bottlenecks[index];
            (shared.up, shared.down, shared.queue)
        }
        // A name that leads nowhere has been noted; asking for a rate as well would mislead.
        None if section.has("behind") => (Bitrate::ZERO, Bitrate::ZERO, Queue::default()),
        None => {
            let (up, down) = rates(section);
            (up, down, queue(section, QueueLimit::Bdp))
        }
    };
    let jitter = jitter(section);
    let loss = section
        .amount("loss_percent", &Quantity::PERCENT)
        .map_or(Ratio::ZERO, |ppm| Ratio::from_ppm(ppm as u32));
    let wire = |rate| Wire {
        rate,
        jitter,
        loss,
        queue,
    };
    Cable {
        up: wire(up),
        down: wire(down),
        rtt: rtt(section),
        behind,
    }
}

fn behind(section: &Section<'_>, bottlenecks: &[Bottleneck]) -> Option<usize> {
    let name = section.text("behind")?;
    let known = bottlenecks.iter().map(|bottleneck| bottleneck.name.as_str());
    names::resolve(section, section.place_of("behind"), "bottleneck", name, known)
}

fn refuse_own_bottleneck(section: &Section<'_>) {
    let own = [
        "rate_mbps",
        "up_mbps",
        "down_mbps",
        "aqm",
        "ecn",
        "codel_target_ms",
        "codel_interval_ms",
    ];
    for key in own.into_iter().chain(QUEUE).filter(|key| section.has(key)) {
        section.note(
            key,
            format!("`{key}` of a cable behind a bottleneck has no effect"),
            "move it to the bottleneck, or remove `behind`",
        );
    }
}

/// The rates from and to the client: `rate_mbps` for both, or one for each.
pub(super) fn rates(section: &Section<'_>) -> (Bitrate, Bitrate) {
    let rate = |key| section.amount(key, &Quantity::MBPS).map_or(Bitrate::ZERO, bps);
    match (
        section.has("rate_mbps"),
        section.has("up_mbps"),
        section.has("down_mbps"),
    ) {
        (true, up, down) => {
            refuse_second_rate(section, "up_mbps", up);
            refuse_second_rate(section, "down_mbps", down);
            (rate("rate_mbps"), rate("rate_mbps"))
        }
        (false, false, false) => {
            section.missing(
                "rate_mbps",
                "`rate_mbps` for both directions, or `up_mbps` and `down_mbps`",
            );
            (Bitrate::ZERO, Bitrate::ZERO)
        }
        (false, up, down) => {
            for (key, has) in [("up_mbps", up), ("down_mbps", down)] {
                if !has {
                    section.missing(key, &format!("`{key}`, as the other direction has one"));
                }
            }
            (rate("up_mbps"), rate("down_mbps"))
        }
    }
}

fn refuse_second_rate(section: &Section<'_>, key: &'static str, given: bool) {
    if given {
        let what = format!("`{key}` contradicts `rate_mbps`, which sets both directions");
        section.note(key, what, "keep one of them");
    }
}

/// The round-trip time, which every wire has.
pub(super) fn rtt(section: &Section<'_>) -> Duration {
    if !section.has("rtt_ms") {
        section.missing(
            "rtt_ms",
            "`rtt_ms`: the round trip without a queue, half of it each way",
        );
    }
    section
        .amount("rtt_ms", &Quantity::MS)
        .map_or(Duration::ZERO, nanos)
}

fn jitter(section: &Section<'_>) -> Duration {
    section
        .amount("jitter_ms", &Quantity::MS)
        .map_or(Duration::ZERO, nanos)
}

/// A queue and who manages it; `usual` is what one without management holds if the file does not say.
pub(super) fn queue(section: &Section<'_>, usual: QueueLimit) -> Queue {
    let limit = limit(section, &QUEUE);
    let codel = section
        .choice("aqm", &[("tail-drop", false), ("codel", true)])
        .unwrap_or(false);
    if !codel {
        refuse_without_codel(section);
        return Queue {
            limit: limit.unwrap_or(usual),
            aqm: Aqm::TailDrop,
        };
    }
    let time = |key, usual| section.amount(key, &Quantity::SOME_MS).map_or(usual, nanos);
    let aqm = Aqm::Codel {
        // RFC 8289 §4.2 and §4.3.
        target: time("codel_target_ms", Duration::from_millis(5)),
        interval: time("codel_interval_ms", Duration::from_millis(100)),
        ecn: section.flag("ecn").unwrap_or(false),
    };
    Queue {
        limit: limit.unwrap_or(CODEL_LIMIT),
        aqm,
    }
}

fn refuse_without_codel(section: &Section<'_>) {
    for key in ["ecn", "codel_target_ms", "codel_interval_ms"] {
        if section.has(key) {
            section.note(
                key,
                format!("`{key}` has no effect on a tail-drop queue"),
                "add `aqm = \"codel\"` or remove it",
            );
        }
    }
}

/// How much a queue holds, if the file says so: one key at most.
pub(super) fn limit(section: &Section<'_>, keys: &LimitKeys) -> Option<QueueLimit> {
    let [packets, in_bytes, time] = *keys;
    let given: Vec<&'static str> = keys.iter().copied().filter(|key| section.has(key)).collect();
    if let [first, second, ..] = given[..] {
        section.note(
            second,
            format!("`{second}` contradicts `{first}`"),
            "keep one of them",
        );
    }
    match *given.first()? {
        key if key == packets => section
            .count(key, 1..=1_000_000)
            .map(|count| QueueLimit::Packets(count as u32)),
        key if key == in_bytes => section
            .count(key, 1_500..=1_000_000_000)
            .map(|count| QueueLimit::Bytes(bytes(count))),
        _ => section
            .amount(time, &Quantity::SOME_MS)
            .map(|time| QueueLimit::Time(nanos(time))),
    }
}

pub(super) fn cell(section: &Section<'_>, around: &Around<'_>) -> Cell {
    let limit = limit(section, &BUFFER).unwrap_or(USUAL_BUFFER);
    Cell {
        up: lane(section, "up_mbps", "up_trace", around),
        down: lane(section, "down_mbps", "down_trace", around),
        rtt: rtt(section),
        jitter: jitter(section),
        queue: Queue {
            limit,
            aqm: Aqm::TailDrop,
        },
        holes: holes(section),
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
            let instead = "name a Mahimahi trace, counted from the directory of the scenario";
            section.note(key, format!("cannot read \"{shown}\": {error}"), instead);
        })
        .ok()?;
    text_of(&name, &content)
        .and_then(|text| RateTrace::parse(&name, path, text))
        .map_err(|problem| section.log.note_problem(at, problem))
        .ok()
}

fn holes(section: &Section<'_>) -> Holes {
    use crate::document::Value;
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
                        "this hole begins before the last one has ended",
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
