//! Whether a receiver makes sense of a frame: signal over interference and noise, section by section.
//!
//! # Sources
//! - IEEE 802.11-2020 §17.3.12: first preamble and header, then the contents at the frame's own rate.
//! - Lacage and Henderson 2006 ("Yet another network simulator", §3.3): a frame is cut where interference changes, and is received if
//!   every section is: the probability is the product over the sections.
//!
//! # Where we differ, and why
//! 1. Who only overhears a frame takes the frames into account that it can tell were on the air beside it ([`Radio::disturbed`]); what
//!    is below its carrier sense then counts for nothing. The one that the frame is for adds up everybody on the channel.
//! 2. Power that arrives more than 20 dB under the noise floor is left out: a hundred such signals make the noise 3 dB larger, and a
//!    hundred frames on the air at a time within reach do not happen below some thousand stations a square kilometre and channel.
//! 3. What arrives below the noise floor counts with its mean over the frame, what is above it section by section.
//!
//! [`Radio::disturbed`]: super::radio::Radio
//!
//! # Checked by
//! `tests`, and `sim`'s tests of hidden terminals and capture.

use alloc::vec::Vec;
use core::ops::Range;
use units::wifi::NOISE_FLOOR_MBM;
use units::{Dbm, Rng};

use super::config::Rules;
use super::decoder::Decoder;
use super::fading::Fades;
use super::flight::{Flight, Flights};
use super::geometry::Geometry;
use super::mode::Mode;
use crate::Position;

/// Where a radio is and how strongly it transmits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) position: Position,
    pub(super) milliwatts: f64,
}

/// What became of a frame at one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing that could be told from noise.
    Missed,
    /// A header, but broken contents.
    Broken,
    /// All of it.
    Decoded,
}

/// Everything that decides about reception.
#[derive(Debug)]
pub(super) struct Ether {
    pub(super) sites: Vec<Site>,
    pub(super) geometry: Geometry,
    pub(super) decoder: Decoder,
    fades: Option<Fades>,
    /// Which frames of the last aggregate that was weighed were received, one bit each.
    pub(super) got: u64,
    noise: f64,
    /// Power that is left out of sums.
    negligible: f64,
    preamble: f64,
    capture: Option<f64>,
    /// Room for the interferers of the frame that is being weighed.
    others: Vec<Interferer>,
}

/// Something else on the air while a frame was.
#[derive(Debug, Clone, Copy)]
struct Interferer {
    start: u64,
    end: u64,
    power: f64,
}

pub(super) fn milliwatts(power: Dbm) -> f64 {
    libm::exp10(power.as_dbm_f64() / 10.0)
}

impl Ether {
    pub(super) fn new(
        sites: Vec<Site>,
        geometry: Geometry,
        decoder: Decoder,
        fades: Option<Fades>,
        rules: &Rules,
    ) -> Self {
        let noise = milliwatts(Dbm::from_mbm(NOISE_FLOOR_MBM));
        Self {
            sites,
            geometry,
            decoder,
            fades,
            got: 0,
            noise,
            negligible: noise / 100.0,
            preamble: rules.preamble.linear(),
            capture: rules.capture.map(units::Db::linear),
            others: Vec::new(),
        }
    }

    /// The power at which one station receives another at a moment, in mW.
    pub(super) fn power_at(&mut self, from: u32, to: u32, now: u64) -> f64 {
        self.power(from, to) * self.fade(from, to, now)
    }

    fn fade(&mut self, one: u32, other: u32, now: u64) -> f64 {
        self.fades
            .as_mut()
            .map_or(1.0, |fades| fades.gain(one, other, now))
    }

    /// The mean power at which one station receives another, in mW.
    pub(super) fn power(&self, from: u32, to: u32) -> f64 {
        let (from, to) = (&self.sites[from as usize], &self.sites[to as usize]);
        from.milliwatts * self.geometry.gain(from.position, to.position)
    }

    /// How far, in mm, the strongest transmitter is received above what is left out.
    pub(super) fn reach_mm(&self) -> i64 {
        let strongest = self.sites.iter().map(|site| site.milliwatts).fold(0.0, f64::max);
        self.geometry.distance_mm(self.negligible / strongest)
    }

    /// Whether a signal of this power is received for sure when nothing else is on the air.
    pub(super) fn is_sure(&self, power: f64, mode: Mode) -> bool {
        self.fades.is_none() && self.stands_out(power / (self.noise * mode.noise()), mode)
    }

    fn stands_out(&self, ratio: f64, mode: Mode) -> bool {
        ratio >= self.decoder.sure(mode).max(self.preamble)
    }

