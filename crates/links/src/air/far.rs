//! What arrives from far away: summed up once for all who receive a frame, by what it adds at the sender and how that changes from there.
//!
//! Whoever receives a frame stands near its sender, and senders that are several times as far away look much the same from all of these
//! places. The sum of their powers is taken at the sender, with its slope; what is left out, the curvature, is bounded. Where the bound leaves
//! a doubt about an outcome, the powers are added up one by one.
//!
//! # Sources
//! - Greengard and Rokhlin 1987 ("A fast algorithm for particle simulations", §2): far sources by the first terms of an expansion, with a
//!   bound of the rest.
//! - For a power that falls with distance r as r⁻ⁿ no second derivative exceeds n(n + 1)·r⁻ⁿ⁻² (Taylor's theorem then bounds the rest).
//!
//! # Where we differ, and why
//! 1. Only the bounds are used, never the sum itself: no outcome depends on the expansion.
//! 2. Sources are taken four at a time, in single precision: what that makes inexact belongs to the bounds.
//! 3. How much arrives is calculated within a few per cent only, too ([`Rough`]): that takes a third of the instructions off, and leaves a doubt where
//!    there was none in 0.3 % of the receptions (a thousand access points of ten clients each).
//!
//! # Checked by
//! `tests`: bounds against exact sums; `reception`'s tests: outcomes with and without.

use alloc::vec::Vec;

use super::four::Four;
use super::rough::Rough;
use crate::Position;

/// From where on a source is far, for all frames of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Whoever is heard at all is nearer than this, in mm.
    pub(super) around_mm: f64,
    /// Whoever is farther than this from a sender is out of reach for all who hear it, in mm.
    pub(super) scope_mm: i64,
    /// What arrives after a metre, as a part of what is sent.
    metre: f64,
    /// Its log₂.
    reference: f32,
    /// The exponent with which power falls with the distance.
    falls: f64,
    /// What is left of that beside the square, by the square of the distance.
    rest: Rough,
    /// A whole number, not less than that and 2.
    powers: usize,
    /// What is far is at least this far away, in mm.
    nearest_mm: f64,
    /// How much more can arrive around a frame's sender than there, of what counts in some places only.
    rim: f64,
}

/// Where a source of some power changes its role for a frame, by the square of its distance from the frame's sender, in m².
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rings {
    /// Nearer than this it stands out of the noise for some who hear the frame.
    pub(super) near: f32,
    /// Nearer than this it counts for all of them.
    pub(super) sure: f32,
    /// Nearer than this it counts for some.
    pub(super) any: f32,
}

impl Rings {
    /// A source that has to be looked at by itself wherever it is.
    pub(super) const NEAR: Self = Self {
        near: f32::INFINITY,
        sure: 0.0,
        any: 0.0,
    };

    /// For sources of which each has one or the other.
    pub(super) const fn with(self, other: Self) -> Self {
        Self {
            near: self.near.max(other.near),
            sure: self.sure.min(other.sure),
            any: self.any.max(other.any),
        }
    }
}

/// What a table of gains, single precision, and polynomials in the place of functions may be off, as a part.
pub(super) const INEXACT: f64 = 0.003;

impl Limits {
    /// `reference` and `falls`: what arrives of each milliwatt after a metre, and the exponent with which it falls with the distance.
    pub(super) fn new((reference, falls): (f64, f64), around_mm: i64, scope_mm: i64) -> Self {
        Self {
            around_mm: around_mm as f64,
            scope_mm,
            metre: reference,
            reference: libm::log2(reference) as f32,
            falls,
            rest: Rough::new(falls / 2.0 - 1.0),
            powers: libm::ceil(falls) as usize + 2,
            nearest_mm: f64::INFINITY,
            rim: 1.0,
        }
    }

    /// What arrives of four sources of some power, by the squares of their distances in m².
    #[inline]
    pub(super) fn arriving(&self, milliwatts: Four, squared: Four) -> Four {
        milliwatts * squared.power(self.reference, self.falls as f32 / 2.0)
    }

