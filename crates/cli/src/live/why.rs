//! `slowhand why`: explains every link, and some connections.
//!
//! It explains connections whose window or unsent data is limited, and those over a slow link. It also
//! explains those that fell back to plain TCP, those left alone, and the way of those that the agent carries.

use host::control::{Question, ask};
use host::document::{AccessPoints, Flow, Why};
use host::place::Place;
use show::exit::{Refused, print_document, print_text, shown};
use std::process::ExitCode;
use trace::agent::Agent;

/// Explain why each link is used or not.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Explain only this link.
    link: Option<String>,

    /// Print one JSON document (schema slowhand.why/1).
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,
}

/// Prints the reasons of the daemon of the place.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut why: Why = ask(&args.place, Question::Why)?;
    if let Some(wanted) = &args.link {
        keep(&mut why, wanted)?;
    }
    if args.json {
        print_document(&why)?;
    } else {
        print_text(&text(&shown(&why)?))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn keep(why: &mut Why, wanted: &str) -> anyhow::Result<()> {
    let known: Vec<String> = why.links.iter().map(|link| link.link.clone()).collect();
    why.links.retain(|link| link.link == wanted);
    if why.links.is_empty() {
        return Err(Refused::because(format!(
            "no link `{wanted}`; the links are: {}",
            known.join(", ")
        )));
    }
    why.windows.clear();
    why.unsent.clear();
    why.roles.retain(|role| role.link == wanted);
    why.fallbacks.clear();
    why.left_alone.clear();
    why.levers.clear();
    why.agent = None;
    why.wifi = None;
    why.flows.retain(|flow| flow.link.as_deref() == Some(wanted));
    Ok(())
}

fn text(why: &Why) -> String {
    let links = why.links.iter().map(|link| {
        let marks = link
            .marks
            .iter()
            .map(|marks| format!("{}: mark: {marks}\n", link.link));
        format!("{}: {}: {}\n", link.link, link.state, link.why) + &marks.collect::<String>()
    });
    let told = why.windows.iter().chain(&why.unsent).chain(&why.left_alone);
    let conns = told.map(|conn| format!("connection {} to {}: {}\n", conn.token, conn.remote, conn.why));
    let roles = why.roles.iter().map(|role| {
        let (link, state) = (&role.link, &role.state);
        format!(
            "connection {} to {}: {link}: {state}: {}\n",
            role.token, role.remote, role.why
        )
    });
    let fallbacks = why.fallbacks.iter().map(|fallback| {
        let (local, remote) = (fallback.local, fallback.remote);
        format!("connection from {local} to {remote}: {}\n", fallback.why)
    });
    let fell_back = super::status::count_of(&why.fallbacks);
    let levers = why.levers.iter().map(|lever| format!("{lever}\n"));
    links
        .chain(conns)
        .chain(roles)
        .chain([fell_back])
        .chain(fallbacks)
        .chain(levers)
        .chain(why.agent.iter().flat_map(agent))
        .chain(why.wifi.iter().map(AccessPoints::sentences))
        .chain(why.flows.iter().map(flow))
        .collect()
}

/// Which link a flow has, for how long, and why.
fn flow(flow: &Flow) -> String {
    let to = flow
        .remote
        .map_or_else(String::new, |remote| format!(" to {remote}"));
    let link = flow.link.as_deref().unwrap_or("no link");
    let why = flow.why.iter().map(|why| format!(": {why}"));
    let (id, since_s) = (flow.id, flow.since_s);
    format!(
        "flow {id}{to}: {link} for {since_s:.0} s{}\n",
        why.collect::<String>()
    )
}

/// Why the relay is not used, and why each connection of a program takes its way.
fn agent(agent: &Agent) -> impl Iterator<Item = String> {
    let relay = agent.relay.as_deref().unwrap_or("none");
    let trouble = agent.relay_trouble.iter();
    let trouble = trouble.map(move |why| format!("relay {relay}: not used for some seconds: {why}\n"));
    let blackhole = agent.blackhole.iter().map(|why| format!("agent: {why}\n"));
    let connections = agent.connections.iter().map(|connection| {
        let (client, server) = (connection.client, connection.server);
        format!(
            "connection from {client} to {server}: {}: {}\n",
            connection.way, connection.why
        )
    });
    trouble.chain(blackhole).chain(connections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::document::{LinkWhy, RoleWhy, WHY};

    fn nothing() -> Why {
        Why {
            schema: WHY.to_owned(),
            links: Vec::new(),
            windows: Vec::new(),
            unsent: Vec::new(),
            roles: Vec::new(),
            fallbacks: Vec::new(),
            left_alone: Vec::new(),
            levers: Vec::new(),
            agent: None,
            wifi: None,
            flows: Vec::new(),
        }
    }

    #[test]
    fn the_link_of_each_flow_is_explained() {
        let flow = |id, link: Option<&str>, why: Option<&str>| Flow {
            id,
            local: None,
            since_s: 12.4,
            why: why.map(str::to_owned),
            remote: "192.0.2.1:7000".parse().ok(),
            link: link.map(str::to_owned),
            rule: None,
        };
        let moved = "moves to this link, as the user asked";
        let mut why = Why {
            links: vec![link("phone")],
            flows: vec![flow(7, Some("phone"), Some(moved)), flow(8, None, None)],
            ..nothing()
        };
        assert_eq!(
            text(&why),
            "phone: use: it is up\n\
             flow 7 to 192.0.2.1:7000: phone for 12 s: moves to this link, as the user asked\n\
             flow 8 to 192.0.2.1:7000: no link for 12 s\n"
        );
        keep(&mut why, "phone").unwrap();
        assert_eq!(why.flows.len(), 1);
    }

    #[test]
    fn the_way_of_each_connection_of_the_agent_is_explained() {
        let agent = serde_json::json!({
            "relay": "relay.example:4433",
            "relay_trouble": "the relay did not answer within 3 s",
            "blackhole": "a path has dropped MPTCP SYNs",
            "connections": [{
                "client": "10.0.0.1:40000", "server": "198.51.100.1:443", "way": "direct",
                "why": "the relay did not answer within 3 s", "up_bytes": 0, "down_bytes": 0,
            }],
        });
        let why = Why {
            agent: Some(serde_json::from_value(agent).unwrap()),
            ..nothing()
        };
        assert_eq!(
            text(&why),
            "relay relay.example:4433: not used for some seconds: the relay did not answer within 3 s\n\
             agent: a path has dropped MPTCP SYNs\n\
             connection from 10.0.0.1:40000 to 198.51.100.1:443: direct: the relay did not answer within 3 s\n"
        );
    }

    fn link(name: &str) -> LinkWhy {
        LinkWhy {
            link: name.to_owned(),
            state: "use".to_owned(),
            why: "it is up".to_owned(),
            marks: None,
        }
    }

    #[test]
    fn control_characters_in_names_and_reasons_are_escaped() {
        let why = Why {
            links: vec![LinkWhy {
                why: "\u{9b}2J is up\ndsl: use".to_owned(),
                ..link("wl\x1b]0;x\x07")
            }],
            levers: vec!["\x1b[8m".to_owned()],
            ..nothing()
        };
        assert_eq!(
            text(&shown(&why).unwrap()),
            "wl\\u{1b}]0;x\\u{7}: use: \\u{9b}2J is up\\ndsl: use\n\\u{1b}[8m\n"
        );
    }

    #[test]
    fn the_reason_for_marks_follows_the_link_state() {
        let marks = Some("a queue stands before it".to_owned());
        let why = Why {
            links: vec![LinkWhy { marks, ..link("dsl") }],
            ..nothing()
        };
        assert_eq!(
            text(&why),
            "dsl: use: it is up\ndsl: mark: a queue stands before it\n"
        );
    }

    #[test]
    fn fallen_back_connections_are_counted_and_listed() {
        let fallback = |port: u16| host::document::Fallback {
            token: None,
            link: "dsl".to_owned(),
            local: ([10, 0, 0, 1], port).into(),
            remote: "10.255.0.1:443".parse().unwrap(),
            window_bytes: None,
            why: "it fell back to plain TCP: why; it is left alone".to_owned(),
            cc: None,
        };
        let why = Why {
            fallbacks: vec![fallback(1), fallback(2)],
            ..nothing()
        };
        assert_eq!(
            text(&why),
            "2 connections fell back to plain TCP\n\
             connection from 10.0.0.1:1 to 10.255.0.1:443: it fell back to plain TCP: why; it is left alone\n\
             connection from 10.0.0.1:2 to 10.255.0.1:443: it fell back to plain TCP: why; it is left alone\n"
        );
    }

    #[test]
    fn a_demoted_subflow_is_shown_for_its_connection_and_its_link() {
        let role = |link: &str| RoleWhy {
            token: "0x2a".to_owned(),
            remote: "[2001:db8::1]:443".parse().unwrap(),
            link: link.to_owned(),
            state: "demote".to_owned(),
            why: "the others wait for it".to_owned(),
        };
        let mut why = Why {
            links: vec![link("dsl"), link("lte")],
            roles: vec![role("dsl"), role("lte")],
            ..nothing()
        };
        let said = "connection 0x2a to [2001:db8::1]:443: dsl: demote: the others wait for it\n";
        assert!(text(&why).contains(said), "{}", text(&why));
        keep(&mut why, "dsl").unwrap();
        assert_eq!(text(&why), format!("dsl: use: it is up\n{said}"));
    }
}
