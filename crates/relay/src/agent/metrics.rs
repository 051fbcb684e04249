//! Counters of an agent as text for Prometheus, on a Unix socket.

use super::Agent;
use super::convert::{FAILURES, Relay};
use crate::control::{self, Answer, Socket};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Answers at `path`. Without that, the agent still carries connections.
pub fn serve(path: &Path, agent: Arc<Agent>) -> Option<Socket> {
    let answers = move |asked: &str| match asked {
        "/metrics" => Answer::Metrics(agent.prometheus()),
        _ => Answer::Nothing("/metrics"),
    };
    let served = control::serve(path, answers);
    let warn = |error| {
        let path = path.display();
        eprintln!("slowhand-relay: {path}: no metrics ({error}); is its folder writable?");
    };
    served.map_err(warn).ok()
}

impl Agent {
    fn prometheus(&self) -> String {
        let mut text = String::new();
        let totals = self.live.totals();
        head(&mut text, "open", "Open connections", "gauge");
        for (way, count) in self.live.open() {
            let _ = writeln!(text, "slowhand_agent_open{{way=\"{way}\"}} {count}");
        }
        let help = "Connections to servers";
        head(&mut text, "connections_total", help, "counter");
        let ways = [
            ("relay", totals.relay),
            ("direct", totals.direct),
            ("plain", totals.plain),
        ];
        for (way, count) in ways {
            let _ = writeln!(text, "slowhand_agent_connections_total{{way=\"{way}\"}} {count}");
        }
        for (name, help, value) in [
            ("failed_total", "Connections that no way carried", totals.failed),
            ("up_bytes_total", "Bytes to servers", totals.up_bytes),
            ("down_bytes_total", "Bytes to applications", totals.down_bytes),
        ] {
            head(&mut text, name, help, "counter");
            let _ = writeln!(text, "slowhand_agent_{name} {value}");
        }
        let help = "Requests that the relay did not serve";
        head(&mut text, "relay_errors_total", help, "counter");
        let failures = self.relay.as_ref().map(Relay::failures).unwrap_or_default();
        for (error, count) in FAILURES.iter().zip(failures) {
            let _ = writeln!(
                text,
                "slowhand_agent_relay_errors_total{{error=\"{error}\"}} {count}"
            );
        }
        let help = "From an application's connection to the first byte of its server";
        let name = "slowhand_agent_first_byte_seconds";
        self.live.first_byte().write(&mut text, name, help);
        text
    }
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP slowhand_agent_{name} {help}");
    let _ = writeln!(text, "# TYPE slowhand_agent_{name} {kind}");
}
