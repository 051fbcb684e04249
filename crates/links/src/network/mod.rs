//! All links of a run behind one contract: it dispatches, the parts do the work.
//!
//! `build` makes the parts from a plan, `wireless` chooses between the two models of the air, `timers` says which part is
//! due first.

mod build;
mod timers;
mod wireless;

use alloc::vec::Vec;
use units::{Bitrate, Db, Dbm, Instant};

use self::build::Parts;
use self::timers::Timers;
use self::wireless::Wireless;
use crate::air::Overheard;
use crate::config::NetworkConfig;
use crate::io::side;
use crate::pipe::cellular::Radio;
use crate::pipe::lane::Lane;
use crate::pipe::port::Port;
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};
use crate::{ConfigError, Counters, Direction, DropReason, Fault, Input, LinkId, LinkState, Output, Packet};

/// All links of a run. The contract is in the crate's own documentation.
#[derive(Debug)]
pub struct Network {
    now: Instant,
    timers: Timers,
    exits: Exits,
    links: Vec<Link>,
    ports: Vec<Port>,
    /// Two for every link: see [`lane_of`].
    lanes: Vec<Lane>,
    air: Wireless,
    slots: Slots,
}

/// Where the timers of each kind of part begin; ports begin at zero.
#[derive(Debug, Clone, Copy)]
struct Slots {
    lanes: usize,
    channels: usize,
    bsses: usize,
    end: usize,
}

/// What the network knows about a link of any kind.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) ports: [usize; 2],
    pub(crate) kind: Kind,
    /// A cell's radio, which sleeps.
    pub(crate) radio: Option<Radio>,
    pub(crate) blackhole: bool,
}

/// What a link is made of besides its wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: cables and cells are always attached, unless a fault took them down.
    Wired { down: bool },
    /// An access point: its index in the air.
    Wifi(usize),
}

/// Where the lane of that link and direction is.
pub(crate) fn lane_of(link: LinkId, direction: Direction) -> usize {
    2 * usize::from(link.0) + side(direction)
}

impl Network {
    /// Builds the network of a run at its start, [`Instant::ZERO`]: cables and cells are up, access points are not joined.
    pub fn new(seed: u64, config: impl Into<NetworkConfig>) -> Result<Self, ConfigError> {
        let config = config.into();
        crate::config::check::check(&config)?;
        let Parts {
            links,
            ports,
            lanes,
            wireless: air,
            ..
        } = Parts::build(seed, &config)?;
        let slots = Slots::new(ports.len(), lanes.len(), air.sizes());
        let mut network = Self {
            now: Instant::ZERO,
            timers: Timers::new(slots.end),
            exits: Exits::new(links.len()).monitored(config.monitor),
            links,
            ports,
            lanes,
            air,
            slots,
        };
        let (channels, bsses) = network.air.sizes();
        (0..channels).for_each(|channel| network.set_channel_timer(channel));
        (0..bsses).for_each(|bss| network.set_bss_timer(bss));
        Ok(network)
    }

