//! What a flow with `transport = "udp"` sends.

use super::{bytes, nanos};
use crate::plan::{Link, LinkKind, Pace, Way, Work};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bytes, Duration};

/// Payload that fits into an Ethernet frame, less the headers of IPv4 and UDP and 2 bytes: usual in
/// measurements of WiFi.
const USUAL_PAYLOAD: Bytes = Bytes::new(1_470);

/// A faster source would be a mistake; and a run has to end.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);

/// Reads it; `link` is the one that carries it.
pub(super) fn read(section: &Section<'_>, link: &Link) -> Work {
    for key in ["size_mb", "size_kb", "requests", "on_off", "cc"]
        .into_iter()
        .filter(|key| section.has(key))
    {
        section.note(
            key,
            format!("`{key}` has no effect on datagrams"),
            "remove it; datagrams are sent until the run ends, and have `direction`, `limit_mbps` or `every_ms`, and `payload_bytes`",
        );
    }
    let payload = section
        .amount("payload_bytes", &Quantity::DATAGRAM)
        .map_or(USUAL_PAYLOAD, bytes);
    let way = way(section, link);
    Work::Datagrams {
        way,
        pace: pace(section, way, payload),
        payload,
    }
}

fn way(section: &Section<'_>, link: &Link) -> Way {
    const KNOWN: [(&str, Way); 3] = [("down", Way::Down), ("up", Way::Up), ("everyone", Way::Everyone)];
    if !section.has("direction") {
        section.missing("direction", "`direction = \"down\"`, \"up\" or \"everyone\"");
    }
    let way = section.choice("direction", &KNOWN).unwrap_or(Way::Down);
    if way == Way::Everyone && !matches!(link.kind, LinkKind::Wifi(_)) {
        section.note(
            "direction",
            format!(
                "\"{}\" is not an access point, so it reaches only the client",
                link.name
            ),
            "use \"down\" or \"up\", or name an access point",
        );
    }
    way
}

fn pace(section: &Section<'_>, way: Way, payload: Bytes) -> Pace {
    let limit = section.amount("limit_mbps", &Quantity::MBPS);
    let every = section.amount("every_ms", &Quantity::SOME_MS).map(nanos);
    if limit.is_some() && every.is_some() {
        section.note(
            "every_ms",
            "`every_ms` contradicts `limit_mbps`",
            "keep one of them",
        );
    }
    let interval = every.or_else(|| limit.map(|bps| interval(payload, bps)));
    match interval {
        None => {
            if way == Way::Everyone && !section.has("every_ms") && !section.has("limit_mbps") {
                section.missing("every_ms", "`every_ms = 100`: the interval between datagrams");
            }
            Pace::Saturated
        }
        Some(short) if short < SHORTEST_INTERVAL => {
            section.note(
                "limit_mbps",
                format!("a datagram every {} ns is too fast", short.as_nanos()),
                "lower `limit_mbps`, raise `payload_bytes`, or remove `limit_mbps` for a saturated flow",
            );
            Pace::Every(SHORTEST_INTERVAL)
        }
        Some(interval) => Pace::Every(interval),
    }
}

fn interval(payload: Bytes, bps: i64) -> Duration {
    let nanos = u128::from(payload.get()) * 8 * 1_000_000_000 / u128::from(bps.unsigned_abs().max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
