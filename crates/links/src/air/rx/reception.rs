//! Whether a receiver decodes a frame: signal to interference and noise, section by section.
//!
//! # Sources
//! - IEEE 802.11-2020 §17.3.12: first preamble and header, then the contents at the frame's own rate.
//! - Lacage and Henderson 2006 ("Yet another network simulator", §3.3): a frame is cut where interference
//!   changes, and is received if every section is. The probability is the product over the sections.
//!
//! # Where we differ, and why
//! 1. A station that only overhears a frame takes into account the frames that it can tell were on the air at
//!    the same time ([`Radio::disturbed`]). Power below its carrier sense threshold then counts for nothing.
//!    The addressed receiver adds up everybody on the channel.
//! 2. Power received [`Rules::negligible`] (20 dB) or more below the noise floor is left out. Take ρ senders
//!    of one power on the air per unit of area, and a path loss exponent n. Those beyond the distance R at
//!    which they are received that weakly would add at most ρ·2π·R²/(n − 2)·(noise/100). Those from r to R
//!    add (R/r)ⁿ⁻² − 1 times as much. With one sender on the air in each 100 m × 100 m and channel (n = 3.1,
//!    R = 465 m, r = 56 m), that is 1.2 and 11 times the noise. So leaving them out takes 0.4 dB from the
//!    sum, in an endless plan. `sim` runs such a network with and without. The mean power decides who is in
//!    reach, whatever the fading.
//! 3. Power below the noise floor counts with its mean over the frame, power above it section by section.
//! 4. The implementation loss (quantisation, phase noise, estimated channels) adds to the receiver's own
//!    noise, not to interference. No published error model has such a loss against interference.
//! 5. Not all interferers are added one by one. If bounds on what the far ones add (`far`, `foresight`) leave
//!    no doubt about the outcome, the far ones are skipped. The outcome, and the random numbers drawn for it,
//!    are those of the whole sum.
//!
//! [`Radio::disturbed`]: crate::air::sense::radio::Radio
//!
//! # Checked by
//! `tests`: sections, and outcomes with bounds against those of the whole sum. `sim`'s tests of hidden
//! terminals, capture and networks.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use units::{Db, Dbm, Rng};

use super::foresight::Foresight;
use crate::Position;
use crate::air::phy::decoder::Decoder;
use crate::air::phy::fading::Fades;
use crate::air::phy::mode::Mode;
use crate::air::place::geometry::Geometry;
use crate::air::transmission::far::{Limits, Rings};
use crate::air::transmission::flight::{Flight, Flights, Source};
use crate::air::transmission::scene::Scene;
use crate::config::{Propagation, Rules};

/// Where a radio is and how strongly it transmits.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Site {
    pub(in crate::air) position: Position,
    pub(in crate::air) milliwatts: f64,
}

/// What became of a frame at one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) enum Outcome {
    /// Nothing distinguishable from noise.
    Missed,
    /// A header, but broken contents.
    Broken,
    /// The whole frame.
    Decoded,
}

/// Everything that decides about reception.
#[derive(Debug)]
pub(in crate::air) struct Ether {
    pub(in crate::air) sites: Vec<Site>,
    pub(in crate::air) geometry: Geometry,
    pub(in crate::air) decoder: Decoder,
    fades: Option<Fades>,
    /// Extra gain between a pair of stations, as a factor on what the plan gives. Sorted by pair.
    pairs: Vec<((u32, u32), f64)>,
    /// Which frames of the last aggregate that was weighed were received, one bit each.
    pub(in crate::air) got: u64,
    /// Noise in 20 MHz, as the decoder sees it: the implementation loss is part of it.
    pub(in crate::air) noise: f64,
    /// The part of it that is the implementation loss.
    pub(super) implementation: f64,
    /// Power that is left out of sums.
    pub(in crate::air) negligible: f64,
    /// Distance up to which any station is received above the negligible power, in mm.
    reach_mm: i64,
    /// `None`: received power depends on more than the distance.
    limits: Option<Limits>,
    /// The near and far distances, by transmit power.
    rings: Vec<(f64, Rings)>,
    /// `None` while a frame is being weighed.
    room: Option<Box<Room>>,
    pub(in crate::air) preamble: f64,
    pub(in crate::air) capture: Option<f64>,
}

/// Scratch space for the frame that is being weighed.
#[derive(Debug, Default)]
struct Room {
    /// What else was on the air at the same time.
    scene: Scene,
    /// The interference at one receiver, with bounds.
    foresight: Foresight,
    /// The interferers at one receiver, one by one.
    others: Vec<Interferer>,
}

/// One frame at one receiver.
pub(super) struct Case<'a> {
    pub(in crate::air) flights: &'a Flights,
    id: u16,
    pub(in crate::air) flight: &'a Flight,
    pub(in crate::air) receiver: u32,
    pub(in crate::air) place: Position,
    pub(in crate::air) signal: f64,
    pub(in crate::air) noise: f64,
}

