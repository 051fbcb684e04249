//! How much the emulator carries on this machine, and at what cost: 4 links × 250 Mb/s, 20 ms, one MPTCP
//! download.
//!
//! `saturate [SECONDS] [BUNDLE_US]`, as root.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Bench, Want};
use links::{CableConfig, LinkConfig};
use units::{Bitrate, Duration};

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<u64>().expect("a number"));
    let seconds = Duration::from_secs(arguments.next().unwrap_or(10));
    let links = ["a", "b", "c", "d"].map(|name| {
        LinkConfig::Cable(CableConfig::symmetric(
            name,
            Bitrate::from_mbps(250),
            Duration::from_millis(10),
        ))
    });
    let mut want = Want::links(links.into());
    if let Some(us) = arguments.next() {
        want.tuning.bundle = Duration::from_micros(us);
    }
    let bench = Bench::start(want);
    let outcome = bench.download(None, seconds);
    let report = bench.emulator.finish();
    println!(
        "{:.0} Mb/s goodput, intact: {}",
        outcome.meter.bytes().per(seconds).as_mbps_f64(),
        outcome.intact
    );
    println!(
        "emulator: {:.2} cores, real time: {}, lateness {:?}, refused {}, chatter {}",
        report.cores(),
        report.realtime,
        report.lateness.summary(),
        report.refused,
        report.chatter
    );
    for link in &report.links {
        println!("  down {}, up {}, {:?}", link.down, link.up, link.losses);
    }
}
