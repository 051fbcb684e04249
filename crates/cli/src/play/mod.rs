//! `slowhand play FILE`: plays a scenario, policy by policy.

mod files;
mod paint;
mod recordings;
mod report;
mod results;
mod rows;
mod screen;
mod selection;
mod table;
mod virtual_world;
mod world;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::shell::Programs;
use scenario::{Plan, Setting};
use trace::PolicyName;

use files::Files;
use recordings::Recordings;
use runs::{interrupt, progress, seed};
use show::exit::{self, Refused};
use show::tell;
use world::Order;

/// Play a scenario on this machine's own kernel, in network namespaces connected by models of links, or in
/// virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The lab needs root, MPTCP and /dev/net/tun. Everything it makes lies in network namespaces of its own and is gone at the end.
Its access points exchange one frame at a time; a scenario's medium = \"exact\" makes it every frame and who hears whom, as always in virtual time.
Virtual time (--world sim) needs nothing. It has UDP so far, over access points, cells and cables; one seed gives one trace, byte for byte.
JSON Lines (--trace, --table) grow in place, row by row. All other files are written beside their place and renamed when they are complete;
interrupted by Ctrl-C, they are left as they were before. No file may be read and written, or written twice.

Examples:
  sudo slowhand play scenarios/building-walk.toml --compare --html walk.html
  sudo slowhand play scenarios/two-homes.toml --policy mptcp --policy slowhand --set cables.own.rtt_ms=80
  sudo slowhand play scenarios/two-homes.toml --cc lia --set server=slowhand
  slowhand play scenarios/shared-air.toml --world sim --seed 7 --capture air.pcapng
  slowhand play scenarios/shared-air.toml --world sim --seeds 0..100 --set aps.near.rate_mbps=24,54 --table air.parquet
  sudo slowhand play scenarios/two-homes.toml --serve 'mptcpize run iperf3 -s -1' --shell 'mptcpize run iperf3 -c $SLOWHAND_SERVER -t 5'")]
pub struct Args {
    /// Scenario file (TOML).
    pub file: PathBuf,

    /// Where to run it: `lab` is this machine's kernel over modelled links, `sim` is virtual time.
    #[arg(long, value_enum, default_value_t = World::Lab)]
    world: World,

    /// Who decides which links to use; may be given several times. Without it: slowhand. handover and
    /// handover-warm need access points in
    /// the scenario, whose beacons they count.
    #[arg(long = "policy", value_name = "P", conflicts_with = "compare")]
    policies: Vec<PolicyName>,

    /// Run every policy that the scenario compares, or all.
    #[arg(long)]
    compare: bool,

    /// The sender's congestion controller, instead of the scenario's: one of the kernel's, or lia, olia,
    /// balia or cla. A server has these
    /// only if it runs slowhand (--set server=slowhand), and cla goes by the signals of access points, which
    /// the scenario must have. Not for
    /// virtual time: no scenario has one there.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Seed of everything random, instead of the scenario's: 0 to 9223372036854775807. Printed by every run;
    /// the same seed draws the same
    /// faults.
    #[arg(long, value_name = "N", value_parser = seed::parser())]
    seed: Option<u64>,

    /// Run every seed from A to the one before B (virtual time only).
    #[arg(long, value_name = "A..B", value_parser = seed::range, conflicts_with = "seed")]
    seeds: Option<std::ops::Range<u64>>,

    /// Replace a value of the scenario, such as cells.lte.rate_mbps=6, or add one, such as air.attempts=4;
    /// may be given several times. In
    /// virtual time a key may have several values, separated by commas: every combination is run.
    #[arg(long = "set", value_name = "KEY=V,V…")]
    pub settings: Vec<String>,

