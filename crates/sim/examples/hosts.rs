//! The long studies of hosts in virtual time: `cargo run --release -p sim --example hosts -- loss`, or
//! `share`, `scenario-c`, `stalls`.

#[path = "../tests/common/cables.rs"]
mod cables;
#[path = "../tests/common/study.rs"]
mod study;

use sim::mptcp::ReceiveBuffer;
use study::{Cut, ScenarioC, cut, follows_pftk, mean_share};
use units::{Bytes, Duration, Instant};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("loss") => follows_pftk(&[(0.0001, 0.1), (0.001, 0.1), (0.01, 0.2)], 0..15, 600),
        Some("share") => shares(),
        Some("stalls") => stalls(),
        Some("scenario-c") => scenario_c(),
        _ => eprintln!("name a study: loss, share, scenario-c or stalls"),
    }
}

/// Shares of a bottleneck with CoDel beside one TCP.
fn shares() {
    for (rate, rtt) in [(25, 20), (40, 20), (25, 50)] {
        for control in ["reno", "lia", "olia", "balia"] {
            mean_share(control, rate, rtt, 20);
        }
    }
}

/// The table of `docs/window.md` in virtual time: stalls by RM_ADDR's time and by the client's buffer.
fn stalls() {
    let autotuned = |kib: u64| ReceiveBuffer::Autotuned(Bytes::from_kib(kib));
    for kib in [32_768, 6_144, 4_096, 3_072, 2_048, 1_536, 1_024] {
        for removed in [None, Some(0), Some(50), Some(200)] {
            let after = removed.map(Duration::from_millis);
            let Cut {
                goodput,
                backlog,
                silence,
            } = cut(autotuned(kib), Instant::from_secs(6), after);
            let silence = silence.as_millis();
            println!("{kib} KiB, RM_ADDR {removed:?}: {silence} ms, {backlog}, {goodput:.1} Mb/s before");
        }
    }
}

/// Scenario C of the OLIA paper. Fluid values, MPTCP's and TCP's: uncoupled 1.5 and 0.5, LIA 1.296 and 0.704,
/// BALIA 1.246 and 0.754, OLIA 1 and 1.
fn scenario_c() {
    for (users, rate) in [(10, 5), (10, 20)] {
        let scenario = ScenarioC {
            users,
            rate,
            warm: Duration::from_secs(30),
            time: Duration::from_secs(120),
        };
        for control in ["reno", "lia", "balia", "olia"] {
            scenario.mean(control, 5);
        }
    }
}
