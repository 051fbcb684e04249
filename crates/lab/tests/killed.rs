//! `kill -9` at any moment leaves nothing behind.
//!
//! A child process runs a lab and is killed at ten random moments. A witness watches every namespace that it
//! had by then.

mod plans;
mod witness;

use lab::shell::Programs;
use lab::stop::Stop;
use lab::world::{Play, play};
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use trace::PolicyName;
use units::Rng;
use witness::{Witnesses, assert_nothing_is_held_by_the_dead, stand_still};

const MOMENTS: u32 = 10;
const LATEST: Duration = Duration::from_millis(4_000);
/// The kernel removes namespaces in the background.
const PATIENCE: Duration = Duration::from_secs(20);
const ROLE: &str = "SLOWHAND_TEST_VICTIM";

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok(kind) => be_the_victim(kind == "programs"),
        Err(_) => kill_ten_times(),
    }
}

fn be_the_victim(programs: bool) {
    let ap = "[aps.hall]\nat_m = [3, 0]\nchannel = 6\nbackhaul = { rate_mbps = 50, rtt_ms = 10 }\n[walkers.client]\nat_m = [0, 0]\n";
    let rival = "[walkers.rival]\nat_m = [1, 1]\n[flows.theirs]\ndirection = \"down\"\nby = \"rival\"\n";
    let mut plan = plans::two_cables(600, &format!("{ap}{}{rival}", plans::DOWNLOAD));
    plan.cc = "cubic".into();
    let programs = programs.then(|| Programs {
        client: "sleep 600 & setsid sleep 600 & sleep 600".into(),
        servers: vec!["mptcpize run iperf3 -s >/dev/null & setsid sleep 600".into()],
    });
    let what = Play {
        programs,
        ..Play::new(&plan, PolicyName::Slowhand)
    };
    play(&what, &Stop::new(), &mut |_| {}).unwrap();
    panic!("nobody killed it for ten minutes");
}

fn kill_ten_times() {
    let seed = 11;
    println!("seed {seed}");
    let mut rng = Rng::named(seed, "killed");
    // Witnesses are watched from a namespace of our own.
    let home = Netns::new().expect("this test needs root");
    let mut rtnl = home.run(Rtnl::open).unwrap().unwrap();
    let mut witnessed = 0;
    for moment in 0..MOMENTS {
        let after = rng.duration_up_to(LATEST);
        witnessed += kill_once(&mut rtnl, moment, after);
    }
    assert!(
        witnessed >= MOMENTS as usize,
        "only {witnessed} namespaces were seen before the kills"
    );
    the_next_run_starts_clean();
    println!("{MOMENTS} kills, {witnessed} namespaces gone: ok");
}

/// Kills the victim once. Returns how many namespaces it had.
fn kill_once(rtnl: &mut Rtnl, moment: u32, after: Duration) -> usize {
    let mut victim = start(moment % 2 == 1);
    std::thread::sleep(after);
    stand_still(&victim);
    let witnesses = Witnesses::place(rtnl, victim.id(), None);
    victim.kill().unwrap();
    victim.wait().unwrap();
    let gone = witnesses.watch_until_gone(rtnl, PATIENCE);
    println!(
        "moment {moment}, killed after {after:?}: {} namespaces gone within {gone:?}",
        witnesses.len()
    );
    witnesses.len()
}

fn start(programs: bool) -> Child {
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.env(ROLE, if programs { "programs" } else { "flows" });
    victim.stdin(Stdio::null()).stdout(Stdio::null());
    victim.spawn().unwrap()
}

/// The next run restores settings of the whole host, which belong to no namespace.
fn the_next_run_starts_clean() {
    let plan = plans::two_cables(1, plans::DOWNLOAD);
    let played = play(&Play::new(&plan, PolicyName::Mptcp), &Stop::new(), &mut |_| {}).unwrap();
    assert!(played.run.intact());
    assert_nothing_is_held_by_the_dead(PATIENCE);
}
