//! `cc-cost`, `cc-cost-8`: time that a controller takes per acknowledgement, as the kernel counts it.

use linux::bpf::cc::Empty;
use linux::bpf::{CountRunTime, RunTime};
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use trace::BenchRow;

use super::{chosen, sent_as_asked, went_over_all};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{self, Doubts};

/// Fewest runs of the program at which a measurement counts. There are usually some ten thousand.
const LEAST_RUNS: u64 = 1_000;
/// The loopback is the first link of every namespace.
const LOOPBACK: u32 = 1;
/// Bytes sent through the empty controller: some ten thousand acknowledgements.
const EMPTY_BYTES: usize = 200 << 20;

/// Measures with two subflows.
pub fn two(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(setup, 2, include_str!("../scenarios/cc-cost-2.toml"))
}

/// Measures with eight subflows.
pub fn eight(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(setup, 8, include_str!("../scenarios/cc-cost-8.toml"))
}

/// Runs the trials one after another: nothing else may use the processors.
fn run(setup: &Setup, subflows: usize, text: &str) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded(&format!("cc-cost-{subflows}"), text)?;
    let cc = chosen(setup);
    let (mut costs, mut runs, mut doubts) = (Vec::new(), 0, Doubts::default());
    for index in 0..u64::from(setup.trials()) {
        let observed = trial::counted(super::trial(&plan, cc, setup.seed + index))?;
        sent_as_asked(&observed)?;
        went_over_all(&observed.run)?;
        doubts.add(Doubts::of([&observed]));
        let per_ack = observed.per_ack.ok_or_else(|| {
            anyhow::anyhow!("`{cc}` is none of our controllers: choose lia, olia, balia or cla")
        })?;
        costs.push(nanos_a_run(per_ack)?);
        runs += per_ack.runs;
    }
    let row = setup
        .only_row()
        .trials(&costs)
        .with("cc", cc)
        .with("subflows", subflows)
        .with("acknowledgements", runs)
        .with("empty_program_ns", nanos_a_run(empty()?)?);
    Ok(vec![doubts.note(row)])
}

fn nanos_a_run(time: RunTime) -> anyhow::Result<f64> {
    anyhow::ensure!(
        time.runs >= LEAST_RUNS,
        "the controller ran {} times in all; this run has no result, please report this",
        time.runs
    );
    Ok(time.time.as_nanos() as f64 / time.runs as f64)
}

/// Time that a controller that does nothing takes: the cost of the count itself.
fn empty() -> anyhow::Result<RunTime> {
    let controller = Empty::load()?;
    let netns = Netns::new()?;
    netns.run(|| Rtnl::open()?.set_up(LOOPBACK, true).map_err(anyhow::Error::from))??;
    let name = controller.name().to_string();
    let _counting = CountRunTime::start()?;
    netns.run(move || send(&name))??;
    Ok(controller.run_time()?)
}

fn send(cc: &str) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    linux::sockopt::set_congestion(&sender, cc)?;
    let (mut receiver, _) = listener.accept()?;
    let reading = std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while receiver.read(&mut bytes).is_ok_and(|read| read > 0) {}
    });
    let zeros = vec![0; 1 << 16];
    for _ in 0..EMPTY_BYTES / zeros.len() {
        sender.write_all(&zeros)?;
    }
    drop(sender);
    // Only the standard library could panic there.
    let _ = reading.join();
    Ok(())
}
