//! `relay`: where a relay stands.

use super::{bps, nanos};
use crate::plan::{Link, Relay};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bitrate, Duration};

/// A relay is a host in a data centre.
const RATE: Bitrate = Bitrate::from_mbps(1_000);

/// Reads the relay in front of the server to which these links lead.
pub(super) fn read(root: &Section<'_>, links: &[Link]) -> Option<Relay> {
    let section = root.child("relay", "[relay]")?;
    if !section.has("rtt_ms") {
        section.missing(
            "rtt_ms",
            "`relay = { rtt_ms = 10 }`: the part of every link's RTT that lies between the relay and the server",
        );
    }
    let rtt = section
        .amount("rtt_ms", &Quantity::MS)
        .map_or(Duration::ZERO, nanos);
    let rate = section.amount("rate_mbps", &Quantity::MBPS).map_or(RATE, bps);
    if let Some(nearest) = links
        .iter()
        .min_by_key(|link| link.rtt())
        .filter(|link| link.rtt() < rtt)
    {
        let (name, reach) = (&nearest.name, nearest.rtt().as_millis());
        section.note(
            "rtt_ms",
            format!(
                "the relay is on the way to the server, but `{name}` reaches the server in {reach} ms already"
            ),
            "give at most the `rtt_ms` of the nearest link",
        );
    }
    section.finish();
    Some(Relay { rtt, rate })
}
