//! Whatever an engine is told, in whatever order: it does not panic, lets time pass, asks only for what exists, and stays small.

mod counting;
mod drive;

use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn stands_any_facts_in_any_order(bytes in prop::collection::vec(any::<u8>(), 0..6_000)) {
        drive::drive(&bytes);
    }
}

#[test]
fn does_not_grow_with_what_it_is_told() {
    let mut rng = units::Rng::named(1, "facts");
    let bytes: Vec<u8> = (0..400_000).map(|_| rng.next_u64() as u8).collect();
    let (short, long) = (drive::drive(&bytes[..40_000]), drive::drive(&bytes));
    println!("{short} bytes held at most by 40,000 bytes of facts, {long} by 400,000");
    assert!(short > 100_000 && long < short * 2, "{short} {long}");
}
