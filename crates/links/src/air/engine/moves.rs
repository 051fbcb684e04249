//! Moving stations and changing channels: recomputes who hears whom.
//!
//! # Where we differ, and why
//! 1. A station that is sending, waits for an answer or is about to answer moves and changes channel when
//!    that is over, as drivers do. The change happens within milliseconds of the request.
//! 2. A radio that arrives on a channel in the middle of a frame has missed the preamble and senses that
//!    frame by energy only.
//!
//! # Checked by
//! `moves_tests`.

use super::Air;
use crate::Position;
use crate::air::io::StationId;
use crate::air::mac::station::Changes;
use crate::air::place::circle::Circle;
use crate::air::rx::reception::milliwatts;
use crate::air::schedule::{NEVER, Schedule};
use crate::air::sense::hearing::{Audience, Strength};
use crate::air::sense::radio::Phase;
use crate::air::transmission::flight::NONE;
use units::Db;

/// Channel index of a radio that is on no channel.
pub(super) const AWAY: u8 = u8::MAX;

/// Properties that decide whether a station hears another.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Receiver {
    /// Channels that it can use, one bit for each entry of the air's list.
    pub(in crate::air) channels: u128,
    pub(in crate::air) energy: f64,
    pub(in crate::air) preamble: f64,
    /// True for a source of noise, which is not a radio.
    pub(super) is_noise: bool,
}

impl Receiver {
    pub(in crate::air) fn new(channels: u128, config: &crate::air::StationConfig, is_noise: bool) -> Self {
        Self {
            channels,
            energy: milliwatts(config.energy_detection),
            preamble: milliwatts(config.carrier_sense),
            is_noise,
        }
    }
}

/// How one station hears another that arrives with this power. Noise has no preamble to detect.
pub(in crate::air) fn strength(from: &Receiver, to: &Receiver, power: f64) -> Strength {
    if to.is_noise || from.channels & to.channels == 0 {
        Strength::Unheard
    } else if power >= to.energy {
        Strength::Loud
    } else if power >= to.preamble && !from.is_noise {
        Strength::Faint
    } else {
        Strength::Unheard
    }
}

impl<S: Schedule> Air<S> {
    /// Moves a station to a position.
    pub(super) fn move_to(&mut self, station: StationId, position: Position) {
        let place = station.0 as usize;
        let changes = self.stations[place].changes.get_or_insert_default();
        changes.position = Some(position);
        self.change_if_idle(place);
    }

    /// Attenuates the path between two stations, as if the first one had moved.
    pub(in crate::air) fn attenuate(&mut self, station: StationId, other: StationId, loss: Db) {
        self.ether.attenuate(station.0, other.0, loss);
        let place = station.0 as usize;
        let here = self.ether.sites[place].position;
        let changes = self.stations[place].changes.get_or_insert_default();
        changes.position.get_or_insert(here);
        self.change_if_idle(place);
    }

    /// Tunes a radio to a channel, or away from all channels.
    ///
    /// # Panics
    /// If the station's plan does not include that channel.
    pub(in crate::air) fn tune(&mut self, station: StationId, channel: Option<u8>) {
        let place = station.0 as usize;
        let channel = channel.map_or(AWAY, |number| {
            let known = self.channels.iter().position(|&known| known == number);
            let known = known.filter(|&known| self.receivers[place].channels >> known & 1 == 1);
            known.expect("a channel of the station's plan") as u8
        });
        let changes = self.stations[place].changes.get_or_insert_default();
        changes.channel = Some(channel);
        self.change_if_idle(place);
    }

    /// Applies changes now, unless they have to wait.
    pub(super) fn change_if_idle(&mut self, place: usize) {
        let has_changes = self.stations[place].changes.is_some();
        if has_changes && self.radios[place].phase == Phase::Listening {
            self.part(place);
            self.change(place);
            self.count_down(place);
        }
    }

    /// Applies changes that waited for the end of an exchange.
    pub(in crate::air) fn change(&mut self, place: usize) {
        let Some(changes) = self.stations[place].changes.take() else {
            return;
        };
        let Changes { position, channel } = *changes;
        if let Some(position) = position {
            self.ether.sites[place].position = position;
            self.hear_anew(place);
        }
        if let Some(channel) = channel {
            self.radios[place].channel = channel;
            self.radios[place].nav = 0;
        }
        self.sense_anew(place);
    }

    /// Recomputes who hears this station, and whom it hears.
    fn hear_anew(&mut self, place: usize) {
        self.dissolve_cliques();
        let number = place as u32;
        self.audiences[place] = self.audience(number);
        for other in 0..self.audiences.len() {
            if other != place {
                let power = self.ether.power(other as u32, number);
                let strength = strength(&self.receivers[other], &self.receivers[place], power);
                if self.audiences[other].set(number, strength, power) {
                    self.audiences[other].circle = self.circle(other, &self.audiences[other]);
                }
            }
        }
    }

    /// Dissolves all cliques.
    pub(in crate::air) fn dissolve_cliques(&mut self) {
        if self.ears().0.dissolve() {
            for audience in &mut self.audiences {
                audience.reach = None;
            }
        }
    }

    /// Circle around the stations that hear a station.
    fn circle(&self, from: usize, audience: &Audience) -> Circle {
        let place = |station: u32| self.ether.sites[station as usize].position;
        Circle::around(place(from as u32), audience.all().map(place))
    }

    /// Stations that hear a station.
    pub(in crate::air) fn audience(&self, from: u32) -> Audience {
        let own = &self.receivers[from as usize];
        let mut audience = Audience::collect(self.receivers.len(), |to| {
            let other = &self.receivers[to as usize];
            if to == from || other.is_noise || own.channels & other.channels == 0 {
                return (Strength::Unheard, 0.0);
            }
            let power = self.ether.power(from, to);
            (strength(own, other, power), power)
        });
        audience.circle = self.circle(from as usize, &audience);
        audience
    }

    /// Recomputes what the radio senses where it is now. Frames on the air count by their energy, since their
    /// preambles were missed. A frame that the radio was receiving and still hears stays locked.
    fn sense_anew(&mut self, place: usize) {
        let (number, held) = (place as u32, self.radios[place].lock);
        let (mut loud, mut follows) = (0, false);
        let channel = self.radios[place].channel;
        if channel != AWAY {
            for (id, flight) in self.flights.present(channel) {
                let strength = self.audiences[flight.from as usize].strength(number);
                loud += u16::from(strength == Strength::Loud);
                follows |= id == held && strength != Strength::Unheard;
            }
        }
        let now = self.now;
        let radio = &mut self.radios[place];
        // A radio away from all channels treats the medium as busy.
        radio.loud = loud + u16::from(channel == AWAY);
        if !follows {
            radio.lock = NONE;
        }
        radio.wants = channel != AWAY && self.stations[place].has_work();
        let timing = &self.timings[usize::from(radio.timing)];
        if radio.is_idle() {
            self.ears().0.go_on(place, now);
        } else if radio.counting {
            radio.freeze(now, timing, self.rules.countdown);
            radio.fresh = false;
            self.schedule.set(place, NEVER);
        }
    }
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
