//! The air as its driver sees it, and who acts when.
//!
//! [`Air`] holds the state of all stations. `exchange` and `response` decide what a sender and a receiver do
//! after each frame. `moves` changes places and channels. `noise` switches sources other than 802.11 on and
//! off. `capture` records what monitors hear.

mod capture;
mod exchange;
mod losses;
mod moves;
mod noise;
mod response;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use units::wifi::Standard;
use units::{Dbm, Duration, Instant, Rng};

use self::losses::Losses;
use self::moves::Receiver;
use self::noise::Noise;
use super::check::check;
use super::io::{Counters, Input, Output, Packet, StationId};
use super::mac::station::{Capabilities, Station, cover};
use super::phy::decoder::Decoder;
use super::phy::fading::Fades;
use super::phy::mode::Mode;
use super::phy::timing::Timing;
use super::place::geometry::Geometry;
use super::place::grid::Grid;
use super::rx::reception::{Ether, Site, dbm, milliwatts};
use super::schedule::{Blocks, NEVER, Schedule};
use super::sense::clique::{Cliques, LEAST};
use super::sense::ears::{Ears, Heard};
use super::sense::hearing::Audience;
use super::sense::radio::{Phase, Radio};
use super::transmission::flight::Flights;
use super::watch::overheard::Overheard;
use crate::config::AirError;
use crate::config::{AirConfig, NoiseConfig, Rules, StationConfig};

/// All stations of a run and what is on the air between them. The module's documentation has the contract.
///
/// `S` is the data structure that holds the deadlines. It does not affect results.
#[derive(Debug)]
pub struct Air<S = Blocks> {
    pub(super) now: u64,
    pub(super) rules: Rules,
    /// Losses that the plan states, if any.
    losses: Option<Box<Losses>>,
    pub(super) timings: Vec<Timing>,
    pub(super) radios: Vec<Radio>,
    pub(super) cliques: Cliques,
    pub(super) stations: Vec<Station>,
    pub(super) schedule: S,
    pub(super) audiences: Vec<Audience>,
    pub(super) receivers: Vec<Receiver>,
    /// Numbers of all channels that any station can use.
    pub(super) channels: Vec<u8>,
    /// Frames on each of them.
    pub(super) carried: Vec<Carried>,
    pub(super) ether: Ether,
    pub(super) flights: Flights,
    pub(super) rngs: Vec<Rng>,
    pub(super) heard: Vec<(u32, Heard)>,
    pub(super) overheard: Vec<(u32, u64)>,
    pub(super) captured: VecDeque<Overheard>,
    /// Buffer for packets that leave a window.
    pub(super) packets: Vec<Packet>,
    pub(super) capabilities: Vec<Capabilities>,
    /// Index of the first source of noise; stations come before it.
    pub(super) first_noise: usize,
    pub(super) noises: Vec<Noise>,
    pub(super) exits: VecDeque<(u64, Output)>,
    pub(super) transmissions: u64,
}

/// Frames on a channel, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    /// When the last frame ends.
    until: u64,
    /// Time with frames. Frames that overlap count once.
    time: u64,
}

impl Carried {
    pub(super) fn add(&mut self, start: u64, end: u64) {
        self.time += cover(&mut self.until, start, end);
    }
}

impl Air {
    /// Builds the air of a run at its start, [`Instant::ZERO`].
    pub fn new(seed: u64, config: &AirConfig) -> Result<Self, AirError> {
        Self::scheduled(seed, config)
    }
}

impl<S: Schedule> Air<S> {
    /// As [`Air::new`], with another structure for the deadlines.
    pub fn scheduled(seed: u64, config: &AirConfig) -> Result<Self, AirError> {
        check(config)?;
        let mut parts = Parts::default();
        for station in &config.stations {
            parts.add(seed, station, false);
        }
        for noise in &config.noise {
            parts.add_noise(seed, noise);
        }
        let names = config.stations.iter().map(|station| &station.name);
        let names = names.chain(config.noise.iter().map(|noise| &noise.name));
        let fading = config.propagation.fading;
        let fades = fading.map(|fading| Fades::new(seed, fading, names.cloned()));
        let mut ether = Ether::new(
            parts.sites,
            Geometry::new(config.propagation, &config.walls),
            Decoder::new(config.propagation.error_model),
            fades,
            (&config.propagation, &config.rules),
        );
        let count = parts.stations.len();
        let places = ether.sites.iter().map(|site| site.position);
        let grid = Grid::new(places, ether.reach_mm());
        let needed = parts.receivers.iter().map(|receiver| receiver.preamble);
        ether.prepare(needed.fold(f64::INFINITY, f64::min));
        let mut air = Self {
            now: 0,
            rules: config.rules,
            losses: Losses::of(seed, config),
            timings: parts.timings,
            radios: parts.radios,
            cliques: Cliques::default(),
            schedule: S::with_stations(count),
            first_noise: config.stations.len(),
            noises: parts.noises,
            stations: parts.stations,
            audiences: Vec::new(),
            receivers: parts.receivers,
            flights: Flights::new(parts.channels.len(), grid),
            carried: vec![Carried::default(); parts.channels.len()],
            channels: parts.channels,
            ether,
            rngs: parts.rngs,
            heard: Vec::new(),
            overheard: Vec::new(),
            captured: VecDeque::new(),
            packets: Vec::new(),
            capabilities: config.stations.iter().map(|station| station.ht).collect(),
            exits: VecDeque::new(),
            transmissions: 0,
        };
        air.audiences = (0..count as u32).map(|from| air.audience(from)).collect();
        air.cliques = Cliques::form(&air.radios, air.first_noise, &mut air.audiences, LEAST);
        air.start_noises();
        Ok(air)
    }

