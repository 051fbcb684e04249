use core::ops::Range;

use super::*;
use units::Bitrate;

const INTERVAL: u64 = 100_000_000;

fn mode(mbps: u64) -> Mode {
    Mode::of(Standard::A, Bitrate::from_mbps(mbps)).unwrap()
}

/// Sends single frames for these intervals through a channel that delivers each mode's frames with the given
/// probability. Returns the share of first attempts at each mode's rate.
fn drive(rate: &mut Rate, intervals: Range<u64>, through: impl Fn(Mode) -> f64) -> Vec<(Bitrate, u32)> {
    let mut rng = Rng::named(5, "drive");
    let mut firsts = alloc::collections::BTreeMap::new();
    for frame in intervals.start * 50..intervals.end * 50 {
        let mut chain = rate.chain(frame * INTERVAL / 50, &mut rng);
        *firsts.entry(chain.mode(0).rate()).or_insert(0) += 1;
        for attempt in 0..chain.total().min(20) {
            let mode = chain.mode(attempt);
            let success = rng.unit() < through(mode);
            chain = rate.tried(chain, mode, 1, u32::from(success));
            if success {
                break;
            }
        }
    }
    firsts.into_iter().collect()
}

fn most_used(firsts: &[(Bitrate, u32)]) -> Bitrate {
    firsts.iter().max_by_key(|(_, count)| *count).unwrap().0
}

#[test]
fn a_chain_is_walked_stage_by_stage() {
    let chain = Chain {
        stages: [(mode(54), 2), (mode(24), 0), (mode(12), 1), (mode(6), 3)],
        probe: false,
        guarded: true,
    };
    let walked: Vec<_> = (0..8)
        .map(|tries| chain.mode(tries).rate().as_bps() / 1_000_000)
        .collect();
    assert_eq!(walked, [54, 54, 12, 6, 6, 6, 6, 6]);
    assert_eq!((chain.total(), chain.modes().count()), (6, 3));
    let asks: Vec<_> = (0..4).map(|tries| chain.asks(tries)).collect();
    assert_eq!(asks, [false, false, true, true], "all but the first stage");
}

#[test]
fn aarf_steps_up_after_ten_and_grows_patient() {
    let mut rate = Rate::new(RateControl::Aarf, Standard::A, None, mode(54));
    let mut rng = Rng::named(1, "aarf");
    let chain = rate.chain(0, &mut rng);
    assert_eq!(chain.mode(0), mode(54));
    let mut send = |success: bool| {
        let chain = rate.chain(0, &mut rng);
        rate.tried(chain, chain.mode(0), 1, u32::from(success)).mode(0)
    };
    send(false);
    assert_eq!(send(false), mode(48), "two failures in a row");
    let back = (1..).find(|_| send(true) == mode(54)).unwrap();
    assert_eq!(back, 10);
    assert_eq!(send(false), mode(48), "the first frame after a step up failed");
    let back = (1..).find(|_| send(true) == mode(54)).unwrap();
    assert_eq!(back, 20);
}

#[test]
fn minstrel_finds_the_mode_with_the_highest_throughput() {
    let mut rate = Rate::new(RateControl::Minstrel, Standard::A, None, mode(54));
    // 36 Mb/s at 90 % beats 54 at 40 % and 24 at 100 %.
    let through = |mode: Mode| match mode.rate().as_bps() / 1_000_000 {
        ..=24 => 1.0,
        36 => 0.9,
        48 => 0.5,
        _ => 0.4,
    };
    drive(&mut rate, 0..20, through);
    let firsts = drive(&mut rate, 20..120, through);
    assert_eq!(most_used(&firsts), Bitrate::from_mbps(36), "{firsts:?}");
    let Rate::Minstrel(minstrel) = &rate else {
        panic!("not Minstrel")
    };
    assert_eq!(minstrel.best(), mode(36));
    let looked: u32 = firsts
        .iter()
        .filter(|(rate, _)| *rate > Bitrate::from_mbps(36))
        .map(|(_, count)| count)
        .sum();
    assert!((50..=300).contains(&looked), "a tenth looks around: {firsts:?}");
}

