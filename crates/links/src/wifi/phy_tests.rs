use super::*;
use units::wifi::NOISE_FLOOR_MBM;

/// Output bits of one step of the (133, 171) code. `state` has the six earlier bits, the newest on top.
fn output(state: u32, bit: u32) -> [u32; 2] {
    let register = bit << 6 | state;
    [0o133, 0o171].map(|polynomial: u32| (register & polynomial).count_ones() % 2)
}

/// Information weights, by distance, of the paths that leave state zero at a step of the puncturing period
/// and return.
fn weights_from(puncture: &[[u32; 2]], start: usize, most: usize) -> Vec<f64> {
    // Per state and distance: number of paths, and the sum of their information bits.
    let mut paths = vec![vec![(0.0, 0.0); most + 1]; 64];
    let mut found = vec![0.0; most + 1];
    let weight = |state, bit, step: usize| -> usize {
        let kept = puncture[step % puncture.len()];
        let sent = output(state, bit);
        (sent[0] * kept[0] + sent[1] * kept[1]) as usize
    };
    paths[32][weight(0, 1, start)] = (1.0, 1.0);
    let mut step = start;
    while paths.iter().flatten().any(|&(count, _)| count > 0.0) {
        step += 1;
        let mut next = vec![vec![(0.0, 0.0); most + 1]; 64];
        for state in 1..64u32 {
            for bit in 0..2u32 {
                let (to, more) = ((bit << 5 | state >> 1) as usize, weight(state, bit, step));
                for distance in 0..=most.saturating_sub(more) {
                    let (count, ones) = paths[state as usize][distance];
                    let ones = ones + count * f64::from(bit);
                    let cell: &mut (f64, f64) = &mut next[to][distance + more];
                    *cell = (cell.0 + count, cell.1 + ones);
                }
            }
        }
        for (sum, back) in found.iter_mut().zip(&next[0]) {
            *sum += back.1;
        }
        next[0].fill((0.0, 0.0));
        paths = next;
    }
    found
}

#[test]
fn the_weights_are_those_of_the_code() {
    // 802.11-2020 §17.3.5.6 and §19.3.11.6: which of the two output bits are sent.
    let codes: [(Code, &[[u32; 2]]); 4] = [
        (HALF, &[[1, 1]]),
        (TWO_THIRDS, &[[1, 1], [1, 0]]),
        (THREE_QUARTERS, &[[1, 1], [1, 0], [0, 1]]),
        (FIVE_SIXTHS, &[[1, 1], [1, 0], [0, 1], [1, 0], [0, 1]]),
    ];
    for (code, puncture) in codes {
        let terms = code.weights.len();
        let most = code.distance as usize + code.step as usize * (terms - 1);
        let per_start: Vec<_> = (0..puncture.len())
            .map(|start| weights_from(puncture, start, most))
            .collect();
        let all: Vec<f64> = (0..=most)
            .map(|distance| per_start.iter().map(|from| from[distance]).sum())
            .collect();
        let expected = code.weights.iter().enumerate();
        for (term, &weight) in expected {
            let distance = code.distance as usize + term * code.step as usize;
            assert_eq!(all[distance], weight, "rate {}: distance {distance}", code.bits);
        }
        assert!(all[..code.distance as usize].iter().all(|&weight| weight == 0.0));
    }
}

/// A CCK word (802.11-2020, equation 16-1) from four phases, as its eight chips. Phases and chips are in
/// quarter turns.
fn word(phases: [u32; 4]) -> [u32; 8] {
    let [a, b, c, d] = phases;
    [
        a + b + c + d,
        a + c + d,
        a + b + d,
        a + d + 2,
        a + b + c,
        a + c,
        a + b + 2,
        a,
    ]
}

fn squared_distance(one: [u32; 8], other: [u32; 8]) -> f64 {
    // |e^{jα} − e^{jβ}|² is 0, 2, 4, 2 for 0, 1, 2, 3 quarter turns between them.
    one.iter()
        .zip(other)
        .map(|(a, b)| [0.0, 2.0, 4.0, 2.0][((a + 4 - b % 4) % 4) as usize])
        .sum()
}

fn distances(words: &[[u32; 8]]) -> Vec<(f64, f64)> {
    let mut counts = std::collections::BTreeMap::new();
    for other in &words[1..] {
        *counts
            .entry(squared_distance(words[0], *other) as u32)
            .or_insert(0) += 1;
    }
    counts
        .into_iter()
        .map(|(distance, count)| (f64::from(distance), f64::from(count)))
        .collect()
}

