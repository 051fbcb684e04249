//! `slowhand bench`: the figures that the README quotes, each measured as its definition says, with the spread of its trials.

mod air;
mod beside;
mod both_worlds;
mod cla_steps;
mod coupled;
mod dead_idle;
mod emulator;
mod engine;
mod estimator;
mod fade;
mod gap;
mod lab_tcp;
mod links;
mod plans;
mod removals;
mod resume;
mod stall;
mod table;
mod trial;
mod up_down;
mod walk;
mod window;

use std::process::ExitCode;

use trace::{BenchDocument, BenchRow, PolicyName};

use runs::seed;
use show::exit::{self, Refused};
use show::terminal;

/// Measure speed, stalls and mistakes on this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Benchmarks:
  stall-drop      a link silently drops: the longest gap (60 trials)
  stall-backup    the only good link silently drops, a backup remains: the longest gap (20)
  resume          all links gone for 5 s, one comes back with a new address: until new bytes (20)
  fade            a link's signal sinks: the longest gap (20)
  dead-idle       a router's uplink dies while nothing is open: from a program's first attempt to its first connection, one attempt every half
                  a second (20; a resolver is known in every second one); healthy-idle: packets a minute while nothing is wrong (10 minutes)
  wrong-removals  links given up although they delivered, in two runs of 10 minutes
  up-down         up, ready and down with load, and kill -9 at random moments with a recovery by the next up or down: rounds that left
                  anything behind, or in which down did not end with 0 and its words (1000 and 200)
  walk            the building walk against tcp-best (3 seeds)
  emulator        4 links of 250 Mb/s: goodput; emulator-late: lateness; emulator-cpu: cores
  lab-udp         datagrams over two access points of the exact medium: the lab's goodput beside virtual time's (3)
  lab-tcp         one MPTCP download of a minute over the same access points under mptcp, ecn and slowhand: goodput over that of datagrams,
                  and the congestion marks that were asked for and made (3)
  lab-late        lateness with more than 100 Mb/s on the exact medium and every frame shown to a listener (5)
  window-equal, window-bdp, window-long, window-deep, window-thin, window-upload, window-lossy
                  goodput against the stock kernel's, and the longest gap after a silent cut (20 with reno, 20 with bbr)
  window-never-worse, window-mixes
                  the same where nothing is cut, and with links drawn at random (an hour, and half of one; what is done is told as it comes)
  window-false    links given up, doubted or changed in ten minutes in which all deliver (13 runs)
  window-request  small requests beside a download, against the stock kernel's (5 with reno, 5 with bbr)
  window-step     a link that halves and doubles: until goodput is what it can be (5 with reno, 5 with bbr)
  window-cost     what the daemon and its programs take of a processor, with each lever (3 with reno, 3 with bbr)
  window-levers   goodput and the longest gap after a silent cut, with each way to bound windows (10 with reno, 10 with bbr)
  cc-share-2, cc-share-4
                  TCPs' share of a bottleneck that 2 or 4 subflows take beside one TCP (10, and 10 of uncoupled reno)
  cc-disjoint     two paths without competition: goodput over uncoupled reno's (5 each)
  cc-shift        share that stays on a path with four TCPs, and with managed queues (3 each)
  cc-respond      time to use a path's new capacity (3 each)
  cc-cost, cc-cost-8
                  time of a controller for each acknowledgement, with 2 and 8 subflows (3)
  cc-handoff      two hand-offs with LTE beside them, down and up: goodput and retransmissions over uncoupled reno's (10 each);
                  cc-handoff-thin: the same with an LTE of 6 Mb/s, less than the WiFi carried;
                  cc-handoff-rates: with LTE from 4 to 15 Mb/s, up to which of them there is a gain (2 each)
  cla-steps       hand-offs under a connection that stays, in virtual time: goodput, segments sent again and the longest silence with each
                  step of CLA's hand-off stage; the whole stage against CLA in the kernel (5 seeds; the README of bpf/cc has 0 to 4);
                  cla-steps-unforeseen: nobody tells the sender before; cla-steps-duplicates: senders without RACK
  links           packets through the models of links, without a kernel (5)
  estimator       frames through the delivery estimator, on one core (5)
  dcf-1, dcf-10, dcf-50
                  saturated 802.11a stations in virtual time: packets delivered per second of wall time, beside ns-3 (5)
  growth          what an attempt costs in a network of 1,000 access points against one of 10, channel by channel on all cores (5)
  memory-station  heap for one more saturated station (1)
  sweep-2         64 runs in virtual time on two cores against one (5)
  engine          one frame that was heard, through the engine; engine-64: the same with 64 links, against 4 (5)

