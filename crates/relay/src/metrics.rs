//! Counters of a relay, as a document and as text for Prometheus.

use crate::delays::{Counted, Delays};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::convert::Code;

/// Name and version of the document.
pub const SCHEMA: &str = "slowhand.relay/1";

/// Counters since the relay started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections accepted.
    pub accepted: AtomicU64,
    /// Servers that accepted MPTCP.
    pub mptcp_servers: AtomicU64,
    /// Pairs of clients that have met.
    pub meetings: AtomicU64,
    /// Destinations refused by the egress rules.
    pub refused_egress: AtomicU64,
    /// Connections that did not send a request in time.
    pub request_timeouts: AtomicU64,
    /// Connections that began with something other than a Convert header.
    pub not_convert: AtomicU64,
    /// From a request to the first byte of its server.
    pub first_byte: Arc<Delays>,
    /// Error replies, by code.
    errors: [AtomicU64; Code::ALL.len()],
}

/// Counters of one key.
#[derive(Debug, Default)]
pub struct KeyCounters {
    /// Connections that reached their server.
    pub connected: AtomicU64,
    /// Bytes from clients to servers, of connections that have ended.
    pub up: AtomicU64,
    /// Bytes from servers to clients, of connections that have ended.
    pub down: AtomicU64,
}

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    /// Counts an error reply.
    pub fn error(&self, code: Code) {
        let at = Code::ALL.iter().position(|other| *other == code);
        at.into_iter().for_each(|at| count(&self.errors[at]));
    }

    /// The state of a relay with these keys.
    pub fn document(&self, keys: BTreeMap<String, KeyState>) -> Document {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let errors = Code::ALL.iter().zip(&self.errors);
        Document {
            schema: SCHEMA.to_owned(),
            accepted: read(&self.accepted),
            mptcp_servers: read(&self.mptcp_servers),
            meetings: read(&self.meetings),
            refused_egress: read(&self.refused_egress),
            request_timeouts: read(&self.request_timeouts),
            not_convert: read(&self.not_convert),
            errors: errors
                .map(|(code, counter)| (code.as_str().to_owned(), read(counter)))
                .collect(),
            first_byte: self.first_byte.counted(),
            keys,
        }
    }
}

/// State of a relay: `slowhand relay status --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Name and version of this format.
    pub schema: String,
    /// Connections accepted since the relay started.
    pub accepted: u64,
    /// Servers that accepted MPTCP.
    pub mptcp_servers: u64,
    /// Pairs of clients that have met.
    #[serde(default)]
    pub meetings: u64,
    /// Destinations refused by the egress rules.
    pub refused_egress: u64,
    /// Connections that did not send a request in time.
    pub request_timeouts: u64,
    /// Connections that began with something other than a Convert header.
    pub not_convert: u64,
    /// Error replies by meaning.
    pub errors: BTreeMap<String, u64>,
    /// Times from a request to the first byte of its server.
    #[serde(default)]
    pub first_byte: Counted,
    /// Keys by name.
    pub keys: BTreeMap<String, KeyState>,
}

/// State of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyState {
    /// Connections that are open.
    pub open: u64,
    /// Connections that reached their server.
    pub connected: u64,
    /// Bytes from clients to servers.
    pub up_bytes: u64,
    /// Bytes from servers to clients.
    pub down_bytes: u64,
}

/// Name, type, help and value of a metric without labels.
type Plain<'d> = (&'d str, &'d str, u64);

impl Document {
    /// The same in the text format of Prometheus.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let plain: [Plain<'_>; 6] = [
            ("meetings_total", "Pairs of clients that have met", self.meetings),
            ("accepted_total", "Connections accepted", self.accepted),
            (
                "mptcp_servers_total",
                "Servers that accepted MPTCP",
                self.mptcp_servers,
            ),
            (
                "refused_egress_total",
                "Destinations refused by the egress rules",
                self.refused_egress,
            ),
            (
                "request_timeouts_total",
                "Connections without a request in time",
                self.request_timeouts,
            ),
            (
                "not_convert_total",
                "Connections of another protocol",
                self.not_convert,
            ),
        ];
        for (name, help, value) in plain {
            head(&mut text, name, help, "counter");
            let _ = writeln!(text, "slowhand_relay_{name} {value}");
        }
        head(&mut text, "errors_total", "Error replies", "counter");
        for (code, value) in &self.errors {
            let _ = writeln!(text, "slowhand_relay_errors_total{{code=\"{code}\"}} {value}");
        }
        self.by_key(&mut text, "open", "Open connections", "gauge", |key| key.open);
        self.by_key(
            &mut text,
            "connected_total",
            "Connections to servers",
            "counter",
            |key| key.connected,
        );
        self.by_key(
            &mut text,
            "up_bytes_total",
            "Bytes to servers",
            "counter",
            |key| key.up_bytes,
        );
        self.by_key(
            &mut text,
            "down_bytes_total",
            "Bytes to clients",
            "counter",
            |key| key.down_bytes,
        );
        let help = "From a request to the first byte of its server";
        self.first_byte
            .write(&mut text, "slowhand_relay_first_byte_seconds", help);
        text
    }

    fn by_key(&self, text: &mut String, name: &str, help: &str, kind: &str, value: fn(&KeyState) -> u64) {
        head(text, name, help, kind);
        for (key, state) in &self.keys {
            // Names of keys need no escapes.
            let _ = writeln!(text, "slowhand_relay_{name}{{key=\"{key}\"}} {}", value(state));
        }
    }
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP slowhand_relay_{name} {help}");
    let _ = writeln!(text, "# TYPE slowhand_relay_{name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_text_has_every_counter_with_its_labels() {
        let counters = Counters::default();
        count(&counters.refused_egress);
        counters.error(Code::NotAuthorised);
        counters.first_byte.add(std::time::Duration::from_millis(50));
        let car = KeyState {
            open: 1,
            connected: 2,
            up_bytes: 3,
            down_bytes: 4,
        };
        let text = counters.document([("car".to_owned(), car)].into()).prometheus();
        for line in [
            "slowhand_relay_accepted_total 0",
            "slowhand_relay_refused_egress_total 1",
            "slowhand_relay_errors_total{code=\"not authorised\"} 1",
            "slowhand_relay_errors_total{code=\"malformed message\"} 0",
            "slowhand_relay_open{key=\"car\"} 1",
            "# TYPE slowhand_relay_open gauge",
            "slowhand_relay_connected_total{key=\"car\"} 2",
            "slowhand_relay_up_bytes_total{key=\"car\"} 3",
            "slowhand_relay_down_bytes_total{key=\"car\"} 4",
            "slowhand_relay_first_byte_seconds_bucket{le=\"0.05\"} 1",
            "slowhand_relay_first_byte_seconds_count 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
    }
}
