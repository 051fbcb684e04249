//! Short runs of the studies in `examples/hosts.rs`, which has the long ones.

#[path = "common/cables.rs"]
mod cables;
#[path = "common/study.rs"]
mod study;

use study::{follows_pftk, mean_share};

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