Examples:
  slowhand bench links
  sudo slowhand bench stall-drop --trials 10 --policy mptcp")]
pub struct Args {
    /// Which ones; all of them if none is named.
    names: Vec<String>,

    /// Run this many trials of each instead of the number in its definition. Figures of such a run say so.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    trials: Option<u32>,

    /// Measure this policy beside ours, in turn with it: `mptcp` is the stock kernel. For stall-drop, stall-backup, resume and fade.
    #[arg(long, value_name = "P")]
    policy: Option<PolicyName>,

    /// Measure with this congestion controller only, not with those of the definition: reno and bbr for window-…; lia or all of ours for
    /// cc-….
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Seed of the first trial; the next ones count on from it, some from a thousand times it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed::parser_of_first(1_000_000))]
    seed: u64,

    /// Print one JSON document (schema slowhand.bench/1).
    #[arg(long)]
    json: bool,
}

/// What the user asked of every benchmark.
#[derive(Debug)]
pub struct Setup {
    trials: Option<u32>,
    /// Whom to measure beside ours.
    pub beside: Option<PolicyName>,
    /// The only congestion controller.
    pub cc: Option<String>,
    /// The first trial's seed.
    pub seed: u64,
}

impl Setup {
    /// How many trials, where the definition says `defined`.
    pub fn trials(&self, defined: u32) -> u32 {
        self.trials.unwrap_or(defined)
    }

    /// The congestion controllers, where the definition says reno and bbr.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        let defined = ["reno", "bbr"].into_iter();
        defined.filter(|_| self.cc.is_none()).chain(self.cc.as_deref())
    }
}

/// Measures, and gives one row for each name of the family.
type Measure = fn(&Setup) -> anyhow::Result<Vec<BenchRow>>;

/// Benchmarks that are measured in one go, and how.
struct Family {
    names: &'static [&'static str],
    measure: Measure,
}

const FAMILIES: &[Family] = &[
    Family {
        names: &["stall-drop"],
        measure: stall::drop,
    },
    Family {
        names: &["stall-backup"],
        measure: stall::backup,
    },
    Family {
        names: &["resume"],
        measure: resume::run,
    },
    Family {
        names: &["fade"],
        measure: fade::run,
    },
    Family {
        names: &["dead-idle"],
        measure: dead_idle::dead,
    },
    Family {
        names: &["healthy-idle"],
        measure: dead_idle::healthy,
    },
    Family {
        names: &["wrong-removals"],
        measure: removals::run,
    },
    Family {
        names: &["up-down"],
        measure: up_down::run,
    },
    Family {
        names: &["walk"],
        measure: walk::run,
    },
    Family {
        names: &["emulator", "emulator-late", "emulator-cpu"],
        measure: emulator::run,
    },
    Family {
        names: &["lab-udp"],
        measure: both_worlds::udp,
    },
    Family {
        names: &["lab-tcp"],
        measure: lab_tcp::run,
    },
    Family {
        names: &["lab-late"],
        measure: both_worlds::late,
    },
    Family {
        names: &["window-equal"],
        measure: window::equal,
    },
    Family {
        names: &["window-bdp"],
        measure: window::bdp,
    },
    Family {
        names: &["window-long"],
        measure: window::long,
    },
    Family {
        names: &["window-deep"],
        measure: window::deep,
    },
    Family {
        names: &["window-thin"],
        measure: window::thin,
    },
    Family {
        names: &["window-upload"],
        measure: window::upload,
    },
    Family {
        names: &["window-lossy"],
        measure: window::lossy,
    },
    Family {
        names: &["window-never-worse"],
        measure: window::worse,
    },
    Family {
        names: &["window-false"],
        measure: window::mistakes,
    },
    Family {
        names: &["window-request"],
        measure: window::request,
    },
    Family {
        names: &["window-step"],
        measure: window::step,
    },
    Family {
        names: &["window-cost"],
        measure: window::cost,
    },
    Family {
        names: &["window-levers"],
        measure: window::levers,
    },
    Family {
        names: &["window-mixes"],
        measure: window::mixes,
    },
    Family {
        names: &["cc-share-2"],
        measure: coupled::share_two,
    },
    Family {
        names: &["cc-share-4"],
        measure: coupled::share_four,
    },
    Family {
        names: &["cc-disjoint"],
        measure: coupled::disjoint,
    },
    Family {
        names: &["cc-shift"],
        measure: coupled::shift,
    },
    Family {
        names: &["cc-respond"],
        measure: coupled::respond,
    },
    Family {
        names: &["cc-cost"],
        measure: coupled::cost_two,
    },
    Family {
        names: &["cc-cost-8"],
        measure: coupled::cost_eight,
    },
    Family {
        names: &["cc-handoff"],
        measure: coupled::handoff,
    },
    Family {
        names: &["cc-handoff-thin"],
        measure: coupled::handoff_thin,
    },
    Family {
        names: &["cc-handoff-rates"],
        measure: coupled::handoff_rates,
    },
    Family {
        names: &["cla-steps"],
        measure: cla_steps::foreseen,
    },
    Family {
        names: &["cla-steps-unforeseen"],
        measure: cla_steps::unforeseen,
    },
    Family {
        names: &["cla-steps-duplicates"],
        measure: cla_steps::duplicates,
    },
    Family {
        names: &["links"],
        measure: links::run,
    },
    Family {
        names: &["estimator"],
        measure: estimator::run,
    },
    Family {
        names: &["engine", "engine-64"],
        measure: engine::run,
    },
    Family {
        names: &["dcf-1"],
        measure: air::cell_of_1,
    },
    Family {
        names: &["dcf-10"],
        measure: air::cell_of_10,
    },
    Family {
        names: &["dcf-50"],
        measure: air::cell_of_50,
    },
    Family {
        names: &["growth"],
        measure: air::growth,
    },
    Family {
        names: &["memory-station"],
        measure: air::memory,
    },
    Family {
        names: &["sweep-2"],
        measure: air::sweep,
    },
];

