//! What is measured of the runs of a case: a quantity of each run, and one statistic of them all.

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::trial::{Span, Trial};

/// For example `sum`, `c1`, `fairness`, `lost probe`, `median seconds download`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Value {
    text: String,
    statistic: Statistic,
    pub(super) quantity: Quantity,
}

/// Over the runs of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statistic {
    Mean,
    Median,
    P95,
    P99,
    Least,
    Most,
}

/// Of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Goodput of all flows, in Mb/s.
    Sum,
    /// Goodput of this flow, in Mb/s.
    Goodput(String),
    /// Jain's index of the flows' goodput, in percent: 100 if all are equal.
    Fairness,
    /// Datagrams of this flow that were lost, in percent.
    Lost(String),
    /// Time until this flow has moved all of its bytes, in seconds.
    Seconds(String),
    /// Time from the end of a fault that took this link down until it is up with an address, in seconds.
    Back(String),
    /// Longest stall of this flow, in seconds.
    Stall(String),
    /// Time in which the player of this flow waited in gaps, in seconds.
    Gaps(String),
    /// How many gaps those were.
    Pauses(String),
    /// This percentile of the times in which this flow's application waited for data, in ms. Those under
    /// 10 ms are left out.
    Wait(u8, String),
    /// What this link carried of this flow, or of all flows, in percent of their bytes.
    Share(String, Option<String>),
    /// What the busiest link carried of all flows, in percent of their bytes.
    Dominant,
    /// Lost datagrams of the first flow for each hundred that the second one sent.
    Losses(String, String),
    /// Correlation of the goodput of two flows in windows of [`WINDOW_S`], from -1 to 1.
    Correlation(String, String),
    /// Packets to the client that it marked itself, in percent of those that can be marked.
    Marked,
    /// This percentile of the times between packets that the client's radio received, in ms.
    Gap(u8),
    /// This percentile of the round-trip times over this link, of all flows, in ms.
    RoundTrip(u8, String),
}

/// Long enough for a mean, and short enough to follow a channel.
const WINDOW_S: f64 = 1.0;

impl TryFrom<String> for Value {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (statistic, rest) = match words.split_first() {
            Some((&"median", rest)) => (Statistic::Median, rest),
            Some((&"p95", rest)) => (Statistic::P95, rest),
            Some((&"p99", rest)) => (Statistic::P99, rest),
            Some((&"least", rest)) => (Statistic::Least, rest),
            Some((&"most", rest)) => (Statistic::Most, rest),
            _ => (Statistic::Mean, &words[..]),
        };
        let quantity = match *rest {
            ["sum"] => Quantity::Sum,
            ["fairness"] => Quantity::Fairness,
            ["lost", flow] => Quantity::Lost(flow.to_owned()),
            ["seconds", flow] => Quantity::Seconds(flow.to_owned()),
            ["back", link] => Quantity::Back(link.to_owned()),
            ["stall", flow] => Quantity::Stall(flow.to_owned()),
            ["gaps", flow] => Quantity::Gaps(flow.to_owned()),
            ["pauses", flow] => Quantity::Pauses(flow.to_owned()),
            ["wait", percent, flow] => {
                Quantity::Wait(percent.parse().with_context(|| text.clone())?, flow.to_owned())
            }
            ["share", link] => Quantity::Share(link.to_owned(), None),
            ["share", link, flow] => Quantity::Share(link.to_owned(), Some(flow.to_owned())),
            ["dominant"] => Quantity::Dominant,
            ["marked"] => Quantity::Marked,
            [flow] => Quantity::Goodput(flow.to_owned()),
            ["losses", flow, "per", other] => Quantity::Losses(flow.to_owned(), other.to_owned()),
            ["correlation", one, other] => Quantity::Correlation(one.to_owned(), other.to_owned()),
            ["gap", percent] => Quantity::Gap(percent.parse().with_context(|| text.clone())?),
            ["rtt", percent, link] => {
                Quantity::RoundTrip(percent.parse().with_context(|| text.clone())?, link.to_owned())
            }
            _ => bail!(
                "`{text}` is no value; write `sum`, `fairness`, `FLOW`, `lost FLOW`, `seconds FLOW`, `back LINK`, `stall FLOW`, `gaps FLOW`, `pauses FLOW`, `wait PERCENT FLOW`, `share LINK`, `share LINK FLOW`, `dominant`, `marked`, `losses FLOW per FLOW`, `correlation FLOW FLOW`, `gap PERCENT` or `rtt PERCENT LINK`"
            ),
        };
        Ok(Self {
            text,
            statistic,
            quantity,
        })
    }
}

impl Value {
    /// As the file has it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The part of a name that stands for it.
    pub(super) fn name(&self) -> String {
        self.text.split_whitespace().collect::<Vec<_>>().join("_")
    }

    /// The value of a case: of its runs within this part of their time.
    pub(super) fn of(&self, trials: &[Trial], span: Span) -> anyhow::Result<f64> {
        let all: anyhow::Result<Vec<f64>> =
            trials.iter().map(|trial| self.quantity.of(trial, span)).collect();
        let of = || format!("value `{}`", self.text);
        let mut all = all.with_context(of)?;
        all.sort_by(f64::total_cmp);
        self.statistic
            .of(&all)
            .with_context(|| format!("{}: there are no runs", of()))
    }
}

