//! Access points, what is between them and the client, and what holds on the air.

use crate::plan::{self, AccessPoint, LinkKind, Loss, Plan, Point, RateControl, Way};
use links::air::{Countdown, Eifs, Ht, NoiseConfig, Rules, Thresholds};
use links::wifi::{Backhaul, ErrorModel, Fading, Join, Propagation, Shadowing, Turn, Wall, WifiConfig};
use links::{Position, air};

use super::queue;

pub(super) fn access_point(name: &str, ap: &AccessPoint) -> WifiConfig {
    WifiConfig {
        channel: ap.channel,
        standard: ap.standard,
        rate: match ap.rate {
            RateControl::Fixed(rate) => Some(rate),
            RateControl::Auto | RateControl::Aarf | RateControl::Minstrel => None,
        },
        control: control(ap.rate),
        ht: ap.ht.map(ht),
        thresholds: thresholds(ap.thresholds),
        power: ap.tx_power,
        propagation: propagation(&ap.propagation),
        queue: queue(ap.queue),
        fq_codel: ap.fq_codel,
        turn: ap.turn.map(|turn| Turn {
            packet: turn.packet,
            weight: turn.weight,
        }),
        backhaul: Backhaul {
            down: ap.backhaul.down,
            up: ap.backhaul.up,
            delay: ap.backhaul.rtt / 2,
            queue: queue(ap.backhaul.queue),
        },
        join: join(ap.join),
        management: ap.management,
        ad_hoc: ap.ad_hoc,
        ..WifiConfig::new(name, position(ap.at))
    }
}

/// Times of joining, in the models' form.
pub fn join(join: plan::Join) -> Join {
    Join {
        scan: join.scan,
        associate: join.associate,
        dhcp: join.dhcp,
        ..Join::default()
    }
}

/// What signals lose on their way.
pub fn propagation(propagation: &plan::Propagation) -> Propagation {
    Propagation {
        reference: propagation.reference,
        exponent_centi: propagation.exponent_centi,
        noise_figure: propagation.noise_figure,
        implementation_loss: propagation.implementation_loss,
        error_model: match propagation.error_model {
            plan::ErrorModel::Nist => ErrorModel::Nist,
            plan::ErrorModel::Yans => ErrorModel::Yans,
            plan::ErrorModel::Table => ErrorModel::Table,
        },
        shadowing: propagation.shadowing.map(|shadowing| Shadowing {
            deviation: shadowing.deviation,
            distance_mm: shadowing.distance_mm,
        }),
        fading: propagation.fading.map(|fading| Fading {
            k_factor: fading.k_factor,
            coherence: fading.coherence,
        }),
    }
}

/// A point of the floor plan.
pub const fn position(point: Point) -> Position {
    Position {
        x_mm: point.x_mm,
        y_mm: point.y_mm,
    }
}

/// A wall, in the models' form.
pub fn wall(wall: &plan::Wall) -> Wall {
    Wall {
        from: position(wall.from),
        to: position(wall.to),
        loss: wall.loss,
    }
}

/// A source of noise, in the models' form.
pub fn noise(noise: &plan::Noise) -> NoiseConfig {
    NoiseConfig {
        name: noise.name.clone(),
        position: position(noise.at),
        channel: noise.channel,
        power: noise.power,
        on: noise.on,
        off: noise.off,
        random: noise.random,
    }
}

/// Capabilities of an 802.11n station, in the models' form.
pub const fn ht(ht: plan::Ht) -> Ht {
    Ht {
        mcs: ht.mcs,
        ..Ht::new(ht.streams, ht.width, ht.guard)
    }
}

/// The rate control, in the models' form.
pub const fn control(rate: RateControl) -> air::RateControl {
    match rate {
        RateControl::Auto | RateControl::Fixed(_) => air::RateControl::Fixed,
        RateControl::Aarf => air::RateControl::Aarf,
        RateControl::Minstrel => air::RateControl::Minstrel,
    }
}

/// What holds for everybody on the air.
pub fn rules(rules: &plan::Rules) -> Rules {
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
pub fn thresholds(thresholds: plan::Thresholds) -> Thresholds {
    Thresholds {
        rts: thresholds.rts.map(|bytes| bytes.get() as u32),
        carrier_sense: thresholds.carrier_sense,
        energy_detection: thresholds.energy_detection,
    }
}

/// Losses between stations, by the names that stations have in every world.
pub fn losses(plan: &Plan) -> Vec<links::air::Loss> {
    let loss = |loss: &Loss| {
        let LinkKind::Wifi(ap) = &plan.links[loss.link].kind else {
            return None;
        };
        let station = plan.links[loss.link].name.clone();
        let walker = &plan.walkers[loss.walker];
        let only = plan.access_points().next().filter(|_| walker.radio.is_some());
        let channel = only.map_or(ap.channel, |(_, first)| first.channel);
        let radio = format!("{}@{channel}", walker.name);
        let (from, to) = match loss.way {
            Way::Up => (radio, station),
            Way::Down | Way::Everyone => (station, radio),
        };
        let share = loss.share;
        Some(links::air::Loss { from, to, share })
    };
    plan.losses.iter().filter_map(loss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_values_are_the_defaults_of_the_models() {
        assert_eq!(rules(&plan::Rules::default()), Rules::default());
        assert_eq!(thresholds(plan::Thresholds::default()), Thresholds::default());
    }
}
