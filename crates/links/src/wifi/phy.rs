//! Loss probability of a frame at an SNR.
//!
//! # Sources
//! - OFDM: bit error rates of Gray-coded BPSK, QPSK, 16-QAM and 64-QAM in white noise (Proakis, Digital
//!   Communications, §5.2). Then the convolutional code with hard decisions: union bound `1/(2k) · Σ c_d·Dᵈ`,
//!   `D = √(4p(1−p))`. The weights c_d are those of the (133, 171) code and its punctured forms (Haccoun and
//!   Bégin 1989; Frenger, Orten and Ottosson 1999). Pei and Henderson (2010, "Validation of OFDM error rate
//!   model in ns-3") compared this model with a hardware testbed.
//!   It is the class `NistErrorRateModel` of ns-3, and [`ErrorModel::Nist`] here. [`yans`] and [`table`] have
//!   the others.
//! - DSSS: DBPSK and DQPSK (Proakis §5.2.8, the large-SNR form for M-ary DPSK). CCK: union bound over the
//!   distances between the 16 or 256 code words (802.11-2020 §16.3.6.4; Fainberg 2001), bit errors from
//!   symbol errors as for orthogonal signals.
//! - 802.11-2020 §17.3.10.2, table 17-18: receivers' minimum sensitivities at 10 % loss of 1,000-byte frames.
//!
//! # Where we differ, and why
//! 1. Only the payload decides the loss of a frame. The SIGNAL field and the DSSS header use the most robust
//!    rate.
//! 2. The weights are counted on the trellis, over every path up to its first return. Published tables of the
//!    punctured codes are up to 0.2 % higher from twice the free distance on.
//! 3. The SNR is that at an ideal decoder: the caller adds `Propagation::implementation_loss` to the noise.
//! 4. All models of OFDM have the same curves for DSSS and CCK.
//!
//! # Checked by
//! `phy_tests`: the code's weights by walking all paths of its trellis; the distances of all CCK words by
//! enumeration; the standard's sensitivities within 2.5 dB; loss falls with SNR and grows with length and
//! rate; all models against ns-3 3.37 (`golden/frame-errors.csv`).

mod table;
mod yans;

use libm::{erfc, exp, log1p, sqrt};
use units::wifi::Standard;
use units::{Bitrate, Db, Ratio};

use crate::config::ErrorModel;

/// A punctured form of the (133, 171) code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code {
    /// Information bits per period.
    pub(super) bits: u32,
    /// Free distance.
    pub(super) distance: u32,
    /// Step between two distances that have code words.
    pub(super) step: u32,
    /// Information weights of the words at the free distance, one step further, …
    pub(super) weights: &'static [f64],
}

pub(super) const HALF: Code = Code {
    bits: 1,
    distance: 10,
    step: 2,
    weights: &[
        36.0,
        211.0,
        1_404.0,
        11_633.0,
        77_433.0,
        502_690.0,
        3_322_763.0,
        21_292_910.0,
        134_365_911.0,
    ],
};

pub(super) const TWO_THIRDS: Code = Code {
    bits: 2,
    distance: 6,
    step: 1,
    weights: &[
        3.0,
        70.0,
        285.0,
        1_276.0,
        6_160.0,
        27_128.0,
        117_019.0,
        498_835.0,
        2_103_480.0,
        8_781_268.0,
    ],
};

pub(super) const THREE_QUARTERS: Code = Code {
    bits: 3,
    distance: 5,
    step: 1,
    weights: &[
        42.0,
        201.0,
        1_492.0,
        10_469.0,
        62_935.0,
        379_546.0,
        2_252_394.0,
        13_064_540.0,
        75_080_308.0,
        427_474_864.0,
    ],
};

/// 802.11n's highest code rate.
pub(super) const FIVE_SIXTHS: Code = Code {
    bits: 5,
    distance: 4,
    step: 1,
    weights: &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        791_795.0,
        7_369_828.0,
        67_809_347.0,
        609_896_348.0,
    ],
};

/// Squared distances between CCK words at 11 and at 5.5 Mb/s (chips of unit energy), and how many words have
/// each.
pub(super) const CCK_11: [(f64, f64); 6] = [
    (8.0, 24.0),
    (12.0, 16.0),
    (16.0, 174.0),
    (20.0, 16.0),
    (24.0, 24.0),
    (32.0, 1.0),
];
pub(super) const CCK_5_5: [(f64, f64); 2] = [(16.0, 14.0), (32.0, 1.0)];

/// Probability that a frame of `mpdu_bytes` (with header and FCS) at `rate` is lost at `snr`, with
/// [`ErrorModel::Nist`].
pub fn frame_loss(standard: Standard, rate: Bitrate, snr: Db, mpdu_bytes: u32) -> Ratio {
    Ratio::clamped(loss(standard, rate, snr.as_db_f64(), mpdu_bytes))
}

/// As [`frame_loss`], with the SNR in dB.
pub(super) fn loss(standard: Standard, rate: Bitrate, snr_db: f64, mpdu_bytes: u32) -> f64 {
    frame_error(
        bit_error(ErrorModel::Nist, standard, rate, libm::exp10(snr_db / 10.0)),
        mpdu_bytes,
    )
}

