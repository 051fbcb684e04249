//! What `status` and `why` show on narrow terminals and where there is none.

use crate::connections::connection;
use crate::pty::shown;
use crate::rig::{Host, until, words};

/// Texts of this host's state that do not change from one question to the next.
fn lasting(host: &Host) -> Vec<String> {
    let status = host.json("status");
    let mut texts = Vec::new();
    for link in status["links"].as_array().unwrap() {
        for key in ["name", "interface", "kind", "role"] {
            texts.push(link[key].as_str().unwrap().to_owned());
        }
        texts.extend(link["addresses"].as_array().unwrap().iter().map(text));
    }
    let connection = &status["connections"][0];
    texts.extend([text(&connection["token"]), text(&connection["remote"])]);
    for subflow in connection["subflows"].as_array().unwrap() {
        texts.extend([text(&subflow["local"]), text(&subflow["cc"])]);
    }
    texts
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn status_and_why_fit_the_terminal_and_leave_nothing_out() {
    let Some(host) = Host::new("narrow") else { return };
    let _up = host.up();
    let _connection = connection(&host);
    until("both links carry the connection", || {
        let status = host.json("status");
        let subflows = status["connections"][0]["subflows"].as_array();
        subflows
            .is_some_and(|subflows| subflows.len() == 2 && subflows.iter().all(|one| one["cc"].is_string()))
    });
    let lasting = lasting(&host);
    for (columns, term) in [(40, "xterm"), (60, "dumb"), (80, "xterm"), (80, "")] {
        let on_terminal = |verb: &str| {
            let mut command = host.command(verb);
            command.env("TERM", term);
            let text = shown(command, columns);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns.into(), "{verb} {columns}: {widest}\n{text}");
            assert!(!text.contains('\x1b'), "{verb} {term}: {text}");
            text
        };
        let status = on_terminal("status");
        for text in &lasting {
            assert!(
                squeezed(&status).contains(&squeezed(text)),
                "{columns}: {text}\n{status}"
            );
        }
        let why = on_terminal("why");
        for name in ["desk: ", "w1: "] {
            assert!(why.lines().any(|line| line.starts_with(name)), "{why}");
        }
    }
    // A program that reads it gets a row for each link, however long it is.
    let (_, piped) = words(&host.ask("status", &[]));
    let row = piped.lines().find(|line| line.starts_with("desk *")).unwrap();
    assert!(row.contains("10.0.0.1") && row.ends_with("10.0.0.2"), "{piped}");
}
