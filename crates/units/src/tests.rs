use super::*;
use crate::Rng;
use proptest::prelude::*;

#[test]
fn negative_values_below_one_keep_their_sign() {
    assert_eq!(Dbm::from_mbm(-50).to_string(), "-0.50 dBm");
    assert_eq!(Db::round_from(-3.014).to_string(), "-3.01 dB");
}

/// Channel pairs of IEEE 802.11-2020 table E-4.
#[test]
fn a_40_mhz_channel_is_a_channel_and_the_one_above_it() {
    use crate::wifi::ht::Band;
    let pairs = |band: Band| -> Vec<(u8, u8)> {
        let firsts = 0..=u8::MAX;
        firsts
            .filter_map(|first| Some((first, band.upper_half(first)?)))
            .collect()
    };
    assert_eq!(
        pairs(Band::Ghz5),
        [36, 44, 52, 60, 100, 108, 116, 124, 132, 140, 149, 157].map(|first| (first, first + 4))
    );
    assert_eq!(
        pairs(Band::Ghz2),
        [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|first| (first, first + 4))
    );
}

#[test]
fn rate_times_time_is_bytes() {
    assert_eq!(
        Bitrate::from_mbps(8) * Duration::from_secs(1),
        Bytes::new(1_000_000)
    );
    assert_eq!(
        Bytes::new(1_500).per(Duration::from_millis(1)),
        Bitrate::from_mbps(12)
    );
    assert_eq!(Bitrate::ZERO.time_for(Bytes::new(1)), None);
}

#[test]
fn split_mix_matches_the_published_test_vector() {
    // Seed 1234567, from the reference implementation's test vector.
    let mut state = 1_234_567;
    let numbers = [(); 3].map(|()| rng::split_mix(&mut state));
    assert_eq!(
        numbers,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423
        ]
    );
}

#[test]
fn streams_with_different_names_differ() {
    let mut a = Rng::named(7, "ap1");
    let mut b = Rng::named(7, "ap2");
    assert_ne!(a.next_u64(), b.next_u64());
    assert_eq!(Rng::named(7, "ap1"), Rng::named(7, "ap1"));
}

#[test]
fn legacy_frame_times_match_the_published_values() {
    use wifi::Standard::{A, B, G};
    let time = |standard: wifi::Standard, bytes, mbps| {
        standard.frame_time(bytes, Bitrate::from_mbps(mbps)).as_micros()
    };
    // 1,536-byte MPDU at 54 Mb/s: 20 + 4·ceil(12310/216) = 248 µs; an ACK at 24 Mb/s: 28 µs.
    assert_eq!(time(A, 1_536, 54), 248);
    assert_eq!(time(A, 14, 24), 28);
    assert_eq!(time(G, 14, 24), 34);
    assert_eq!(time(B, 14, 2), 192 + 56);
    assert_eq!(A.difs().as_micros(), 34);
    assert_eq!(G.difs().as_micros(), 28);
    assert_eq!(B.difs().as_micros(), 50);
    assert_eq!(A.ack_rate(Bitrate::from_mbps(54)), Bitrate::from_mbps(24));
    assert_eq!(A.ack_rate(Bitrate::from_mbps(9)), Bitrate::from_mbps(6));
}

#[test]
fn ht_rates_match_the_published_tables() {
    use wifi::ht::{Guard, Mode, Width};
    let kbps = |width, guard, mcs| Mode::new(mcs, width, guard).unwrap().rate().as_bps() / 1_000;
    // IEEE 802.11-2020 tables 19-27 (20 MHz, one stream) and 19-31 (40 MHz, one stream).
    let narrow: Vec<_> = (0..8).map(|mcs| kbps(Width::Mhz20, Guard::Long, mcs)).collect();
    assert_eq!(
        narrow,
        [6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000]
    );
    let wide: Vec<_> = (0..8).map(|mcs| kbps(Width::Mhz40, Guard::Long, mcs)).collect();
    assert_eq!(
        wide,
        [13_500, 27_000, 40_500, 54_000, 81_000, 108_000, 121_500, 135_000]
    );
    assert_eq!(kbps(Width::Mhz20, Guard::Short, 7), 72_222);
    assert_eq!(kbps(Width::Mhz40, Guard::Short, 15), 300_000);
    assert_eq!(kbps(Width::Mhz40, Guard::Short, 31), 600_000);
    assert_eq!(Mode::new(32, Width::Mhz20, Guard::Long), None);
}

