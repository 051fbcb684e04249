//! How many of the next packets to mark: error diffusion, in integers.
//!
//! For each ECN-capable packet, the marking rate is added to a 32.32 accumulator. Whenever its integer part
//! grows, a mark is due. So n packets at one rate get ⌊n · rate⌋ marks, evenly spread, within the fraction
//! left over from earlier. A changed rate acts on the next packet and loses nothing. Random marks at the same
//! rate would scatter by √(n · rate), which at the rates in use (0.01–0.5 %) is most of the signal.
//!
//! The engine requests rates ([`crate::Action::Mark`]). A world without that BPF program applies them with
//! one [`Diffusion`] per link.
//!
//! # Sources
//! - Floyd and Steinberg 1976, "An adaptive algorithm for spatial greyscale": error diffusion, here in one
//!   dimension.
//! - RFC 3168 §5: only ECN-capable packets take part.
//!
//! # Where we differ, and why
//! Several packets that travel as one count as several, and more than one mark can be due for them.
//!
//! # Checked by
//! `tests`; `golden/mark.csv`, whose answers this module, `bpf/mark.h` compiled for the host, and the BPF
//! program all give.

use units::Ratio;

/// Decides which packets of one link to mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Diffusion {
    /// 32.32: marks due so far, and the fraction towards the next. It wraps after 2³² marks, which is exact
    /// too.
    sum: u64,
}

impl Diffusion {
    /// Starts with no mark due.
    pub const fn new() -> Self {
        Self { sum: 0 }
    }

    /// How many of the next `weight` packets, which travel as one, to mark at `rate`: 0..=`weight`.
    pub const fn due(&mut self, rate: Ratio, weight: u16) -> u32 {
        let before = self.sum;
        // At most 2³² · 2¹⁶.
        self.sum = before.wrapping_add(rate.as_raw() * weight as u64);
        ((self.sum >> 32) as u32).wrapping_sub((before >> 32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const GOLDEN: &str = include_str!("../../../../golden/mark.csv");

    #[test]
    fn golden_vectors_hold() {
        let rows = GOLDEN.lines().filter(|line| !line.starts_with(['#', 'b']));
        for line in rows {
            let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let &[before, rate, weight, due, after] = cells.as_slice() else {
                panic!("{line}: five columns")
            };
            let mut diffusion = Diffusion { sum: before };
            let rate = Ratio::from_fraction(rate, Ratio::ONE.as_raw());
            let weight = u16::try_from(weight).unwrap();
            assert_eq!(
                (u64::from(diffusion.due(rate, weight)), diffusion.sum),
                (due, after),
                "{line}"
            );
        }
    }

    #[test]
    fn n_packets_get_the_floor_of_n_times_the_rate() {
        for rate in [
            0,
            1,
            4_295,
            4_294_967,
            21_474_836,
            1 << 31,
            (1 << 32) - 1,
            1 << 32,
        ] {
            let mut diffusion = Diffusion::new();
            let mut marked = 0_u64;
            let raw = Ratio::from_fraction(rate, 1 << 32);
            for n in 1..=10_000_u64 {
                marked += u64::from(diffusion.due(raw, 1));
                assert_eq!(marked, (n * rate) >> 32, "after {n} packets at {rate}");
            }
        }
    }

    #[test]
    fn marks_are_evenly_spaced() {
        let mut diffusion = Diffusion::new();
        let rate = Ratio::from_fraction(1, 300);
        let marks: Vec<usize> = (0..10_000).filter(|_| diffusion.due(rate, 1) == 1).collect();
        assert!(
            marks
                .windows(2)
                .all(|pair| (300..=301).contains(&(pair[1] - pair[0]))),
            "{marks:?}"
        );
    }

    #[test]
    fn a_train_of_packets_gets_as_many_marks_as_single_packets() {
        let rate = Ratio::from_fraction(3, 7);
        let (mut together, mut alone) = (Diffusion::new(), Diffusion::new());
        for weight in [1, 44, 2, 7, 65_535] {
            let apart: u32 = (0..weight).map(|_| alone.due(rate, 1)).sum();
            assert_eq!(together.due(rate, weight), apart);
        }
    }
}
