//! Whatever an engine is told, in whatever order: it does not panic, lets time pass, asks only for what exists, stays small, and asks for the same whenever it
//! is told the same.

mod counting;
mod drive;

use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn stands_any_facts_in_any_order(bytes in prop::collection::vec(any::<u8>(), 0..6_000)) {
        drive::drive(&bytes, false);
        drive::drive(&bytes, true);
    }
}

#[test]
fn does_not_grow_with_what_it_is_told() {
    let mut rng = units::Rng::named(1, "facts");
    let bytes: Vec<u8> = (0..400_000).map(|_| rng.next_u64() as u8).collect();
    let most = |bytes: &[u8]| drive::drive(bytes, false).most;
    let (short, long) = (most(&bytes[..40_000]), most(&bytes));
    println!("{short} bytes held at most by 40,000 bytes of facts, {long} by 400,000");
    assert!(short > 100_000 && long < short * 2, "{short} {long}");
}

/// Random bytes that begin with one of ours, so that most of what can be asked for is.
#[test]
fn facts_reach_what_bounds_queues() {
    const SLOWHAND: u8 = 15;
    let mut kinds = std::collections::BTreeMap::<&str, u64>::new();
    for seed in 0..20 {
        let mut rng = units::Rng::named(seed, "facts");
        let head = [SLOWHAND, 2].into_iter();
        let bytes: Vec<u8> = head.chain((0..8_000).map(|_| rng.next_u64() as u8)).collect();
        for (kind, times) in drive::drive(&bytes, true).kinds {
            *kinds.entry(kind).or_default() += times;
        }
    }
    println!("{kinds:?}");
    let wanted = [
        "Window",
        "missed",
        "window",
        "Unsent",
        "unsent",
        "CapPacing",
        "pace",
        "SetBackup",
        "demote",
        "Mark",
        "MarkSent",
        "mark",
        "Join",
        "Destroy",
        "Withdraw",
        "Probe",
        "suspect",
        "remove",
        "clear",
        "refuse",
        "renew",
    ];
    let missing: Vec<&str> = wanted
        .into_iter()
        .filter(|kind| !kinds.contains_key(kind))
        .collect();
    assert!(missing.is_empty(), "never asked for: {missing:?}");
}