#[test]
fn minstrel_follows_a_channel_that_changes() {
    let mut rate = Rate::new(RateControl::Minstrel, Standard::A, None, mode(54));
    let up_to = |most: u64| move |mode: Mode| f64::from(mode.rate() <= Bitrate::from_mbps(most));
    for (round, most) in [(0, 54), (1, 12), (2, 36)] {
        drive(&mut rate, round * 50..round * 50 + 30, up_to(most));
        let firsts = drive(&mut rate, round * 50 + 30..round * 50 + 50, up_to(most));
        assert_eq!(most_used(&firsts), Bitrate::from_mbps(most), "{firsts:?}");
    }
}

/// Collisions must not slow it down: a mode that loses slightly under a tenth is rated as if it lost nothing.
#[test]
fn minstrel_ht_does_not_tell_ninety_percent_from_all_and_minstrel_does() {
    let ht = Ht::new(1, Width::Mhz20, Guard::Long);
    let of_802_11n = Rate::new(RateControl::Minstrel, Standard::A, Some(&ht), mode(54));
    let of_802_11a = Rate::new(RateControl::Minstrel, Standard::A, None, mode(54));
    // The next slower mode takes 5 and 7 % longer, overhead included.
    for (mut rate, fastest, through, chosen) in [(of_802_11n, 65, 0.95, 65), (of_802_11a, 54, 0.92, 48)] {
        let begins = drive(&mut rate, 0..20, |_| 1.0);
        assert_eq!(most_used(&begins), Bitrate::from_mbps(fastest), "{begins:?}");
        let loses = |mode: Mode| mode.rate() == Bitrate::from_mbps(fastest);
        let firsts = drive(&mut rate, 20..120, |mode| if loses(mode) { through } else { 1.0 });
        assert_eq!(most_used(&firsts), Bitrate::from_mbps(chosen), "{firsts:?}");
    }
}

/// nsdi15 §4.2: Minstrel chooses fast modes that lose every second frame, Minstrel-HT those that deliver
/// nearly all.
#[test]
fn minstrel_ht_takes_what_gets_through() {
    let ht = Ht::new(1, Width::Mhz20, Guard::Long);
    let mut rate = Rate::new(RateControl::Minstrel, Standard::A, Some(&ht), mode(54));
    let through = |mode: Mode| match mode.as_ht().map(HtMode::mcs) {
        Some(..=4) => 0.99,
        Some(5) => 0.60,
        _ => 0.0,
    };
    let firsts = drive(&mut rate, 0..60, through);
    // 39 Mb/s at 90 % against 52 at 60 %.
    assert_eq!(most_used(&firsts), Bitrate::from_mbps(39), "{firsts:?}");
}

#[test]
fn probes_of_802_11n_are_rare() {
    let ht = Ht::new(2, Width::Mhz40, Guard::Short);
    let mut rate = Rate::new(RateControl::Minstrel, Standard::A, Some(&ht), mode(54));
    let mut rng = Rng::named(1, "probes");
    let mut probes = 0;
    for aggregate in 0..5_000_u64 {
        let chain = rate.chain(aggregate * 2_000_000, &mut rng);
        probes += u32::from(chain.probe);
        let frames = if chain.probe { 1 } else { 20 };
        rate.tried(chain, chain.mode(0), frames, frames);
    }
    assert!((50..2_500).contains(&probes), "{probes}");
}

#[test]
fn a_mode_of_802_11n_that_dies_gives_way_within_its_interval_and_repeats_are_asked_for() {
    let ht = Ht::new(2, Width::Mhz20, Guard::Long);
    let mut rate = Rate::new(RateControl::Minstrel, Standard::A, Some(&ht), mode(54));
    drive(&mut rate, 0..40, |_| 1.0);
    let mut rng = Rng::named(2, "death");
    let now = 40 * INTERVAL;
    let chain = rate.chain(now, &mut rng);
    let normal = if chain.probe {
        rate.chain(now, &mut rng)
    } else {
        chain
    };
    let (best, total) = (normal.mode(0), normal.total());
    assert_eq!(best.as_ht().map(HtMode::mcs), Some(15));
    let asks: Vec<bool> = (0..total).map(|tries| normal.asks(tries)).collect();
    assert!(!asks[0] && asks[asks.len() - 1], "{asks:?}");
    // Two streams need two paths: one of them is gone.
    rate.tried(normal, best, 40, 1);
    assert_eq!(
        rate.chain(now + 1, &mut rng).modes().next().map(Mode::streams),
        Some(1)
    );
}