    /// Processes one input that happens at `now`, after everything that was due until then.
    ///
    /// # Panics
    /// If there is no such station. The same holds for all methods that take a station.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.tick(now);
        match input {
            Input::Send(station, packet) => self.send(station, packet, false),
            Input::SendFirst(station, packet) => self.send(station, packet, true),
            Input::Withdraw(station, receiver) => self.withdraw(station, receiver),
            Input::Tune(station, channel) => self.tune(station, channel),
            Input::Move(station, position) => self.move_to(station, position),
            Input::Attenuate(station, other, loss) => self.attenuate(station, other, loss),
            Input::Rate(from, to, rate) => self.stations[from.0 as usize].keep_to(to.0, rate),
        }
    }

    /// Advances time up to and including `now`.
    pub fn tick(&mut self, now: Instant) {
        let now = now.as_nanos();
        debug_assert!(now >= self.now, "time goes backwards: {now} after {}", self.now);
        loop {
            let (deadline, station) = self.schedule.first();
            if deadline == NEVER || deadline >> 1 > now {
                break;
            }
            self.now = self.now.max(deadline >> 1);
            self.act(station);
        }
        self.now = now;
    }

    /// Advances time to `limit` or to the first output, whichever comes first, and returns that time.
    ///
    /// For drivers that control the time. It does the same as calling [`Air::tick`] at each [`Air::wake_at`],
    /// at a third of the cost.
    pub fn advance(&mut self, limit: Instant) -> Instant {
        let limit = limit.as_nanos();
        while self.exits.is_empty() {
            let (deadline, station) = self.schedule.first();
            if deadline >> 1 > limit {
                self.now = limit;
                break;
            }
            self.now = deadline >> 1;
            self.act(station);
        }
        Instant::from_nanos(self.now)
    }

    /// Advances time to the last event up to `limit`, or to the first one that reports something.
    pub(in crate::air) fn advance_to_report(&mut self, limit: Instant) {
        let limit = limit.as_nanos();
        while self.has_reported_all() {
            let (deadline, station) = self.schedule.first();
            if deadline == NEVER || deadline >> 1 > limit {
                return;
            }
            self.now = self.now.max(deadline >> 1);
            self.act(station);
        }
    }

    /// Whether all outputs and all frames of monitors have been polled.
    pub(in crate::air) fn has_reported_all(&self) -> bool {
        self.exits.is_empty() && self.captured.is_empty()
    }

    /// Present time.
    pub(in crate::air) const fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// Next output, or `None` if all have been polled.
    pub fn poll(&mut self) -> Option<Output> {
        self.exits.pop_front().map(|(_, output)| output)
    }

    /// Same as [`Air::poll`], with the time of the output.
    pub fn poll_due(&mut self) -> Option<(Instant, Output)> {
        let (at, output) = self.exits.pop_front()?;
        Some((Instant::from_nanos(at), output))
    }

    /// When to call [`Air::tick`] next, and what is due then. `None`: nothing happens without a new input.
    pub fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        let (deadline, station) = self.schedule.first();
        let reason = match self.radios[station].phase {
            Phase::Listening => "end of a countdown",
            Phase::Transmitting => "end of a frame",
            Phase::Awaiting => "acknowledgement time-out",
            Phase::Responding => "answer after SIFS",
        };
        (deadline != NEVER).then(|| (Instant::from_nanos(deadline >> 1), reason))
    }

    /// [`Air::wake_at`] without the reason.
    pub(in crate::air) fn due(&mut self) -> Option<Instant> {
        let (deadline, _) = self.schedule.first();
        (deadline != NEVER).then(|| Instant::from_nanos(deadline >> 1))
    }

    /// Counters of a station since the start.
    pub fn counters(&self, station: StationId) -> Counters {
        self.stations[station.0 as usize].counters
    }

    /// Each channel, and for how long there were frames on it. A frame that is on the air counts to its end.
    pub fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        let all = self.channels.iter().zip(&self.carried);
        all.map(|(&number, carried)| (number, Duration::from_nanos(carried.time)))
    }

    /// Mean and current power at which one station receives another.
    pub fn signal(&mut self, from: StationId, to: StationId) -> (Dbm, Dbm) {
        let now = self.ether.power_at(from.0, to.0, self.now);
        (dbm(self.ether.power(from.0, to.0)), dbm(now))
    }

    /// Number of packets queued at a station, including the one being tried.
    pub fn waiting(&self, station: StationId) -> usize {
        self.stations[station.0 as usize].waiting()
    }

    /// Number of frames of all kinds put on the air since the start.
    pub const fn transmissions(&self) -> u64 {
        self.transmissions
    }

    fn act(&mut self, station: usize) {
        match self.radios[station].phase {
            Phase::Listening => self.transmit(station),
            Phase::Transmitting => self.finish(station),
            Phase::Awaiting => self.time_out(station),
            Phase::Responding => self.answer(station),
        }
    }

    /// Takes a station out of its clique.
    #[inline]
    pub(super) fn part(&mut self, station: usize) {
        if self.radios[station].in_step {
            self.ears().0.leave(station);
        }
    }

    /// Adds a station to its clique again if it sees the medium as the others do.
    #[inline]
    pub(super) fn join(&mut self, station: usize) {
        if self.cliques.may_take(&self.radios[station]) {
            let now = self.now;
            self.ears().0.fall_in(station, now);
        }
    }

    pub(super) fn ears(&mut self) -> (Ears<'_, S>, &[Audience]) {
        let ears = Ears {
            radios: &mut self.radios,
            cliques: &mut self.cliques,
            schedule: &mut self.schedule,
            timings: &self.timings,
            rules: &self.rules,
            flights: &self.flights,
            ether: &mut self.ether,
            rngs: &mut self.rngs,
            heard: &mut self.heard,
            overheard: &mut self.overheard,
        };
        (ears, &self.audiences)
    }
}

