//! Interference from far away, summed once for all receivers of a frame: its power at their centre, and its
//! slope there.
//!
//! The receivers of a frame stand near each other. Senders several times as far away look much the same from
//! all of them. The sum of their powers is taken at the centre, with its slope. What is left out, the
//! curvature, is bounded. If the bound does not settle an outcome, the sources are added up at the
//! receiver (`arrival`). If that does not either, the powers are added one by one.
//!
//! # Sources
//! - Greengard and Rokhlin 1987 ("A fast algorithm for particle simulations", §2): far sources by the first
//!   terms of an expansion, with a bound on the remainder.
//! - For a power that falls with distance r as r⁻ⁿ, no second derivative exceeds n(n + 1)·r⁻ⁿ⁻² (Taylor's
//!   theorem then bounds the remainder).
//!
//! # Where we differ, and why
//! 1. Only the bounds are used, never the sum itself: no outcome depends on the expansion.
//! 2. Sources are taken four at a time in single precision. The bounds include the resulting error.
//! 3. The received power, too, is calculated only within a few per cent ([`Rough`]). That saves a third of
//!    the instructions. It leaves a doubt where there was none in 0.3 % of the receptions (a thousand access
//!    points of ten clients each).
//!
//! # Checked by
//! `tests`: bounds against exact sums. `reception`'s tests: outcomes with and without.

use alloc::vec::Vec;

use super::field::Stretch;
use super::four::Four;
use super::rough::Rough;
use crate::air::place::circle::Circle;

/// Distances from which a source counts as far, for all frames of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Limits {
    /// Widest circle in which frames are bounded, in mm. Any station that is heard at all is nearer than
    /// this.
    pub(in crate::air) around_mm: f64,
    /// A station farther away than this is out of reach, in mm.
    reach_mm: i64,
    /// Power received at one metre, as a fraction of the power sent.
    metre: f64,
    /// log₂ of `metre`.
    reference: f32,
    /// The path-loss exponent: power falls with this power of the distance.
    falls: f64,
    /// The path loss beyond the inverse square, as a function of the squared distance.
    pub(in crate::air) rest: Rough,
    /// An integer not less than the path-loss exponent.
    powers: usize,
    /// Smallest of each distance over all powers, in mm: up to which a source exceeds the noise, and up to
    /// which it counts.
    least_mm: (f64, f64),
}

/// How a receiver treats a source of some power, by distance in m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::air) struct Rings {
    /// Farther away than this it does not exceed the noise.
    noise: f32,
    /// Nearer than this it counts.
    sure: f32,
    /// Farther away than this it does not count.
    any: f32,
}

impl Rings {
    /// A source that is added individually wherever it is.
    pub(in crate::air) const NEAR: Self = Self {
        noise: f32::INFINITY,
        sure: 0.0,
        any: 0.0,
    };

    /// The rings for a set of sources that each have one or the other.
    pub(in crate::air) const fn with(self, other: Self) -> Self {
        Self {
            noise: self.noise.max(other.noise),
            sure: self.sure.min(other.sure),
            any: self.any.max(other.any),
        }
    }

    /// The rings for receivers in a circle of that radius, as squared distances from its centre, in m².
    /// Nearer than the first, a source exceeds the noise for some of them. Nearer than the second it counts
    /// for all, nearer than the third for some.
    fn squared(&self, radius: f32) -> [f32; 3] {
        let near = (self.noise.max(radius) + radius) * (1.0 + INEXACT as f32);
        let (sure, any) = ((self.sure - radius).max(0.0), self.any + radius);
        [near, sure, any].map(|distance| distance * distance)
    }
}

/// Relative error allowed for the table of gains, single precision, and polynomials used as approximations.
pub(in crate::air) const INEXACT: f64 = 0.003;

impl Limits {
    /// `reference` is the power received at one metre per milliwatt sent. `falls` is the path-loss exponent.
    pub(in crate::air) fn new((reference, falls): (f64, f64), around_mm: i64, reach_mm: i64) -> Self {
        Self {
            around_mm: around_mm as f64,
            reach_mm,
            metre: reference,
            reference: libm::log2(reference) as f32,
            falls,
            rest: Rough::new(falls / 2.0 - 1.0),
            powers: libm::ceil(falls) as usize,
            least_mm: (f64::INFINITY, f64::INFINITY),
        }
    }

    /// Whoever is farther than this from the centre of a circle is out of reach for everybody in it, in mm.
    pub(in crate::air) const fn scope_mm(&self, circle: &Circle) -> i64 {
        // A radius is a whole number.
        self.reach_mm + circle.radius_mm as i64
    }

    /// Power received from four sources, by the squares of their distances in m².
    #[inline]
    pub(in crate::air) fn arriving(&self, milliwatts: Four, squared: Four) -> Four {
        milliwatts * squared.power(self.reference, self.falls as f32 / 2.0)
    }

