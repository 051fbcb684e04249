//! `slowhand status`: links, connections and subflows of a running daemon, and their congestion controllers.

use host::control::{Question, ask};
use host::document::{AccessPoints, Connection, Fallback, Link, Networks, Status, Subflow};
use host::place::Place;
use show::Table;
use show::exit::{print_document, print_text, shown};
use show::terminal;
use std::path::PathBuf;
use std::process::ExitCode;
use trace::Shown;
use trace::agent::{Agent, Application};
use units::Bytes;

/// Show links, connections and subflows, and the congestion controller that each subflow uses.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document (schema slowhand.status/1).
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,
}

/// Prints the state of the daemon of the place.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let status: Status = ask(&args.place, Question::Status)?;
    if args.json {
        print_document(&status)?;
    } else {
        print_text(&text(&shown(&status)?, terminal::columns()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Tables fit `width` columns.
fn text(status: &Status, width: usize) -> String {
    let mut text = format!(
        "policy {}, congestion control {}, process {}, up {:.0} s, {:.1} % of a core, windows limited by {}\n\n",
        status.policy,
        or_dash(&status.cc),
        status.pid,
        status.uptime_s,
        100.0 * status.cpu_s / status.uptime_s.max(1e-3),
        status.window_lever.as_deref().unwrap_or("nothing"),
    );
    text.push_str(&links(&status.links).fitted(width));
    text.extend(
        status
            .links
            .iter()
            .filter_map(|link| Some(link.wifi.as_ref()?.sentence(&link.name))),
    );
    text.extend(status.links.iter().flat_map(marks));
    text.extend(status.wifi.iter().map(AccessPoints::sentences));
    if !status.connections.is_empty() {
        text.push('\n');
        text.push_str(&connections(&status.connections).fitted(width));
    }
    if !status.fallbacks.is_empty() {
        text.push('\n');
        text.push_str(&fallbacks(&status.fallbacks, width));
    }
    if let Some(networks) = &status.networks {
        text.push('\n');
        text.push_str(&flows(networks, width));
    }
    if let Some(agent) = &status.agent {
        text.push('\n');
        text.push_str(&programs(agent, width));
    }
    text
}

/// Flows that cannot use several links, and where new ones begin.
pub(super) fn flows(networks: &Networks, width: usize) -> String {
    let refused = "none: no link has IPv4, and programs are refused";
    let begins = listed(&networks.begins).unwrap_or_else(|| refused.to_owned());
    let mut text = format!(
        "flows over {} ({}): new ones use {begins}\n",
        networks.interface, networks.address
    );
    for rule in &networks.rules {
        let number = rule.number;
        let links = listed(&rule.begins);
        let now = or_wait(links.as_deref());
        text.push_str(&format!(
            "rule {number} ({}): {}, now {now}\n",
            rule.of, rule.network
        ));
    }
    if networks.flows.is_empty() {
        return text;
    }
    let mut table = Table::new(&["FLOW", "TO", "LINK", "RULE"]);
    for flow in &networks.flows {
        table.row([
            &flow.id.to_string(),
            &flow
                .remote
                .map_or_else(|| "-".to_owned(), |remote| remote.to_string()),
            or_wait(flow.link.as_deref()),
            &flow.rule.map_or_else(|| "-".to_owned(), |rule| rule.to_string()),
        ]);
    }
    text + &table.fitted(width)
}

/// Names in a row. `None` if there are none.
fn listed(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| names.join(", "))
}

fn or_wait(link: Option<&str>) -> &str {
    link.unwrap_or("none: they wait")
}

/// Connections of programs that the agent carries.
fn programs(agent: &Agent, width: usize) -> String {
    let mut table = Table::new(&["PROGRAM", "SERVER", "WAY", "UP", "DOWN", "WHY"]);
    for connection in &agent.connections {
        table.row([
            &program(connection),
            &connection.server.to_string(),
            &connection.way,
            &Bytes::new(connection.up_bytes).to_string(),
            &Bytes::new(connection.down_bytes).to_string(),
            &connection.why,
        ]);
    }
    let relay = agent.relay.as_deref().unwrap_or("none");
    let trouble = agent.relay_trouble.iter().map(|why| format!("; {why}"));
    let totals = agent.totals;
    let mut head = format!("agent: relay {relay}{}\n", trouble.collect::<String>());
    head.push_str(&format!(
        "agent: {} connections over the relay, {} direct, {} plain, {} failed; sent {}, received {}\n",
        totals.relay,
        totals.direct,
        totals.plain,
        totals.failed,
        Bytes::new(totals.up_bytes),
        Bytes::new(totals.down_bytes),
    ));
    head.extend(agent.blackhole.iter().map(|why| format!("agent: {why}\n")));
    if agent.connections.is_empty() {
        return head;
    }
    head + &table.fitted(width)
}

/// Who holds the connection: the program if we may see it, and otherwise its service; and the user.
fn program(connection: &Application) -> String {
    let holder = connection.inode.and_then(holder);
    let holder = holder.or_else(|| connection.unit.clone());
    match (holder, connection.uid) {
        (Some(holder), Some(uid)) => format!("{holder} (uid {uid})"),
        (None, Some(uid)) => format!("uid {uid}"),
        (_, None) => "-".to_owned(),
    }
}

/// The name of the program that has a descriptor of this socket. Only root sees those of other users.
fn holder(inode: u32) -> Option<String> {
    let socket = format!("socket:[{inode}]");
    let processes = std::fs::read_dir("/proc").ok()?.map_while(Result::ok);
    let has = |process: &PathBuf| {
        let descriptors = std::fs::read_dir(process.join("fd")).into_iter().flatten();
        let links = descriptors
            .flatten()
            .filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.into_iter().any(|link| link.as_os_str() == socket.as_str())
    };
    let process = processes.map(|entry| entry.path()).find(has)?;
    let name = std::fs::read_to_string(process.join("comm")).ok()?;
    Some(Shown(name.trim_end()).to_string())
}

fn links(links: &[Link]) -> Table {
    let header = ["LINK", "INTERFACE", "KIND", "ROLE", "STATE", "ADDRESS", "GATEWAY"];
    let mut table = Table::new(&header);
    let differ = links.iter().any(|link| link.default_v4 && !link.default_v6)
        && links.iter().any(|link| link.default_v6 && !link.default_v4);
    for link in links {
        add_link(&mut table, link, differ);
    }
    table
}

/// A star stands where new connections begin; with the version of IP if the two `differ`.
fn add_link(table: &mut Table, link: &Link, differ: bool) {
    let star = match (link.default_v4, link.default_v6) {
        (false, false) => "",
        (true, false) if differ => " *4",
        (false, true) if differ => " *6",
        _ => " *",
    };
    let name = format!("{}{star}", link.name);
    let addresses: Vec<String> = link.addresses.iter().map(ToString::to_string).collect();
    let gateways: Vec<String> = link
        .gateways
        .iter()
        .map(|hop| hop.map_or_else(|| "on link".to_owned(), |hop| hop.to_string()))
        .collect();
    table.row([
        &name,
        link.interface.as_deref().unwrap_or("-"),
        &link.kind,
        &link.role,
        &link.state,
        or_dash(&addresses.join(",")),
        or_dash(&gateways.join(",")),
    ]);
}

/// A sentence for each direction in which anything was ever to be marked.
fn marks(link: &Link) -> impl Iterator<Item = String> {
    let directions = [
        (link.marks, &link.marks_blocked, "received"),
        (link.sent_marks, &link.sent_marks_blocked, "sent"),
    ];
    directions.into_iter().filter_map(|(marks, blocked, what)| {
        let marks = marks?;
        if let Some(why) = blocked {
            return Some(format!("{}: no {what} packet is marked: {why}\n", link.name));
        }
        Some(format!(
            "{}: marks {:.2} % of {what} packets; so far {} of {} ECN-capable packets, {} requested\n",
            link.name,
            100.0 * marks.rate,
            marks.made,
            marks.ect,
            marks.asked
        ))
    })
}

fn connections(connections: &[Connection]) -> Table {
    let header = [
        "CONNECTION",
        "PEER / LOCAL",
        "LINK",
        "STATE",
        "RECEIVED",
        "ACKED",
        "RTT",
        "RETRANS",
        "WINDOW",
        "CC",
    ];
    let mut table = Table::new(&header);
    for connection in connections {
        add_connection(&mut table, connection);
        for subflow in &connection.subflows {
            add_subflow(&mut table, subflow);
        }
    }
    table
}

fn add_connection(table: &mut Table, connection: &Connection) {
    let state = match (&connection.left_alone, connection.window_bytes) {
        (None, _) => "open",
        (Some(_), None) => "left alone",
        (Some(_), Some(_)) => "fell back",
    };
    table.row([
        &connection.token,
        &connection.remote.to_string(),
        "",
        state,
        &Bytes::new(connection.bytes_received).to_string(),
        &Bytes::new(connection.bytes_acked).to_string(),
        "",
        "",
        &window(connection.window_bytes),
        or_dash(&connection.cc.join(",")),
    ]);
}

fn window(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes::new(bytes).to_string())
}

fn add_subflow(table: &mut Table, subflow: &Subflow) {
    table.row([
        &format!("  id {}", subflow.id),
        &subflow.local.to_string(),
        &subflow.link,
        &subflow.state,
        &Bytes::new(subflow.bytes_received).to_string(),
        &Bytes::new(subflow.bytes_acked).to_string(),
        &subflow
            .srtt_ms
            .map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms")),
        &subflow.retransmits.to_string(),
        "",
        subflow.cc.as_deref().unwrap_or("-"),
    ]);
}

fn fallbacks(fallbacks: &[Fallback], width: usize) -> String {
    let mut table = Table::new(&["FELL BACK", "PEER", "LOCAL", "LINK", "WINDOW", "CC"]);
    for fallback in fallbacks {
        add_fallback(&mut table, fallback);
    }
    let unbounded = fallbacks
        .iter()
        .filter(|fallback| fallback.window_bytes.is_none());
    let whys = unbounded.map(|fallback| format!("{}: {}\n", fallback.local, fallback.why));
    count_of(fallbacks) + &table.fitted(width) + &whys.collect::<String>()
}

/// How many connections fell back, in a line; nothing if none did.
pub(super) fn count_of(fallbacks: &[Fallback]) -> String {
    match fallbacks.len() {
        0 => String::new(),
        1 => "1 connection fell back to plain TCP\n".to_owned(),
        count => format!("{count} connections fell back to plain TCP\n"),
    }
}

fn add_fallback(table: &mut Table, fallback: &Fallback) {
    table.row([
        fallback.token.as_deref().unwrap_or("-"),
        &fallback.remote.to_string(),
        &fallback.local.to_string(),
        &fallback.link,
        &window(fallback.window_bytes),
        fallback.cc.as_deref().unwrap_or("-"),
    ]);
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::document::Marks;
    use trace::agent::Totals;

    #[test]
    fn a_fallback_without_a_window_limit_is_listed_with_its_reason() {
        let bounded = Fallback {
            token: None,
            link: "desk".to_owned(),
            local: "10.0.0.1:40000".parse().unwrap(),
            remote: "10.255.0.1:443".parse().unwrap(),
            window_bytes: Some(262_144),
            why: "it is configured".to_owned(),
            cc: Some("cubic".to_owned()),
        };
        let refused = Fallback {
            token: Some("00c0ffee".to_owned()),
            local: "10.0.0.1:40001".parse().unwrap(),
            window_bytes: None,
            why: "the kernel refused it".to_owned(),
            cc: None,
            ..bounded.clone()
        };
        let told = fallbacks(&[bounded, refused], usize::MAX);
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines[2].starts_with("- ") && lines[2].ends_with("262.1 kB  cubic"),
            "{told}"
        );
        assert!(
            lines[3].starts_with("00c0ffee ") && lines[3].ends_with("-         -"),
            "{told}"
        );
        assert_eq!(lines[0], "2 connections fell back to plain TCP");
        assert_eq!(lines[4..], ["10.0.0.1:40001: the kernel refused it"]);
    }

    #[test]
    fn controllers_are_shown_for_the_connection_and_each_subflow() {
        let subflow = Subflow {
            link: "desk".to_owned(),
            local: "10.0.0.1:40000".parse().unwrap(),
            remote: "10.255.0.1:443".parse().unwrap(),
            id: 0,
            state: "active".to_owned(),
            bytes_received: 0,
            bytes_acked: 0,
            retransmits: 0,
            srtt_ms: None,
            min_rtt_ms: None,
            cc: Some("slow_olia".to_owned()),
        };
        let joining = Subflow {
            id: 1,
            cc: None,
            ..subflow.clone()
        };
        let connection = Connection {
            token: "00c0ffee".to_owned(),
            remote: subflow.remote,
            left_alone: None,
            bytes_received: 0,
            bytes_acked: 0,
            backlog_bytes: 0,
            window_bytes: None,
            unsent_limit_bytes: None,
            cc: vec!["reno".to_owned(), "slow_olia".to_owned()],
            subflows: vec![subflow, joining],
        };
        let table = connections(&[connection]);
        let told = table.fitted(usize::MAX);
        let last: Vec<&str> = told
            .lines()
            .map(|line| line.split_whitespace().last().unwrap())
            .collect();
        assert_eq!(last, ["CC", "reno,slow_olia", "slow_olia", "-"], "{told}");
        let narrow = table.fitted(60);
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "00c0ffee",
                "    PEER / LOCAL: 10.255.0.1:443  STATE: open  RECEIVED: 0 B",
                "    ACKED: 0 B  WINDOW: -  CC: reno,slow_olia",
                "  id 0",
                "    PEER / LOCAL: 10.0.0.1:40000  LINK: desk  STATE: active",
                "    RECEIVED: 0 B  ACKED: 0 B  RTT: -  RETRANS: 0",
            ]
        );
    }

    #[test]
    fn connections_of_the_agent_name_their_program_way_and_reason() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&listener);
        let link = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap();
        let inode = link.to_str().unwrap().trim_matches(|c: char| !c.is_ascii_digit());
        let connection = Application {
            carried_from: None,
            client: "10.0.0.1:40000".parse().unwrap(),
            server: "198.51.100.1:443".parse().unwrap(),
            way: "relay".to_owned(),
            why: "the server speaks plain TCP".to_owned(),
            up_bytes: 10,
            down_bytes: 20,
            socks: None,
            uid: Some(1000),
            unit: Some("app.scope".to_owned()),
            inode: inode.parse().ok(),
        };
        let agent = Agent {
            relay: Some("relay.example:4433".to_owned()),
            relay_trouble: None,
            totals: Totals {
                relay: 3,
                failed: 1,
                ..Totals::default()
            },
            blackhole: None,
            connections: vec![connection],
        };
        let told = programs(&agent, usize::MAX);
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        let lines = Vec::from_iter(told.lines());
        assert_eq!(lines[0], "agent: relay relay.example:4433");
        assert!(
            lines[3].starts_with(&format!("{} (uid 1000)", own.trim_end())),
            "{told}"
        );
        assert!(lines[3].ends_with("the server speaks plain TCP"), "{told}");
        assert_eq!(
            lines[1],
            "agent: 3 connections over the relay, 0 direct, 0 plain, 1 failed; sent 0 B, received 0 B"
        );
        // Others than root see the service only.
        let unseen = Application {
            inode: None,
            ..agent.connections[0].clone()
        };
        assert_eq!(program(&unseen), "app.scope (uid 1000)");
    }

    /// A link on which new connections begin in these families.
    fn beginning(name: &str, default_v4: bool, default_v6: bool) -> Link {
        Link {
            name: name.to_owned(),
            interface: None,
            kind: "cable".to_owned(),
            role: "primary".to_owned(),
            carrier: true,
            wifi: None,
            addresses: Vec::new(),
            gateways: Vec::new(),
            default_route: default_v4 || default_v6,
            default_v4,
            default_v6,
            state: "use".to_owned(),
            marks: None,
            sent_marks: None,
            marks_blocked: None,
            sent_marks_blocked: None,
        }
    }

    #[test]
    fn the_default_star_names_the_ip_version_only_if_links_differ() {
        for (first, second, expected) in [
            ((true, true), (false, false), ["a *", "b"]),
            ((true, false), (false, false), ["a *", "b"]),
            ((true, false), (false, true), ["a *4", "b *6"]),
            ((false, false), (false, true), ["a", "b *"]),
        ] {
            let told = links(&[
                beginning("a", first.0, first.1),
                beginning("b", second.0, second.1),
            ])
            .fitted(usize::MAX);
            let names = told.lines().skip(1).map(|line| line.split("  ").next().unwrap());
            assert_eq!(Vec::from_iter(names), expected);
        }
    }

    #[test]
    fn marks_are_shown_only_for_directions_that_have_any() {
        let link = beginning("dsl", false, false);
        assert_eq!(marks(&link).count(), 0);
        let sent_marks = Some(Marks {
            rate: 0.02,
            ect: 1_000,
            not_ect: 7,
            ce: 0,
            asked: 20,
            made: 19,
        });
        let link = Link { sent_marks, ..link };
        assert_eq!(
            Vec::from_iter(marks(&link)),
            ["dsl: marks 2.00 % of sent packets; so far 19 of 1000 ECN-capable packets, 20 requested\n"]
        );
        let why = "what leaves by eth0 does not reach slowhand's tcx program: BPF program 42, ahead of it, ends the chain";
        let sent_marks_blocked = Some(why.to_owned());
        let link = Link {
            sent_marks_blocked,
            ..link
        };
        assert_eq!(
            Vec::from_iter(marks(&link)),
            [format!("dsl: no sent packet is marked: {why}\n")]
        );
    }
}
