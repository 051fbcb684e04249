//! All channels, all access points, and the client's radio.

use alloc::vec::Vec;
use units::{Bitrate, Bytes, Db, Dbm, Instant};

use super::bss::Bss;
use super::channel::Channel;
use super::signal::moved_mm;
use super::weighted::Weighted;
use crate::config::{Medium, Radio, Wall, WifiConfig};
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};
use crate::{Direction, DropReason, LinkId, LinkState, Position};

#[derive(Debug)]
pub(crate) struct Air {
    seed: u64,
    medium: Medium,
    radio: Radio,
    walls: Vec<Wall>,
    numbers: Vec<u8>,
    channels: Vec<AnyChannel>,
    all: Vec<Bss>,
}

/// How the stations of a channel share it.
#[derive(Debug)]
enum AnyChannel {
    Contended(Channel),
    Weighted(Weighted),
}

impl AnyChannel {
    fn members(&self) -> &[usize] {
        match self {
            Self::Contended(channel) => channel.members(),
            Self::Weighted(channel) => channel.members(),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self {
            Self::Contended(channel) => channel.due(),
            Self::Weighted(channel) => channel.due(),
        }
    }

    /// Handles a packet of this access point that was just queued.
    fn notice(&mut self, direction: Direction, bss: usize) {
        match self {
            Self::Contended(channel) => channel.notice(direction, bss),
            Self::Weighted(channel) => channel.notice(bss),
        }
    }

    fn run(&mut self, now: Instant, all: &mut [Bss], exits: &mut Exits) -> Option<Entry> {
        match self {
            Self::Contended(channel) => channel.run(now, all, exits),
            Self::Weighted(channel) => channel.run(now, all, exits),
        }
    }

    fn purge(&mut self, now: Instant, bss: usize, reason: DropReason, exits: &mut Exits) {
        match self {
            Self::Contended(channel) => channel.purge(now, bss, reason, exits),
            Self::Weighted(channel) => channel.purge(now, bss, reason, exits),
        }
    }

    /// The packet of this access point that has left its queue and is not delivered.
    fn head(&self, bss: usize, direction: Direction) -> Option<Entry> {
        match self {
            Self::Contended(channel) => channel.head(bss, direction),
            Self::Weighted(channel) => channel.head(bss, direction),
        }
    }
}

impl Air {
    /// An air without access points. `medium` is not [`Medium::Frames`].
    pub(crate) fn new(seed: u64, medium: Medium, radio: Radio, walls: &[Wall]) -> Self {
        Self {
            seed,
            medium,
            radio,
            walls: walls.into(),
            numbers: Vec::new(),
            channels: Vec::new(),
            all: Vec::new(),
        }
    }

    /// Adds an access point and returns its index.
    pub(crate) fn add(&mut self, link: LinkId, config: &WifiConfig) -> usize {
        let channel = self.channel(config);
        let bss = self.all.len();
        match &mut self.channels[channel] {
            AnyChannel::Contended(channel) => {
                channel.add(self.seed, &config.name, config.standard, bss);
            }
            AnyChannel::Weighted(channel) => channel.add(config, bss),
        }
        self.all.push(Bss::new(
            self.seed,
            link,
            config,
            self.radio,
            &self.walls,
            channel,
        ));
        bss
    }

    fn channel(&mut self, config: &WifiConfig) -> usize {
        let known = self.numbers.iter().position(|&number| number == config.channel);
        known.unwrap_or_else(|| {
            self.numbers.push(config.channel);
            self.channels.push(match self.medium {
                Medium::Weighted => AnyChannel::Weighted(Weighted::default()),
                Medium::Exchanges | Medium::Frames => {
                    AnyChannel::Contended(Channel::new(self.seed, config.channel, config.standard))
                }
            });
            self.channels.len() - 1
        })
    }

    /// Number of channels and of access points.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.channels.len(), self.all.len())
    }

    pub(crate) fn channel_of(&self, bss: usize) -> usize {
        self.all[bss].channel
    }

    /// The access points of a channel.
    pub(crate) fn members(&self, channel: usize) -> &[usize] {
        self.channels[channel].members()
    }

    pub(crate) fn channel_due(&self, channel: usize) -> Option<Instant> {
        self.channels[channel].due()
    }

    pub(crate) fn bss_due(&self, bss: usize) -> Instant {
        self.all[bss].due()
    }

    pub(crate) fn state(&self, bss: usize) -> LinkState {
        self.all[bss].joining.state()
    }

    pub(crate) fn mean_signal(&self, bss: usize) -> Dbm {
        self.all[bss].mean_signal()
    }

    pub(crate) fn mean_snr(&self, bss: usize, direction: Direction) -> Db {
        self.all[bss].signal.mean(direction)
    }

