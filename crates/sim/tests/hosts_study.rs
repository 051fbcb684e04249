//! Short runs of the studies in `examples/hosts.rs`, which has the long ones.

#[path = "common/cables.rs"]
mod cables;
#[path = "common/study.rs"]
mod study;

use sim::mptcp::ReceiveBuffer;
use study::{ScenarioC, cut, follows_pftk, mean_cut, mean_share};
use units::{Bytes, Duration, Instant};

#[test]
fn throughput_follows_the_loss_rate() {
    follows_pftk(&[(0.001, 0.2), (0.01, 0.2)], 0..4, 120);
}

/// 12.5 of 25 Mb/s if coupled, 16.7 if not.
#[test]
fn coupled_subflows_take_the_share_of_one_flow() {
    for (control, least, most) in [
        ("reno", 1.7, 2.3),
        ("lia", 0.9, 1.15),
        ("olia", 0.8, 1.15),
        ("balia", 0.9, 1.3),
    ] {
        let part = mean_share(control, 25, 20, 4);
        assert!((least..most).contains(&part), "{control}: {part}");
    }
}

/// Scenario C of the OLIA paper. A TCP user's fluid values beside each controller: 0.5, 0.704, 0.754 and 1.
/// `docs/hosts.md` says why OLIA's senders leave less.
#[test]
fn each_controller_leaves_its_share_to_tcp() {
    let scenario = ScenarioC {
        users: 10,
        rate: 5,
        warm: Duration::from_secs(10),
        time: Duration::from_secs(40),
    };
    for (control, least, most) in [
        ("reno", 0.45, 0.55),
        ("lia", 0.7, 0.78),
        ("balia", 0.7, 0.78),
        ("olia", 0.79, 0.9),
    ] {
        let [_, _, tcp] = scenario.mean(control, 3);
        assert!((least..most).contains(&tcp), "{control}: {tcp}");
    }
}

/// BALIA reduces the window of the slower of two unequal paths to a quarter, where the others halve it.
#[test]
fn only_balia_cuts_a_slow_paths_window_to_a_quarter() {
    for (control, least, most) in [
        ("reno", 0.4, 0.6),
        ("lia", 0.4, 0.6),
        ("olia", 0.4, 0.6),
        ("balia", 0.15, 0.35),
    ] {
        let cut = mean_cut(control);
        assert!((least..most).contains(&cut), "{control}: {cut}");
    }
}

/// The stock backlog stalls a download for long after one of three links has died silently and its address is
/// withdrawn. With a window of 1.2 MB the stall is short.
#[test]
fn a_silent_cut_stalls_for_as_long_as_the_backlog_lasts() {
    let median = |mib: u64| {
        let buffer = ReceiveBuffer::Autotuned(Bytes::from_kib(mib << 10));
        let removed = Some(Duration::from_millis(50));
        let cuts = [5_000, 5_400, 5_900, 6_300, 7_100].map(Instant::from_millis);
        let mut stalls = cuts.map(|at| cut(buffer, at, removed).silence.as_millis());
        stalls.sort_unstable();
        stalls[2]
    };
    let (backlogged, capped) = (median(32), median(2));
    println!("{backlogged} ms, {capped} ms");
    // Medians of a kernel: 626 and 122 ms.
    assert!((80..180).contains(&capped), "{capped} ms");
    assert!((400..900).contains(&backlogged), "{backlogged} ms");
}
