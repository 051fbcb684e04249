//! Two access points of one channel that cannot hear each other, and a download by TCP from each to a client
//! between them: one of the two starves for seconds at a time, and which one is random.
//!
//! # Sources
//! - Croitoru, Niculescu, Raiciu, "Towards WiFi Mobility without Fast Handover" (NSDI 2015) §4.1, figure 2.
//!
//! `docs/hosts.md` has the figures of these runs.

mod common;

use common::plan;
use sim::{Play, play};
use trace::{PolicyName, RunRecord};
use units::Instant;

/// As `papers/nsdi15-fig2`, with the fastest rate that reaches the middle. Both downloads begin when both
/// access points have been joined.
const SCENARIO: &str = "sentence = \"Two access points that are hidden from each other.\"\nduration_s = 65\n\
    medium = \"exact\"\n\
    [aps.ap1]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 24\n\
    backhaul = { rate_mbps = 100, rtt_ms = 10 }\n\
    [aps.ap2]\nat_m = [70, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 24\n\
    backhaul = { rate_mbps = 100, rtt_ms = 10 }\n\
    [walkers.client]\nat_m = [35, 0]\ntx_power_dbm = 20\n\
    [flows.first]\nstart_s = 5\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"ap1\"\n\
    [flows.second]\nstart_s = 5\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"ap2\"\n";

const SEEDS: std::ops::Range<u64> = 1..21;
/// Seconds of a part of a run.
const PART: u64 = 10;

/// What Minstrel needs: it chooses from all rates.
const MINSTREL: [&str; 4] = [
    "aps.ap1.rate_control=minstrel",
    "aps.ap2.rate_control=minstrel",
    "aps.ap1.rate_mbps=auto",
    "aps.ap2.rate_mbps=auto",
];

/// Shares of the first access point.
struct Shares {
    /// In each ten seconds of all runs.
    parts: Vec<f64>,
    /// In each run.
    runs: Vec<f64>,
}

/// Share of the first access point in these seconds.
fn share(record: &RunRecord, from: u64, to: u64) -> f64 {
    let carried = |flow, link| {
        let until = |second| record.carried(flow, link, Instant::from_secs(second));
        (until(to) - until(from)) as f64
    };
    let (first, second) = (carried("first", "ap1"), carried("second", "ap2"));
    first / (first + second)
}

/// Plays all seeds, and prints what the document says of them.
fn shares(settings: &[&str]) -> Shares {
    let plan = plan(SCENARIO, settings);
    let (mut parts, mut runs, mut mbps) = (Vec::new(), Vec::new(), 0.0);
    for seed in SEEDS {
        let what = Play {
            seed,
            ..Play::new(&plan, PolicyName::Mptcp)
        };
        let played = play(&what).unwrap_or_else(|error| panic!("{error}"));
        let record = &played.record;
        let begins = (5..65).step_by(PART as usize);
        parts.extend(begins.map(|from| share(record, from, from + PART)));
        runs.push(share(record, 5, 65));
        mbps += played.run.bytes() as f64 * 8e-6 / 60.0 / SEEDS.count() as f64;
    }
    let shares = Shares { parts, runs };
    println!(
        "{settings:?}: {mbps:.2} Mb/s; larger share: {:.2} of 10 s, {:.2} of runs; the first leads in {} of {} runs; \
         over 0.85 in {} of {} parts",
        median_larger(&shares.parts),
        median_larger(&shares.runs),
        leads(&shares.runs),
        shares.runs.len(),
        starved(&shares.parts),
        shares.parts.len(),
    );
    shares
}

/// The larger of both shares.
fn larger(share: f64) -> f64 {
    share.max(1.0 - share)
}

/// Median of the larger share.
fn median_larger(shares: &[f64]) -> f64 {
    let mut all: Vec<f64> = shares.iter().copied().map(larger).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// How often the first access point has the larger share.
fn leads(shares: &[f64]) -> usize {
    shares.iter().filter(|&&share| share > 0.5).count()
}

/// How often one of them has more than 85 %.
fn starved(shares: &[f64]) -> usize {
    shares.iter().filter(|&&share| larger(share) > 0.85).count()
}

/// Fewer than four of 20 fair coins show heads in 0.13 % of all cases.
fn assert_random(shares: &Shares) {
    assert!((4..=16).contains(&leads(&shares.runs)), "{:?}", shares.runs);
}

#[test]
fn one_of_two_hidden_downloads_starves_and_which_one_is_random() {
    let fixed = shares(&[]);
    assert!(median_larger(&fixed.parts) > 0.85, "{:.2?}", fixed.parts);
    assert!(
        starved(&fixed.parts) * 2 > fixed.parts.len(),
        "{:.2?}",
        fixed.parts
    );
    assert_random(&fixed);
}

#[test]
fn with_minstrel_the_same_one_starves_for_a_minute() {
    let minstrel = shares(&MINSTREL);
    assert!(median_larger(&minstrel.runs) > 0.85, "{:.2?}", minstrel.runs);
    assert_random(&minstrel);
}

/// The same places, but the access points sense each other.
#[test]
fn access_points_that_hear_each_other_share_evenly() {
    let sensing = ["aps.ap1.carrier_sense_dbm=-90", "aps.ap2.carrier_sense_dbm=-90"];
    let even = shares(&sensing);
    assert!(median_larger(&even.parts) < 0.6, "{:.2?}", even.parts);
    assert_eq!(starved(&even.parts), 0, "{:.2?}", even.parts);
}