    /// Whether a receiver that follows `held` turns to `new`, which has just begun.
    ///
    /// During the preamble of `held` it takes what stands out; later it takes what is stronger by the capture margin.
    pub(super) fn captures(&mut self, receiver: u32, held: &Flight, new: &Flight) -> bool {
        let margin = if new.start < held.payload {
            Some(self.preamble)
        } else {
            self.capture
        };
        margin.is_some_and(|margin| {
            let strength = self.power_at(new.from, receiver, new.start);
            strength >= margin * self.power_at(held.from, receiver, new.start)
        })
    }

    /// What a receiver that followed this frame to its end makes of it.
    pub(super) fn outcome(&mut self, flights: &Flights, id: u16, receiver: u32, rng: &mut Rng) -> Outcome {
        let flight = flights.get(id);
        let mut others = core::mem::take(&mut self.others);
        others.clear();
        let place = self.sites[receiver as usize].position;
        let mut floor = self.noise * flight.mode.noise();
        for other in flights
            .overlapping(id, place)
            .filter(|other| other.from != receiver)
        {
            let power = other.milliwatts
                * self.geometry.gain(other.position, place)
                * self.fade(other.from, receiver, other.start);
            let (start, end) = (other.start.max(flight.start), other.end.min(flight.end));
            if power > self.noise {
                others.push(Interferer { start, end, power });
            } else if power > self.negligible {
                floor += power * (end - start) as f64 / (flight.end - flight.start) as f64;
            }
        }
        let ratios = Ratios {
            signal: flight.milliwatts
                * self.geometry.gain(flight.position, place)
                * self.fade(flight.from, receiver, flight.start),
            floor,
            others: &others,
        };
        let (outcome, got) = self.weigh(flight, flights.ends(id), &ratios, rng);
        self.others = others;
        self.got = got;
        outcome
    }

    /// The outcome, and which frames of an aggregate are received.
    fn weigh(&self, flight: &Flight, ends: &[u32], ratios: &Ratios<'_>, rng: &mut Rng) -> (Outcome, u64) {
        if self.stands_out(ratios.worst(), flight.mode) {
            return (Outcome::Decoded, u64::MAX);
        }
        let header = self.header_hazard(flight, ratios);
        if header.is_infinite() {
            return (Outcome::Missed, 0);
        }
        let draw = exponential(rng);
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

    /// Which frames of an aggregate are received: each is weighed by what was on the air beside it.
    fn weigh_frames(&self, flight: &Flight, ends: &[u32], ratios: &Ratios<'_>, rng: &mut Rng) -> u64 {
        let (mut got, mut begin) = (0, 0);
        for (order, &end) in ends.iter().enumerate() {
            let hazard = self.payload_hazard(flight, ratios, begin..end);
            got |= u64::from(hazard <= exponential(rng)) << order;
            begin = end;
        }
        got
    }

    /// −ln of the probability that the header is received: infinite where the preamble does not stand out.
    fn header_hazard(&self, flight: &Flight, ratios: &Ratios<'_>) -> f64 {
        let sections = ratios.sections(flight.start, flight.payload);
        let worst = sections.map(|(_, ratio)| ratio).fold(f64::INFINITY, f64::min);
        if worst < self.preamble {
            return f64::INFINITY;
        }
        HEADER_BITS * self.decoder.hazard(Mode::basic(flight.mode.phy()), worst)
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

/// Exponential with mean 1: what a sum of −ln of probabilities is held against.
fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.unit())
}

/// SIGNAL field of 24 bits; the header of HR/DSSS has 48, which at its rates makes no difference.
const HEADER_BITS: f64 = 24.0;

/// One frame at one receiver, with what else there is.
#[derive(Debug)]
struct Ratios<'a> {
    signal: f64,
    /// Noise, and the mean of what is weaker than noise.
    floor: f64,
    others: &'a [Interferer],
}

impl Ratios<'_> {
    /// The ratio if everything else were on the air at the same time.
    fn worst(&self) -> f64 {
        let all: f64 = self.others.iter().map(|other| other.power).sum();
        self.signal / (self.floor + all)
    }

    /// Cuts a span of time where interference changes: how long each section lasts, and the ratio in it.
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
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_cut_where_interference_changes() {
        let other = |start, end, power| Interferer { start, end, power };
        let others = [other(0, 30, 1.0), other(20, 60, 3.0), other(90, 200, 7.0)];
        let ratios = Ratios {
            signal: 8.0,
            floor: 1.0,
            others: &others,
        };
        let cut: Vec<_> = ratios.sections(10, 100).collect();
        assert_eq!(cut, [(10, 4.0), (10, 1.6), (30, 2.0), (30, 8.0), (10, 1.0)]);
        assert_eq!(ratios.sections(5, 5).count(), 0);
        assert_eq!(ratios.worst(), 8.0 / 12.0);
    }
}