impl Statistic {
    /// Of values in ascending order. `None` if there are none.
    fn of(self, sorted: &[f64]) -> Option<f64> {
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        Some(match self {
            Self::Mean => sorted.iter().sum::<f64>() / count as f64,
            Self::Median => (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0,
            // The smallest value that at least 95 % or 99 % of the runs do not exceed.
            Self::P95 => sorted[(count * 95).div_ceil(100) - 1],
            Self::P99 => sorted[(count * 99).div_ceil(100) - 1],
            Self::Least => least,
            Self::Most => most,
        })
    }
}

impl Quantity {
    /// Whether it has a value for a part of a run.
    pub(super) const fn has_spans(&self) -> bool {
        matches!(self, Self::Sum | Self::Goodput(_) | Self::Fairness)
    }

    /// The flow that it is about, if it is about one.
    #[cfg(test)]
    pub(super) fn flow(&self) -> Option<&str> {
        match self {
            Self::Sum
            | Self::Fairness
            | Self::Share(_, None)
            | Self::Back(_)
            | Self::Dominant
            | Self::Marked
            | Self::Gap(_)
            | Self::RoundTrip(..) => None,
            Self::Goodput(flow)
            | Self::Lost(flow)
            | Self::Seconds(flow)
            | Self::Stall(flow)
            | Self::Gaps(flow)
            | Self::Pauses(flow)
            | Self::Wait(_, flow)
            | Self::Share(_, Some(flow))
            | Self::Losses(flow, _)
            | Self::Correlation(flow, _) => Some(flow),
        }
    }

    fn of(&self, trial: &Trial, span: Span) -> anyhow::Result<f64> {
        Ok(match self {
            Self::Sum => trial.goodputs(span).sum(),
            Self::Fairness => fairness(&trial.goodputs(span).collect::<Vec<_>>()),
            Self::Goodput(flow) => trial.flow(flow)?.goodput_mbps(span),
            Self::Back(link) => trial.back_s(link)?,
            Self::Stall(flow) => trial.flow(flow)?.stall_s,
            Self::Gaps(flow) => trial.flow(flow)?.playback()?.gap_total_ms / 1e3,
            Self::Pauses(flow) => trial.flow(flow)?.playback()?.gaps as f64,
            Self::Wait(percent, flow) => trial.flow(flow)?.wait_ms(*percent, span),
            Self::Lost(flow) => {
                let datagrams = trial.flow(flow)?.datagrams()?;
                datagrams.lost_percent().unwrap_or(0.0)
            }
            Self::Losses(flow, other) => {
                let (lost, sent) = (
                    trial.flow(flow)?.datagrams()?.lost,
                    trial.flow(other)?.datagrams()?.sent,
                );
                100.0 * lost as f64 / sent.max(1) as f64
            }
            Self::Dominant => trial.dominant_percent(),
            Self::Marked => trial.marked_percent,
            Self::Correlation(one, other) => {
                let windows = |flow| anyhow::Ok(trial.flow(flow)?.windows(span, WINDOW_S));
                correlation(&windows(one)?, &windows(other)?)
            }
            Self::Gap(percent) => trial.gap_ms(*percent)?,
            Self::RoundTrip(percent, link) => trial.round_trip_ms(*percent, link, span)?,
            Self::Seconds(flow) => trial.flow(flow)?.seconds,
            Self::Share(link, flow) => trial.share_percent(link, flow.as_deref())?,
        })
    }
}

/// Pearson's coefficient. Zero if one of them never changes.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (a, b) = (mean(one), mean(other));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| -> f64 { one.iter().zip(other).map(|(x, y)| of(x - a, y - b)).sum() };
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    if spread > 0.0 {
        sum(&|x, y| x * y) / spread
    } else {
        0.0
    }
}

/// Jain's index in percent (Jain, Chiu, Hawe 1984). Zero if nothing moved.
fn fairness(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 {
        100.0 * sum * sum / (shares.len() as f64 * squares)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> anyhow::Result<Value> {
        text.to_owned().try_into()
    }

    #[test]
    fn a_value_is_a_statistic_and_a_quantity() {
        let median = value("median seconds download").unwrap();
        assert_eq!(median.statistic, Statistic::Median);
        assert_eq!(median.quantity, Quantity::Seconds("download".into()));
        assert_eq!(median.name(), "median_seconds_download");
        assert_eq!(value("c1").unwrap().quantity, Quantity::Goodput("c1".into()));
        assert_eq!(value("c1").unwrap().statistic, Statistic::Mean);
        for bad in ["", "median", "lost a b", "last c1"] {
            assert!(value(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn statistics_of_sorted_values() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(Statistic::P99.of(&hundred), Some(99.0));
        assert_eq!(Statistic::P95.of(&hundred), Some(95.0));
        assert_eq!(Statistic::Median.of(&hundred), Some(50.5));
        assert_eq!(Statistic::Mean.of(&hundred), Some(50.5));
        assert_eq!(Statistic::P99.of(&[1.0, 2.0]), Some(2.0));
        assert_eq!(Statistic::Least.of(&[]), None);
    }

    #[test]
    fn correlation_is_one_for_the_same_and_minus_one_for_the_opposite() {
        let rising = [1.0, 2.0, 3.0];
        assert!((correlation(&rising, &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-9);
        assert!((correlation(&rising, &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-9);
        assert_eq!(correlation(&rising, &[5.0, 5.0, 5.0]), 0.0);
    }

    #[test]
    fn equal_shares_are_fair() {
        assert_eq!(fairness(&[7.0, 7.0, 7.0]), 100.0);
        assert_eq!(fairness(&[6.0, 0.0]), 50.0);
        assert_eq!(fairness(&[0.0, 0.0]), 0.0);
    }
}