    /// The rings of sources that send with that power. They count from now on for [`Background::at`].
    pub(super) fn rings(&mut self, milliwatts: f64, noise: f64, negligible: f64) -> Rings {
        let distance = |power| 1e3 * libm::pow(self.metre * milliwatts / power, 1.0 / self.falls);
        let around = self.around_mm;
        let near = (distance(noise).max(around) + around) * (1.0 + INEXACT);
        let sure = (distance(negligible) * (1.0 - INEXACT) - around).max(0.0);
        let any = (distance(negligible) + around) * (1.0 + INEXACT);
        self.nearest_mm = self.nearest_mm.min(near);
        // What counts in some places only is farther away than these two.
        let rim = sure.max(near);
        self.rim = self.rim.max(libm::pow(rim / (rim - around), self.falls));
        let square = |mm: f64| (mm * mm / 1e6) as f32;
        Rings {
            near: square(near),
            sure: square(sure),
            any: square(any),
        }
    }
}

/// What the sum of far sources must know of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    /// In ns, as its field counts time.
    pub(super) start: f32,
    pub(super) end: f32,
    /// East and north of the plan's corner, in m.
    pub(super) place: (f32, f32),
    pub(super) milliwatts: f32,
}

impl Spot {
    pub(super) const NOBODY: Self = Self {
        start: 0.0,
        end: 0.0,
        place: (0.0, 0.0),
        milliwatts: 0.0,
    };
}

/// Four sources side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spots {
    start: Four,
    end: Four,
    x: Four,
    y: Four,
    milliwatts: Four,
}

impl Spots {
    pub(super) const NOBODY: Self = Self {
        start: Four([0.0; 4]),
        end: Four([0.0; 4]),
        x: Four([0.0; 4]),
        y: Four([0.0; 4]),
        milliwatts: Four([0.0; 4]),
    };

    pub(super) fn set(&mut self, lane: usize, spot: &Spot) {
        (self.start.0[lane], self.end.0[lane]) = (spot.start, spot.end);
        (self.x.0[lane], self.y.0[lane]) = spot.place;
        self.milliwatts.0[lane] = spot.milliwatts;
    }

    pub(super) fn get(&self, lane: usize) -> Spot {
        Spot {
            start: self.start.0[lane],
            end: self.end.0[lane],
            place: (self.x.0[lane], self.y.0[lane]),
            milliwatts: self.milliwatts.0[lane],
        }
    }
}

/// A frame as the sum of what is far sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    time: (f32, f32),
    place: (f32, f32),
    /// By how much the rings within which others are near are wider than they say.
    more: f32,
    rest: Rough,
}

impl Sight {
    /// `exact`: its place and its times are precise.
    pub(super) fn of(frame: &Spot, exact: bool, limits: &Limits) -> Self {
        Self {
            time: (frame.start, frame.end),
            place: frame.place,
            // Where they are not, nothing is far.
            more: if exact { 0.0 } else { f32::INFINITY },
            rest: limits.rest,
        }
    }
}

/// Fours of a stretch with near ones among them, and how long each of these was on the air together with a frame.
#[derive(Debug, Default)]
pub(super) struct Nearby {
    fours: Vec<(u32, Four)>,
    count: usize,
}

impl Nearby {
    fn room(&mut self, fours: usize) -> &mut [(u32, Four)] {
        if self.fours.len() < fours {
            self.fours.resize(fours, (0, Four::all(0.0)));
        }
        &mut self.fours[..fours]
    }

    /// Their places in the stretch.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let fours = self.fours[..self.count].iter();
        let lanes = |&(number, there): &(u32, Four)| {
            let lanes = (0..4).filter(move |&lane| there.0[lane] > 0.0);
            lanes.map(move |lane| number as usize * 4 + lane)
        };
        fours.flat_map(lanes)
    }
}

/// The far sources of one frame: in mW times ns, as they would arrive if all of it arrived after a metre; distances in m.
///
/// [`Rough`] makes every power too large or too small.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FarField {
    /// Their sum at the frame's sender.
    level: Four,
    /// The same of those that count in some places and in others do not.
    rim: Four,
    /// The same divided by the square of the distance, and that times how far east and north they are.
    curve: Four,
    east: Four,
    north: Four,
}

