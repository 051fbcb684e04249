//! `[cables.NAME]`, `[bottlenecks.NAME]`, and the queues and rates of all links. Cells: `cell`.

use super::link::Around;
use super::{bps, bytes, names, nanos};
use crate::plan::{Aqm, Bottleneck, Cable, Queue, QueueLimit, Wire};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bitrate, Duration, Ratio};

/// Keys that say how much a queue holds: packets, bytes, milliseconds.
pub(super) type LimitKeys = [&'static str; 3];

/// Keys of the limit of a wire's queue.
pub(super) const QUEUE: LimitKeys = ["queue_packets", "queue_bytes", "queue_ms"];

/// The limit of Linux's `codel`.
const CODEL_LIMIT: QueueLimit = QueueLimit::Packets(1_000);

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
                    section.missing(key, &format!("`{key}`, as only the other direction has a rate"));
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
            "`rtt_ms`: the round-trip time without queues, half of it in each direction",
        );
    }
    section
        .amount("rtt_ms", &Quantity::MS)
        .map_or(Duration::ZERO, nanos)
}

/// Extra delay, if the file says so.
pub(super) fn jitter(section: &Section<'_>) -> Duration {
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
