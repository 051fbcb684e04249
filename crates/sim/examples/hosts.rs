//! The long studies of hosts in virtual time: `cargo run --release -p sim --example hosts -- loss`, or
//! `share`, `stalls`, `wall`.

#[path = "../tests/common/cables.rs"]
mod cables;
#[path = "../tests/common/study.rs"]
mod study;

use cables::{cable, links, mbps, stock, v4};
use sim::hosts::{App, Pair};
use sim::mptcp::ReceiveBuffer;
use study::{Cut, cut, follows_pftk, mean_share};
use units::{Bytes, Duration, Instant};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("loss") => follows_pftk(&[(0.0001, 0.1), (0.001, 0.1), (0.01, 0.2)], 0..15, 600),
        Some("share") => shares(),
        Some("stalls") => stalls(),
        Some("wall") => wall(),
        _ => eprintln!("name a study: loss, share, stalls or wall"),
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

/// Wall time of 65 s of one connection over two links of 25 Mb/s, to compare with htsim's 0.071 s. Ours also
/// has headers, SACK, delayed ACKs, a data sequence space and the handshake.
fn wall() {
    for _ in 0..5 {
        let began = std::time::Instant::now();
        let config = stock("lia", true);
        let mut pair = Pair::new(1, links([cable(25, 50, 100), cable(25, 50, 100)]), config, config).unwrap();
        pair.start(0, v4(0), [App::Sink, App::Bulk]);
        pair.act(0, |connection, out| {
            connection.join(Instant::ZERO, v4(1), false, out);
        });
        pair.run_until(Instant::from_secs(5));
        let before = pair.read(0);
        pair.run_until(Instant::from_secs(65));
        let goodput = mbps(pair.read(0) - before, Duration::from_secs(60));
        let wire = goodput * 1_500.0 / 1_420.0;
        println!("{goodput:.3} Mb/s, {wire:.3} with headers, {:?}", began.elapsed());
    }
}