    /// Takes in one input that happens at `now`, after everything that was due until then.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.tick(now);
        match input {
            Input::Packet(packet) => self.enter(packet),
            Input::Fault(link, fault) => self.fault(link, fault),
            Input::Moved(position) => {
                self.air.moved(self.now, position);
                (0..self.air.sizes().0).for_each(|channel| self.set_channel_timer(channel));
            }
            Input::Associate(link) => self.with_bss(link, Wireless::associate),
            Input::Leave(link) => self.with_bss(link, Wireless::leave),
        }
    }

    /// Lets time pass up to and including `now`.
    pub fn tick(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time goes backwards: {now} after {}", self.now);
        while let Some((due, slot)) = self.timers.first().filter(|&(due, _)| due <= now) {
            self.now = self.now.max(due);
            self.fire(slot);
        }
        self.now = self.now.max(now);
    }

    /// The next thing that happened, if the world has not been told of everything yet.
    pub fn poll(&mut self) -> Option<Output> {
        self.poll_due().map(|(_, output)| output)
    }

    /// As [`Network::poll`], with the time at which it was due: how late the driver is.
    pub fn poll_due(&mut self) -> Option<(Instant, Output)> {
        self.exits.pop()
    }

    /// When to call [`Network::tick`] next, and which part asks for it. `None`: nothing happens without a new input.
    pub fn wake_at(&self) -> Option<(Instant, &'static str)> {
        let (due, slot) = self.timers.first()?;
        Some((due.max(self.now), self.reason(slot)))
    }

    /// What a link has carried since the start.
    ///
    /// # Panics
    /// If there is no such link, as all methods that take a link do.
    pub fn counters(&self, link: LinkId) -> Counters {
        let own = *self.exits.counters(link);
        self.bss(link).map_or(own, |bss| self.air.counted(bss, own))
    }

    /// The next frame that one of the client's monitor interfaces has heard, on the exact medium: in the order of their ends, its own at their
    /// beginning.
    pub fn overheard(&mut self) -> Option<Overheard> {
        self.air.overheard()
    }

    /// What a link is towards the client now.
    pub fn state(&self, link: LinkId) -> LinkState {
        match self.link(link).kind {
            Kind::Wired { down: true } => LinkState::Down,
            Kind::Wired { down: false } => LinkState::Up,
            Kind::Wifi(bss) => self.air.state(bss),
        }
    }

    /// What waits in a link's queues: in front of the bottleneck (of a shared one: everybody's packets) and of the air.
    pub fn queue(&self, link: LinkId, direction: Direction) -> Depth {
        let wire = self.ports[self.link(link).ports[side(direction)]].depth();
        let air = self
            .bss(link)
            .map_or(Depth::default(), |bss| self.air.depth(bss, direction));
        Depth {
            packets: wire.packets + air.packets,
            bytes: wire.bytes + air.bytes,
        }
    }

    /// Whether a packet of so many bytes would find room in front of a link's bottleneck now.
    pub fn has_room(&self, link: LinkId, direction: Direction, bytes: u32) -> bool {
        self.ports[self.link(link).ports[side(direction)]].has_room(bytes)
    }

    /// The mean signal of an access point at the client; `None` for other links.
    pub fn signal(&self, link: LinkId) -> Option<Dbm> {
        self.bss(link).map(|bss| self.air.mean_signal(bss))
    }

    /// The mean signal-to-noise ratio of a WiFi link at the decoder (implementation loss taken off); `None` for other links.
    pub fn snr(&self, link: LinkId, direction: Direction) -> Option<Db> {
        self.bss(link).map(|bss| self.air.mean_snr(bss, direction))
    }

    /// The rate at which a WiFi link sends frames now; `None` for other links.
    pub fn rate(&self, link: LinkId, direction: Direction) -> Option<Bitrate> {
        self.bss(link).map(|bss| self.air.rate(bss, direction))
    }

    /// What is on the wire behind the bottleneck.
    pub fn in_flight(&self, link: LinkId, direction: Direction) -> Depth {
        self.lanes[lane_of(link, direction)].depth()
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

    /// Joining and leaving mean nothing to cables and cells.
    fn with_bss(&mut self, link: LinkId, act: impl FnOnce(&mut Wireless, Instant, usize, &mut Exits)) {
        if let Some(bss) = self.bss(link) {
            act(&mut self.air, self.now, bss, &mut self.exits);
            self.set_bss_timer(bss);
            self.set_channel_timer(self.air.channel_of(bss));
        }
    }

    fn enter(&mut self, packet: Packet) {
        let entry = Entry {
            packet,
            ce: false,
            since: self.now,
        };
        if self.link(packet.link).blackhole {
            return self.exits.drop(self.now, packet, DropReason::Fault);
        }
        if self.state(packet.link) != LinkState::Up {
            return self.exits.drop(self.now, packet, DropReason::Detached);
        }
        match self.link(packet.link).kind {
            Kind::Wifi(bss) if packet.direction == Direction::Up => self.enter_air(bss, entry),
            _ => self.enter_port(entry),
        }
    }

    fn enter_port(&mut self, entry: Entry) {
        if let Some(radio) = &mut self.links[usize::from(entry.packet.link.0)].radio {
            radio.touch(self.now);
        }
        let port = self.link(entry.packet.link).ports[side(entry.packet.direction)];
        self.ports[port].push(self.now, entry, &mut self.exits);
        self.set_port_timer(port);
    }

    fn enter_air(&mut self, bss: usize, entry: Entry) {
        self.air.push(self.now, bss, entry, &mut self.exits);
        self.set_channel_timer(self.air.channel_of(bss));
    }

    fn fire(&mut self, slot: usize) {
        let Slots {
            lanes,
            channels,
            bsses,
            ..
        } = self.slots;
        if slot < lanes {
            self.serve(slot);
        } else if slot < channels {
            self.arrive(slot - lanes);
        } else if slot < bsses {
            self.run_channel(slot - channels);
        } else {
            self.run_bss(slot - bsses);
        }
    }

    fn reason(&self, slot: usize) -> &'static str {
        let Slots {
            lanes,
            channels,
            bsses,
            ..
        } = self.slots;
        if slot < lanes {
            "transmission"
        } else if slot < channels {
            "propagation"
        } else if slot < bsses {
            "air"
        } else {
            "access point"
        }
    }

    fn serve(&mut self, port: usize) {
        while let Some(mut entry) = self.ports[port].serve(self.now, &mut self.exits) {
            entry.since = self.now;
            let lane = lane_of(entry.packet.link, entry.packet.direction);
            let radio = self.link(entry.packet.link).radio.as_ref();
            let ready = radio.map_or(self.now, Radio::ready);
            self.lanes[lane].push(self.now, ready, entry, &mut self.exits);
            self.set_lane_timer(lane);
        }
        self.set_port_timer(port);
    }

    fn arrive(&mut self, lane: usize) {
        while let Some(entry) = self.lanes[lane].pop(self.now) {
            match self.link(entry.packet.link).kind {
                Kind::Wifi(bss) if entry.packet.direction == Direction::Down => self.enter_air(bss, entry),
                _ => self.exits.deliver(self.now, entry),
            }
        }
        self.set_lane_timer(lane);
    }

    fn run_channel(&mut self, channel: usize) {
        match self.air.run_channel(self.now, channel, &mut self.exits) {
            Some(entry) if entry.packet.direction == Direction::Up => self.enter_port(entry),
            Some(entry) => self.exits.deliver(self.now, entry),
            None => {}
        }
        self.set_channel_timer(channel);
        // A beacon that was heard or missed changes when its access point is asked.
        for &bss in self.air.members(channel) {
            self.timers.set(self.slots.bsses + bss, self.air.bss_due(bss));
        }
    }

    fn run_bss(&mut self, bss: usize) {
        self.air.run_bss(self.now, bss, &mut self.exits);
        self.set_bss_timer(bss);
        self.set_channel_timer(self.air.channel_of(bss));
    }

    fn set_port_timer(&mut self, port: usize) {
        self.timers.set(port, self.ports[port].due());
    }

    fn set_lane_timer(&mut self, lane: usize) {
        self.timers.set(self.slots.lanes + lane, self.lanes[lane].due());
    }

    fn set_channel_timer(&mut self, channel: usize) {
        self.timers
            .set(self.slots.channels + channel, self.air.channel_due(channel));
    }

    fn set_bss_timer(&mut self, bss: usize) {
        self.timers.set(self.slots.bsses + bss, self.air.bss_due(bss));
    }

    fn fault(&mut self, id: LinkId, fault: Fault) {
        match fault {
            Fault::Blackhole(on) => self.set_blackhole(id, on),
            Fault::Down(down) => self.set_down(id, down),
            Fault::Rate { up, down } => self.set_rate(id, [up, down]),
            Fault::Attenuation(attenuation) => {
                self.with_bss(id, |air, now, bss, _| air.attenuate(now, bss, attenuation));
            }
        }
    }

    fn set_blackhole(&mut self, id: LinkId, on: bool) {
        self.links[usize::from(id.0)].blackhole = on;
        self.with_bss(id, |air, now, bss, exits| air.blackhole(now, bss, on, exits));
        if on {
            self.purge(id);
        }
    }

    fn set_down(&mut self, id: LinkId, down: bool) {
        let before = self.state(id);
        match &mut self.links[usize::from(id.0)].kind {
            Kind::Wired { down: now_down } => {
                *now_down = down;
                let after = self.state(id);
                if before != after {
                    self.exits.state(self.now, id, after);
                }
            }
            Kind::Wifi(_) => self.with_bss(id, |air, now, bss, exits| air.switch(now, bss, !down, exits)),
        }
        if down {
            self.purge(id);
        }
    }

    fn set_rate(&mut self, id: LinkId, rates: [Bitrate; 2]) {
        for (port, rate) in self.link(id).ports.into_iter().zip(rates) {
            self.ports[port].set_rate(self.now, rate);
            self.set_port_timer(port);
        }
    }

    /// A fault swallows everything that is on the link's wires.
    fn purge(&mut self, id: LinkId) {
        for direction in [Direction::Up, Direction::Down] {
            let port = self.link(id).ports[side(direction)];
            self.ports[port].purge(self.now, id, DropReason::Fault, &mut self.exits);
            self.set_port_timer(port);
            let lane = lane_of(id, direction);
            self.lanes[lane].purge(self.now, DropReason::Fault, &mut self.exits);
            self.set_lane_timer(lane);
        }
    }
}

impl Slots {
    fn new(ports: usize, lanes: usize, (channels, bsses): (usize, usize)) -> Self {
        Self {
            lanes: ports,
            channels: ports + lanes,
            bsses: ports + lanes + channels,
            end: ports + lanes + channels + bsses,
        }
    }
}