#[test]
fn ht_frame_times_match_values_computed_by_hand() {
    use wifi::ht::{Band, Guard, Mode, Width, subframe_bytes};
    let mode = |mcs, width, guard| Mode::new(mcs, width, guard).unwrap();
    let single = mode(7, Width::Mhz20, Guard::Long);
    // Preamble 36 µs and ⌈(1538·8 + 22)/260⌉ = 48 symbols. At 2.4 GHz also 6 µs of signal extension.
    assert_eq!(single.frame_time(1_538, Band::Ghz5).as_micros(), 36 + 192);
    assert_eq!(single.frame_time(1_538, Band::Ghz2).as_micros(), 36 + 192 + 6);
    // 48 symbols of 3.6 µs take 172.8 µs, rounded up to 176 µs (a multiple of 4).
    assert_eq!(
        mode(7, Width::Mhz20, Guard::Short)
            .frame_time(1_538, Band::Ghz5)
            .as_micros(),
        36 + 176
    );
    // Two encoders above 300 Mb/s: ⌈(65535·8 + 28)/2160⌉ = 243 symbols.
    assert_eq!(
        mode(31, Width::Mhz40, Guard::Long)
            .frame_time(65_535, Band::Ghz5)
            .as_micros(),
        48 + 4 * 243
    );
    assert_eq!(
        (1..=4)
            .map(|n| mode(8 * n - 1, Width::Mhz20, Guard::Long).preamble().as_micros())
            .collect::<Vec<_>>(),
        [36, 40, 48, 48]
    );
    assert_eq!(single.ack_rate(Band::Ghz5), Bitrate::from_mbps(24));
    assert_eq!(
        mode(8, Width::Mhz20, Guard::Long).ack_rate(Band::Ghz2),
        Bitrate::from_mbps(6)
    );
    assert_eq!((subframe_bytes(1_538), subframe_bytes(1_536)), (1_544, 1_540));
    // A block ack at 24 Mb/s: 20 + 4·⌈(32·8 + 22)/96⌉ = 32 µs.
    assert_eq!(
        Band::Ghz5
            .legacy()
            .frame_time(wifi::ht::BLOCK_ACK_BYTES, Bitrate::from_mbps(24))
            .as_micros(),
        32
    );
}

proptest! {
    #[test]
    fn instants_never_wrap(a: u64, b: u64) {
        let (a_at, b_by) = (Instant::from_nanos(a), Duration::from_nanos(b));
        prop_assert!(a_at + b_by >= a_at);
        prop_assert!(a_at - b_by <= a_at);
        prop_assert_eq!((a_at + b_by) - a_at, Duration::from_nanos(a.saturating_add(b) - a));
    }

    #[test]
    fn time_for_is_never_too_short(bytes in 0u64..1 << 40, bps in 1u64..1 << 40) {
        let time = Bitrate::from_bps(bps).time_for(Bytes::new(bytes)).unwrap();
        prop_assert!((Bitrate::from_bps(bps) * time).get() >= bytes);
    }

    #[test]
    fn bytes_and_rates_never_panic(a: u64, b: u64, ns: u64) {
        let _ = Bytes::new(a) + Bytes::new(b);
        let _ = Bytes::new(a) - Bytes::new(b);
        let _ = (Bitrate::from_bps(a) * Duration::from_nanos(ns)).per(Duration::from_nanos(b));
        let _ = Bitrate::from_bps(a).percent(b);
    }

    #[test]
    fn ratios_stay_between_zero_and_one(part: u64, whole: u64, real: f64) {
        prop_assert!(Ratio::from_fraction(part, whole) <= Ratio::ONE);
        prop_assert!(Ratio::clamped(real) <= Ratio::ONE);
        prop_assert_eq!(Ratio::clamped(real).complement().complement(), Ratio::clamped(real));
    }

    #[test]
    fn sequence_numbers_wrap_at_4096(start: u16, steps in 0u16..4096) {
        let first = SeqNum::new(start);
        let last = SeqNum::new(first.get() + steps);
        prop_assert_eq!(last.distance_from(first), steps);
    }

    #[test]
    fn draws_stay_below_their_bound(seed: u64, bound in 1u64..) {
        let mut rng = Rng::named(seed, "x");
        prop_assert!(rng.below(bound) < bound);
        prop_assert!((0.0..1.0).contains(&rng.unit()));
        prop_assert!(rng.normal().is_finite());
    }

    #[test]
    fn power_arithmetic_is_consistent(a in -20_000i32..20_000, gain in -20_000i32..20_000) {
        let power = Dbm::from_mbm(a);
        prop_assert_eq!((power + Db::from_centi(gain)) - power, Db::from_centi(gain));
    }
}
