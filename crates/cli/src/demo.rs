//! `slowhand demo`: the building walk, every policy, with a page at the end. In the lab, `curl` then walks
//! through a relay. Where the lab cannot run, the walk is played in virtual time. With `--wifi`, a shorter
//! walk passes real access points in a virtual machine.
//!
//! # Checked by
//! `tests` below; `tests/virtual_compare.rs`: as a user without privileges.

mod last_row;
mod wifi;

use std::path::PathBuf;
use std::process::ExitCode;

use linux::bpf::cc::Coupled;
use scenario::{Plan, Server};

use crate::play::{self, Wanted, World};
use lab::prerequisites::{self, MissingError};
use runs::{interrupt, seed};
use show::exit::{self, Refused};
use show::tell;

/// Run a modelled walk past five access points and a cellular link, under each policy, and draw the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With root, MPTCP and /dev/net/tun, the walk is played in the lab, by this machine's own kernel. That takes three to five minutes. The lab
runs in network namespaces of its own and removes them at the end. Without them, modelled hosts play the walk in virtual time. Only the
page remains.

In the lab, the last row is an unmodified curl on the same walk, with an unmodified nginx on a server without MPTCP, through a relay.

With --wifi, a walk past three access points is played in a small virtual machine, once by Linux alone and once with slowhand. The access
points, wpa_supplicant and the 802.11 stack are real, and the air between them is modelled. It needs QEMU and the programs of a source
tree, but not root. The first time, it downloads 150 MB of Debian's packages. docs/wifi-box.md has more.

Examples:
  sudo slowhand demo
  slowhand demo --world sim
  sudo slowhand demo --html walk.html --svg walk.svg --seed 2
  sudo slowhand demo --cc olia
  slowhand demo --wifi")]
pub struct Args {
    /// Random seed, 0 to 9223372036854775807. The same seed gives the same walk.
    #[arg(long, value_name = "N", value_parser = seed::parser())]
    seed: Option<u64>,

    /// Where to play it: `lab` is this machine's kernel over modelled links, `sim` is virtual time [default:
    /// lab where it can run, otherwise sim].
    #[arg(long, value_enum)]
    world: Option<World>,

    /// Congestion controller of the server, which sends: one of the kernel's, or lia, olia, balia or cla.
    /// With one of these four the server runs slowhand, too; otherwise it is a stock server. All policies use
    /// the same controller. In virtual time: reno, cubic, lia, olia or balia.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Write the page into this file. The file appears when it is complete.
    #[arg(long, value_name = "FILE", default_value = "slowhand-demo.html")]
    html: PathBuf,

    /// Play a walk past real access points in a virtual machine.
    #[arg(long, conflicts_with_all = ["seed", "world", "cc"])]
    wifi: bool,

    /// Also write the picture alone into this file (SVG).
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Plays the walk, shows the table, writes the page.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.wifi {
        return wifi::run(&args.html, args.svg.as_deref());
    }
    let plan = plan(args.seed, args.cc)?;
    let world = chosen(args.world)?;
    let wanted = Wanted {
        html: Some(args.html),
        svg: args.svg,
        ..Wanted::default()
    };
    let code = play::compare(plan.clone(), world, wanted)?;
    if world == World::Lab {
        tell!("the walk again, with `curl` and a relay");
        exit::print(last_row::play(&plan)?.as_bytes())?;
    }
    Ok(code)
}

/// The world that the user asked for, otherwise the lab where it can run.
fn chosen(asked: Option<World>) -> anyhow::Result<World> {
    if let Some(world) = asked {
        return Ok(world);
    }
    // Before the first thing is made, which is the namespace of this check.
    interrupt::stop()?;
    Ok(match prerequisites::check() {
        Ok(()) => World::Lab,
        Err(missing) => {
            tell!("{}", said(&missing));
            World::Sim
        }
    })
}

fn said(missing: &MissingError) -> String {
    format!(
        "the lab cannot run here ({}): modelled hosts play the walk in virtual time instead of this machine's kernel",
        missing.first()
    )
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

    /// The first seconds of the walk: curl and nginx use an access point and LTE at once.
    #[test]
    fn curl_walks_through_a_relay_over_several_links() {
        let plan = Plan {
            duration: units::Duration::from_secs(8),
            ..walk().unwrap()
        };
        let row = last_row::play(&plan).unwrap();
        if row.contains("skipped") {
            return println!("skipped: {row}");
        }
        let rate = row.strip_prefix("curl through a relay: ").unwrap();
        let mbps: f64 = rate.split(' ').next().unwrap().parse().unwrap();
        assert!(mbps > 2.0 && row.contains("lte") && row.contains("ap"), "{row}");
    }

    #[test]
    fn without_options_the_plan_is_the_building_walk() {
        assert_eq!(sender(None), ("reno".to_owned(), Server::Stock));
        assert_eq!(plan(None, None).unwrap(), walk().unwrap());
        assert_eq!(plan(Some(7), None).unwrap().seed, 7);
    }
}