/// Another transmission that overlapped with a frame.
#[derive(Debug, Clone, Copy)]
struct Interferer {
    start: u64,
    end: u64,
    power: f64,
}

pub(in crate::air) fn dbm(milliwatts: f64) -> Dbm {
    Dbm::from_mbm(libm::round(1_000.0 * libm::log10(milliwatts)) as i32)
}

pub(in crate::air) fn milliwatts(power: Dbm) -> f64 {
    libm::exp10(power.as_dbm_f64() / 10.0)
}

impl Ether {
    pub(in crate::air) fn new(
        sites: Vec<Site>,
        geometry: Geometry,
        decoder: Decoder,
        fades: Option<Fades>,
        (propagation, rules): (&Propagation, &Rules),
    ) -> Self {
        let floor = milliwatts(propagation.noise());
        Self {
            sites,
            geometry,
            decoder,
            fades,
            pairs: Vec::new(),
            got: 0,
            noise: floor * propagation.implementation_loss.linear(),
            implementation: floor * (propagation.implementation_loss.linear() - 1.0),
            negligible: floor / rules.negligible.linear(),
            reach_mm: 0,
            limits: None,
            rings: Vec::new(),
            room: Some(Box::default()),
            preamble: rules.preamble.linear(),
            capture: rules.capture.map(Db::linear),
        }
    }

    /// The power at which one station receives another at a moment, in mW.
    pub(in crate::air) fn power_at(&mut self, from: u32, to: u32, now: u64) -> f64 {
        let (source, place) = (self.sites[from as usize], self.sites[to as usize]);
        source.milliwatts * self.geometry.gain(source.position, place.position) * self.fade(from, to, now)
    }

    #[inline]
    fn fade(&mut self, one: u32, other: u32, now: u64) -> f64 {
        let fade = self.fades.as_mut();
        fade.map_or(1.0, |fades| fades.gain(one, other, now)) * self.share(one, other)
    }

    /// Adds a loss between two stations to what the plan gives.
    pub(in crate::air) fn attenuate(&mut self, one: u32, other: u32, loss: Db) {
        // Bounds of what far sources add go by the distance alone.
        self.limits = None;
        let pair = (one.min(other), one.max(other));
        let share = libm::exp10(-loss.as_db_f64() / 10.0);
        match self.pairs.binary_search_by_key(&pair, |&(of, _)| of) {
            Ok(place) => self.pairs[place].1 = share,
            Err(place) => self.pairs.insert(place, (pair, share)),
        }
    }

    fn share(&self, one: u32, other: u32) -> f64 {
        if self.pairs.is_empty() {
            return 1.0;
        }
        let pair = (one.min(other), one.max(other));
        let place = self.pairs.binary_search_by_key(&pair, |&(of, _)| of);
        place.map_or(1.0, |place| self.pairs[place].1)
    }

    /// The mean power at which one station receives another, in mW.
    pub(in crate::air) fn power(&self, from: u32, to: u32) -> f64 {
        let (source, place) = (&self.sites[from as usize], &self.sites[to as usize]);
        source.milliwatts * self.geometry.gain(source.position, place.position) * self.share(from, to)
    }

    /// Distance up to which the strongest transmitter is received above the negligible power, in mm.
    pub(in crate::air) fn reach_mm(&self) -> i64 {
        let strongest = self.sites.iter().map(|site| site.milliwatts).fold(0.0, f64::max);
        self.geometry.distance_mm(self.negligible / strongest)
    }

    /// Recalculates distances, given the faintest power at which the best receiver hears anybody.
    pub(in crate::air) fn prepare(&mut self, faintest: f64) {
        let strongest = self.sites.iter().map(|site| site.milliwatts).fold(0.0, f64::max);
        self.reach_mm = self.reach_mm();
        let around = self.geometry.distance_mm(faintest / strongest);
        let mut limits = Limits::new(self.geometry.law(), around, self.reach_mm);
        self.rings.clear();
        for site in &self.sites {
            if !self.rings.iter().any(|(power, _)| *power == site.milliwatts) {
                let rings = limits.rings(site.milliwatts, self.noise, self.negligible);
                self.rings.push((site.milliwatts, rings));
            }
        }
        // In single precision, positions are whole millimetres up to that distance.
        let is_precise = around < 16_000_000;
        let calculable = self.fades.is_none() && !self.geometry.has_walls() && is_precise;
        self.limits = calculable.then_some(limits);
    }

    /// The near and far distances of a sender with that power.
    pub(in crate::air) fn rings(&self, milliwatts: f64) -> Rings {
        let known = self.rings.iter().find(|(power, _)| *power == milliwatts);
        known.map_or(Rings::NEAR, |(_, rings)| *rings)
    }

