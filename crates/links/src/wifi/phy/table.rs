//! Packet error rates from link-level simulation, as a table.
//!
//! # Sources
//! - IEEE 802.11-14/0571r12 (TGax evaluation methodology), appendix 3: packet error rates over the SNR in
//!   white noise, with convolutional codes and soft decisions. The values are those that the class
//!   `TableBasedErrorRateModel` of ns-3 3.37 returns for 1,458 bytes, every quarter of a decibel.
//!
//! # Where we differ, and why
//! 1. ns-3 has a second table, of 32 bytes, for frames below 400 bytes. Here the one table gives the
//!    probability per bit. An acknowledgement needs some tenths of a decibel more that way.
//! 2. The tables have no code rate 3/4 with BPSK (9 Mb/s). As in ns-3, that is the model `yans`.
//!
//! # Checked by
//! `phy_tests`, with `golden/frame-errors.csv`.

/// Bits of the frames in the table.
const BITS: f64 = 1_458.0 * 8.0;

/// Packet error rates from one SNR on, in ten-millionths, every quarter of a decibel. Below, every frame is
/// lost. Above, every frame arrives.
#[derive(Debug)]
pub(super) struct Table {
    first_db: f64,
    losses: &'static [u32],
}

impl Table {
    /// Probability of a bit error after the decoder, at a linear SNR.
    pub(super) fn bit_error(&self, snr: f64) -> f64 {
        let steps = (10.0 * libm::log10(snr) - self.first_db) * 4.0;
        if steps.is_nan() || steps < 0.0 {
            return 0.5;
        }
        let step = steps as usize;
        let loss = |step: usize| self.losses.get(step).map_or(0.0, |&loss| f64::from(loss) * 1e-7);
        let (low, high) = (loss(step), loss(step + 1));
        let lost = low + (high - low) * (steps - step as f64);
        -libm::expm1(libm::log1p(-lost) / BITS)
    }
}

pub(super) const BPSK_HALF: Table = Table {
    first_db: -0.75,
    losses: &[
        9_970_000, 9_940_000, 9_062_500, 8_185_000, 5_546_500, 2_908_000, 1_785_500, 663_000, 387_500,
        112_000, 63_500, 15_000, 8_250, 1_500, 800, 100,
    ],
};

pub(super) const QPSK_HALF: Table = Table {
    first_db: 2.25,
    losses: &[
        9_985_000, 9_970_000, 8_957_000, 7_944_000, 5_476_000, 3_008_000, 1_868_000, 728_000, 424_000,
        120_000, 67_500, 15_000, 8_650, 2_300, 1_150,
    ],
};

pub(super) const QPSK_THREE_QUARTERS: Table = Table {
    first_db: 4.75,
    losses: &[
        9_990_000, 9_980_000, 8_779_000, 7_578_000, 5_294_000, 3_010_000, 1_843_000, 676_000, 399_000,
        122_000, 72_500, 23_000, 13_250, 3_500, 1_950, 400, 200,
    ],
};

pub(super) const QAM16_HALF: Table = Table {
    first_db: 7.75,
    losses: &[
        9_970_000, 9_940_000, 9_172_500, 8_405_000, 6_373_000, 4_341_000, 2_880_000, 1_419_000, 896_500,
        374_000, 230_000, 86_000, 52_500, 19_000, 11_300, 3_600, 2_050, 500, 250,
    ],
};

pub(super) const QAM16_THREE_QUARTERS: Table = Table {
    first_db: 11.25,
    losses: &[
        9_634_500, 9_269_000, 7_204_000, 5_139_000, 3_482_500, 1_826_000, 1_145_500, 465_000, 287_500,
        110_000, 68_000, 26_000, 15_050, 4_100, 2_550, 1_000, 500,
    ],
};

pub(super) const QAM64_TWO_THIRDS: Table = Table {
    first_db: 14.75,
    losses: &[
        9_995_000, 9_990_000, 9_734_500, 9_479_000, 8_052_000, 6_625_000, 4_801_500, 2_978_000, 2_018_000,
        1_058_000, 696_000, 334_000, 212_500, 91_000, 57_000, 23_000, 14_700, 6_400, 4_050, 1_700, 950, 200,
        100,
    ],
};

pub(super) const QAM64_THREE_QUARTERS: Table = Table {
    first_db: 16.25,
    losses: &[
        9_975_000, 9_950_000, 9_373_000, 8_796_000, 6_967_500, 5_139_000, 3_615_000, 2_091_000, 1_365_000,
        639_000, 412_500, 186_000, 116_000, 46_000, 29_500, 13_000, 7_650, 2_300, 1_250, 200, 100,
    ],
};

pub(super) const QAM64_FIVE_SIXTHS: Table = Table {
    first_db: 17.75,
    losses: &[
        9_892_500, 9_785_000, 8_589_000, 7_393_000, 5_384_000, 3_375_000, 2_304_500, 1_234_000, 794_500,
        355_000, 227_500, 100_000, 63_500, 27_000, 16_000, 5_000, 2_950, 900, 500, 100,
    ],
};
