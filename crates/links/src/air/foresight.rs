//! The outcome of a frame at one receiver where bounds of the interference leave no doubt about it: what is near is added up as it arrives
//! there, what is far lies between the bounds of `far`.
//!
//! # Where we differ, and why
//! 1. Powers are added and taken away again from section to section. What rounding makes of that is bounded, and belongs to the doubt.
//!
//! # Checked by
//! `reception`'s tests: outcomes with bounds against those of the whole sum.

use alloc::vec::Vec;
use units::Rng;

use super::flight::Flight;
use super::mode::Mode;
use super::reception::{Case, Ether, HEADER_BITS, Outcome, exponential};
use super::scene::Scene;

/// Interference at one receiver, while one of its frames is weighed.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    /// What arrives of each of the near ones, in mW, if it stands out of the noise; otherwise 0.
    powers: Vec<f64>,
    /// Sections of the payload: how long, and what stands out of the noise in it.
    sections: Vec<(u64, f64)>,
    /// The most in any section of the header.
    header: f64,
    /// All that stands out of the noise, as if it were there at the same time.
    all: f64,
    /// The least and the most that the noise and the mean of all else come to.
    floors: [f64; 2],
    signal: f64,
}

/// What adding and taking away can be off by rounding, as a part of all that was added: thousands of steps of 2⁻⁵³.
const ROUNDING: f64 = 1e-12;

impl Foresight {
    const fn least_interference(&self, power: f64) -> f64 {
        self.signal / (self.floors[0] + power)
    }

    const fn most_interference(&self, power: f64) -> f64 {
        self.signal / (self.floors[1] + power)
    }

    /// Cuts the frame where interference changes.
    fn cut(&mut self, flight: &Flight, scene: &mut Scene) {
        let there = scene.near.iter().zip(&self.powers);
        let there = there.filter(|(near, _)| near.start == flight.start);
        let mut power: f64 = there.map(|(_, power)| power).sum();
        let mut at = flight.start;
        self.header = 0.0;
        self.sections.clear();
        for edge in scene.edges(flight) {
            let change = self.powers[edge.near as usize];
            if change > 0.0 {
                self.section(flight, at, edge.at, power);
                at = edge.at;
                power += if edge.begins { change } else { -change };
            }
        }
        self.section(flight, at, flight.end, power);
    }

    fn section(&mut self, flight: &Flight, from: u64, to: u64, power: f64) {
        let power = power.max(0.0);
        if from < flight.payload && from < to {
            self.header = self.header.max(power);
        }
        let from = from.max(flight.payload);
        if from < to {
            self.sections.push((to - from, power));
        }
    }
}

impl Ether {
    /// Adds up what is near one receiver of a frame, and bounds what is far.
    pub(super) fn look_ahead(&mut self, case: &Case<'_>, scene: &Scene, far: [f64; 2]) {
        let mut foresight = core::mem::take(&mut self.foresight);
        foresight.powers.clear();
        let (mut floor, mut all) = (case.noise, 0.0);
        for near in &scene.near {
            let arriving = near.milliwatts * self.geometry.open(near.position, case.place);
            let power = arriving * f64::from(u8::from(near.from != case.receiver));
            let stands_out = f64::from(u8::from(power > self.noise));
            let counts = f64::from(u8::from(power > self.negligible));
            floor += power * near.part * (counts - stands_out);
            all += power * stands_out;
            foresight.powers.push(power * stands_out);
        }
        let doubt = (floor + all) * ROUNDING;
        foresight.all = all;
        foresight.signal = case.signal;
        foresight.floors = [floor + far[0] - doubt, floor + far[1] + doubt];
        self.foresight = foresight;
    }

    /// The outcome, if it is the same at the best and at the worst that interference can come to.
    pub(super) fn foresee(
        &mut self,
        flight: &Flight,
        scene: &mut Scene,
        draw: &mut Option<f64>,
        rng: &mut Rng,
    ) -> Option<Outcome> {
        let mut foresight = core::mem::take(&mut self.foresight);
        let outcome = self.judge(flight, scene, &mut foresight, || {
            *draw.get_or_insert_with(|| exponential(rng))
        });
        self.foresight = foresight;
        outcome
    }

    fn judge(
        &self,
        flight: &Flight,
        scene: &mut Scene,
        foresight: &mut Foresight,
        draw: impl FnOnce() -> f64,
    ) -> Option<Outcome> {
        let lowest = foresight.most_interference(foresight.all);
        if self.stands_out(lowest, flight.mode) {
            return Some(Outcome::Decoded);
        }
        if self.stands_out(foresight.least_interference(foresight.all), flight.mode) {
            return None;
        }
        let is_header_sure = self.stands_out(lowest, Mode::basic(flight.mode.phy()));
        let (least, most) = if is_header_sure {
            (0.0, 0.0)
        } else {
            foresight.cut(flight, scene);
            let header = foresight.header;
            (
                self.header_hazard(flight, foresight.least_interference(header)),
                self.header_hazard(flight, foresight.most_interference(header)),
            )
        };
        if least.is_infinite() {
            return Some(Outcome::Missed);
        }
        if most.is_infinite() {
            return None;
        }
        let draw = draw();
        if least > draw {
            return Some(Outcome::Missed);
        }
        if most > draw || flight.count > 1 {
            return None;
        }
        // First as if all others were there never, or always: mostly that is enough.
        let bits = f64::from(flight.bytes) * 8.0;
        let steady = |ratio| bits * self.decoder.hazard(flight.mode, ratio);
        if least + steady(foresight.least_interference(0.0)) > draw {
            return Some(Outcome::Broken);
        }
        if most + steady(lowest) <= draw {
            return Some(Outcome::Decoded);
        }
        if is_header_sure {
            foresight.cut(flight, scene);
        }
        self.judge_sections(flight, foresight, (least, most), draw)
    }

    fn judge_sections(
        &self,
        flight: &Flight,
        foresight: &Foresight,
        (least, most): (f64, f64),
        draw: f64,
    ) -> Option<Outcome> {
        let bits = f64::from(flight.bytes) * 8.0 / (flight.end - flight.payload).max(1) as f64;
        let sections = foresight.sections.iter();
        let weighed = sections.map(|&(nanos, power)| (nanos as f64 * bits, power));
        let hazard = |bits: f64, ratio| bits * self.decoder.hazard(flight.mode, ratio);
        let best = weighed.clone();
        let best = best.map(|(bits, power)| hazard(bits, foresight.least_interference(power)));
        if least + best.sum::<f64>() > draw {
            return Some(Outcome::Broken);
        }
        let worst = weighed.map(|(bits, power)| hazard(bits, foresight.most_interference(power)));
        (most + worst.sum::<f64>() <= draw).then_some(Outcome::Decoded)
    }

    /// −ln of the probability that a header is received at the lowest ratio in it: infinite where the preamble does not stand out.
    pub(super) fn header_hazard(&self, flight: &Flight, worst: f64) -> f64 {
        if worst < self.preamble {
            return f64::INFINITY;
        }
        HEADER_BITS * self.decoder.hazard(Mode::basic(flight.mode.phy()), worst)
    }
}
