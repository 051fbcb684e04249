//! The access points of a network on either of the two media, behind one interface.

use alloc::boxed::Box;
use units::{Bitrate, Db, Dbm, Instant};

use crate::air::Overheard;
use crate::config::{Medium, NetworkConfig};
use crate::exact::{Exact, access_points};
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};
use crate::wifi::Air;
use crate::{ConfigError, Counters, Direction, LinkState, Other, Position, RadioSlot};

/// Access points are numbered in the order of their links. The exact medium runs as one channel, whatever the
/// channels of its stations.
#[derive(Debug)]
pub(crate) enum Wireless {
    Coarse(Air),
    Exact(Box<Exact>),
}

impl Wireless {
    pub(crate) fn new(seed: u64, config: &NetworkConfig) -> Result<Self, ConfigError> {
        if config.medium == Medium::Frames && access_points(config).next().is_some() {
            return Ok(Self::Exact(Box::new(Exact::new(seed, config)?)));
        }
        let mut air = Air::new(seed, config.medium, config.radio, &config.walls);
        for (link, wifi) in access_points(config) {
            air.add(link, wifi);
        }
        Ok(Self::Coarse(air))
    }

    /// Number of channels and of access points.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        match self {
            Self::Coarse(air) => air.sizes(),
            Self::Exact(exact) => (1, exact.count()),
        }
    }

    pub(crate) fn channel_of(&self, bss: usize) -> usize {
        match self {
            Self::Coarse(air) => air.channel_of(bss),
            Self::Exact(_) => 0,
        }
    }

    /// The access points of a channel that have their own deadlines.
    pub(crate) fn members(&self, channel: usize) -> &[usize] {
        match self {
            Self::Coarse(air) => air.members(channel),
            Self::Exact(_) => &[],
        }
    }

    pub(crate) fn channel_due(&mut self, channel: usize) -> Option<Instant> {
        match self {
            Self::Coarse(air) => air.channel_due(channel),
            Self::Exact(exact) => exact.due(),
        }
    }

    pub(crate) fn bss_due(&self, bss: usize) -> Option<Instant> {
        match self {
            Self::Coarse(air) => Some(air.bss_due(bss)),
            Self::Exact(_) => None,
        }
    }

    pub(crate) fn state(&self, bss: usize) -> LinkState {
        match self {
            Self::Coarse(air) => air.state(bss),
            Self::Exact(exact) => exact.state(bss),
        }
    }

    pub(crate) fn mean_signal(&self, bss: usize) -> Dbm {
        match self {
            Self::Coarse(air) => air.mean_signal(bss),
            Self::Exact(exact) => exact.mean_signal(bss),
        }
    }

    pub(crate) fn mean_snr(&self, bss: usize, direction: Direction) -> Db {
        match self {
            Self::Coarse(air) => air.mean_snr(bss, direction),
            Self::Exact(exact) => exact.mean_snr(bss, direction),
        }
    }

    pub(crate) fn rate(&self, bss: usize, direction: Direction) -> Bitrate {
        match self {
            Self::Coarse(air) => air.rate(bss, direction),
            Self::Exact(exact) => exact.rate(bss, direction),
        }
    }

    /// Packets that wait for the air, including the one being sent.
    pub(crate) fn depth(&self, bss: usize, direction: Direction) -> Depth {
        match self {
            Self::Coarse(air) => air.depth(bss, direction),
            Self::Exact(exact) => exact.depth(bss, direction),
        }
    }

    /// Totals of an access point's link, added to what the network counts itself.
    pub(crate) fn counted(&self, bss: usize, own: Counters) -> Counters {
        match self {
            Self::Coarse(_) => own,
            Self::Exact(exact) => exact.counted(bss, own),
        }
    }

    /// The exact medium, if it is one.
    pub(crate) fn exact(&self) -> Option<&Exact> {
        match self {
            Self::Coarse(_) => None,
            Self::Exact(exact) => Some(exact),
        }
    }

    /// The next frame that one of the client's radios heard.
    pub(crate) fn overheard(&mut self) -> Option<Overheard> {
        match self {
            Self::Coarse(_) => None,
            Self::Exact(exact) => exact.overheard(),
        }
    }

    pub(crate) fn has_overheard(&self) -> bool {
        match self {
            Self::Coarse(_) => false,
            Self::Exact(exact) => exact.has_overheard(),
        }
    }

    /// Whether packets in this direction need air.
    pub(crate) fn carries(&self, direction: Direction) -> bool {
        match self {
            Self::Coarse(air) => air.carries(direction),
            Self::Exact(_) => true,
        }
    }

    /// Sends a packet over the air: from the access point (arrived on its wire) or from the client.
    pub(crate) fn push(&mut self, now: Instant, bss: usize, entry: Entry, exits: &mut Exits) {
        match self {
            Self::Coarse(air) => air.push(now, bss, entry, exits),
            Self::Exact(exact) => exact.push(now, bss, entry, exits),
        }
    }

    /// Runs a channel at `now`, and further if nothing comes out of it up to `limit`. Returns the time
    /// reached, and the packet that got through the air, if any.
    pub(crate) fn run_channel(
        &mut self,
        now: Instant,
        (channel, limit): (usize, Instant),
        exits: &mut Exits,
    ) -> (Instant, Option<Entry>) {
        match self {
            Self::Coarse(air) => (now, air.run_channel(now, channel, exits)),
            Self::Exact(exact) => exact.run(now, limit, exits),
        }
    }

    /// Runs what is due at an access point.
    pub(crate) fn run_bss(&mut self, now: Instant, bss: usize, exits: &mut Exits) {
        if let Self::Coarse(air) = self {
            air.run_bss(now, bss, exits);
        }
    }

    pub(crate) fn associate(&mut self, now: Instant, bss: usize, exits: &mut Exits) {
        match self {
            Self::Coarse(air) => air.associate(now, bss, exits),
            Self::Exact(exact) => exact.associate(now, bss),
        }
    }

    pub(crate) fn leave(&mut self, now: Instant, bss: usize, exits: &mut Exits) {
        match self {
            Self::Coarse(air) => air.leave(now, bss, exits),
            Self::Exact(exact) => exact.leave(now, bss),
        }
    }

    /// Lets the client's single radio take turns. `places`: the access point of each slot.
    pub(crate) fn take_turns(&mut self, now: Instant, slots: &[RadioSlot], places: &[Option<usize>]) {
        match self {
            Self::Coarse(_) => {}
            Self::Exact(exact) => exact.take_turns(now, slots, places),
        }
    }

    /// Switches an access point off or on.
    pub(crate) fn switch(&mut self, now: Instant, bss: usize, on: bool, exits: &mut Exits) {
        match self {
            Self::Coarse(air) => air.switch(now, bss, on, exits),
            Self::Exact(exact) => exact.switch(now, bss, on, exits),
        }
    }

    pub(crate) fn blackhole(&mut self, now: Instant, bss: usize, on: bool, exits: &mut Exits) {
        match self {
            Self::Coarse(air) => air.blackhole(now, bss, on, exits),
            Self::Exact(exact) => exact.blackhole(now, bss, on, exits),
        }
    }

    pub(crate) fn attenuate(&mut self, now: Instant, bss: usize, attenuation: Db) {
        match self {
            Self::Coarse(air) => air.attenuate(bss, attenuation),
            Self::Exact(exact) => exact.attenuate(now, bss, attenuation),
        }
    }

    /// Moves the access point of an association.
    pub(crate) fn carried(&mut self, now: Instant, bss: usize, position: Position) {
        match self {
            Self::Coarse(air) => air.carried(bss, position),
            Self::Exact(exact) => exact.carried(now, bss, position),
        }
    }

    /// Moves the client's radio.
    pub(crate) fn moved(&mut self, now: Instant, position: Position) {
        match self {
            Self::Coarse(air) => air.moved(position),
            Self::Exact(exact) => exact.moved(now, None, position),
        }
    }

    /// Moves radios that are not the client's.
    pub(crate) fn moved_other(&mut self, now: Instant, other: Other, position: Position) {
        let Self::Exact(exact) = self else { return };
        match other {
            Other::Host(host) => exact.moved(now, Some(host), position),
            Other::Station(station) => exact.moved_station(now, usize::from(station), position),
        }
    }
}
