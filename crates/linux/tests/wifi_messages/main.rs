//! The fuzz target `nl80211` of `fuzz/`, on its seeds, whole and damaged.

#[path = "../../../wire/tests/any_bytes/damage.rs"]
mod damage;
mod nl80211;

#[test]
fn seeds_and_damaged_ones_are_read() {
    damage::each("nl80211", nl80211::read);
}
