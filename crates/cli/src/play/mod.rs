//! `slowhand play FILE`: plays a scenario, policy by policy.

mod both_worlds;
mod comparison;
mod files;
mod idle;
mod paint;
mod policy_names;
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

pub use policy_names::PolicyNames;

use files::Files;
use recordings::Recordings;
use runs::{interrupt, progress, seed};
use show::exit::{self, Refused};
use show::tell;
use world::Order;

/// Run a scenario on this machine's own kernel, in network namespaces connected by modelled links, or in
/// virtual time.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
The lab (--world lab) needs root, MPTCP and /dev/net/tun. It runs in network namespaces of its own and removes them at the end.
It models WiFi coarsely, one frame exchange at a time on each channel. With medium = \"exact\" in the scenario it models every frame and
who hears whom, as virtual time does by default. Virtual time (--world sim) needs no privileges. It carries TCP, MPTCP and UDP between
hosts of its own. The same seed gives the same trace, byte for byte.
Files of JSON Lines (--trace, --table) grow row by row. All other files are replaced when they are complete; Ctrl-C leaves them unchanged.
No two options may write the same file, and none may overwrite an input.

Examples:
  sudo slowhand play scenarios/building-walk.toml --compare --html walk.html
  sudo slowhand play scenarios/two-homes.toml --policy mptcp --policy slowhand --set cables.own.rtt_ms=80
  sudo slowhand play scenarios/two-homes.toml --cc lia --set server=slowhand
  slowhand play scenarios/shared-air.toml --world sim --seed 7 --capture air.pcapng
  slowhand play scenarios/shared-air.toml --world sim --seeds 0..100 --set aps.near.rate_mbps=24,54 --table air.parquet --html air.html
  sudo slowhand play scenarios/shared-air.toml --world both --html both.html
  sudo slowhand play scenarios/two-homes.toml --serve 'mptcpize run iperf3 -s -1' --shell 'mptcpize run iperf3 -c $SLOWHAND_SERVER -t 5'")]
pub struct Args {
    /// Scenario file (TOML).
    pub file: PathBuf,

    /// Where to run: `lab` is this machine's kernel over modelled links, `sim` is virtual time. `both` plays
    /// one after the other, and the page has the curves of both beside each other.
    #[arg(long, value_enum, default_value_t = World::Lab)]
    world: World,

    /// Policy that decides which links to use; may be given several times [default: slowhand]. Also
    /// tcp:LINK: plain TCP over that link only; and ecn:exact(A,k=K) and ecn:base-rtt(A,k=K) with half the
    /// buffer A in packets (100 if not given) and the constant K of the throughput model (1, 3/2 or 2; 1 if
    /// not given). handover and handover-warm count beacons, so the scenario must have access points.
    /// omniscient, energy:omniscient and energy:damped must know what the links will carry, which only
    /// virtual time does. A run in which ecn, one-at-a-time, energy or omniscient has nothing to choose from
    /// fails.
    #[arg(long = "policy", value_name = "P", conflicts_with = "compare", value_parser = policy_names::PolicyNames)]
    policies: Vec<PolicyName>,

    /// Run every policy that the scenario lists in `report`. If it lists none, run tcp:LINK for each link,
    /// tcp-best, mptcp, slowhand-no-window and slowhand. The handover policies, wifi-first and ecn are run if
    /// they have something to choose from.
    #[arg(long)]
    compare: bool,

    /// Congestion controller of the sender, instead of the scenario's: one of the kernel's, or lia, olia,
    /// balia or cla. A server has these four only if it runs slowhand (--set server=slowhand). cla uses the
    /// signals of access points, so the scenario must have some. In virtual time: reno, cubic, lia, olia or
    /// balia.
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Random seed, instead of the scenario's: 0 to 9223372036854775807. Every run prints its seed; the same
    /// seed gives the same faults.
    #[arg(long, value_name = "N", value_parser = seed::parser())]
    seed: Option<u64>,

    /// Run the seeds A to B - 1 (virtual time only).
    #[arg(long, value_name = "A..B", value_parser = seed::range, conflicts_with = "seed")]
    seeds: Option<std::ops::Range<u64>>,

