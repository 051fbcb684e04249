//! What a world may report of a link beyond its state and beacons: its air, cost, power and future.
//!
//! # Checked by
//! `tests/engine_air.rs`, `tests/engine_cost.rs`, `tests/engine_baselines.rs`.

use crate::io::LinkEvent;
use crate::known::change::Change;
use crate::known::path::Path;
use units::Instant;

impl Path {
    /// Records one fact.
    pub(crate) fn told(&mut self, now: Instant, event: LinkEvent) -> Change {
        match event {
            LinkEvent::Trust(trust) => {
                self.cost.trust = trust;
                Change::Cost
            }
            LinkEvent::Tariff(tariff) => {
                self.cost.tariff = tariff;
                Change::Cost
            }
            LinkEvent::Period { used } => {
                self.cost.period(used);
                Change::Cost
            }
            LinkEvent::Carried(total) => {
                self.cost.carried(total);
                Change::Cost
            }
            event => {
                self.told_of_radio(now, event);
                Change::Counters
            }
        }
    }

    fn told_of_radio(&mut self, now: Instant, event: LinkEvent) {
        match event {
            LinkEvent::Phy(phy) if self.phy != Some(phy) => {
                self.phy = Some(phy);
                // Created again, with the memory and the rules of this standard.
                self.air = None;
            }
            LinkEvent::Survey(sight) => {
                if let Some(air) = self.air() {
                    air.survey(now, sight);
                }
            }
            LinkEvent::Away => {
                if let Some(air) = &mut self.air {
                    air.away();
                }
            }
            LinkEvent::Draws(radio) => self.draws = Some(radio),
            LinkEvent::Foreseen(bytes) => self.foreseen = Some(bytes),
            _ => {}
        }
    }
}
