//! Starts the relay and the agent.

use super::Detour;
use crate::hosts::{Hosts, RelayNetns};
use crate::relay::{Lines, Relay, StartError, spawn};
use linux::nft::Table;
use linux::redirect::{CHAIN, table};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use trace::agent::Ports;

const PORT: u16 = 4433;

pub(super) fn start(hosts: &Hosts, relay: &RelayNetns, interfaces: &[String]) -> Result<Detour, StartError> {
    let address = SocketAddr::from((relay.address, PORT));
    let relay = Relay::start(&relay.netns, address, "")?;
    let mut agent = Command::new(relay.program());
    agent.args(["agent", "--relay", &address.to_string(), "--key-file"]);
    agent.arg(relay.key_file()).stdin(Stdio::piped());
    // Flows of a scenario stand for programs that speak TLS: a server may get their first bytes twice.
    agent.args(["--early-data", "always"]);
    let (mut agent, mut lines) = spawn(relay.program(), &mut agent, &hosts.client)?;
    let questions = agent.stdin.take().ok_or(StartError::Silent("agent"))?;
    let ports = lines.next().and_then(|line| Ports::parse(&line));
    let rules = table([], interfaces, ports.ok_or(StartError::Silent("agent"))?);
    let table = hosts.client.run(|| Table::install(&rules, CHAIN))??;
    Ok(Detour {
        _table: table,
        questions,
        answers: answers(lines)?,
        agent,
        _relay: relay,
    })
}

/// Passes on the agent's answers.
fn answers(lines: Lines) -> Result<Receiver<String>, StartError> {
    let (to, answers) = channel();
    let read = move || {
        for line in lines {
            // Nobody asks once the run is over.
            if to.send(line).is_err() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("lab-agent".into());
    thread.spawn(read).map_err(StartError::Thread)?;
    Ok(answers)
}