    /// Replace a value of the scenario, such as cells.lte.rate_mbps=6, or add one, such as air.attempts=4;
    /// may be given several times. In virtual time, a key may have several values, separated by commas. Every
    /// combination is run.
    #[arg(long = "set", value_name = "KEY=V,V…")]
    pub settings: Vec<String>,

    /// Run at most N runs side by side (virtual time only) [default: one for each core]. The results do not
    /// depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Write one row for each flow of each run into this file: Parquet if its name ends in .parquet,
    /// otherwise JSON Lines (virtual time only). A key with several values has a column `set.KEY`, of text if
    /// the types of its values differ. If interrupted, the file has the rows of all finished runs. tcp-best
    /// is computed, so it has no row; --json has it.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Write the frames that the client's radios hear into this file: pcapng with radiotap, for Wireshark
    /// (virtual time, one run).
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Stop a run with an error once its frames and datagrams exceed this number (virtual time only)
    /// [default: 1000000000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    most: Option<u64>,

    /// Run this command in the client's namespace instead of the scenario's flows. $SLOWHAND_SERVER holds the
    /// server's address. The run ends when the command ends.
    #[arg(long, value_name = "CMD")]
    shell: Option<String>,

    /// Run this command in the server's namespace during the run; may be given several times. The client's
    /// command starts when this one listens, or after some seconds.
    #[arg(long, value_name = "CMD", requires = "shell")]
    serve: Vec<String>,

    /// Record the inputs and actions of the engine into this directory, one file for each run. `slowhand
    /// replay` compares them with the actions of another version.
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

    /// Write every event into this file as it happens (JSON Lines, schema slowhand.trace/1). An interrupted
    /// run leaves the rows so far.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Write a self-contained HTML page with the picture into this file. Runs of several seeds or values are
    /// drawn as distributions over the seeds, or as curves over each key of --set.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the picture alone into this file (SVG).
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Where a scenario can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum World {
    /// The real kernel in network namespaces, over modelled links.
    #[default]
    Lab,
    /// Virtual time: modelled hosts over modelled links.
    Sim,
    /// Virtual time, then the lab.
    Both,
}

/// Plays the scenario, shows the results, and judges the expectations.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.wanted.json {
        progress::lines_only();
    }
    match args.world {
        World::Sim => return virtual_world::run(&args),
        World::Both => return both_worlds::run(&args),
        World::Lab => only_in_virtual_time(&args)?,
    }
    let plan = plan(&args)?;
    let policies = selection::policies(&plan, &args.policies, args.compare)?;
    selection::foreseeable(&policies)?;
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
            "{option} needs virtual time; add --world sim, or remove {option}"
        ))),
        None if args.jobs.is_some() => Err(Refused::because(
            "--jobs: the lab chooses by its load how many runs are side by side, because late packets would distort them; remove --jobs, or use --world sim",
        )),
        None => Ok(()),
    }
}

/// Plays a scenario that is part of the program, under every policy that it compares.
pub fn compare(plan: Plan, world: World, wanted: Wanted) -> anyhow::Result<ExitCode> {
    if world == World::Sim {
        return virtual_world::compare(plan, wanted);
    }
    let policies = selection::policies(&plan, &[], true)?;
    selection::foreseeable(&policies)?;
    conduct(
        Order {
            plan: &plan,
            policies: &policies,
            programs: None,
            recordings: None,
        },
        None,
        &wanted,
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
    let plan = scenario::load(&args.file, &settings).map_err(Refused::because)?;
    let seed = args.seed.unwrap_or(plan.seed);
    let mut plan = plan.with_seed(seed);
    plan.cc = args.cc.clone().unwrap_or(plan.cc);
    Ok(plan)
}

/// One value for each key: several would be several scenarios.
fn setting(text: &str) -> anyhow::Result<Setting> {
    let mut values = Setting::alternatives(text).map_err(Refused::because)?;
    match (values.pop(), values.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Refused::because(format!(
            "--set {text}: the lab takes one value for each key; give one value, or use --world sim"
        ))),
    }
}
