//! All links of a run behind one contract. The network dispatches, its parts do the work.
//!
//! The wired segments of links are in `pipe`; [`wireless`] chooses between the two models of the air.

mod wireless;

use alloc::vec::Vec;
use units::{Bitrate, Db, Dbm, Duration, Instant};

use self::wireless::Wireless;
use crate::air::{self, Overheard};
use crate::config::{LinkConfig, NetworkConfig, check};
use crate::exact::Exact;
use crate::pipe::timers::Timers;
use crate::pipe::wires::Wires;
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};
use crate::{
    ConfigError, Counters, Datagrams, Direction, DropReason, Fault, Input, LinkId, LinkState, Output, Packet,
    RadioSlot,
};

/// All links of a run. The crate documentation has the contract.
#[derive(Debug)]
pub struct Network {
    now: Instant,
    exits: Exits,
    links: Vec<Link>,
    wires: Wires,
    air: Wireless,
    /// Due times of the air's channels, then of its access points.
    timers: Timers,
}

/// State of any kind of link, besides its wires.
#[derive(Debug)]
struct Link {
    kind: Kind,
    blackhole: bool,
    /// The link that it shares: its own number, except for links of other hosts.
    through: LinkId,
}

/// Kind of a link, besides its wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A cable or a cell: always attached, unless a fault took it down.
    Wired { down: bool },
    /// An access point, or another host's association with it: its index in the air.
    Wifi(usize),
}

/// The part that is due next.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// A part of the wires, by its number.
    Wire(usize),
    Channel(usize),
    AccessPoint(usize),
}

/// Access points are numbered in the order of their links, and after them other hosts' associations with
/// them.
fn links(config: &NetworkConfig) -> Vec<Link> {
    let mut access_points = 0;
    let mut kind = |link: &LinkConfig| match link {
        LinkConfig::Cable(_) | LinkConfig::Cell(_) => Kind::Wired { down: false },
        LinkConfig::Wifi(_) => {
            access_points += 1;
            Kind::Wifi(access_points - 1)
        }
    };
    let own = config.links.iter().zip((0..).map(LinkId));
    let others = config
        .other_links()
        .map(|link| (&config.links[usize::from(link.through.0)], link.through));
    let link = |(link, through)| Link {
        kind: kind(link),
        blackhole: false,
        through,
    };
    own.chain(others).map(link).collect()
}

impl Network {
    /// Builds the network at the start of a run, [`Instant::ZERO`]. Cables and cells are up, access points
    /// are not joined.
    pub fn new(seed: u64, config: impl Into<NetworkConfig>) -> Result<Self, ConfigError> {
        let config = config.into();
        check::check(&config)?;
        let air = Wireless::new(seed, &config)?;
        let (channels, bsses) = air.sizes();
        let links = links(&config);
        let mut network = Self {
            now: Instant::ZERO,
            exits: Exits::new(links.len()).monitored(config.monitor),
            links,
            wires: Wires::new(seed, &config),
            timers: Timers::new(channels + bsses),
            air,
        };
        (0..channels).for_each(|channel| network.set_channel_timer(channel));
        (0..bsses).for_each(|bss| network.set_bss_timer(bss));
        Ok(network)
    }

