//! Refuses invalid plans before the run.

use alloc::collections::BTreeSet;
use units::wifi::Standard;
use units::wifi::ht::{AGGREGATE_BYTES, AGGREGATE_FRAMES, Band, Width};

use super::phy::mode::Mode;
use crate::config::AirError;
use crate::config::{AirConfig, Ht, StationConfig};

impl AirConfig {
    /// Refuses an invalid plan, as [`super::Air::new`] does.
    pub fn check(&self) -> Result<(), AirError> {
        check(self)
    }
}

/// Refuses an invalid plan.
pub(super) fn check(config: &AirConfig) -> Result<(), AirError> {
    if config.stations.is_empty() {
        return Err(AirError::Empty);
    }
    if config.rules.attempts == Some(0) {
        return Err(AirError::NoAttempts);
    }
    if config.propagation.shadowing.is_some() {
        return Err(AirError::Shadowing);
    }
    let mut names = BTreeSet::new();
    for noise in &config.noise {
        if !names.insert(&noise.name) {
            return Err(AirError::DuplicateName(noise.name.clone()));
        }
        if noise.on.is_zero() || noise.off.is_zero() {
            return Err(AirError::Noise(noise.name.clone()));
        }
    }
    for station in &config.stations {
        if !names.insert(&station.name) {
            return Err(AirError::DuplicateName(station.name.clone()));
        }
        station_is_sound(station)?;
    }
    config
        .stations
        .iter()
        .try_for_each(|wide| upper_half_is_free(config, wide))
}

/// Whether nobody is on the upper half of a station's 40 MHz, where the station would neither hear nor
/// disturb it.
fn upper_half_is_free(config: &AirConfig, wide: &StationConfig) -> Result<(), AirError> {
    let Some(upper) = wide.ht.and_then(|ht| upper_half(wide, &ht)) else {
        return Ok(());
    };
    let stations = config.stations.iter().map(|other| (other.channel, &other.name));
    let noises = config.noise.iter().map(|other| (other.channel, &other.name));
    match stations.chain(noises).find(|(channel, _)| *channel == upper) {
        None => Ok(()),
        Some((_, other)) => Err(AirError::Overlap {
            station: wide.name.clone(),
            channel: wide.channel,
            upper,
            other: other.clone(),
        }),
    }
}

fn upper_half(station: &StationConfig, ht: &Ht) -> Option<u8> {
    let band = Band::of(station.standard);
    (ht.width == Width::Mhz40)
        .then(|| band.upper_half(station.channel))
        .flatten()
}

fn station_is_sound(station: &StationConfig) -> Result<(), AirError> {
    let name = || station.name.clone();
    if station.queue == 0 {
        return Err(AirError::NoQueue(name()));
    }
    if station.energy_detection < station.carrier_sense {
        return Err(AirError::Thresholds(name()));
    }
    let (band, valid) = rates(station.standard);
    if Mode::of(station.standard, station.rate).is_none() {
        return Err(AirError::Rate {
            station: name(),
            band,
            rate: station.rate,
            valid,
        });
    }
    channels_exist(station)?;
    match station.ht.and_then(|ht| amiss(station, &ht)) {
        None => Ok(()),
        Some((what, right)) => Err(AirError::Ht {
            station: name(),
            what,
            right,
        }),
    }
}

fn channels_exist(station: &StationConfig) -> Result<(), AirError> {
    let (exists, band, right) = crate::config::channels(station.standard);
    let mut all = core::iter::once(station.channel).chain(station.also.iter().copied());
    match all.find(|&channel| !exists(channel)) {
        None => Ok(()),
        Some(channel) => Err(AirError::Channel {
            station: station.name.clone(),
            channel,
            band,
            right,
        }),
    }
}

/// What 802.11n does not have, and what it has.
fn amiss(station: &StationConfig, ht: &Ht) -> Option<(&'static str, &'static str)> {
    if station.standard == Standard::B {
        Some(("DSSS", "standard a or g below it"))
    } else if !(1..=4).contains(&ht.streams) {
        Some(("such number of spatial streams", "1 to 4"))
    } else if ht.mcs / 8 >= ht.streams {
        Some(("such scheme for that many streams", "MCS 0 to 7 for each stream"))
    } else if !(1..=AGGREGATE_FRAMES).contains(&ht.frames) {
        Some(("aggregate of that many frames", "1 to 64"))
    } else if !(1..=AGGREGATE_BYTES).contains(&ht.bytes) {
        Some(("aggregate of that many bytes", "1 to 65,535"))
    } else if ht.width == Width::Mhz40 && upper_half(station, ht).is_none() {
        Some(("40 MHz from that channel upwards", lower_halves(station.standard)))
    } else {
        None
    }
}

/// The channels that [`Band::upper_half`] knows, in words.
const fn lower_halves(standard: Standard) -> &'static str {
    match Band::of(standard) {
        Band::Ghz2 => "channel 1 to 9, or 20 MHz",
        Band::Ghz5 => "channel 36 to 60 or 100 to 140 in steps of 8, 149 or 157, or 20 MHz",
    }
}

const fn rates(standard: Standard) -> (char, &'static str) {
    match standard {
        Standard::A => ('a', "6, 9, 12, 18, 24, 36, 48, 54"),
        Standard::B => ('b', "1, 2, 5.5, 11"),
        Standard::G => ('g', "6, 9, 12, 18, 24, 36, 48, 54"),
    }
}