impl FarField {
    /// Takes in what overlaps with a frame; adds to `near` in which fours there is what is too near and has to be looked at by itself.
    ///
    /// Every source takes the same way through this, because what it would branch on cannot be predicted: what does not count is 0. A function
    /// of its own: among other code compilers take the four apart.
    #[inline(never)]
    pub(super) fn add(&mut self, to: &Sight, rings: &Rings, spots: &[Spots], near: &mut Nearby) {
        let (east, north) = (Four::all(to.place.0), Four::all(to.place.1));
        let (from, until) = (Four::all(to.time.0), Four::all(to.time.1));
        let (sure_ring, any_ring) = (Four::all(rings.sure), Four::all(rings.any));
        let near_ring = Four::all(rings.near + to.more);
        let one = Four::all(1.0);
        let fours = near.room(spots.len());
        let (mut sum, mut count) = (*self, 0);
        for (number, spots) in spots.iter().enumerate() {
            let (x, y) = (spots.x - east, spots.y - north);
            let squared = (x * x + y * y).at_least(one);
            // Long before it is needed: nothing here takes longer.
            let inverse = one / squared;
            let time = (spots.end.at_most(until) - spots.start.at_least(from)).at_least(Four::all(0.0));
            let is_near = squared.less(near_ring);
            let there = is_near.keep(time);
            fours[count] = (number as u32, there);
            count += usize::from(there.has_any());
            let far = is_near.drop(time) * spots.milliwatts * (inverse * to.rest.of(squared));
            let is_sure = squared.less(sure_ring);
            let sure = is_sure.keep(far);
            let bent = sure * inverse;
            sum.level += sure;
            sum.rim += squared.less(any_ring).keep(is_sure.drop(far));
            sum.curve += bent;
            sum.east += bent * x;
            sum.north += bent * y;
        }
        near.count = count;
        *self = sum;
    }

    /// Closes the sum for a frame of that many nanoseconds.
    pub(super) fn over(&self, nanos: u64, limits: &Limits) -> Background {
        let each = limits.metre / nanos as i64 as f64;
        let (level, curve) = (self.level.sum() * each, self.curve.sum() * each);
        Background {
            level,
            rim: self.rim.sum() * each,
            curve,
            slope: (self.east.sum() * each, self.north.sum() * each),
            steepest: libm::sqrt(level * curve),
        }
    }
}

/// What the far sources of a frame come to in the mean over it, in mW; distances in m.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Background {
    level: f64,
    rim: f64,
    curve: f64,
    slope: (f64, f64),
    /// What the slope would be at most if all stood in one direction: the sum of powers over distances does not exceed this, by the inequality
    /// of Cauchy and Schwarz.
    steepest: f64,
}

impl Background {
    /// The least and the most that they add in a place, which must not be farther from the sender than [`Limits::around_mm`].
    pub(super) fn at(&self, limits: &Limits, sender: Position, place: Position) -> [f64; 2] {
        let (x, y) = millimetres(sender, place);
        let change = limits.falls * (self.slope.0 * x + self.slope.1 * y) / 1e3;
        // Half of what may be there whole, or not at all.
        let rim = if self.rim > 0.0 {
            self.rim * limits.rim / 2.0
        } else {
            0.0
        };
        let distance = reach(x, y);
        let off = limits.rest.off;
        let inexact = (INEXACT + off) * (self.level + 2.0 * rim) + INEXACT * change.abs();
        let turned = off * limits.falls * self.steepest * distance / 1e3;
        let bent = self.remainder(limits, distance) * (x * x + y * y) / 1e6 * (1.0 + off);
        let doubt = (inexact + turned + bent + rim) * (1.0 + INEXACT);
        let here = self.level + change + rim;
        [(here - doubt).max(0.0), (here + doubt).max(0.0)]
    }

    /// What the first terms of the expansion leave out at most, so many millimetres away, by the square of that in m².
    fn remainder(&self, limits: &Limits, distance: f64) -> f64 {
        let n = limits.falls;
        // By how much nearer the nearest is there, to a power that is not less than n + 2.
        let nearer = 1.0 / (1.0 - distance / limits.nearest_mm);
        let powers = core::iter::repeat_n(nearer, limits.powers);
        n * (n + 1.0) / 2.0 * self.curve * powers.product::<f64>()
    }
}

/// How far that is, or a little more.
fn reach(x: f64, y: f64) -> f64 {
    let (long, short) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    long + 0.415 * short
}

/// From one place to another.
pub(super) fn millimetres(from: Position, to: Position) -> (f64, f64) {
    ((to.x_mm - from.x_mm) as f64, (to.y_mm - from.y_mm) as f64)
}

#[cfg(test)]
#[path = "far_tests.rs"]
mod tests;