    /// Whether a signal of this power is received for sure when nothing else is on the air.
    pub(in crate::air) fn is_sure(&self, power: f64, mode: Mode) -> bool {
        self.fades.is_none() && self.stands_out(power / (self.noise * mode.noise()), mode)
    }

    pub(super) fn stands_out(&self, ratio: f64, mode: Mode) -> bool {
        ratio >= self.decoder.sure(mode).max(self.preamble)
    }

    /// Whether received power depends on nothing but transmit power and distance.
    pub(super) const fn goes_by_distance(&self) -> bool {
        self.limits.is_some()
    }

    /// Whether another station was on the air during this frame, received above the noise. Numbers from
    /// `stations` on are not stations.
    pub(in crate::air) fn has_rival(&self, flights: &Flights, id: u16, receiver: u32, stations: u32) -> bool {
        let flight = flights.get(id);
        let place = self.sites[receiver as usize].position;
        let mut tiles = flights.around(flight.channel, place, self.reach_mm);
        tiles.any(|sources| {
            sources.iter().any(|other| {
                let is_heard = || {
                    other.from == receiver
                        || other.milliwatts * self.geometry.gain(other.position, place) > self.noise
                };
                other.from < stations && other.disturbs(flight) && is_heard()
            })
        })
    }

    /// What a receiver that followed this frame to its end makes of it.
    pub(in crate::air) fn outcome(
        &mut self,
        flights: &Flights,
        id: u16,
        receiver: u32,
        rng: &mut Rng,
    ) -> Outcome {
        let (flight, place) = (flights.get(id), self.sites[receiver as usize].position);
        let signal = flight.milliwatts
            * self.geometry.gain(flight.position, place)
            * self.fade(flight.from, receiver, flight.start);
        let Some(mut room) = self.room.take() else {
            unreachable!("no frame is weighed while another one is")
        };
        let case = Case {
            flights,
            id,
            flight,
            receiver,
            place,
            signal,
            noise: self.noise * flight.mode.noise(),
        };
        let (outcome, got) = self.verdict(&case, &mut room, rng);
        self.room = Some(room);
        self.got = got;
        outcome
    }

    /// Weighs near sources exactly first, then bounds the far ones more tightly. Adds up all of them one by
    /// one only if that could still change the outcome.
    fn verdict(&mut self, case: &Case<'_>, room: &mut Room, rng: &mut Rng) -> (Outcome, u64) {
        let (circle, mut draw) = (&case.flight.circle, None);
        if let Some(limits) = &self.limits
            && circle.radius_mm <= limits.around_mm
            && circle.contains(case.place)
        {
            let Room { scene, foresight, .. } = &mut *room;
            scene.gather(case.flights, case.id, limits);
            foresight.look_ahead(self, case, scene, limits);
            let mut draw = || *draw.get_or_insert_with(|| exponential(rng));
            if let Some(outcome) = self.foresee(case.flight, scene, foresight, &mut draw) {
                return whole(outcome);
            }
            if case.flight.count == 1
                && foresight.look_closer(self, case, limits)
                && let Some(outcome) = self.foresee(case.flight, scene, foresight, &mut draw)
            {
                return whole(outcome);
            }
        }
        room.others.clear();
        self.look_at_all(case, &mut room.others, draw, rng)
    }

    /// Adds up everything in reach.
    fn look_at_all(
        &mut self,
        case: &Case<'_>,
        others: &mut Vec<Interferer>,
        draw: Option<f64>,
        rng: &mut Rng,
    ) -> (Outcome, u64) {
        let mut floor = case.noise;
        let tiles = case
            .flights
            .around(case.flight.channel, case.place, self.reach_mm);
        for sources in tiles {
            floor = self.sum(case, sources, floor, others);
        }
        self.weigh(case, floor, others, draw, rng)
    }

    /// Adds more frames: to `others`, or to the returned floor.
    fn sum(
        &mut self,
        case: &Case<'_>,
        sources: &[Source],
        mut floor: f64,
        others: &mut Vec<Interferer>,
    ) -> f64 {
        for other in sources {
            if other.from != case.receiver && other.disturbs(case.flight) {
                floor += self.add(case, other, others);
            }
        }
        floor
    }

    /// Adds one more frame, and returns what it adds to the floor.
    fn add(&mut self, case: &Case<'_>, other: &Source, others: &mut Vec<Interferer>) -> f64 {
        let flight = case.flight;
        let power = other.milliwatts
            * self.geometry.gain(other.position, case.place)
            * self.fade(other.from, case.receiver, other.start);
        let (start, end) = (other.start.max(flight.start), other.end.min(flight.end));
        if power > self.noise {
            others.push(Interferer { start, end, power });
        } else if power > self.negligible {
            return power * (end - start) as i64 as f64 / (flight.end - flight.start) as i64 as f64;
        }
        0.0
    }