    /// Write one row for each flow of each run into this file: Parquet if its name ends so, otherwise JSON
    /// Lines (virtual time only). A key
    /// with several values has a column `set.KEY`: whole numbers, numbers, true and false, or text where they
    /// are mixed. Interrupted, it has
    /// the rows of the runs that had ended.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Write what the client's radios hear into this file: pcapng with radiotap, as Wireshark opens it
    /// (virtual time, one run).
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Stop a run that has come to so many frames and datagrams together, and say so (virtual time only;
    /// default: a thousand million).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    most: Option<u64>,

    /// Run this command in the client's namespace instead of the scenario's flows; $SLOWHAND_SERVER is the
    /// server's address there.
    /// The run ends with it.
    #[arg(long, value_name = "CMD")]
    shell: Option<String>,

    /// Run this command in the server's namespace meanwhile. The client's begins once it listens, or has had
    /// some seconds for it.
    /// May be given several times.
    #[arg(long, value_name = "CMD", requires = "shell")]
    serve: Vec<String>,

    /// Record what the engine of every run is told and asks for, in a file for each run in this directory:
    /// `slowhand replay` compares it
    /// with what the engine of another version asks for.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    #[command(flatten)]
    wanted: Wanted,
}

/// What a run should leave behind.
#[derive(Debug, Default, clap::Args)]
pub struct Wanted {
    /// Print one JSON document (schema slowhand.play/1) instead of the table.
    #[arg(long)]
    pub json: bool,

    /// Write everything that happened into this file (JSON Lines, schema slowhand.trace/1), row by row: an
    /// interrupted run leaves what it
    /// had.
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
    /// Virtual time, modelled links, UDP.
    Sim,
}

/// Plays, shows, judges.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.wanted.json {
        progress::lines_only();
    }
    if args.world == World::Sim {
        return virtual_world::run(&args);
    }
    only_in_virtual_time(&args)?;
    let plan = plan(&args)?;
    let policies = selection::policies(&plan, &args.policies, args.compare)?;
    conduct(
        Order {
            plan: &plan,
            policies: &policies,
            programs: programs(&args),
            recordings: Recordings::open(args.record.as_deref())?,
        },
        Some(&args.file),
        &args.wanted,
    )
}

fn only_in_virtual_time(args: &Args) -> anyhow::Result<()> {
    let asked = [
        ("--seeds", args.seeds.is_some()),
        ("--table", args.table.is_some()),
        ("--capture", args.capture.is_some()),
        ("--most", args.most.is_some()),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        Some((option, _)) => Err(Refused::because(format!(
            "{option} is for virtual time: add --world sim, or leave it out"
        ))),
        None => Ok(()),
    }
}

/// Plays a scenario under every policy that it compares.
pub fn compare(plan: &Plan, wanted: &Wanted) -> anyhow::Result<ExitCode> {
    let policies = selection::policies(plan, &[], true)?;
    conduct(
        Order {
            plan,
            policies: &policies,
            programs: None,
            recordings: None,
        },
        None,
        wanted,
    )
}

fn conduct(order: Order<'_>, scenario: Option<&Path>, wanted: &Wanted) -> anyhow::Result<ExitCode> {
    let outputs: Vec<(&str, &Path)> = wanted.outputs().collect();
    files::check(&outputs, scenario, [order.plan])?;
    order.plan.doubts().for_each(|doubt| tell!("{doubt}"));
    // Before the first thing is made, which is the namespace of this check.
    interrupt::stop()?;
    lab::prerequisites::check().map_err(Refused::because)?;
    let files = Files::create(wanted)?;
    let plan = order.plan;
    let played = world::play(order, files::rows(wanted.trace.as_deref())?)?;
    let failures = report::failures(plan, &played);
    // The files first: whoever reads the output may have left.
    files.write(&played)?;
    if wanted.json {
        // Whoever reads the document may be a program; whoever sees standard error is not.
        failures.iter().for_each(|line| tell!("{line}"));
        exit::print_document(&played.document)?;
    } else {
        exit::print(report::text(plan, &played).as_bytes())?;
    }
    Ok(if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// If standard output is a document, the output of the commands goes to standard error.
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
            "--set {text}: several values are several runs; give one, and run again for the next, or use --world sim"
        ))),
    }
}