/// Components of the stations, one list for each kind.
#[derive(Default)]
struct Parts {
    timings: Vec<Timing>,
    channels: Vec<u8>,
    radios: Vec<Radio>,
    stations: Vec<Station>,
    sites: Vec<Site>,
    rngs: Vec<Rng>,
    noises: Vec<Noise>,
    receivers: Vec<Receiver>,
}

impl Parts {
    /// Adds a source of noise as a station that never has anything to send.
    fn add_noise(&mut self, seed: u64, config: &NoiseConfig) {
        let station = StationConfig {
            channel: config.channel,
            power: config.power,
            ..StationConfig::new(&config.name, Standard::A, config.position)
        };
        self.add(seed, &station, true);
        self.noises.push(Noise::new(seed, config));
    }

    fn add(&mut self, seed: u64, config: &StationConfig, is_noise: bool) {
        let timing = Timing::of(config.standard, config.ht.is_some());
        let timing = place_of(&mut self.timings, timing);
        let channel = place_of(&mut self.channels, config.channel);
        let mode = Mode::of(config.standard, config.rate).unwrap_or(Mode::basic(config.standard));
        let also = config
            .also
            .iter()
            .map(|&number| place_of(&mut self.channels, number));
        let channels = also.fold(1_u128 << channel, |bits, place| bits | 1 << place);
        self.receivers.push(Receiver::new(channels, config, is_noise));
        let mut radio = Radio::new(timing, channel);
        // The run begins on an idle medium.
        radio.resume(0, &self.timings[usize::from(timing)]);
        self.radios.push(radio);
        self.stations.push(Station::new(seed, config, mode));
        self.sites.push(Site {
            position: config.position,
            milliwatts: milliwatts(config.power),
        });
        self.rngs.push(Rng::named(seed, &format!("{}/loss", config.name)));
    }
}

/// Index of a value in a short list of distinct values. A new value is appended.
fn place_of<T: PartialEq>(list: &mut Vec<T>, value: T) -> u8 {
    let known = list.iter().position(|other| *other == value);
    known.unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    }) as u8
}

#[cfg(test)]
mod disturbance_tests;
#[cfg(test)]
mod monitor_tests;
#[cfg(test)]
mod tests;