    /// The outcome, and which frames of an aggregate are received.
    fn weigh(
        &self,
        case: &Case<'_>,
        floor: f64,
        others: &[Interferer],
        draw: Option<f64>,
        rng: &mut Rng,
    ) -> (Outcome, u64) {
        let flight = case.flight;
        let ratios = &Ratios {
            signal: case.signal,
            floor,
            others,
        };
        let ends = case.flights.ends(case.id);
        if self.stands_out(ratios.worst(), flight.mode) {
            return (Outcome::Decoded, u64::MAX);
        }
        let worst = ratios.worst_in(flight.start, flight.payload);
        let header = self.header_hazard(flight, case.signal, worst);
        if header.is_infinite() {
            return (Outcome::Missed, 0);
        }
        let draw = draw.unwrap_or_else(|| exponential(rng));
        if header > draw {
            return (Outcome::Missed, 0);
        }
        let got = if ends.is_empty() {
            let payload = self.payload_hazard(flight, ratios, 0..flight.bytes);
            u64::from(header + payload <= draw)
        } else {
            self.weigh_frames(flight, ends, ratios, rng)
        };
        let outcome = if got == 0 {
            Outcome::Broken
        } else {
            Outcome::Decoded
        };
        (outcome, got)
    }

    /// Which frames of an aggregate are received: each is weighed against what was on the air at the same
    /// time.
    fn weigh_frames(&self, flight: &Flight, ends: &[u32], ratios: &Ratios<'_>, rng: &mut Rng) -> u64 {
        let (mut got, mut begin) = (0, 0);
        for (order, &end) in ends.iter().enumerate() {
            let hazard = self.payload_hazard(flight, ratios, begin..end);
            got |= u64::from(hazard <= exponential(rng)) << order;
            begin = end;
        }
        got
    }

    /// −ln of the probability that those bytes of the payload are received.
    fn payload_hazard(&self, flight: &Flight, ratios: &Ratios<'_>, bytes: Range<u32>) -> f64 {
        let length = flight.end - flight.payload;
        let moment = |byte: u32| flight.payload + length * u64::from(byte) / u64::from(flight.bytes.max(1));
        let (from, to) = (moment(bytes.start), moment(bytes.end));
        let bits = f64::from(bytes.end - bytes.start) * 8.0 / (to - from).max(1) as f64;
        let sections = ratios.sections(from, to);
        let hazards =
            sections.map(|(nanos, ratio)| nanos as f64 * bits * self.decoder.hazard(flight.mode, ratio));
        hazards.sum()
    }
}

/// The same outcome for one frame, or for all frames of an aggregate.
const fn whole(outcome: Outcome) -> (Outcome, u64) {
    match outcome {
        Outcome::Decoded => (outcome, u64::MAX),
        Outcome::Missed | Outcome::Broken => (outcome, 0),
    }
}

/// Draws from an exponential distribution with mean 1: the threshold for a sum of −ln of probabilities.
pub(in crate::air) fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.unit())
}

/// SIGNAL field of 24 bits. The header of HR/DSSS has 48, which makes no difference at its rates.
pub(super) const HEADER_BITS: f64 = 24.0;

/// One frame at one receiver, with all interference.
#[derive(Debug)]
struct Ratios<'a> {
    signal: f64,
    /// Noise, and the mean of interference weaker than noise.
    floor: f64,
    others: &'a [Interferer],
}

impl Ratios<'_> {
    /// The ratio if everything else were on the air at the same time.
    fn worst(&self) -> f64 {
        let all: f64 = self.others.iter().map(|other| other.power).sum();
        self.signal / (self.floor + all)
    }

    /// The lowest ratio in any section of a span of time.
    fn worst_in(&self, from: u64, to: u64) -> f64 {
        let ratios = self.sections(from, to).map(|(_, ratio)| ratio);
        ratios.fold(f64::INFINITY, f64::min)
    }

    /// Cuts a span of time where interference changes: the duration of each section, and the ratio in it.
    fn sections(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, f64)> {
        let mut at = from;
        core::iter::from_fn(move || {
            if at >= to {
                return None;
            }
            let edges = self.others.iter().flat_map(|other| [other.start, other.end]);
            let next = edges.filter(|&edge| edge > at).fold(to, u64::min);
            let present = self
                .others
                .iter()
                .filter(|other| other.start <= at && other.end > at);
            let power: f64 = present.map(|other| other.power).sum();
            let section = (next - at, self.signal / (self.floor + power));
            at = next;
            Some(section)
        })
    }
}

#[cfg(test)]
#[path = "reception_tests.rs"]
mod tests;