/// Probability that a frame is lost, from that of a bit error.
fn frame_error(bit: f64, mpdu_bytes: u32) -> f64 {
    if bit >= 0.5 {
        return 1.0;
    }
    -libm::expm1(f64::from(mpdu_bytes) * 8.0 * log1p(-bit))
}

/// Probability of a bit error after the decoder, at a linear SNR. From a probability of 1/2 on, nothing is
/// received.
pub(crate) fn bit_error(model: ErrorModel, standard: Standard, rate: Bitrate, snr: f64) -> f64 {
    let mbps = rate.as_bps() / 1_000_000;
    match (standard, model) {
        (Standard::B, _) => dsss_bit_error(rate, snr),
        (_, ErrorModel::Nist) => nist(mbps, snr),
        (_, ErrorModel::Yans) => yans(mbps, snr),
        (_, ErrorModel::Table) => tabulated(mbps, snr),
    }
}

/// As [`bit_error`], for the one modulation and code rate that only 802.11n has: 64-QAM at rate 5/6.
pub(crate) fn bit_error_five_sixths(model: ErrorModel, snr: f64) -> f64 {
    match model {
        ErrorModel::Nist => decoded(7.0 / 12.0 * q(sqrt(snr / 21.0)), FIVE_SIXTHS),
        ErrorModel::Yans => yans::QAM64[2].bit_error(snr),
        ErrorModel::Table => table::QAM64_FIVE_SIXTHS.bit_error(snr),
    }
}

fn yans(mbps: u64, snr: f64) -> f64 {
    let scheme = match mbps {
        ..9 => yans::BPSK[0],
        9..12 => yans::BPSK[1],
        12..18 => yans::QPSK[0],
        18..24 => yans::QPSK[1],
        24..36 => yans::QAM16[0],
        36..48 => yans::QAM16[1],
        48..54 => yans::QAM64[0],
        54.. => yans::QAM64[1],
    };
    scheme.bit_error(snr)
}

fn tabulated(mbps: u64, snr: f64) -> f64 {
    let table = match mbps {
        ..9 => table::BPSK_HALF,
        9..12 => return yans(mbps, snr),
        12..18 => table::QPSK_HALF,
        18..24 => table::QPSK_THREE_QUARTERS,
        24..36 => table::QAM16_HALF,
        36..48 => table::QAM16_THREE_QUARTERS,
        48..54 => table::QAM64_TWO_THIRDS,
        54.. => table::QAM64_THREE_QUARTERS,
    };
    table.bit_error(snr)
}

/// Tail of the normal distribution.
fn q(x: f64) -> f64 {
    0.5 * erfc(x / core::f64::consts::SQRT_2)
}

fn nist(mbps: u64, snr: f64) -> f64 {
    let bpsk = || q(sqrt(2.0 * snr));
    let qpsk = || q(sqrt(snr));
    let qam16 = || 0.75 * q(sqrt(snr / 5.0));
    let qam64 = || 7.0 / 12.0 * q(sqrt(snr / 21.0));
    match mbps {
        ..9 => decoded(bpsk(), HALF),
        9..12 => decoded(bpsk(), THREE_QUARTERS),
        12..18 => decoded(qpsk(), HALF),
        18..24 => decoded(qpsk(), THREE_QUARTERS),
        24..36 => decoded(qam16(), HALF),
        36..48 => decoded(qam16(), THREE_QUARTERS),
        48..54 => decoded(qam64(), TWO_THIRDS),
        54.. => decoded(qam64(), THREE_QUARTERS),
    }
}

/// Bit error rate after the decoder, from the one before it.
fn decoded(raw: f64, code: Code) -> f64 {
    let d = sqrt(4.0 * raw * (1.0 - raw));
    let step = (0..code.step).fold(1.0, |power, _| power * d);
    let first = (0..code.distance).fold(1.0, |power, _| power * d);
    let sum = code
        .weights
        .iter()
        .rev()
        .fold(0.0, |sum, weight| sum * step + weight);
    sum * first / f64::from(2 * code.bits)
}

/// Noise bandwidth of [`units::wifi::NOISE_FLOOR_MBM`], in units of the 11 Mchip/s chip rate.
const CHIPS: f64 = 20.0 / 11.0;

fn dsss_bit_error(rate: Bitrate, snr: f64) -> f64 {
    // Energy over noise density, per bit at 1 Mb/s and per chip.
    let (per_bit, per_chip) = (20.0 * snr, CHIPS * snr);
    match rate.as_bps() / 1_000_000 {
        ..2 => 0.5 * exp(-per_bit),
        2..5 => q(sqrt(2.0 * per_bit) * DQPSK),
        5..11 => cck(&CCK_5_5, 4, per_chip),
        11.. => cck(&CCK_11, 8, per_chip),
    }
}

/// sin(π / (4·√2)): a symbol of two bits has the energy that one bit has at 1 Mb/s.
const DQPSK: f64 = 0.527_249_542_282_298_6;

fn cck(distances: &[(f64, f64)], bits: i32, per_chip: f64) -> f64 {
    let word: f64 = distances
        .iter()
        .map(|(squared, count)| count * q(sqrt(squared / 2.0 * per_chip)))
        .sum();
    let words = f64::from(1 << bits);
    word.min(1.0) * (words / 2.0) / (words - 1.0)
}

#[cfg(test)]
#[path = "phy_tests.rs"]
mod tests;
