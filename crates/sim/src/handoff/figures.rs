//! Statistics over many outcomes.

use super::outcome::Outcome;

/// Means over some outcomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Goodput around the hand-off, in Mb/s.
    pub goodput_mbps: f64,
    /// Retransmitted segments.
    pub retransmits: f64,
    /// Longest time without data to read, in ms.
    pub longest_silence_ms: f64,
}

impl Summary {
    /// `None` if there are no outcomes.
    pub fn of(outcomes: &[Outcome]) -> Option<Self> {
        Some(Self {
            goodput_mbps: mean(outcomes, Outcome::goodput_mbps)?,
            retransmits: mean(outcomes, |outcome| outcome.retransmits as f64)?,
            longest_silence_ms: mean(outcomes, |outcome| outcome.longest_silence.as_secs_f64() * 1e3)?,
        })
    }
}

fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> Option<f64> {
    let count = outcomes.len();
    (count > 0).then(|| outcomes.iter().map(of).sum::<f64>() / count as f64)
}

/// Difference in goodput between two kinds of sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// Mean difference, in Mb/s.
    pub mbps: f64,
    /// Standard error of the mean, in Mb/s.
    pub error_mbps: f64,
}

impl Gain {
    /// Gain over pairs of outcomes with equal seeds in equal order. `None` for fewer than two pairs.
    pub fn between(less: &[Outcome], more: &[Outcome]) -> Option<Self> {
        let pairs = less.iter().zip(more);
        let gains: Vec<f64> = pairs
            .map(|(less, more)| more.goodput_mbps() - less.goodput_mbps())
            .collect();
        if gains.len() < 2 {
            return None;
        }
        let count = gains.len() as f64;
        let mbps = gains.iter().sum::<f64>() / count;
        let squares: f64 = gains.iter().map(|gain| (gain - mbps).powi(2)).sum();
        Some(Self {
            mbps,
            error_mbps: (squares / (count * (count - 1.0))).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::MSS;
    use units::Duration;

    /// Outcome with a goodput of `mbps` Mb/s.
    fn outcome(mbps: u64) -> Outcome {
        Outcome {
            watched: Duration::from_secs(u64::from(MSS)),
            delivered: mbps * 125_000,
            retransmits: mbps,
            longest_silence: Duration::from_millis(mbps),
            ..Outcome::default()
        }
    }

    #[test]
    fn means_cover_all_outcomes() {
        let summary = Summary::of(&[outcome(2), outcome(4)]).unwrap();
        assert!((summary.goodput_mbps - 3.0).abs() < 1e-9);
        assert!((summary.retransmits - 3.0).abs() < 1e-9);
        assert!((summary.longest_silence_ms - 3.0).abs() < 1e-9);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn gains_are_computed_over_pairs() {
        let (less, more) = ([1, 2, 3].map(outcome), [2, 4, 6].map(outcome));
        // Gains 1, 2 and 3: a deviation of 1, divided by the root of three.
        let gain = Gain::between(&less, &more).unwrap();
        assert!((gain.mbps - 2.0).abs() < 1e-9);
        assert!((gain.error_mbps - 3.0_f64.sqrt().recip()).abs() < 1e-9);
        assert_eq!(Gain::between(&less[..1], &more), None);
    }
}