    /// Handles one input that happens at `now`, after everything due until then.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.tick(now);
        match input {
            Input::Packet(packet) => self.enter(packet, false),
            Input::WithoutAir(packet) => self.enter(packet, true),
            Input::Fault(link, fault) => self.fault(link, fault),
            Input::Moved(position) => {
                self.air.moved(self.now, position);
                (0..self.air.sizes().0).for_each(|channel| self.set_channel_timer(channel));
            }
            Input::MovedOther(other, position) => {
                self.air.moved_other(self.now, other, position);
                (0..self.air.sizes().0).for_each(|channel| self.set_channel_timer(channel));
            }
            Input::Carried(link, position) => self.with_all(link, |network, link| {
                network.with_bss(link, |air, now, bss, _| air.carried(now, bss, position));
            }),
            Input::Associate(link) => self.with_bss(link, Wireless::associate),
            Input::Leave(link) => self.with_bss(link, Wireless::leave),
        }
    }

    /// Lets the client's single radio take these turns from now on. A plan that comes with
    /// [`crate::RadioReport::CycleEnded`] applies to the next cycle. Any other begins at once.
    ///
    /// No effect without [`NetworkConfig::single_radio`]. Its channels are those of the access points, and at
    /// 2.4 GHz also 1, 6 and 11.
    pub fn take_turns(&mut self, now: Instant, slots: &[RadioSlot]) {
        self.tick(now);
        let places: Vec<Option<usize>> = slots
            .iter()
            .map(|slot| slot.serves.and_then(|link| self.bss(link)))
            .collect();
        self.air.take_turns(self.now, slots, &places);
        (0..self.air.sizes().0).for_each(|channel| self.set_channel_timer(channel));
    }

    /// Advances time up to and including `now`.
    pub fn tick(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time goes backwards: {now} after {}", self.now);
        while self.run_next(now) {}
        self.now = self.now.max(now);
    }

    /// As [`Network::tick`], but stops at the first output or overheard frame. Returns when, if there is one.
    pub fn tick_to_output(&mut self, until: Instant) -> Option<Instant> {
        while self.exits.is_empty() && !self.air.has_overheard() {
            if !self.run_next(until) {
                self.now = self.now.max(until);
                return None;
            }
        }
        Some(self.now)
    }

    /// Runs the part that is due first, if that is not after `until`.
    fn run_next(&mut self, until: Instant) -> bool {
        let due = self.first().filter(|&(due, _)| due <= until);
        if let Some((due, part)) = due {
            self.now = self.now.max(due);
            self.run(part, until);
        }
        due.is_some()
    }

    /// The next output that was not fetched yet.
    pub fn poll(&mut self) -> Option<Output> {
        self.poll_due().map(|(_, output)| output)
    }

    /// As [`Network::poll`], with the time at which the output was due. It shows how late the driver is.
    pub fn poll_due(&mut self) -> Option<(Instant, Output)> {
        self.exits.pop()
    }

    /// When to call [`Network::tick`] next, and which part needs it. `None`: nothing happens without a new
    /// input.
    pub fn wake_at(&self) -> Option<(Instant, &'static str)> {
        let (due, part) = self.first()?;
        let reason = match part {
            Part::Wire(part) => self.wires.reason(part),
            Part::Channel(_) => "air",
            Part::AccessPoint(_) => "access point",
        };
        Some((due.max(self.now), reason))
    }

    /// Totals of a link since the start.
    ///
    /// # Panics
    /// If there is no such link, like all methods that take a link.
    pub fn counters(&self, link: LinkId) -> Counters {
        let own = *self.exits.counters(link);
        self.bss(link).map_or(own, |bss| self.air.counted(bss, own))
    }

    /// Datagrams of a flow of the background traffic: an index in [`crate::Background::flows`].
    pub fn background(&self, flow: u32) -> Datagrams {
        let exact = self.air.exact();
        exact.map_or_else(Datagrams::default, |exact| exact.background(flow))
    }

    /// What each station on the exact medium has done, by its name: an access point's, or OWNER@CHANNEL.
    pub fn stations(&self) -> impl Iterator<Item = (&str, air::Counters)> {
        self.air.exact().into_iter().flat_map(Exact::stations)
    }

    /// Each channel of the exact medium, and for how long there were frames on it.
    pub fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        self.air.exact().into_iter().flat_map(Exact::channels)
    }

    /// The next frame that one of the client's monitor interfaces heard, on the exact medium. Frames come in
    /// the order of their ends, the client's own in the order of their starts.
    pub fn overheard(&mut self) -> Option<Overheard> {
        self.air.overheard()
    }

    /// State of a link as the client sees it now.
    pub fn state(&self, link: LinkId) -> LinkState {
        match self.link(link).kind {
            Kind::Wired { down: true } => LinkState::Down,
            Kind::Wired { down: false } => LinkState::Up,
            Kind::Wifi(bss) => self.air.state(bss),
        }
    }

    /// Packets in a link's queues: the sum of those before its wired bottleneck and those at the radio. A
    /// bottleneck that several links share counts the packets of all of them.
    pub fn queue(&self, link: LinkId, direction: Direction) -> Depth {
        let wire = self.wires.queue(link, direction);
        let air = self
            .bss(link)
            .map_or(Depth::default(), |bss| self.air.depth(bss, direction));
        Depth {
            packets: wire.packets + air.packets,
            bytes: wire.bytes + air.bytes,
        }
    }

    /// Whether a packet of this many bytes would fit into the queue of a link's bottleneck now.
    pub fn has_room(&self, link: LinkId, direction: Direction, bytes: u32) -> bool {
        self.wires.has_room(link, direction, bytes)
    }

    /// The link that this one shares: itself, unless it is a link of another host.
    pub fn through(&self, link: LinkId) -> LinkId {
        self.link(link).through
    }

    /// Mean signal of an access point at the client. `None` for other links.
    pub fn signal(&self, link: LinkId) -> Option<Dbm> {
        self.bss(link).map(|bss| self.air.mean_signal(bss))
    }

    /// Mean SNR of a WiFi link at the decoder (after implementation loss). `None` for other links.
    pub fn snr(&self, link: LinkId, direction: Direction) -> Option<Db> {
        self.bss(link).map(|bss| self.air.mean_snr(bss, direction))
    }

    /// Current data rate of a WiFi link. `None` for other links.
    pub fn rate(&self, link: LinkId, direction: Direction) -> Option<Bitrate> {
        self.bss(link).map(|bss| self.air.rate(bss, direction))
    }

    /// Packets on the wire behind the bottleneck.
    pub fn in_flight(&self, link: LinkId, direction: Direction) -> Depth {
        self.wires.in_flight(link, direction)
    }

    fn link(&self, link: LinkId) -> &Link {
        &self.links[usize::from(link.0)]
    }

    fn bss(&self, link: LinkId) -> Option<usize> {
        match self.link(link).kind {
            Kind::Wired { .. } => None,
            Kind::Wifi(bss) => Some(bss),
        }
    }

    /// Acts on the access point of a link. Cables and cells ignore it: they have no association.
    fn with_bss(&mut self, link: LinkId, act: impl FnOnce(&mut Wireless, Instant, usize, &mut Exits)) {
        if let Some(bss) = self.bss(link) {
            act(&mut self.air, self.now, bss, &mut self.exits);
            self.set_bss_timer(bss);
            self.set_channel_timer(self.air.channel_of(bss));
        }
    }

    fn enter(&mut self, packet: Packet, without_air: bool) {
        let entry = Entry {
            packet,
            ce: false,
            without_air,
            since: self.now,
        };
        if self.link(packet.link).blackhole {
            return self.exits.drop(self.now, packet, DropReason::Fault);
        }
        if self.state(packet.link) != LinkState::Up {
            return self.exits.drop(self.now, packet, DropReason::Detached);
        }
        match self.link(packet.link).kind {
            Kind::Wifi(bss)
                if packet.direction == Direction::Up && self.air.carries(Direction::Up) && !without_air =>
            {
                self.enter_air(bss, entry);
            }
            _ => self.wires.enter(self.now, entry, &mut self.exits),
        }
    }

    fn enter_air(&mut self, bss: usize, entry: Entry) {
        self.air.push(self.now, bss, entry, &mut self.exits);
        self.set_channel_timer(self.air.channel_of(bss));
    }

    /// The part that is due first, and when. At equal times, wires come before the air.
    fn first(&self) -> Option<(Instant, Part)> {
        match (self.wires.first(), self.timers.first()) {
            (Some((due, part)), air) if air.is_none_or(|(at, _)| due <= at) => Some((due, Part::Wire(part))),
            (_, air) => air.map(|(due, slot)| (due, self.part_of_air(slot))),
        }
    }

    fn part_of_air(&self, slot: usize) -> Part {
        let (channels, _) = self.air.sizes();
        slot.checked_sub(channels)
            .map_or(Part::Channel(slot), Part::AccessPoint)
    }

    fn run(&mut self, part: Part, until: Instant) {
        match part {
            Part::Wire(part) => self.run_wire(part),
            Part::Channel(channel) => self.run_channel(channel, until),
            Part::AccessPoint(bss) => self.run_bss(bss),
        }
    }

    fn run_wire(&mut self, part: usize) {
        let Self {
            now,
            exits,
            links,
            wires,
            air,
            timers,
        } = self;
        wires.run(*now, part, exits, |entry, exits| {
            match links[usize::from(entry.packet.link.0)].kind {
                Kind::Wifi(bss) if entry.without_air && air.state(bss) != LinkState::Up => {
                    exits.drop(*now, entry.packet, DropReason::Detached);
                }
                Kind::Wifi(bss) if entry.packet.direction == Direction::Down && !entry.without_air => {
                    air.push(*now, bss, entry, exits);
                    let channel = air.channel_of(bss);
                    timers.set(channel, air.channel_due(channel));
                }
                _ => exits.deliver(*now, entry),
            }
        });
    }

    /// Runs a channel. It may run on until a wire is due, because only wires bring packets to the air.
    fn run_channel(&mut self, channel: usize, until: Instant) {
        let wire = self.wires.first().map(|(due, _)| due - Duration::from_nanos(1));
        let limit = wire.map_or(until, |wire| wire.min(until));
        let (now, passed) = self.air.run_channel(self.now, (channel, limit), &mut self.exits);
        self.now = now;
        match passed {
            Some(entry) if entry.packet.direction == Direction::Up => {
                self.wires.enter(self.now, entry, &mut self.exits);
            }
            Some(entry) => self.exits.deliver(self.now, entry),
            None => {}
        }
        self.set_channel_timer(channel);
        // A beacon heard or missed changes when its access point is probed.
        for &bss in self.air.members(channel) {
            self.timers.set(self.air.sizes().0 + bss, self.air.bss_due(bss));
        }
    }

    fn run_bss(&mut self, bss: usize) {
        self.air.run_bss(self.now, bss, &mut self.exits);
        self.set_bss_timer(bss);
        self.set_channel_timer(self.air.channel_of(bss));
    }

    fn set_channel_timer(&mut self, channel: usize) {
        self.timers.set(channel, self.air.channel_due(channel));
    }

    fn set_bss_timer(&mut self, bss: usize) {
        self.timers.set(self.air.sizes().0 + bss, self.air.bss_due(bss));
    }

    fn fault(&mut self, id: LinkId, fault: Fault) {
        match fault {
            Fault::Blackhole(on) => self.set_blackhole(id, on),
            Fault::Down(down) => self.set_down(id, down),
            Fault::Rate { up, down } => self.wires.set_rate(self.now, id, [up, down]),
            Fault::Attenuation(attenuation) => self.with_all(id, |network, link| {
                network.with_bss(link, |air, now, bss, _| air.attenuate(now, bss, attenuation));
            }),
        }
    }

    /// Acts on a link, and on the links of other hosts that share it: a fault is the same for all of them.
    fn with_all(&mut self, id: LinkId, act: impl Fn(&mut Self, LinkId)) {
        for (index, link) in (0..self.links.len()).zip((0..).map(LinkId)) {
            if self.links[index].through == id {
                act(self, link);
            }
        }
    }

    fn set_blackhole(&mut self, id: LinkId, on: bool) {
        self.with_bss(id, |air, now, bss, exits| air.blackhole(now, bss, on, exits));
        self.with_all(id, |network, link| {
            network.links[usize::from(link.0)].blackhole = on;
            if on {
                network.wires.purge(network.now, link, &mut network.exits);
            }
        });
    }

    fn set_down(&mut self, id: LinkId, down: bool) {
        self.with_bss(id, |air, now, bss, exits| air.switch(now, bss, !down, exits));
        self.with_all(id, |network, link| network.set_one_down(link, down));
    }

    fn set_one_down(&mut self, id: LinkId, down: bool) {
        let before = self.state(id);
        if let Kind::Wired { down: now_down } = &mut self.links[usize::from(id.0)].kind {
            *now_down = down;
            let after = self.state(id);
            if before != after {
                self.exits.state(self.now, id, after);
            }
        }
        if down {
            self.wires.purge(self.now, id, &mut self.exits);
        }
    }
}
