//! However the program ends, nothing of it is left: `kill -9` at ten random moments, and Ctrl-C at any.
//!
//! Every namespace of a run has a witness when the run ends. The state that slowhand could have left in the
//! host's own namespace is compared with the state before the run.

mod common;
#[path = "../../lab/tests/witness/mod.rs"]
mod witness;

use common::{Scratch, program, slowhand};
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use units::Rng;
use witness::patience::Patience;
use witness::{Witnesses, assert_nothing_is_held_by_the_dead, stand_still};

const KILLS: usize = 10;
/// Setting up, two seconds of traffic, and taking down.
const LATEST: units::Duration = units::Duration::from_millis(4_000);
/// The kernel removes namespaces in the background.
const PATIENCE: Duration = Duration::from_secs(20);

/// All kinds of link, a controller that the whole host must allow, and two seconds.
const SCENARIO: &str = "\
sentence = \"Something of everything.\"
duration_s = 2
cc = \"cubic\"

[aps.hall]
at_m = [3, 0]
channel = 6
backhaul = { rate_mbps = 50, rtt_ms = 10 }

[cells.lte]
rate_mbps = 10
rtt_ms = 50

[cables.desk]
rate_mbps = 20
rtt_ms = 20

[walkers.client]
at_m = [0, 0]

[flows.download]
direction = \"down\"
";

/// A host, seen from outside of the program.
struct Host {
    scratch: Scratch,
    /// Witnesses are watched from here.
    home: Rtnl,
    /// Tells our programs from everybody else's: how long they sleep.
    nap: String,
    before: String,
}

impl Host {
    fn new(test: &str) -> Option<Self> {
        let Ok(home) = Netns::new() else {
            println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
            return None;
        };
        let scratch = Scratch::new(test);
        std::fs::write(scratch.path("end.toml"), SCENARIO).unwrap();
        let mark = test.bytes().map(u32::from).sum::<u32>();
        Some(Self {
            scratch,
            home: home.run(Rtnl::open).unwrap().unwrap(),
            nap: format!("600.{}{mark}", std::process::id()),
            before: state(),
        })
    }

    fn file(&self) -> String {
        self.scratch.path("end.toml").to_str().unwrap().to_owned()
    }

    /// A run, with programs in place of the scenario's flow or without.
    fn start(&self, programs: bool) -> Child {
        let nap = &self.nap;
        let mut command = program();
        command.args(["play", &self.file()]);
        if programs {
            let client = format!("sleep {nap} & setsid sleep {nap} & sleep {nap}");
            let server = format!("mptcpize run iperf3 -s >/dev/null & setsid sleep {nap}");
            command.args(["--shell", &client, "--serve", &server]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Asserts that nothing is left of a run with these witnesses.
    fn assert_clean(&mut self, witnesses: &Witnesses) {
        witnesses.watch_until_gone(&mut self.home, PATIENCE);
        let mut patience = Patience::of(PATIENCE);
        while let Some(process) = processes().find(|process| process.contains(&self.nap)) {
            assert!(patience.lasts(), "`{process}` is still running");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(state(), self.before);
    }
}

/// Everything that slowhand can put into a host's own namespace, as the host's own tools report it. Links,
/// routes and rules of other programs are left out, so that a busy host passes.
fn state() -> String {
    let commands = [
        "ip -o link show type tun",
        "ip rule show protocol 183",
        "ip -6 rule show protocol 183",
        "ip route show table all proto 183",
        "ip -6 route show table all proto 183",
        "ip mptcp limits",
        "ip mptcp endpoint",
        "sysctl net.mptcp net.ipv4.tcp_congestion_control net.ipv4.ip_forward net.core",
    ];
    let output = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    commands.map(output).concat()
}

/// The command lines of all processes.
fn processes() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let paths = entries.map(|entry| entry.path().join("cmdline"));
    paths.filter_map(|path| Some(std::fs::read_to_string(path).ok()?.replace('\0', " ")))
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// Lets the program run for a while and then pauses it.
fn stopped(child: &Child, after: Duration, home: &mut Rtnl) -> Witnesses {
    std::thread::sleep(after);
    stand_still(child);
    Witnesses::place(home, child.id(), Some(Netns::current().unwrap().id().unwrap()))
}

#[test]
fn killed_at_ten_random_times_the_lab_leaves_nothing_behind() {
    let Some(mut host) = Host::new("killed") else {
        return;
    };
    let seed = 5;
    println!("seed {seed}");
    let mut rng = Rng::named(seed, "killed");
    let mut seen = 0;
    for moment in 0..KILLS {
        let after = Duration::from_nanos(rng.duration_up_to(LATEST).as_nanos() as u64);
        let mut child = host.start(moment % 2 == 1);
        let witnesses = stopped(&child, after, &mut host.home);
        signal(&child, Signal::SIGKILL);
        child.wait().unwrap();
        println!("killed after {after:?}, with {} namespaces", witnesses.len());
        host.assert_clean(&witnesses);
        seen += witnesses.len();
    }
    assert!(seen >= KILLS, "only {seen} namespaces were seen before the kills");
    let next = slowhand(&["play", &host.file()]);
    assert_eq!(next.code, Some(0), "the next run: {next:?}");
    assert_nothing_is_held_by_the_dead(PATIENCE);
    assert_eq!(state(), host.before);
}

#[test]
fn interrupted_at_any_time_the_lab_removes_everything() {
    let Some(mut host) = Host::new("interrupted") else {
        return;
    };
    let mut seen = 0;
    for (turn, after_ms) in [0, 30, 150, 400, 900, 1_600, 2_400, 3_200]
        .into_iter()
        .enumerate()
    {
        let mut child = host.start(turn % 2 == 1);
        let witnesses = stopped(&child, Duration::from_millis(after_ms), &mut host.home);
        signal(&child, Signal::SIGINT);
        signal(&child, Signal::SIGCONT);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        println!(
            "interrupted after {after_ms} ms, with {} namespaces: {status}",
            witnesses.len()
        );
        match status.code() {
            Some(1) if said.trim_end().ends_with("everything that it had made is gone") => {}
            // It had just come to its end.
            Some(0 | 1) => assert!(after_ms > 2_000 && witnesses.len() == 0, "{status}: {said}"),
            // Before it listens it has made nothing.
            _ => assert_eq!(
                (status.signal(), witnesses.len()),
                (Some(2), 0),
                "{status}: {said}"
            ),
        }
        host.assert_clean(&witnesses);
        seen += witnesses.len();
    }
    assert!(
        seen >= 6,
        "only {seen} namespaces were seen before the interrupts"
    );
}
