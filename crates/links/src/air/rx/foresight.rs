//! The outcome of a frame at one receiver, if bounds on the interference leave no doubt about it. Near
//! sources are added up as received there. Far sources lie between the bounds of `far`.
//!
//! # Where we differ, and why
//! 1. Near sources are taken four at a time in single precision. The resulting error is part of the doubt. So
//!    is whether a source exceeds the noise, or counts at all, if its power is within that error of the
//!    border.
//! 2. Powers are added and subtracted from section to section. The rounding error is bounded and part of the
//!    doubt.
//!
//! # Checked by
//! `tests`: bounds against one-by-one sums. `reception`'s tests: outcomes with bounds against those of the
//! whole sum.

use alloc::vec::Vec;
use core::ops::Range;

use super::arrival::Arrival;
use super::reception::{Case, Ether, HEADER_BITS, Outcome};
use crate::air::phy::mode::Mode;
use crate::air::place::circle::millimetres;
use crate::air::transmission::far::{INEXACT, Limits};
use crate::air::transmission::flight::Flight;
use crate::air::transmission::four::{Four, Mask};
use crate::air::transmission::scene::{Nears, Scene};

/// Interference at one receiver, while one of its frames is weighed.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    /// Power received from each near source, in mW, if it exceeds the noise, otherwise 0. Within [`INEXACT`],
    /// as are all sums of it.
    powers: Vec<Four>,
    /// Sections of the payload: duration, and the power in it that exceeds the noise. The first `count` are
    /// valid, the rest is spare room.
    sections: Vec<(u64, f64)>,
    count: usize,
    /// The highest power in any section of the header.
    header: f64,
    /// The sum of all that exceeds the noise, as if all were on the air at once.
    all: f64,
    /// Lower and upper limit of the power that is constant over the frame: the noise, and the mean of the
    /// near sources below the noise.
    near: [f64; 2],
    /// `near`, with the far sources added.
    floors: [f64; 2],
    signal: f64,
}

/// Rounding error of additions and subtractions, relative to the sum of all that was added: thousands of
/// steps of 2⁻⁵³.
const ROUNDING: f64 = 1e-12;

/// All bits of a number, or none.
fn bits(holds: bool) -> u64 {
    u64::from(holds).wrapping_neg()
}

impl Foresight {
    const fn least_interference(&self, power: f64) -> f64 {
        self.signal / (self.floors[0] + power * (1.0 - INEXACT))
    }

    const fn most_interference(&self, power: f64) -> f64 {
        self.signal / (self.floors[1] + power * (1.0 + INEXACT))
    }

    fn power(&self, near: usize) -> f64 {
        f64::from(self.powers[near / 4].0[near % 4])
    }

    /// Cuts the frame where interference changes.
    ///
    /// Sources below and above the noise take the same path, without a branch: it could not be predicted.
    fn cut(&mut self, flight: &Flight, scene: &mut Scene) {
        let mut power = 0.0;
        for (number, near) in scene.near().iter().enumerate() {
            power += near.first * self.power(number);
        }
        let edges = scene.edges(flight);
        if self.sections.len() <= edges.len() {
            self.sections.resize(edges.len() + 1, (0, 0.0));
        }
        let mut at = flight.start;
        (self.header, self.count) = (0.0, 0);
        for edge in edges {
            let change = self.power(edge.near as usize);
            let changes = change > 0.0;
            self.section(flight, at..edge.at, power, changes);
            at ^= (at ^ edge.at) & bits(changes);
            power += f64::from_bits(change.to_bits() ^ (u64::from(edge.ends) << 63));
        }
        self.section(flight, at..flight.end, power, true);
    }

    #[inline]
    fn section(&mut self, flight: &Flight, span: Range<u64>, power: f64, ends: bool) {
        let power = power.max(0.0);
        if span.start < flight.payload {
            let counts = ends & (span.start < span.end);
            self.header = self.header.max(f64::from(u8::from(counts)) * power);
        }
        let nanos = span.end.saturating_sub(span.start.max(flight.payload));
        self.sections[self.count] = (nanos, power);
        self.count += usize::from(ends & (nanos > 0));
    }
}

/// A receiver, as the sum of the near sources needs it.
#[derive(Debug, Clone, Copy)]
struct Spot {
    number: u32,
    /// How far east and north of the centre of those who hear the frame, in mm.
    place: (f32, f32),
    noise: Border,
    negligible: Border,
}

/// A threshold for powers that are known within [`INEXACT`]: its lower and upper limit, in mW.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Border([f32; 2]);

