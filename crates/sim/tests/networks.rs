//! Many cells on few channels: what is left out of sums of interference does not decide about anything, and one seed is one run.

use sim::cells::network;
use sim::{Tally, World};
use units::{Db, Duration};

/// 400 access points on a square kilometre, two and a half times as far across as a sender can be told from nothing.
const ACCESS_POINTS: u32 = 400;
const CLIENTS: u32 = 10;
const TIME: Duration = Duration::from_millis(100);

fn played(negligible: Db) -> Vec<Tally> {
    let mut plan = network(ACCESS_POINTS, CLIENTS);
    plan.air.rules.negligible = negligible;
    let mut world = World::new(1, &plan.air, plan.flows).unwrap();
    world.run_for(TIME);
    world.tallies().to_vec()
}

fn received(tallies: &[Tally]) -> f64 {
    tallies.iter().map(|tally| tally.received as f64).sum()
}

/// `links`' `reception` bounds what is left out: 0.4 dB of the interference where there is most of it.
#[test]
fn what_is_left_out_of_sums_changes_next_to_nothing() {
    let (usual, everything) = (played(Db::from_db(20)), played(Db::from_db(60)));
    let (left_out, whole) = (received(&usual), received(&everything));
    println!("{left_out} against {whole} packets");
    assert!(whole > 50_000.0, "{whole}");
    assert!((left_out / whole - 1.0).abs() < 0.02, "{left_out} {whole}");
    // It is not that nothing happens: with all that arrives below the noise left out, more is received.
    let deaf = received(&played(Db::from_db(0)));
    println!("{deaf} without what is below the noise");
    assert!(deaf > whole, "{deaf} {whole}");
}

#[test]
fn one_seed_is_one_run() {
    assert_eq!(played(Db::from_db(20)), played(Db::from_db(20)));
}
