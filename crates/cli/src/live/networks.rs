//! `slowhand networks`: which link carries the flows that cannot use several, and changes while the daemon
//! runs.

use host::control::{NetworksChange, Question, ask};
use host::document::{NetworksList, Status};
use host::place::Place;
use linux::rtnl::Prefix;
use show::Table;
use show::exit::{Refused, print_document, print_text, shown};
use show::terminal;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Show and change which link carries each UDP flow.
///
/// Needs the table [networks] in the configuration. Changes hold until the daemon ends or reloads: lasting
/// rules belong into the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand networks list
  sudo slowhand networks add phone --port 51820 --hold
  sudo slowhand networks add wlan0 --cgroup system.slice/openvpn.service
  sudo slowhand networks add spread --port 6881
  sudo slowhand networks add wlan0=9,phone=1 --to 192.0.2.0/24
  sudo slowhand networks weight wlan0=9 phone=1
  sudo slowhand networks move phone --flow 7
  sudo slowhand networks move phone --from wlan0
  sudo slowhand networks remove 2")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List networks, rules and open flows.
    List(List),
    /// Add a rule after all others: new flows that match it use this link, or these, while they are there.
    Add(Add),
    /// Share new flows that match no rule among links, in proportion.
    Weight(Weight),
    /// Move open flows to another link.
    Move(Move),
    /// Remove a rule. Its open flows stay where they are.
    Remove(Remove),
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Print one JSON document (schema slowhand.networks/1).
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[group(id = "selectors", multiple = true, required = true, args = ["user", "to", "port", "mark", "cgroup"])]
struct Add {
    /// The link, by its name or that of its interface; `active`: where new connections begin; `spread`: all
    /// links, each server on one of them; or shares of links, such as wlan0=9,phone=1.
    network: String,

    /// Flows of the user with this number.
    #[arg(long, value_name = "UID")]
    user: Option<u32>,

    /// Flows to an IPv4 network, such as 192.0.2.0/24.
    #[arg(long, value_name = "NETWORK", value_parser = ipv4)]
    to: Option<Prefix>,

    /// Flows to a port.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Flows of sockets with this mark (SO_MARK). Other marked sockets are left alone.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    mark: Option<u32>,

    /// Flows of the programs in a cgroup, such as system.slice/openvpn.service.
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,

    /// The flows wait while the link cannot carry them. Without this they begin where new connections do. For
    /// one link only.
    #[arg(long)]
    hold: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Weight {
    /// The share of each link, such as wlan0=9. Other links get no new flows while one of these is there.
    #[arg(value_name = "LINK=N", required_unless_present = "none", value_parser = share)]
    shares: Vec<(String, u16)>,

    /// Remove all shares: new flows begin where new connections do.
    #[arg(long, conflicts_with = "shares")]
    none: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[group(id = "which", multiple = false, required = true, args = ["flow", "from"])]
struct Move {
    /// The link to move to, by its name or that of its interface.
    to: String,

    /// The flow with this number of `slowhand networks list`.
    #[arg(long, value_name = "N")]
    flow: Option<u64>,

    /// All flows of this link.
    #[arg(long, value_name = "LINK")]
    from: Option<String>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Remove {
    /// The number of the rule, as `slowhand networks list` shows it.
    rule: u8,

    #[command(flatten)]
    common: Common,
}

fn ipv4(text: &str) -> Result<Prefix, String> {
    let prefix: Prefix = text.parse().map_err(|error| format!("{error}"))?;
    match prefix.addr().is_ipv6() {
        true => Err("only flows over IPv4 have networks; give an IPv4 network".to_owned()),
        false => Ok(prefix),
    }
}

fn share(text: &str) -> Result<(String, u16), String> {
    let wrong = || "give a link and a whole number from 0 to 100, such as wlan0=9".to_owned();
    let split = text.rsplit_once('=').filter(|(link, _)| !link.is_empty());
    let (link, share) = split.ok_or_else(wrong)?;
    let share = share
        .parse()
        .ok()
        .filter(|share| *share <= 100)
        .ok_or_else(wrong)?;
    Ok((link.to_owned(), share))
}

/// Makes the change, if it is one, and prints what is then in force.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (change, common) = match &args.verb {
        Verb::List(args) => (None, &args.common),
        Verb::Add(args) => {
            let change = NetworksChange::Add {
                user: args.user,
                to: args.to.map(|to| to.to_string()),
                port: args.port,
                mark: args.mark,
                cgroup: args.cgroup.clone(),
                network: args.network.clone(),
                holds: args.hold,
            };
            (Some(change), &args.common)
        }
        Verb::Weight(args) => {
            let shares = args.shares.iter().cloned();
            let weights = BTreeMap::from_iter(shares.clone());
            if weights.len() < args.shares.len() {
                return Err(Refused::because("a link has two shares; give each link once"));
            }
            (Some(NetworksChange::Weight { weights }), &args.common)
        }
        Verb::Move(args) => {
            let change = NetworksChange::Move {
                flow: args.flow,
                from: args.from.clone(),
                to: args.to.clone(),
            };
            (Some(change), &args.common)
        }
        Verb::Remove(args) => (Some(NetworksChange::Remove { rule: args.rule }), &args.common),
    };
    if let Some(change) = change {
        let question = Question::Networks { change };
        let _: host::control::Done = ask(&common.place, question).map_err(Refused::because)?;
    }
    let status: Status = ask(&common.place, Question::Status)?;
    let list = NetworksList::of(&status).ok_or_else(|| {
        Refused::because(
            "the daemon runs without [networks]; add that table to its configuration and run `slowhand reload`",
        )
    })?;
    if common.json {
        print_document(&list)?;
    } else {
        print_text(&text(&shown(&list)?, terminal::columns()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(list: &NetworksList, width: usize) -> String {
    let mut table = Table::new(&["NETWORK", "INTERFACE", "RESOLVER", "SHARE", "FLOWS", "NEW FLOWS"]);
    for network in &list.networks {
        let share = network
            .weight
            .map_or_else(|| "-".to_owned(), |weight| weight.to_string());
        let resolver = network
            .resolver
            .map_or_else(|| "-".to_owned(), |resolver| resolver.to_string());
        let new = if network.begins { "begin here" } else { "" };
        table.row([
            &network.name,
            network.interface.as_deref().unwrap_or("-"),
            &resolver,
            &share,
            &network.flows.to_string(),
            new,
        ]);
    }
    table.fitted(width) + "\n" + &super::status::flows(&list.flows, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_networks_are_read_strictly() {
        assert_eq!(share("wlan0=9"), Ok(("wlan0".to_owned(), 9)));
        for wrong in ["wlan0", "wlan0=", "wlan0=101", "wlan0=-1", "=x"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert!(ipv4("192.0.2.0/24").is_ok());
        assert!(ipv4("2001:db8::/32").unwrap_err().contains("IPv4"));
        assert!(ipv4("phone").is_err());
    }
}
