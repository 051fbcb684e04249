//! `slowhand demo`: the building walk, every policy, with a page at the end.

use std::path::PathBuf;
use std::process::ExitCode;

use linux::bpf::cc::Coupled;
use scenario::{Plan, Server};

use crate::play::{self, Wanted};
use runs::seed;
use show::exit::Refused;

/// Run a modelled walk past five access points and a cellular link on this machine's own kernel, under each
/// policy, and draw the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs root, MPTCP and /dev/net/tun, and takes two to four minutes. It runs in network namespaces of its own and removes them at the end;
only the page remains.

Examples:
  sudo slowhand demo
  sudo slowhand demo --html walk.html --svg walk.svg --seed 2
  sudo slowhand demo --cc olia")]
pub struct Args {
    /// Random seed, 0 to 9223372036854775807. The same seed gives the same walk.
    #[arg(long, value_name = "N", value_parser = seed::parser())]
    seed: Option<u64>,

    /// Congestion controller of the server, which sends: one of the kernel's, or lia, olia, balia or cla.
    /// With one of these four the server runs slowhand, too; otherwise it is a stock server. All policies use
    /// the same controller.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Write the page into this file. The file appears when it is complete.
    #[arg(long, value_name = "FILE", default_value = "slowhand-demo.html")]
    html: PathBuf,

    /// Also write the picture alone into this file (SVG).
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
    fn the_server_runs_slowhand_if_it_uses_one_of_our_controllers() {
        for ours in Coupled::ALL.map(Coupled::id) {
            assert_eq!(sender(Some(ours)), (ours.to_owned(), Server::Slowhand));
        }
        assert_eq!(sender(Some("cubic")), ("cubic".to_owned(), Server::Stock));
    }

    #[test]
    fn without_options_the_plan_is_the_building_walk() {
        assert_eq!(sender(None), ("reno".to_owned(), Server::Stock));
        assert_eq!(plan(None, None).unwrap(), walk().unwrap());
        assert_eq!(plan(Some(7), None).unwrap().seed, 7);
    }
}