#[test]
fn the_distances_are_those_of_the_cck_words() {
    let words = |of: fn(u32) -> [u32; 4], count| (0..count).map(|n| word(of(n))).collect::<Vec<_>>();
    let eleven = words(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6], 256);
    assert_eq!(distances(&eleven), CCK_11);
    // Table 16-4: at 5.5 Mb/s the second phase is ±90°, the third 0, the fourth 0 or 180°.
    let five = words(|n| [n & 3, (n >> 2 & 1) * 2 + 1, 0, (n >> 3) * 2], 16);
    assert_eq!(distances(&five), CCK_5_5);
}

/// `golden/frame-errors.csv`: losses of frames of 1,458 bytes in ns-3 3.37, by model, rate and SNR.
#[test]
fn every_model_loses_as_many_frames_as_in_ns_3() {
    let lines = include_str!("../../../../golden/frame-errors.csv")
        .lines()
        .skip(1);
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let &[model, kbps, snr_db, lost] = fields.as_slice() else {
            panic!("{line}: four fields");
        };
        let model = match model {
            "nist" => ErrorModel::Nist,
            "yans" => ErrorModel::Yans,
            "table" => ErrorModel::Table,
            other => panic!("{other}: an error model"),
        };
        let snr = libm::exp10(snr_db.parse::<f64>().unwrap() / 10.0);
        let bit = match kbps.parse().unwrap() {
            65_000 => bit_error_five_sixths(model, snr),
            kbps => bit_error(model, Standard::A, Bitrate::from_kbps(kbps), snr),
        };
        let ours = frame_error(bit, 1_458);
        assert!(
            (ours - lost.parse::<f64>().unwrap()).abs() < 0.002,
            "{line}: {ours}"
        );
    }
}

/// The SNR at which a tenth of 1,000-byte frames is lost.
fn threshold(standard: Standard, kbps: u32) -> f64 {
    let rate = Bitrate::from_kbps(kbps.into());
    let steps = (-200..400).map(|tenths| f64::from(tenths) / 10.0);
    steps
        .into_iter()
        .find(|&snr| loss(standard, rate, snr, 1_000) < 0.1)
        .unwrap()
}

#[test]
fn a_receiver_is_about_as_good_as_the_standard_asks() {
    // Table 17-18 over −101 dBm, with the noise figure of 10 dB and the margin of 5 dB that §17.3.10.2
    // assumes.
    let asked = [-82.0, -81.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0].map(|dbm: f64| dbm + 101.0 - 15.0);
    for (&kbps, asked) in Standard::G.rates_kbps().iter().zip(asked) {
        let ours = threshold(Standard::G, kbps);
        assert!(
            (asked - ours).abs() < 2.5,
            "{kbps} kb/s: {ours} dB, the standard asks for {asked}"
        );
    }
    assert_eq!(NOISE_FLOOR_MBM, -9_400);
}

#[test]
fn dsss_thresholds_rise_with_the_rate_of_each_modulation() {
    // 802.11-2020 §16.3.8.2 requires −76 dBm at 11 Mb/s. Receivers with −94 dBm of noise and 5 dB of loss do
    // better.
    let thresholds: Vec<_> = Standard::B
        .rates_kbps()
        .iter()
        .map(|&kbps| threshold(Standard::B, kbps))
        .collect();
    assert!(thresholds[3] + 5.0 - 94.0 < -76.0);
    // DPSK needs 10.3 dB per bit for one error in 100,000. Doubling its bits costs 2.3 dB more. CCK codes
    // across chips.
    assert!((thresholds[0] - (10.3 - 13.0)).abs() < 0.2, "{thresholds:?}");
    assert!(
        (thresholds[1] - thresholds[0] - 5.0).abs() < 0.5,
        "{thresholds:?}"
    );
    assert!(
        (2.5..4.0).contains(&(thresholds[3] - thresholds[2])),
        "{thresholds:?}"
    );
}

proptest::proptest! {
    #[test]
    fn loss_falls_with_snr_and_grows_with_length(snr in -20.0f64..45.0, more in 0.0f64..10.0, bytes in 14u32..1_600, index in 0usize..12) {
        let (standard, kbps) = match index {
            0..8 => (Standard::G, Standard::G.rates_kbps()[index]),
            _ => (Standard::B, Standard::B.rates_kbps()[index - 8]),
        };
        let rate = Bitrate::from_kbps(kbps.into());
        let here = loss(standard, rate, snr, bytes);
        proptest::prop_assert!((0.0..=1.0).contains(&here));
        proptest::prop_assert!(loss(standard, rate, snr + more, bytes) <= here + 1e-12);
        proptest::prop_assert!(loss(standard, rate, snr, bytes * 2) >= here);
        proptest::prop_assert!(frame_loss(standard, rate, Db::from_db(90), bytes).as_f64() < 1e-6);
    }
}
