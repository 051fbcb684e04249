//! `slowhand play FILE`: what happens in a scenario, policy by policy.

mod files;
mod paint;
mod report;
mod screen;
mod selection;
mod world;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use lab::shell::Programs;
use scenario::{Plan, Setting};
use trace::PolicyName;

use crate::exit::{self, Refused};
use files::Files;
use world::Order;

/// Play a scenario on this machine's own kernel, in network namespaces connected by models of links.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs root, MPTCP and /dev/net/tun. Everything it makes lies in network namespaces of its own and is gone at the end.

Examples:
  sudo slowhand play scenarios/building-walk.toml --compare --html walk.html
  sudo slowhand play scenarios/two-homes.toml --policy mptcp --policy slowhand --set cables.own.rtt_ms=80
  sudo slowhand play scenarios/two-homes.toml --cc lia --set server=slowhand
  sudo slowhand play scenarios/two-homes.toml --serve 'mptcpize run iperf3 -s -1' --shell 'mptcpize run iperf3 -c $SLOWHAND_SERVER -t 5'")]
pub struct Args {
    /// Scenario file (TOML).
    file: PathBuf,

    /// Where to run it: `lab` is this machine's kernel over modelled links.
    #[arg(long, value_enum, default_value_t = World::Lab)]
    world: World,

    /// Who decides which links to use; may be given several times. Without it: slowhand.
    #[arg(long = "policy", value_name = "P", conflicts_with = "compare")]
    policies: Vec<PolicyName>,

    /// Run every policy that the scenario compares, or all.
    #[arg(long)]
    compare: bool,

    /// The sender's congestion controller, instead of the scenario's: one of the kernel's, or lia, olia, balia or cla. A server has these
    /// only if it runs slowhand (--set server=slowhand).
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Seed of everything random, instead of the scenario's. Printed by every run; the same seed draws the same faults.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Replace a value of the scenario, such as cells.lte.rate_mbps=6; may be given several times.
    #[arg(long = "set", value_name = "KEY=V")]
    settings: Vec<String>,

    /// Run this command in the client's namespace instead of the scenario's flows; $SLOWHAND_SERVER is the server's address there.
    /// The run ends with it.
    #[arg(long, value_name = "CMD")]
    shell: Option<String>,

    /// Run this command in the server's namespace meanwhile.
    /// May be given several times.
    #[arg(long, value_name = "CMD", requires = "shell")]
    serve: Vec<String>,

    #[command(flatten)]
    wanted: Wanted,
}

/// What a run should leave behind.
#[derive(Debug, Default, clap::Args)]
pub struct Wanted {
    /// Print one JSON document (schema slowhand.play/1) instead of the table.
    #[arg(long)]
    pub json: bool,

    /// Write everything that happened into this file (JSON Lines, schema slowhand.trace/1).
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Write a page with the picture into this file; it needs no network and no other file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the picture alone into this file (SVG).
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Where a scenario can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum World {
    /// Network namespaces, the real kernel, modelled links.
    Lab,
}

/// Plays, shows, judges.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let World::Lab = args.world;
    let plan = plan(&args)?;
    let policies = selection::policies(&plan, &args.policies, args.compare)?;
    conduct(
        &Order {
            plan: &plan,
            policies: &policies,
            programs: programs(&args),
        },
        &args.wanted,
    )
}

/// Plays a scenario under every policy that it compares.
pub fn compare(plan: &Plan, wanted: &Wanted) -> anyhow::Result<ExitCode> {
    let policies = selection::policies(plan, &[], true)?;
    conduct(
        &Order {
            plan,
            policies: &policies,
            programs: None,
        },
        wanted,
    )
}

fn conduct(order: &Order<'_>, wanted: &Wanted) -> anyhow::Result<ExitCode> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let files = Files::create(wanted)?;
    let played = world::play(order)?;
    let failures = report::failures(order.plan, &played);
    let shown = if wanted.json {
        // Whoever reads the document may be a program; whoever sees standard error is not.
        failures.iter().for_each(|line| eprintln!("{line}"));
        format!("{}\n", serde_json::to_string_pretty(&played.document)?)
    } else {
        report::text(order.plan, &played)
    };
    // The files first: whoever reads the output may have left.
    files.write(&played)?;
    exit::print(shown.as_bytes())?;
    Ok(if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Where standard output is a document, what the commands print goes to standard error.
fn programs(args: &Args) -> Option<Programs> {
    let command = |text: &String| {
        OsString::from(if args.wanted.json {
            format!("exec 1>&2\n{text}")
        } else {
            text.clone()
        })
    };
    let client = command(args.shell.as_ref()?);
    Some(Programs {
        client,
        servers: args.serve.iter().map(command).collect(),
    })
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let settings: Vec<Setting> = args
        .settings
        .iter()
        .map(|text| setting(text))
        .collect::<Result<_, _>>()?;
    let mut plan = scenario::load(&args.file, &settings).map_err(Refused::because)?;
    plan.seed = args.seed.unwrap_or(plan.seed);
    plan.cc = args.cc.clone().unwrap_or(plan.cc);
    Ok(plan)
}

/// One value for each key: several would be several scenarios.
fn setting(text: &str) -> anyhow::Result<Setting> {
    let mut values = Setting::alternatives(text).map_err(Refused::because)?;
    match (values.pop(), values.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Refused::because(format!(
            "--set {text}: several values are several runs; give one, and run again for the next"
        ))),
    }
}
