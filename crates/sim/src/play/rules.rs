//! From a scenario's `[air]` to the medium's own rules.

use links::air::{Countdown, Eifs, Rules, Thresholds};

/// What holds for everybody on the air.
pub(super) fn rules(rules: &scenario::Rules) -> Rules {
    Rules {
        attempts: rules.attempts,
        preamble: rules.preamble,
        capture: rules.capture,
        eifs: if rules.eifs_after_any_error {
            Eifs::AfterAnyError
        } else {
            Eifs::AfterHeader
        },
        countdown: if rules.busy_counts_as_slot {
            Countdown::BusyCountsAsSlot
        } else {
            Countdown::Standard
        },
        no_retry_bit_on_rate_change: rules.no_retry_bit_on_rate_change,
        ..Rules::default()
    }
}

/// What a radio senses, and when it asks before it sends.
pub(super) fn thresholds(thresholds: scenario::Thresholds) -> Thresholds {
    Thresholds {
        rts: thresholds.rts.map(|bytes| bytes.get() as u32),
        carrier_sense: thresholds.carrier_sense,
        energy_detection: thresholds.energy_detection,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scenario_leaves_open_is_the_models_own() {
        assert_eq!(rules(&scenario::Rules::default()), Rules::default());
        assert_eq!(thresholds(scenario::Thresholds::default()), Thresholds::default());
    }
}