/// Runs what was asked for.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    args.refuse_unknown()?;
    args.refuse_idle_controller()?;
    let setup = Setup {
        trials: args.trials,
        beside: args.policy,
        cc: args.cc,
        seed: args.seed,
    };
    let mut document = BenchDocument::default();
    let mut failed = None;
    for family in FAMILIES {
        let wanted = |name: &str| args.names.is_empty() || args.names.iter().any(|asked| asked == name);
        if !family.names.iter().any(|name| wanted(name)) {
            continue;
        }
        // What was measured before is told all the same.
        let rows = match (family.measure)(&setup) {
            Ok(rows) => rows.into_iter().filter(|row| wanted(&row.name)),
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        let rows: Vec<BenchRow> = rows.map(|row| shortened(row, &setup)).collect();
        if !args.json {
            exit::print(terminal::fitted(&table::text(&rows)).as_bytes())?;
        }
        document.benches.extend(rows);
    }
    let is_worth_telling = failed.is_none() || !document.benches.is_empty();
    if args.json && is_worth_telling {
        exit::print_document(&document)?;
    }
    let whole = |row: &BenchRow| !row.extra.contains_key(trial::FAILED);
    match failed {
        Some(error) => Err(error),
        None if document.benches.iter().all(whole) => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::FAILURE),
    }
}

impl Args {
    /// Refuses a name that no benchmark has, with those that there are.
    pub fn refuse_unknown(&self) -> anyhow::Result<()> {
        let known: Vec<&str> = names().collect();
        match self.names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(Refused::because(format!(
                "unknown benchmark `{name}`; valid: {}",
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a controller for a benchmark that is defined with another.
    pub fn refuse_idle_controller(&self) -> anyhow::Result<()> {
        let defined = |name: &&String| !CHOOSING.iter().any(|family| name.starts_with(family));
        match (&self.cc, self.names.iter().find(defined)) {
            (Some(cc), Some(name)) => Err(Refused::because(format!(
                "--cc {cc} changes nothing in {name}: leave it out, or name only benchmarks of {}… and {}…",
                CHOOSING[0], CHOOSING[1]
            ))),
            _ => Ok(()),
        }
    }
}

/// How the names of benchmarks begin that measure with the controller that the user wants.
const CHOOSING: [&str; 2] = ["window-", "cc-"];

/// Every benchmark there is.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.names).copied()
}

/// A run with fewer trials than its definition asks for must not be quoted as if it had them.
fn shortened(row: BenchRow, setup: &Setup) -> BenchRow {
    match setup.trials {
        Some(trials) => row.with(
            "note",
            format!("--trials {trials}, not the number of the definition"),
        ),
        None => row,
    }
}
