//! `slowhand demo`: the building walk, every policy, with a page at the end.

use std::path::PathBuf;
use std::process::ExitCode;

use linux::bpf::cc::Coupled;
use scenario::{Plan, Server};

use crate::play::{self, Wanted};
use runs::seed;
use show::exit::Refused;

/// Walk past five access points and a cellular link on this machine's own kernel, policy by policy, and draw
/// what came of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs root, MPTCP and /dev/net/tun, and takes two to four minutes. Everything it makes lies in network namespaces of its own and is gone at
the end; only the page stays.

Examples:
  sudo slowhand demo
  sudo slowhand demo --html walk.html --svg walk.svg --seed 2
  sudo slowhand demo --cc olia")]
pub struct Args {
    /// Seed of everything random, 0 to 9223372036854775807. The same seed draws the same walk.
    #[arg(long, value_name = "N", value_parser = seed::parser())]
    seed: Option<u64>,

    /// The congestion controller of the sender, the server: one of the kernel's, or lia, olia, balia or cla.
    /// For one of these the server
    /// runs slowhand too; otherwise it is a stock one. Every policy runs the same.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Where to write the page. It is there once it is complete.
    #[arg(long, value_name = "FILE", default_value = "slowhand-demo.html")]
    html: PathBuf,

    /// Write the picture alone into this file, too (SVG).
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Plays the walk, shows the table, writes the page.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let plan = plan(args.seed, args.cc)?;
    let wanted = Wanted {
        html: Some(args.html),
        svg: args.svg,
        ..Wanted::default()
    };
    play::compare(&plan, &wanted)
}

/// The walk with this seed, sent with this controller. A stock server has none of ours.
fn plan(seed: Option<u64>, cc: Option<String>) -> anyhow::Result<Plan> {
    let walk = walk()?;
    let cc = cc.unwrap_or_else(|| walk.cc.clone());
    let server = match Coupled::from_id(&cc) {
        Some(_) => Server::Slowhand,
        None => walk.server,
    };
    Ok(Plan {
        seed: seed.unwrap_or(walk.seed),
        server,
        cc,
        ..walk
    })
}

/// The walk, part of the program, so that it needs no file.
fn walk() -> anyhow::Result<Plan> {
    let text = include_str!("../../../scenarios/building-walk.toml");
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    scenario::parse("building-walk.toml", text.as_bytes(), &[], &files).map_err(Refused::because)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(cc: Option<&str>) -> (String, Server) {
        let plan = plan(None, cc.map(str::to_owned)).unwrap();
        (plan.cc, plan.server)
    }

    #[test]
    fn the_server_runs_slowhand_where_the_controller_is_one_of_ours() {
        for ours in Coupled::ALL.map(Coupled::id) {
            assert_eq!(sender(Some(ours)), (ours.to_owned(), Server::Slowhand));
        }
        assert_eq!(sender(Some("cubic")), ("cubic".to_owned(), Server::Stock));
    }

    #[test]
    fn unless_asked_otherwise_it_is_the_walk_as_it_is() {
        assert_eq!(sender(None), ("reno".to_owned(), Server::Stock));
        assert_eq!(plan(None, None).unwrap(), walk().unwrap());
        assert_eq!(plan(Some(7), None).unwrap().seed, 7);
    }
}
