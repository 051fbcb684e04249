//! The command line of `slowhand-relay`, which `slowhand relay` shares.

use crate::agent::{self, Choice, Early};
use crate::config::{self, Config};
use crate::metrics::Document;
use crate::serve::{self, Asked};
use crate::{egress, keys, socket};
use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where a relay answers `status`.
const CONTROL: &str = "/run/slowhand-relay/relay.sock";

/// Run a relay: connect clients that hold a key to any server, over all their links.
///
/// Run it on a host with a fixed address. Clients speak the Convert protocol (RFC 8803) over MPTCP. It
/// encrypts nothing: applications do that themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand relay key add laptop
  slowhand relay check
  slowhand relay
  slowhand relay status --json")]
pub struct Args {
    #[command(flatten)]
    at: At,

    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Run a relay: connect clients that hold a key to any server, over all their links. `slowhand relay` becomes
/// this program.
#[derive(Debug, Parser)]
#[command(name = "slowhand-relay", version)]
pub struct Relay {
    #[command(flatten)]
    args: Args,
}

#[derive(Debug, clap::Args)]
struct At {
    /// Configuration file. [default: /etc/slowhand/relay.toml, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,

    /// Unix socket on which the relay answers `status`, and Prometheus at /metrics.
    #[arg(long, value_name = "SOCKET", default_value = CONTROL, global = true)]
    socket: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add, list and remove keys of clients.
    #[command(subcommand)]
    Key(KeyVerb),
    /// Check the configuration and the keys, and show what they mean.
    Check,
    /// Show the keys of a running relay, and what they carry.
    Status {
        /// Print one JSON document (schema slowhand.relay/1).
        #[arg(long)]
        json: bool,
    },
    /// Carry redirected connections of applications. `slowhand up` starts it.
    #[command(hide = true)]
    Agent(AgentArgs),
}

#[derive(Debug, Subcommand)]
enum KeyVerb {
    /// Make a key, and print the path of its file. Copy that file to the client.
    Add {
        /// Name of the client.
        name: String,
    },
    /// List the names of all keys.
    List,
    /// Remove a key. Its connections end within a second.
    Remove {
        /// Name of the client.
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct AgentArgs {
    /// Address or name of the relay, with its port.
    #[arg(long, value_name = "HOST:PORT", requires = "key_file")]
    relay: Option<String>,

    /// File with the key that the relay knows.
    #[arg(long, value_name = "FILE", requires = "relay")]
    key_file: Option<PathBuf>,

    /// Ways that connections may take.
    #[arg(long, value_enum, default_value = "auto")]
    way: Choice,

    /// First bytes of applications that go with a request to the relay.
    #[arg(long, value_enum, default_value = "tls")]
    early_data: Early,

    /// Loopback address at which to serve SOCKS 5.
    #[arg(long, value_name = "ADDRESS:PORT")]
    socks: Option<SocketAddr>,

    /// Unix socket on which to answer Prometheus at /metrics.
    #[arg(long, value_name = "SOCKET")]
    metrics: Option<PathBuf>,
}

/// Runs the command. An error is printed.
pub fn run(relay: Relay) -> ExitCode {
    match work(relay.args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slowhand-relay: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work(relay: Args) -> anyhow::Result<()> {
    let config = || Config::read(relay.at.config.as_deref());
    match relay.verb {
        None => start(config()?, &relay.at.socket),
        Some(Verb::Key(verb)) => key(&config()?.keys, verb),
        Some(Verb::Check) => check(&config()?, relay.at.config.as_deref()),
        Some(Verb::Status { json }) => status(&relay.at.socket, json),
        Some(Verb::Agent(args)) => {
            let relay = args.relay.zip(args.key_file);
            Ok(agent::run(agent::Setup {
                choice: args.way,
                relay,
                early: args.early_data,
                socks: args.socks,
                metrics: args.metrics,
            })?)
        }
    }
}

fn start(config: Config, socket: &Path) -> anyhow::Result<()> {
    if keys::load(&config.keys)?.is_empty() {
        bail!(
            "there is no key in {}, so nobody may use this relay; make one with `slowhand relay key add NAME`",
            config.keys.display()
        );
    }
    if let Some(folder) = socket.parent() {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("making {}; name another place with --socket", folder.display()))?;
    }
    Ok(serve::run(config, socket, ready)?)
}

/// Tells whoever started the relay that it listens.
fn ready(bound: &[SocketAddr]) {
    let all = Vec::from_iter(bound.iter().map(ToString::to_string));
    print(&format!("listening on {}\n", all.join(", ")));
}

fn key(folder: &Path, verb: KeyVerb) -> anyhow::Result<()> {
    match verb {
        KeyVerb::Add { name } => print(&format!("{}\n", keys::add(folder, &name)?.display())),
        KeyVerb::List => print(
            &keys::names(folder)?
                .iter()
                .fold(String::new(), |all, name| all + name + "\n"),
        ),
        KeyVerb::Remove { name } => keys::remove(folder, &name)?,
    }
    Ok(())
}

fn check(config: &Config, path: Option<&Path>) -> anyhow::Result<()> {
    let keys = keys::load(&config.keys)?;
    let path = path.unwrap_or(Path::new(config::DEFAULT));
    for name in config.rights.keys() {
        if !keys.iter().any(|key| key.name == *name) {
            bail!(
                "{}: [key.{name}] names no key in {}; add it with `slowhand relay key add {name}`, or remove the table",
                path.display(),
                config.keys.display()
            );
        }
    }
    let mut text = String::new();
    let listen = Vec::from_iter(config.listen.iter().map(ToString::to_string));
    let _ = writeln!(text, "listens on {}", listen.join(", "));
    let _ = writeln!(
        text,
        "at most {} connections, {} for each key",
        config.connections, config.connections_per_key
    );
    for key in &keys {
        let rights = config.rights.get(&key.name);
        let allow = Vec::from_iter(
            rights
                .iter()
                .flat_map(|rights| &rights.allow)
                .map(ToString::to_string),
        );
        let _ = match &allow[..] {
            [] => writeln!(text, "key {}: the Internet", key.name),
            allow => writeln!(text, "key {}: the Internet, and {}", key.name, allow.join(", ")),
        };
    }
    if keys.is_empty() {
        text.push_str("no key yet: `slowhand relay key add NAME` makes one\n");
    }
    text.push_str(socket::fast_open_allowed().map_or("", |allowed| match allowed {
        true => "TCP Fast Open: allowed\n",
        false => {
            "TCP Fast Open: not allowed; `sysctl -w net.ipv4.tcp_fastopen=3` saves clients a round trip\n"
        }
    }));
    let special = Vec::from_iter(egress::special().map(|network| network.to_string()));
    let _ = writeln!(
        text,
        "refused by default: port 25, this host, {}",
        special.join(", ")
    );
    print(&text);
    Ok(())
}

fn status(socket: &Path, json: bool) -> anyhow::Result<()> {
    let answer = serve::ask(socket, Asked::Status)?;
    let document = serve::status(&answer)?;
    if json {
        print(&format!("{answer}\n"));
    } else {
        print(&table(&document));
    }
    Ok(())
}

fn table(document: &Document) -> String {
    let mut text = format!(
        "{:<20} {:>8} {:>10} {:>14} {:>14}\n",
        "KEY", "OPEN", "CONNECTED", "UP", "DOWN"
    );
    for (name, key) in &document.keys {
        let _ = writeln!(
            text,
            "{name:<20} {:>8} {:>10} {:>12} B {:>12} B",
            key.open, key.connected, key.up_bytes, key.down_bytes
        );
    }
    let _ = writeln!(
        text,
        "\n{} connections accepted, {} servers spoke MPTCP, {} meetings, {} destinations refused",
        document.accepted, document.mptcp_servers, document.meetings, document.refused_egress
    );
    for (code, count) in document.errors.iter().filter(|(_, count)| **count > 0) {
        let _ = writeln!(text, "{count} × {code}");
    }
    text
}

/// Prints. A reader that has gone does not want the rest.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        Relay::command().debug_assert();
    }
}
