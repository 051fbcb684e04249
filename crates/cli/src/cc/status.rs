//! `slowhand cc status`: what is loaded, and what sockets really use.

use super::Place;
use linux::bpf::cc::{self, LoadedController, SubflowController};
use policy::ConnId;
use serde::Serialize;
use show::Table;
use show::exit::{self, Refused};
use show::terminal;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Show the loaded controllers, and which one each connection of this namespace uses.
///
/// The kernel silently ignores an unknown name on an MPTCP socket, so this command reads the names back from
/// the sockets.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,

    /// Print one JSON document (schema slowhand.cc-status/1).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    /// What new connections of this namespace begin with.
    default: String,
    /// Controllers of ours in the kernel, whoever loaded them.
    controllers: Vec<Loaded>,
    /// How many connected TCP sockets of this namespace use which controller.
    sockets: BTreeMap<String, usize>,
    /// Every MPTCP connection of this namespace.
    connections: Vec<Connection>,
}

#[derive(Debug, Serialize)]
struct Loaded {
    id: &'static str,
    name: String,
    pinned: bool,
    /// If not, it stays only for sockets that have it.
    registered: bool,
    /// Connected sockets of this namespace that use it.
    sockets: usize,
}

#[derive(Debug, Serialize)]
struct Connection {
    /// As `ss -M` prints it.
    token: String,
    subflows: Vec<Subflow>,
}

#[derive(Debug, Serialize)]
struct Subflow {
    local_id: u8,
    remote_id: u8,
    controller: String,
}

/// Shows the controllers. Changes nothing.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let document = look(args).map_err(Refused::because)?;
    if args.json {
        exit::print_document(&document)?;
    } else {
        exit::print_text(&text(&document, terminal::columns()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn look(args: &Args) -> Result<Document, cc::StatusError> {
    let pins = args.place.pins();
    let pinned = pins
        .names()
        .map_err(|error| cc::StatusError::Kernel(format!("{}: {error}", pins.dir().display())))?;
    let default = linux::sysctl::read(&linux::sysctl::Key::new("net.ipv4.tcp_congestion_control"));
    let sockets = cc::users()?;
    let loaded = |loaded: LoadedController| Loaded {
        id: loaded.coupled.id(),
        pinned: loaded.registered && pinned.contains(&loaded.name),
        registered: loaded.registered,
        sockets: sockets.get(loaded.name.as_str()).copied().unwrap_or(0),
        name: loaded.name.to_string(),
    };
    Ok(Document {
        schema: "slowhand.cc-status/1",
        default: default.map_err(|error| cc::StatusError::Kernel(error.to_string()))?,
        controllers: cc::loaded()?.into_iter().map(loaded).collect(),
        connections: cc::connections()?.into_iter().map(connection).collect(),
        sockets,
    })
}

fn connection((conn, subflows): (ConnId, Vec<SubflowController>)) -> Connection {
    let subflow = |subflow: SubflowController| Subflow {
        local_id: subflow.local_id.0,
        remote_id: subflow.remote_id.0,
        controller: subflow.name.to_string(),
    };
    Connection {
        token: format!("{:08x}", conn.0),
        subflows: subflows.into_iter().map(subflow).collect(),
    }
}

fn text(document: &Document, width: usize) -> String {
    let mut text = controllers(&document.controllers, width);
    text += &format!("new connections use {}\n", document.default);
    let used = |(name, count): (&String, &usize)| format!("{name} {count}");
    let used: Vec<String> = document.sockets.iter().map(used).collect();
    if !used.is_empty() {
        text += &format!("TCP sockets: {}\n", used.join(", "));
    }
    text + &connections(&document.connections, width)
}

fn controllers(loaded: &[Loaded], width: usize) -> String {
    if loaded.is_empty() {
        return format!(
            "no controller is loaded; to load one, run `slowhand cc load {}`\n",
            cc::Coupled::Lia.id()
        );
    }
    let mut table = Table::new(&["CONTROLLER", "KIND", "LOADED", "SOCKETS"]);
    for loaded in loaded {
        let stays = match (loaded.registered, loaded.pinned) {
            (true, true) => "until unloaded",
            (true, false) => "until its loader exits",
            (false, _) => "until its sockets close",
        };
        table.row([&loaded.name, loaded.id, stays, &loaded.sockets.to_string()]);
    }
    table.fitted(width)
}

fn connections(connections: &[Connection], width: usize) -> String {
    if connections.is_empty() {
        return "no MPTCP connection in this namespace\n".to_owned();
    }
    let mut table = Table::new(&["CONNECTION", "LOCAL ID", "REMOTE ID", "USES"]);
    for connection in connections {
        for subflow in &connection.subflows {
            let [local, remote] = [subflow.local_id, subflow.remote_id].map(|id| id.to_string());
            table.row([&connection.token, &local, &remote, &subflow.controller]);
        }
    }
    table.fitted(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(controllers: Vec<Loaded>) -> Document {
        Document {
            schema: "slowhand.cc-status/1",
            default: "reno".to_owned(),
            controllers,
            sockets: BTreeMap::from([("slow_lia".to_owned(), 2)]),
            connections: vec![Connection {
                token: "0000002a".to_owned(),
                subflows: vec![Subflow {
                    local_id: 0,
                    remote_id: 3,
                    controller: "slow_lia".to_owned(),
                }],
            }],
        }
    }

    #[test]
    fn every_subflow_is_shown_with_its_controller() {
        let name = cc::ControllerName::of(cc::Coupled::Lia).to_string();
        let loaded = Loaded {
            id: "lia",
            name,
            pinned: true,
            registered: true,
            sockets: 2,
        };
        let text = text(&document(vec![loaded]), usize::MAX);
        assert!(text.contains("slow_lia    lia   until unloaded  2"), "{text}");
        assert!(
            text.contains("0000002a    0         3          slow_lia"),
            "{text}"
        );
    }

    #[test]
    fn without_a_controller_status_says_how_to_load_one() {
        assert!(text(&document(Vec::new()), usize::MAX).contains("`slowhand cc load lia`"));
    }
}