    /// The rings of sources that send with that power. [`Background::at`] takes them into account from now
    /// on.
    pub(in crate::air) fn rings(&mut self, milliwatts: f64, noise: f64, negligible: f64) -> Rings {
        let distance = |power| 1e3 * libm::pow(self.metre * milliwatts / power, 1.0 / self.falls);
        let (noise, negligible) = (distance(noise), distance(negligible));
        let (sure, any) = (negligible * (1.0 - INEXACT), negligible * (1.0 + INEXACT));
        self.least_mm = (self.least_mm.0.min(noise), self.least_mm.1.min(sure));
        let [noise, sure, any] = [noise, sure, any].map(|mm| (mm / 1e3) as f32);
        Rings { noise, sure, any }
    }

    /// Smallest distances from the centre of a circle of that radius, in mm: of far sources, and of those
    /// that count in some places only.
    fn nearest_mm(&self, radius_mm: f64) -> (f64, f64) {
        let (noise, sure) = self.least_mm;
        let nearest = noise.max(radius_mm) + radius_mm;
        // Sources that count in some places only are far, too.
        (nearest, nearest.max(sure - radius_mm))
    }
}

/// What the sum of far sources must know of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::air) struct Spot {
    /// In ns, as its field counts time.
    pub(in crate::air) start: f32,
    pub(in crate::air) end: f32,
    /// East and north of the plan's corner, in m.
    pub(in crate::air) place: (f32, f32),
    pub(in crate::air) milliwatts: f32,
}

impl Spot {
    pub(in crate::air) const NOBODY: Self = Self {
        start: 0.0,
        end: 0.0,
        place: (0.0, 0.0),
        milliwatts: 0.0,
    };
}

/// Four sources side by side.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Spots {
    start: Four,
    end: Four,
    pub(in crate::air) x: Four,
    pub(in crate::air) y: Four,
    pub(in crate::air) milliwatts: Four,
}

impl Spots {
    pub(in crate::air) const NOBODY: Self = Self {
        start: Four([0.0; 4]),
        end: Four([0.0; 4]),
        x: Four([0.0; 4]),
        y: Four([0.0; 4]),
        milliwatts: Four([0.0; 4]),
    };

    pub(in crate::air) fn set(&mut self, lane: usize, spot: &Spot) {
        (self.start.0[lane], self.end.0[lane]) = (spot.start, spot.end);
        (self.x.0[lane], self.y.0[lane]) = spot.place;
        self.milliwatts.0[lane] = spot.milliwatts;
    }

    pub(in crate::air) fn get(&self, lane: usize) -> Spot {
        Spot {
            start: self.start.0[lane],
            end: self.end.0[lane],
            place: (self.x.0[lane], self.y.0[lane]),
            milliwatts: self.milliwatts.0[lane],
        }
    }
}

/// A frame, as the sum of the far sources needs it.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Sight {
    pub(in crate::air) time: (f32, f32),
    /// The centre of those who hear it, in the coordinates of the sources, and how far they are from there.
    pub(in crate::air) middle: (f32, f32),
    pub(in crate::air) radius: f32,
    /// Whether its place and its times are precise. If they are not, nothing counts as far.
    pub(in crate::air) exact: bool,
}

impl Sight {
    /// Squares of the rings for this frame, as [`Rings::squared`] gives them.
    pub(in crate::air) fn rings(&self, of: &Rings) -> [Four; 3] {
        let rings = if self.exact { *of } else { Rings::NEAR };
        rings.squared(self.radius).map(Four::all)
    }

    /// How long the far ones among them are on the air together with the frame. [`FarField::add`] must treat
    /// the same ones as far.
    #[inline]
    pub(in crate::air) fn far(&self, near_ring: Four, spots: &Spots) -> Four {
        let (x, y) = (
            spots.x - Four::all(self.middle.0),
            spots.y - Four::all(self.middle.1),
        );
        let squared = (x * x + y * y).at_least(Four::all(1.0));
        let until = spots.end.at_most(Four::all(self.time.1));
        let time = until - spots.start.at_least(Four::all(self.time.0));
        squared.less(near_ring).drop(time.at_least(Four::all(0.0)))
    }
}

/// Fours of a stretch that contain near sources, and how long each of these was on the air together with a
/// frame.
#[derive(Debug, Default)]
pub(super) struct Nearby {
    fours: Vec<(u32, Four)>,
    count: usize,
    places: Vec<u32>,
}

impl Nearby {
    fn room(&mut self, fours: usize) -> &mut [(u32, Four)] {
        if self.fours.len() < fours {
            self.fours.resize(fours, (0, Four::all(0.0)));
        }
        &mut self.fours[..fours]
    }

    /// Positions of the near sources in the stretch.
    pub(in crate::air) fn places(&mut self) -> &[u32] {
        let room = 4 * self.count;
        if self.places.len() < room {
            self.places.resize(room, 0);
        }
        let mut count = 0;
        for (number, there) in &self.fours[..self.count] {
            for (lane, time) in (0..).zip(there.0) {
                self.places[count] = number * 4 + lane;
                count += usize::from(time > 0.0);
            }
        }
        &self.places[..count]
    }
}

