//! `slowhand cc status`: what is loaded, and what sockets really use.

use super::Place;
use crate::exit::{self, Refused};
use crate::host::table::aligned;
use linux::bpf::cc::{self, LoadedController, SubflowController};
use policy::ConnId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Show what is loaded, and what every connection of this namespace really uses.
///
/// The kernel silently ignores an unknown name on an MPTCP socket; what is shown here is read back from the sockets.
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

/// Looks; changes nothing.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let document = look(args).map_err(Refused::because)?;
    if args.json {
        exit::print_document(&document)?;
    } else {
        exit::print_text(&text(&document))?;
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

fn text(document: &Document) -> String {
    let mut text = controllers(&document.controllers);
    text += &format!("new connections begin with {}\n", document.default);
    let used = |(name, count): (&String, &usize)| format!("{name} {count}");
    let used: Vec<String> = document.sockets.iter().map(used).collect();
    if !used.is_empty() {
        text += &format!("TCP sockets: {}\n", used.join(", "));
    }
    text + &connections(&document.connections)
}

fn controllers(loaded: &[Loaded]) -> String {
    if loaded.is_empty() {
        return format!(
            "no controller is loaded; `slowhand cc load {}` loads one\n",
            cc::Coupled::Lia.id()
        );
    }
    let head = ["CONTROLLER", "KIND", "STAYS", "SOCKETS"]
        .map(str::to_owned)
        .to_vec();
    let row = |loaded: &Loaded| {
        let stays = match (loaded.registered, loaded.pinned) {
            (true, true) => "until unloaded",
            (true, false) => "with the process that loaded it",
            (false, _) => "for the sockets that have it",
        };
        [&loaded.name, loaded.id, stays, &loaded.sockets.to_string()]
            .map(str::to_owned)
            .to_vec()
    };
    aligned(
        &std::iter::once(head)
            .chain(loaded.iter().map(row))
            .collect::<Vec<_>>(),
    )
}

fn connections(connections: &[Connection]) -> String {
    if connections.is_empty() {
        return "no MPTCP connection here\n".to_owned();
    }
    let head = ["CONNECTION", "LOCAL ID", "REMOTE ID", "USES"]
        .map(str::to_owned)
        .to_vec();
    let rows = connections.iter().flat_map(|connection| {
        connection.subflows.iter().map(|subflow| {
            let ids = [subflow.local_id, subflow.remote_id].map(|id| id.to_string());
            vec![
                connection.token.clone(),
                ids[0].clone(),
                ids[1].clone(),
                subflow.controller.clone(),
            ]
        })
    });
    aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
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
    fn every_subflow_is_shown_with_what_it_uses() {
        let name = cc::ControllerName::of(cc::Coupled::Lia).to_string();
        let text = text(&document(vec![Loaded {
            id: "lia",
            name,
            pinned: true,
            registered: true,
            sockets: 2,
        }]));
        assert!(text.contains("slow_lia    lia   until unloaded  2"), "{text}");
        assert!(
            text.contains("0000002a    0         3          slow_lia"),
            "{text}"
        );
    }

    #[test]
    fn without_a_controller_the_way_to_one_is_told() {
        assert!(text(&document(Vec::new())).contains("`slowhand cc load lia`"));
    }
}