impl Border {
    pub(in crate::air) fn at(milliwatts: f64) -> Self {
        Self([1.0 - INEXACT, 1.0 + INEXACT].map(|part| (milliwatts * part) as f32))
    }

    /// Which powers are above it for sure, and which may be.
    #[inline]
    pub(super) fn split(self, powers: Four) -> (Mask, Mask) {
        let [least, most] = self.0.map(Four::all);
        (most.less(powers), least.less(powers))
    }
}

/// Sums over the near sources.
#[derive(Debug, Clone, Copy)]
struct Sums {
    /// All that exceeds the noise for sure.
    all: Four,
    /// Lower and upper limit of the mean of all else.
    least: Four,
    most: Four,
}

impl Sums {
    /// It is a separate function: inlined into other code, compilers split the vectors of four.
    #[inline(never)]
    fn of(nears: &[Nears], at: &Spot, limits: &Limits, powers: &mut Vec<Four>) -> Self {
        let (east, north) = (Four::all(at.place.0), Four::all(at.place.1));
        let [mut all, mut least, mut most] = [Four::all(0.0); 3];
        powers.clear();
        for near in nears {
            let (x, y) = (near.x - east, near.y - north);
            let squared = ((x * x + y * y) * Four::all(1e-6)).at_least(Four::all(1.0));
            let others = Mask::unlike(&near.from, at.number).keep(near.milliwatts);
            let power = limits.arriving(others, squared);
            let (stands_out, may_stand_out) = at.noise.split(power);
            let (counts, may_count) = at.negligible.split(power);
            let mean = power * near.part;
            let sure = stands_out.keep(power);
            // What may or may not exceed the noise is always there for the upper limit, and never for the
            // lower.
            let doubtful = may_stand_out.keep(power) - sure;
            all += sure;
            least += may_stand_out.drop(counts.keep(mean));
            most += may_stand_out.drop(may_count.keep(mean)) + doubtful;
            powers.push(sure);
        }
        Self { all, least, most }
    }
}

impl Foresight {
    /// Adds up the near sources at one receiver of a frame, and bounds the far ones.
    pub(super) fn look_ahead(&mut self, ether: &Ether, case: &Case<'_>, scene: &Scene, limits: &Limits) {
        let (x, y) = millimetres(case.flight.circle.middle, case.place);
        let spot = Spot {
            number: case.receiver,
            place: (x as f32, y as f32),
            noise: Border::at(ether.noise),
            negligible: Border::at(ether.negligible),
        };
        let near = Sums::of(scene.fours(), &spot, limits, &mut self.powers);
        self.signal = case.signal;
        self.all = near.all.sum();
        self.near = [
            case.noise + near.least.sum() * (1.0 - INEXACT),
            case.noise + near.most.sum() * (1.0 + INEXACT),
        ];
        self.bound(scene.far.at(limits, (x, y)));
    }

    /// Adds up the far sources at the receiver, too. Returns whether that is possible.
    pub(super) fn look_closer(&mut self, ether: &Ether, case: &Case<'_>, limits: &Limits) -> bool {
        let within = (limits, Border::at(ether.negligible));
        let far = Arrival::at(case.flights, case.flight, case.place, within);
        far.map(|far| self.bound(far)).is_some()
    }

    fn bound(&mut self, far: [f64; 2]) {
        let (floor, ceiling) = (self.near[0] + far[0], self.near[1] + far[1]);
        let doubt = (ceiling + self.all) * ROUNDING;
        self.floors = [floor - doubt, ceiling + doubt];
    }
}

impl Ether {
    /// The outcome, if it is the same for the least and the most interference.
    pub(super) fn foresee(
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
                self.header_hazard(flight, foresight.signal, foresight.least_interference(header)),
                self.header_hazard(flight, foresight.signal, foresight.most_interference(header)),
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
        // First as if the others were never or always there: mostly that is enough.
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
        let sections = foresight.sections[..foresight.count].iter();
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

    /// −ln of the probability that a header is received at the lowest ratio in it. Infinite if the preamble
    /// is too weak.
    pub(super) fn header_hazard(&self, flight: &Flight, signal: f64, worst: f64) -> f64 {
        // The implementation loss is one of the decoder, which finding a preamble does not need.
        let beside = signal / worst - self.implementation * flight.mode.noise();
        if signal < self.preamble * beside {
            return f64::INFINITY;
        }
        HEADER_BITS * self.decoder.hazard(Mode::basic(flight.mode.phy()), worst)
    }
}

#[cfg(test)]
#[path = "foresight_tests.rs"]
mod tests;