    pub(crate) fn rate(&self, bss: usize, direction: Direction) -> Bitrate {
        self.all[bss].signal.rate(direction)
    }

    /// Packets that wait for the air, including the one being sent.
    pub(crate) fn depth(&self, bss: usize, direction: Direction) -> Depth {
        let queue = self.all[bss].depth(direction);
        let head = self.channels[self.all[bss].channel].head(bss, direction);
        head.into_iter().fold(queue, |depth, entry| Depth {
            packets: depth.packets + 1,
            bytes: depth.bytes + Bytes::new(entry.packet.bytes.into()),
        })
    }

    /// Whether packets in this direction need air.
    pub(crate) fn carries(&self, direction: Direction) -> bool {
        direction == Direction::Down || self.medium != Medium::Weighted
    }

    /// Sends a packet over the air: from the access point (arrived on its wire) or from the client.
    pub(crate) fn push(&mut self, now: Instant, bss: usize, entry: Entry, exits: &mut Exits) {
        let here = &mut self.all[bss];
        if !here.is_up() {
            exits.drop(now, entry.packet, DropReason::Detached);
            return;
        }
        here.push(now, entry, exits);
        self.channels[here.channel].notice(entry.packet.direction, bss);
    }

    /// Runs a channel. Returns the packet that got through the air, if any.
    pub(crate) fn run_channel(&mut self, now: Instant, channel: usize, exits: &mut Exits) -> Option<Entry> {
        self.channels[channel].run(now, &mut self.all, exits)
    }

    /// Runs what is due at an access point.
    pub(crate) fn run_bss(&mut self, now: Instant, bss: usize, exits: &mut Exits) {
        self.change(now, bss, DropReason::Detached, exits, |here| here.run(now));
        let here = &mut self.all[bss];
        if !here.beacon {
            return;
        }
        match &mut self.channels[here.channel] {
            AnyChannel::Contended(channel) => channel.notice(Direction::Down, bss),
            AnyChannel::Weighted(_) => {
                here.beacon = false;
                here.beacon_sent(now, false, exits);
            }
        }
    }

    pub(crate) fn associate(&mut self, now: Instant, bss: usize, exits: &mut Exits) {
        self.change(now, bss, DropReason::Detached, exits, |here| {
            here.joining.associate(now)
        });
    }

    pub(crate) fn leave(&mut self, now: Instant, bss: usize, exits: &mut Exits) {
        self.change(now, bss, DropReason::Detached, exits, |here| here.joining.leave());
    }

    /// Switches an access point off or on.
    pub(crate) fn switch(&mut self, now: Instant, bss: usize, on: bool, exits: &mut Exits) {
        self.change(now, bss, DropReason::Fault, exits, |here| {
            here.switch(on);
            if !on {
                here.joining.leave();
            }
        });
    }

    pub(crate) fn blackhole(&mut self, now: Instant, bss: usize, on: bool, exits: &mut Exits) {
        self.all[bss].joining.blackhole = on;
        if on {
            self.purge(now, bss, DropReason::Fault, exits);
        }
    }

    pub(crate) fn attenuate(&mut self, bss: usize, attenuation: Db) {
        self.all[bss].signal.attenuate(attenuation);
    }

    /// Moves the client's radio.
    pub(crate) fn moved(&mut self, position: Position) {
        let moved = moved_mm(self.radio.position, position);
        self.radio.position = position;
        for bss in &mut self.all {
            bss.signal.moved(moved, &bss.config, self.radio, &self.walls);
        }
    }

    /// Moves an access point.
    pub(crate) fn carried(&mut self, bss: usize, position: Position) {
        let Bss { config, signal, .. } = &mut self.all[bss];
        let moved = moved_mm(config.position, position);
        config.position = position;
        signal.moved(moved, config, self.radio, &self.walls);
    }

    /// Acts on an access point and reports a change of its state. If the link is no longer up, drops the
    /// queued packets.
    fn change(
        &mut self,
        now: Instant,
        bss: usize,
        reason: DropReason,
        exits: &mut Exits,
        act: impl FnOnce(&mut Bss),
    ) {
        let before = self.state(bss);
        act(&mut self.all[bss]);
        let after = self.state(bss);
        if before == after {
            return;
        }
        if before == LinkState::Up {
            self.purge(now, bss, reason, exits);
        }
        exits.state(now, self.all[bss].link, after);
    }

    fn purge(&mut self, now: Instant, bss: usize, reason: DropReason, exits: &mut Exits) {
        self.all[bss].purge(now, reason, exits);
        self.channels[self.all[bss].channel].purge(now, bss, reason, exits);
    }
}
