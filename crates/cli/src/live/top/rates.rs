//! Rates of connections, subflows and links: the difference of two states of the daemon over the time between
//! them.

use host::document::{Connection, Status, Subflow};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use units::{Bitrate, Bytes};

/// Payload per second in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Received.
    pub down: Bitrate,
    /// Acknowledged by the peer.
    pub up: Bitrate,
}

/// A subflow's token and both its ends.
type Key<'s> = (&'s str, SocketAddr, SocketAddr);

/// Rates between two states.
#[derive(Debug, Default)]
pub struct Between<'s> {
    subflows: BTreeMap<Key<'s>, Rates>,
    connections: BTreeMap<&'s str, Rates>,
    links: BTreeMap<&'s str, Rates>,
}

impl<'s> Between<'s> {
    /// What is not in the earlier state is new, and has no rate yet.
    pub fn of(before: &Status, now: &'s Status, elapsed: Duration) -> Self {
        let earlier = counters(before);
        let mut between = Self::default();
        for connection in &now.connections {
            for subflow in &connection.subflows {
                let key = key(connection, subflow);
                let counted = (subflow.bytes_received, subflow.bytes_acked);
                let rates = earlier
                    .get(&key)
                    .map_or(Rates::default(), |earlier| rates(*earlier, counted, elapsed));
                between.subflows.insert(key, rates);
                let link = between.links.entry(&subflow.link).or_default();
                link.down = link.down + rates.down;
                link.up = link.up + rates.up;
            }
            let counted = (connection.bytes_received, connection.bytes_acked);
            let same = before
                .connections
                .iter()
                .find(|same| same.token == connection.token);
            let rates = same.map_or(Rates::default(), |same| {
                rates((same.bytes_received, same.bytes_acked), counted, elapsed)
            });
            between.connections.insert(&connection.token, rates);
        }
        between
    }

    /// Rates of all subflows over a link.
    pub fn link(&self, name: &str) -> Rates {
        self.links.get(name).copied().unwrap_or_default()
    }

    /// Rates of what the application receives and what its peer has acknowledged.
    pub fn connection(&self, connection: &Connection) -> Rates {
        let token = connection.token.as_str();
        self.connections.get(token).copied().unwrap_or_default()
    }

    /// Rates of a subflow.
    pub fn subflow(&self, connection: &Connection, subflow: &Subflow) -> Rates {
        self.subflows
            .get(&key(connection, subflow))
            .copied()
            .unwrap_or_default()
    }
}

fn key<'s>(connection: &'s Connection, subflow: &Subflow) -> Key<'s> {
    (&connection.token, subflow.local, subflow.remote)
}

fn counters(status: &Status) -> BTreeMap<Key<'_>, (u64, u64)> {
    let all = status.connections.iter().flat_map(|connection| {
        let subflows = connection.subflows.iter();
        subflows.map(move |subflow| {
            let counted = (subflow.bytes_received, subflow.bytes_acked);
            (key(connection, subflow), counted)
        })
    });
    all.collect()
}

fn rates(before: (u64, u64), now: (u64, u64), elapsed: Duration) -> Rates {
    let rate = |before: u64, now: u64| Bytes::new(now.saturating_sub(before)).per(elapsed);
    Rates {
        down: rate(before.0, now.0),
        up: rate(before.1, now.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A connection with these subflows: link, bytes received, bytes acknowledged.
    fn state(received: u64, subflows: &[(&str, u64, u64)]) -> Status {
        let subflow = |(id, (link, received, acked)): (u8, &(&str, u64, u64))| {
            json!({
                "link": link, "local": format!("10.0.0.{id}:1000"), "remote": "10.9.9.9:443", "id": id,
                "state": "active", "bytes_received": received, "bytes_acked": acked, "retransmits": 0,
                "srtt_ms": null, "min_rtt_ms": null,
            })
        };
        let subflows = Vec::from_iter((1..).zip(subflows).map(subflow));
        let state = json!({
            "schema": "slowhand.status/1", "pid": 1, "policy": "slowhand", "uptime_s": 1.0, "cpu_s": 0.0,
            "cc": "cubic", "window_lever": null, "window_lever_why": null, "unsent_lever": true, "links": [],
            "connections": [{
                "token": "1f", "remote": "10.9.9.9:443", "left_alone": null, "bytes_received": received,
                "bytes_acked": 0, "backlog_bytes": 0, "window_bytes": null, "unsent_limit_bytes": null,
                "subflows": subflows,
            }],
        });
        serde_json::from_value(state).unwrap()
    }

    fn kbps(down: u64, up: u64) -> Rates {
        Rates {
            down: Bitrate::from_kbps(down),
            up: Bitrate::from_kbps(up),
        }
    }

    #[test]
    fn rates_are_differences_over_time_and_links_add_up_their_subflows() {
        let before = state(1_000, &[("wlan0", 1_000, 0), ("wlan1", 500, 500)]);
        let now = state(
            4_000,
            &[
                ("wlan0", 3_000, 0),
                ("wlan1", 1_500, 750),
                ("wlan0", 9_000, 9_000),
            ],
        );
        let between = Between::of(&before, &now, Duration::from_secs(2));
        let [connection] = &now.connections[..] else {
            panic!()
        };
        let subflow = |index: usize| between.subflow(connection, &connection.subflows[index]);
        assert_eq!([subflow(0), subflow(1)], [kbps(8, 0), kbps(4, 1)]);
        // It is new: nobody knows since when it carried its bytes.
        assert_eq!(subflow(2), Rates::default());
        assert_eq!(
            [between.link("wlan0"), between.link("wlan1")],
            [kbps(8, 0), kbps(4, 1)]
        );
        assert_eq!(between.link("lte"), Rates::default());
        assert_eq!(between.connection(connection), kbps(12, 0));
    }

    #[test]
    fn two_states_at_the_same_moment_have_no_rates() {
        let same = state(4_000, &[("wlan0", 3_000, 0)]);
        let between = Between::of(&same, &same, Duration::ZERO);
        assert_eq!(between.link("wlan0"), Rates::default());
    }
}
