//! `cc-handoff-rates`: the LTE rate from which a hand-off costs no controller anything, and the quoted one's
//! gain below it.
//!
//! # Sources
//! - As `cc-handoff`. The LTE rate is swept from a fifth of the offered load to three quarters of it.
//!
//! # Where we differ, and why
//! The figure is the fastest LTE with which, in both directions, more is read and less is retransmitted. A
//! claim about a controller must say where it holds.
//!
//! # Checked by
//! `tests`: which rate is reported.

use scenario::Plan;
use trace::BenchRow;

use super::{CONTROL, Cost, Measured, QUOTED, Sender, WAYS, Way, mean, observe, walk};
use crate::declaration::Setup;

/// LTE rates, in Mb/s. The walk of `cc-handoff` has 12.
const RATES_MBPS: [u32; 6] = [4, 6, 8, 10, 12, 15];
/// Ratio from which more counts as read: bytes read in five seconds spread by 2 %.
const MORE: f64 = 1.03;

/// Measures both directions with every rate, all side by side.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let quoted = setup.cc.as_deref().unwrap_or(QUOTED);
    let senders = [quoted, CONTROL].map(|cc| Sender { cc, advised: true });
    let swept = swept()?;
    let measured = swept.iter().map(|(_, way, plan)| Measured {
        plan,
        way: *way,
        senders: &senders,
    });
    let (walks, doubts) = observe(setup, &measured.collect::<Vec<_>>())?;
    let mut row = setup.only_row().with("cc", quoted);
    let (mut means, mut void) = (Vec::new(), 0);
    for ((rate, way, _), walks) in swept.iter().zip(&walks) {
        let control = mean(&walks[1].costs);
        for (sender, walks) in senders.iter().zip(walks) {
            let name = format!("{}_{}_{rate}", sender.name(), way.name());
            row = row.with(&name, walks.beside(control));
            void += walks.void;
        }
        means.push((*rate, mean(&walks[0].costs), control));
    }
    row.ours = gains_up_to(&means);
    Ok(vec![doubts.note(row.with("void", void))])
}

/// Every rate, in both directions.
fn swept() -> anyhow::Result<Vec<(u32, Way, Plan)>> {
    let both = |rate| WAYS.map(|way| (rate, way));
    let planned = |(rate, way)| {
        let plan = walk(&[&format!("cells.lte.rate_mbps={rate}")], way)?;
        Ok((rate, way, plan))
    };
    RATES_MBPS.into_iter().flat_map(both).map(planned).collect()
}

/// The fastest LTE up to which, at every rate and in both directions, ours reads more than the control and
/// retransmits less.
fn gains_up_to(means: &[(u32, Cost, Cost)]) -> Option<f64> {
    let is_gain = |(_, ours, control): &(u32, Cost, Cost)| {
        ours.bytes >= control.bytes * MORE && ours.retransmits < control.retransmits
    };
    let of_rates = means.chunk_by(|one, next| one.0 == next.0);
    let gaining = of_rates.take_while(|ways| ways.iter().all(is_gain));
    gaining.last().map(|ways| f64::from(ways[0].0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_is_said_up_to_which_all_gain_both_ways() {
        let cost = |bytes, retransmits| Cost { bytes, retransmits };
        let gain = (cost(2.0, 1.0), cost(1.0, 2.0));
        let resends = (cost(2.0, 2.0), cost(1.0, 2.0));
        let same = (cost(1.02, 1.0), cost(1.0, 2.0));
        let up_to = |means: &[(Cost, Cost)]| {
            let both = |(rate, up): (u32, &(Cost, Cost))| [(rate, gain.0, gain.1), (rate, up.0, up.1)];
            gains_up_to(
                &RATES_MBPS
                    .into_iter()
                    .zip(means)
                    .flat_map(both)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(up_to(&[gain, gain, same, gain]), Some(6.0));
        assert_eq!(up_to(&[gain, resends]), Some(4.0));
        assert_eq!(up_to(&[same, gain]), None);
    }

    #[test]
    fn every_rate_is_walked_both_ways() {
        let swept = swept().unwrap();
        let ways = |of: u32| {
            swept
                .iter()
                .filter(move |(rate, ..)| *rate == of)
                .map(|(_, way, _)| *way)
        };
        assert!(RATES_MBPS.iter().all(|&rate| ways(rate).eq(WAYS)));
        assert_eq!(swept.len(), RATES_MBPS.len() * WAYS.len());
    }
}
