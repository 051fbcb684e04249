//! `slowhand demo`: the building walk, every policy, with a page at the end.

use std::path::PathBuf;
use std::process::ExitCode;

use linux::bpf::cc::Coupled;
use scenario::{Plan, Server};

use crate::exit::Refused;
use crate::play::{self, Wanted};

/// Walk past five access points and a cellular link on this machine's own kernel, policy by policy, and draw what came of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs root, MPTCP and /dev/net/tun, and takes two to four minutes. Everything it makes lies in network namespaces of its own and is gone at
the end; only the page stays.

Examples:
  sudo slowhand demo
  sudo slowhand demo --html walk.html --svg walk.svg --seed 2
  sudo slowhand demo --cc olia")]
pub struct Args {
    /// Seed of everything random. The same seed draws the same walk.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The congestion controller of the sender, the server: one of the kernel's, or lia, olia, balia or cla. For one of these the server
    /// runs slowhand too; otherwise it is a stock one. Every policy runs the same.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Where to write the page.
    #[arg(long, value_name = "FILE", default_value = "slowhand-demo.html")]
    html: PathBuf,

    /// Write the picture alone into this file, too (SVG).
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Plays the walk, shows the table, writes the page.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut plan = walk()?;
    plan.seed = args.seed.unwrap_or(plan.seed);
    if let Some(cc) = args.cc {
        plan.server = if Coupled::from_id(&cc).is_some() {
            Server::Slowhand
        } else {
            plan.server
        };
        plan.cc = cc;
    }
    let wanted = Wanted {
        html: Some(args.html),
        svg: args.svg,
        ..Wanted::default()
    };
    play::compare(&plan, &wanted)
}

/// The walk, part of the program, so that it needs no file.
fn walk() -> anyhow::Result<Plan> {
    let text = include_str!("../../../scenarios/building-walk.toml");
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    scenario::parse("building-walk.toml", text.as_bytes(), &[], &files).map_err(Refused::because)
}