/// The far sources of one frame. Powers are in mW times ns, as if all of them were received at one metre.
/// Distances are in m, from the centre of those who hear the frame.
///
/// [`Rough`] makes every power too large or too small.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FarField {
    /// Their sum at the centre.
    level: Four,
    /// The sum of those that count in some places and not in others.
    rim: Four,
    /// `level` divided by the square of the distance, and that times the distance east and north.
    curve: Four,
    east: Four,
    north: Four,
}

impl FarField {
    /// Adds what overlaps with a frame. `near` receives the fours that contain near sources, which must be
    /// added individually.
    ///
    /// The code is the same for every source, because a branch here could not be predicted: a source that
    /// does not count is 0. It is a separate function: inlined into other code, compilers split the vectors
    /// of four.
    #[inline(never)]
    pub(in crate::air) fn add(&mut self, to: &Sight, stretch: &Stretch<'_>, rest: Rough, near: &mut Nearby) {
        let (east, north) = (Four::all(to.middle.0), Four::all(to.middle.1));
        let (from, until) = (Four::all(to.time.0), Four::all(to.time.1));
        let [near_ring, sure_ring, any_ring] = to.rings(stretch.rings);
        let spots = stretch.spots;
        let one = Four::all(1.0);
        let fours = near.room(spots.len());
        let (mut sum, mut count) = (*self, 0);
        for (number, spots) in spots.iter().enumerate() {
            let (x, y) = (spots.x - east, spots.y - north);
            let squared = (x * x + y * y).at_least(one);
            // Started long before the result is needed: nothing here takes longer.
            let inverse = one / squared;
            let time = (spots.end.at_most(until) - spots.start.at_least(from)).at_least(Four::all(0.0));
            let is_near = squared.less(near_ring);
            let there = is_near.keep(time);
            fours[count] = (number as u32, there);
            count += usize::from(there.has_any());
            let far = is_near.drop(time) * spots.milliwatts * (inverse * rest.of(squared));
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

    /// Finishes the sum for a frame of that many nanoseconds and those who hear it.
    pub(in crate::air) fn over(&self, nanos: u64, circle: &Circle, limits: &Limits) -> Background {
        let each = limits.metre / nanos as i64 as f64;
        let (level, curve) = (self.level.sum() * each, self.curve.sum() * each);
        let (nearest_mm, rim_mm) = limits.nearest_mm(circle.radius_mm);
        Background {
            level,
            rim: self.rim.sum() * each * nearer(circle.radius_mm, rim_mm, limits.powers),
            nearest_mm,
            curve,
            slope: (self.east.sum() * each, self.north.sum() * each),
            steepest: libm::sqrt(level * curve),
        }
    }
}

/// Mean power of a frame's far sources over its duration, in mW. Distances are in m.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::air) struct Background {
    level: f64,
    /// Upper limit, at any place, for the sources that count in some places and not in others.
    rim: f64,
    /// Least distance of a far source from the centre, in mm.
    nearest_mm: f64,
    curve: f64,
    slope: (f64, f64),
    /// Upper limit of the slope, as if all sources stood in one direction: the sum of powers over distances
    /// does not exceed this, by the Cauchy-Schwarz inequality.
    steepest: f64,
}

impl Background {
    /// The least and the most that they add at this offset east and north of the centre, which must be in the
    /// circle.
    pub(in crate::air) fn at(&self, limits: &Limits, (x, y): (f64, f64)) -> [f64; 2] {
        let change = limits.falls * (self.slope.0 * x + self.slope.1 * y) / 1e3;
        // Half of what may count fully or not at all.
        let rim = self.rim / 2.0;
        let distance = reach(x, y);
        let off = limits.rest.off;
        let inexact = (INEXACT + off) * (self.level + 2.0 * rim) + INEXACT * change.abs();
        let turned = off * limits.falls * self.steepest * distance / 1e3;
        let bent = self.remainder(limits, distance) * (x * x + y * y) / 1e6 * (1.0 + off);
        let doubt = (inexact + turned + bent + rim) * (1.0 + INEXACT);
        let here = self.level + change + rim;
        [(here - doubt).max(0.0), (here + doubt).max(0.0)]
    }

    /// Upper limit of what the expansion leaves out at this distance in mm, per squared distance in m².
    fn remainder(&self, limits: &Limits, distance: f64) -> f64 {
        let n = limits.falls;
        n * (n + 1.0) / 2.0 * self.curve * nearer(distance, self.nearest_mm, limits.powers + 2)
    }
}

/// Upper limit of how much nearer a source is than from the centre, at `distance_mm` from it, if it is at
/// least `nearest_mm` away. The ratio is raised to the power `powers`.
fn nearer(distance_mm: f64, nearest_mm: f64, powers: usize) -> f64 {
    let nearer = 1.0 / (1.0 - distance_mm / nearest_mm);
    core::iter::repeat_n(nearer, powers).product()
}

/// The length of this vector, or slightly more.
fn reach(x: f64, y: f64) -> f64 {
    let (long, short) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    long + 0.415 * short
}

#[cfg(test)]
#[path = "far_tests.rs"]
mod tests;
