//! All links of a run behind one contract: it dispatches, the parts do the work.

use alloc::vec::Vec;
use units::{Bitrate, Instant};

use crate::build::Parts;
use crate::config::NetworkConfig;
use crate::exits::Exits;
use crate::lane::Lane;
use crate::port::Port;
use crate::queue::{Depth, Entry};
use crate::timers::Timers;
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
}

/// What the network knows about a link of any kind.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) ports: [usize; 2],
    pub(crate) kind: Kind,
    pub(crate) state: LinkState,
    pub(crate) blackhole: bool,
}

/// What a link is made of besides its wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: cables and cells are always attached.
    Wired,
    /// An access point.
    Wifi,
}

/// Where the lane of that link and direction is.
pub(crate) fn lane_of(link: LinkId, direction: Direction) -> usize {
    2 * usize::from(link.0) + side(direction)
}

pub(crate) fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

impl Network {
    /// Builds the network of a run at its start, [`Instant::ZERO`]: cables and cells are up, access points are not joined.
    pub fn new(seed: u64, config: impl Into<NetworkConfig>) -> Result<Self, ConfigError> {
        let config = config.into();
        crate::check::check(&config)?;
        let Parts { links, ports, lanes } = Parts::build(seed, &config);
        Ok(Self {
            now: Instant::ZERO,
            timers: Timers::new(ports.len() + lanes.len()),
            exits: Exits::new(links.len()),
            links,
            ports,
            lanes,
        })
    }

    /// Takes in one input that happens at `now`, after everything that was due until then.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.tick(now);
        match input {
            Input::Packet(packet) => self.enter(packet),
            Input::Fault(link, fault) => self.fault(link, fault),
            Input::Moved(_) | Input::Associate(_) | Input::Leave(_) => {}
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
        *self.exits.counters(link)
    }

    /// What a link is towards the client now.
    pub fn state(&self, link: LinkId) -> LinkState {
        self.link(link).state
    }

    /// What waits in the queue in front of a link's bottleneck (of a shared bottleneck: everybody's packets).
    pub fn queue(&self, link: LinkId, direction: Direction) -> Depth {
        self.ports[self.link(link).ports[side(direction)]].depth()
    }

    /// What is on the wire behind the bottleneck.
    pub fn in_flight(&self, link: LinkId, direction: Direction) -> Depth {
        self.lanes[lane_of(link, direction)].depth()
    }

    fn link(&self, link: LinkId) -> &Link {
        &self.links[usize::from(link.0)]
    }

    fn enter(&mut self, packet: Packet) {
        let link = self.link(packet.link);
        if link.blackhole {
            return self.exits.drop(self.now, packet, DropReason::Fault);
        }
        if link.state != LinkState::Up {
            return self.exits.drop(self.now, packet, DropReason::Detached);
        }
        let port = link.ports[side(packet.direction)];
        let entry = Entry {
            packet,
            ce: false,
            since: self.now,
        };
        self.ports[port].push(self.now, entry, &mut self.exits);
        self.set_port_timer(port);
    }

    fn fire(&mut self, slot: usize) {
        match slot.checked_sub(self.ports.len()) {
            None => self.serve(slot),
            Some(lane) => self.arrive(lane),
        }
    }

    fn reason(&self, slot: usize) -> &'static str {
        if slot < self.ports.len() {
            "transmission"
        } else {
            "propagation"
        }
    }

    fn serve(&mut self, port: usize) {
        while let Some(mut entry) = self.ports[port].serve(self.now, &mut self.exits) {
            entry.since = self.now;
            let lane = lane_of(entry.packet.link, entry.packet.direction);
            self.lanes[lane].push(self.now, entry, &mut self.exits);
            self.set_lane_timer(lane);
        }
        self.set_port_timer(port);
    }

    fn arrive(&mut self, lane: usize) {
        while let Some(entry) = self.lanes[lane].pop(self.now) {
            self.exits.deliver(self.now, entry);
        }
        self.set_lane_timer(lane);
    }

    fn set_port_timer(&mut self, port: usize) {
        self.timers.set(port, self.ports[port].due());
    }

    fn set_lane_timer(&mut self, lane: usize) {
        self.timers.set(self.ports.len() + lane, self.lanes[lane].due());
    }

    fn fault(&mut self, id: LinkId, fault: Fault) {
        match fault {
            Fault::Blackhole(on) => {
                self.links[usize::from(id.0)].blackhole = on;
                if on {
                    self.purge(id);
                }
            }
            Fault::Down(down) => self.set_down(id, down),
            Fault::Rate { up, down } => self.set_rate(id, [up, down]),
            Fault::Attenuation(_) => {}
        }
    }

    fn set_down(&mut self, id: LinkId, down: bool) {
        let state = match (down, self.link(id).kind) {
            (false, Kind::Wired) => LinkState::Up,
            _ => LinkState::Down,
        };
        if down {
            self.purge(id);
        }
        self.set_state(id, state);
    }

    fn set_state(&mut self, id: LinkId, state: LinkState) {
        let link = &mut self.links[usize::from(id.0)];
        if link.state != state {
            link.state = state;
            self.exits.state(self.now, id, state);
        }
    }

    fn set_rate(&mut self, id: LinkId, rates: [Bitrate; 2]) {
        for (port, rate) in self.link(id).ports.into_iter().zip(rates) {
            self.ports[port].set_rate(self.now, rate);
            self.set_port_timer(port);
        }
    }

    /// A fault swallows everything that is in the link.
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
