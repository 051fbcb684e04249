//! The emulator's thread.

use super::background::Background;
use super::faults::FaultLog;
use super::flow;
use super::outlet::{Outlet, Token, Writing};
use super::wait::{Waiter, Waker, become_punctual};
use super::{Command, Event, Lateness, LinkSample, Marks, Port, Report, Setup, Tuning};
use crate::clock::{Clock, thread_cpu_ns};
use crate::frame::{Burst, Header, Slab, SlotId};
use crate::monitor::Feed;
use crate::tun::Tun;
use links::{
    Busiest, Direction, DropReason, FaultTarget, Input, LinkId, Network, Output, Packet, RadioReport,
    Scheduled, Step,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use units::{Bytes, Dbm, Duration, Instant};

/// Token of the waker; devices have the numbers from zero.
pub(super) const WAKER: u64 = u64::MAX;

/// Packets read from one device before the other devices and due departures have their turn.
const READ_BATCH: usize = 16;

/// The thread's connections to the other threads.
pub(super) struct Lines {
    pub(super) waiter: Waiter,
    pub(super) waker: Waker,
    pub(super) commands: Receiver<Command>,
    pub(super) tell: Box<dyn FnMut(Event) + Send>,
    pub(super) stop: Arc<AtomicBool>,
}

/// The thread's state. Devices and their outlets are numbered: 2·link is the client's, 2·link + 1 the
/// server's.
pub(super) struct Core {
    clock: Clock,
    tuning: Tuning,
    network: Network,
    ports: Vec<Port>,
    outlets: Vec<Outlet>,
    slab: Slab,
    schedule: VecDeque<Scheduled>,
    lines: Lines,
    /// The latest time that was passed to the network; it never runs backwards.
    told: Instant,
    /// How many of the links are the client's. They come first.
    own: usize,
    woken: Instant,
    next_sample: Instant,
    samples: Vec<LinkSample>,
    marks: Marks,
    faults: FaultLog,
    busiest: Busiest,
    monitor: Option<Feed>,
    background: Background,
    lateness: Lateness,
    all_lateness: Lateness,
    chatter: u64,
}

impl Core {
    pub(super) fn new(setup: Setup, lines: Lines) -> Self {
        let mut schedule = setup.schedule;
        schedule.sort_by_key(|step| step.at);
        let links = setup.ports.len();
        let own = client_links(&setup.network, links);
        Self {
            own,
            clock: setup.clock,
            tuning: setup.tuning,
            network: setup.network,
            ports: setup.ports,
            outlets: (0..2 * links).map(|_| Outlet::default()).collect(),
            slab: Slab::new(),
            schedule: schedule.into(),
            lines,
            told: Instant::ZERO,
            woken: Instant::ZERO,
            next_sample: Instant::ZERO + setup.tuning.sample_every,
            samples: vec![LinkSample::default(); links],
            marks: Marks::new(),
            faults: FaultLog::new(own),
            busiest: Busiest::default(),
            monitor: setup.monitor,
            background: setup.background,
            lateness: Lateness::default(),
            all_lateness: Lateness::default(),
            chatter: 0,
        }
    }

    pub(super) fn run(mut self) -> Report {
        let realtime = self.tuning.realtime && become_punctual();
        let (began, cpu_before) = (self.clock.now(), thread_cpu_ns());
        while !self.lines.stop.load(Ordering::Acquire) {
            self.advance();
            let timeout = self.until_next();
            let ready = self.lines.waiter.wait(timeout);
            for index in 0..ready {
                self.serve(self.lines.waiter.token(index));
            }
        }
        self.sample();
        self.samples.truncate(self.own);
        Report {
            realtime,
            cpu: Duration::from_nanos(thread_cpu_ns() - cpu_before),
            wall: self.clock.now().since(began),
            lateness: self.all_lateness,
            links: self.samples,
            marks: self.marks,
            faults: self.faults.into_records(),
            chatter: self.chatter,
            refused: self.outlets.iter().map(|outlet| outlet.refused).sum(),
            under_way: self.slab.in_use(),
            background: self.background.into_meters(),
        }
    }

    /// Does everything that is due.
    fn advance(&mut self) {
        let now = self.clock.now();
        self.woken = now;
        while let Some(step) = self.schedule.front().copied().filter(|step| step.at <= now) {
            self.schedule.pop_front();
            self.follow(step.at.max(self.told), step.step);
        }
        self.told = now;
        self.network.tick(now);
        self.carry_out();
        for device in 0..self.outlets.len() {
            self.with_outlet(device, |outlet, writing| outlet.flush(writing));
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.flush(now);
        }
        if now >= self.next_sample {
            self.sample();
        }
    }

    /// Time until the next thing is due.
    fn until_next(&self) -> Option<Duration> {
        let departure = self
            .network
            .wake_at()
            .map(|(due, _)| due.max(self.woken + self.tuning.bundle));
        let step = self.schedule.front().map(|step| step.at);
        let next = [departure, step, Some(self.next_sample)]
            .into_iter()
            .flatten()
            .min();
        next.map(|next| next.since(self.clock.now()))
    }

    fn serve(&mut self, token: u64) {
        if token == WAKER {
            self.lines.waker.clear();
            while let Ok(command) = self.lines.commands.try_recv() {
                self.obey(command);
            }
            return;
        }
        self.read(token as usize);
        self.advance();
    }

    /// The current time for the network, which never runs backwards.
    fn tell(&mut self) -> Instant {
        self.told = self.told.max(self.clock.now());
        self.told
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Input(input) => {
                let now = self.tell();
                self.apply(now, input);
            }
            Command::TakeTurns(turns) => {
                let now = self.tell();
                self.network.take_turns(now, &turns);
                self.carry_out();
            }
            Command::Translate(link, nat) => self.ports[usize::from(link.0)].nat = nat,
        }
    }

    fn follow(&mut self, at: Instant, step: Step) {
        match step {
            Step::Move(position) => {
                self.announce(Event::Moved { at, position });
                self.apply(at, Input::Moved(position));
            }
            Step::MoveOther(other, position) => self.apply(at, Input::MovedOther(other, position)),
            Step::Carry(link, position) => self.apply(at, Input::Carried(link, position)),
            Step::Fault(whom, fault) => {
                // Packets that were due earlier are not affected by the fault.
                self.network.tick(at);
                self.carry_out();
                let link = self.meant(whom);
                self.faults.applied(at, link, fault);
                self.announce(Event::Fault { at, link, fault });
                self.apply(at, Input::Fault(link, fault));
            }
            Step::Renew(whom) => {
                let link = self.meant(whom);
                self.announce(Event::Renew { at, link });
            }
        }
    }

    fn meant(&mut self, whom: FaultTarget) -> LinkId {
        match whom {
            FaultTarget::Link(link) => link,
            FaultTarget::Busiest(round) => {
                let totals = self.totals();
                self.busiest.of(round, &totals)
            }
        }
    }

    fn totals(&self) -> Vec<Bytes> {
        self.samples[..self.own]
            .iter()
            .map(|sample| sample.up + sample.down)
            .collect()
    }

    fn apply(&mut self, at: Instant, input: Input) {
        self.told = at;
        self.network.handle(at, input);
        self.carry_out();
    }

    fn announce(&mut self, event: Event) {
        (self.lines.tell)(event);
    }

    fn read(&mut self, device: usize) {
        for _ in 0..READ_BATCH {
            let slot = self.slab.vacant();
            match tun(&self.ports, device).read(&mut self.slab.buffers(slot)) {
                Ok(read) => self.slab.filled(slot, read),
                // Nothing to read; other errors (the device is down) mean the same here.
                Err(_) => return self.slab.discard(slot),
            }
            if !self.enter(device, slot) {
                self.chatter += 1;
                self.slab.discard(slot);
            }
        }
    }

    /// Gives the packet in `slot` to the links. Returns whether the links carry it.
    fn enter(&mut self, device: usize, slot: SlotId) -> bool {
        let len = self.slab.len(slot);
        let Some(vnet) = self.slab.vnet(slot) else {
            return false;
        };
        let nat = self.ports[device / 2].nat;
        let packet = self.slab.packet_mut(slot);
        let Some(ip) = Header::parse(packet).filter(|ip| !ip.is_local_chatter(packet)) else {
            return false;
        };
        if let Some(nat) = nat {
            match direction(device) {
                Direction::Up => nat.outward(packet, ip, vnet.field()),
                Direction::Down => nat.inward(packet, ip, vnet.field()),
            }
        }
        let burst = match vnet.segment {
            0 => None,
            _ => match Burst::of(vnet, ip, packet, len) {
                None => return false,
                burst => burst,
            },
        };
        let template = Packet {
            link: LinkId((device / 2) as u16),
            direction: direction(device),
            bytes: len as u32,
            ect: ip.ect(packet),
            flow: flow::of(ip, packet),
            token: 0,
        };
        self.slab.enter(slot, ip, burst);
        self.hand_over(template, slot, burst);
        true
    }

    fn hand_over(&mut self, template: Packet, slot: SlotId, burst: Option<Burst>) {
        let now = self.tell();
        for segment in 0..burst.map_or(1, |burst| burst.segments) {
            let packet = Packet {
                bytes: burst.map_or(template.bytes, |burst| burst.packet_len(segment) as u32),
                token: Token { slot, segment }.encode(),
                ..template
            };
            self.network.handle(now, Input::Packet(packet));
        }
        self.carry_out();
    }

    fn carry_out(&mut self) {
        while let Some((due, output)) = self.network.poll_due() {
            match output {
                Output::Delivered { packet, ce } => self.deliver(due, packet, ce),
                Output::Dropped { packet, reason } => self.lose(due, packet, reason),
                Output::Beacon { link, signal } => self.beacon(due, link, signal),
                Output::Heard { link, frame } => {
                    if let Some(monitor) = &mut self.monitor {
                        monitor.frame(due, link, frame);
                    }
                }
                Output::Background { flow, bytes, .. } => self.background.arrived(due, flow, bytes),
                Output::Radio(report) => self.radio(due, report),
                Output::State { link, state } => self.announce(Event::State { at: due, link, state }),
            }
        }
        while let Some(frame) = self.network.overheard() {
            if let Some(monitor) = &mut self.monitor {
                monitor.overheard(frame);
            }
        }
    }

    fn radio(&mut self, at: Instant, report: RadioReport) {
        let received = |sample: &LinkSample| sample.down;
        self.announce(match report {
            RadioReport::Turned { channel } => Event::Turned { at, channel },
            RadioReport::CycleEnded => Event::CycleEnded {
                at,
                received: self.samples[..self.own].iter().map(received).collect(),
            },
        });
    }

    fn beacon(&mut self, at: Instant, link: LinkId, signal: Dbm) {
        if let Some(monitor) = &mut self.monitor {
            monitor.beacon(at, link, signal);
        }
        self.announce(Event::Beacon { at, link, signal });
    }

    fn deliver(&mut self, due: Instant, packet: Packet, ce: bool) {
        let link = usize::from(packet.link.0);
        self.samples[link].passed(packet.direction, packet.bytes);
        self.faults.delivered(self.network.through(packet.link));
        let device = 2 * link + usize::from(packet.direction == Direction::Up);
        let token = Token::decode(packet.token);
        self.note_mark(packet, token.slot, ce);
        self.with_outlet(device, |outlet, writing| outlet.push(due, token, ce, writing));
    }

    /// Counts packets that the link has marked, or that were marked already when it received them.
    fn note_mark(&mut self, packet: Packet, slot: SlotId, ce: bool) {
        let bytes = self.slab.packet(slot);
        let header = Header::parse(bytes).filter(|ip| ce || ip.ce(bytes));
        let ports = header.and_then(|ip| ip.tcp_ports(bytes));
        if let Some((source, destination)) = ports {
            let at_client = match packet.direction {
                Direction::Up => source,
                Direction::Down => destination,
            };
            *self
                .marks
                .entry((packet.link, packet.direction, at_client))
                .or_default() += 1;
        }
    }

    fn lose(&mut self, at: Instant, packet: Packet, reason: DropReason) {
        self.samples[usize::from(packet.link.0)].losses.count(reason);
        let link = self.network.through(packet.link);
        if reason == DropReason::Fault
            && let Some(fault) = self.faults.swallowed(link)
        {
            self.announce(Event::Effect { at, link, fault });
        }
        self.slab.leave(Token::decode(packet.token).slot, 1);
    }

    fn sample(&mut self) {
        self.next_sample = self.next_sample.max(self.clock.now()) + self.tuning.sample_every;
        for (index, sample) in self.samples.iter_mut().enumerate() {
            sample.counters = self.network.counters(LinkId(index as u16));
        }
        let totals = self.totals();
        self.busiest.remember(self.told, totals);
        let sample = Event::Sample {
            at: self.told,
            links: self.samples[..self.own].to_vec(),
            background: self.background.bytes(),
            lateness: self.lateness.summary(),
        };
        self.announce(sample);
        self.all_lateness.add(&self.lateness);
        self.lateness.clear();
    }

    fn with_outlet(&mut self, device: usize, work: impl FnOnce(&mut Outlet, &mut Writing<'_>)) {
        let mut writing = Writing {
            tun: tun(&self.ports, device),
            slab: &mut self.slab,
            lateness: &mut self.lateness,
            clock: self.clock,
        };
        work(&mut self.outlets[device], &mut writing);
    }
}

/// How many of the first `links` links are the client's.
fn client_links(network: &Network, links: usize) -> usize {
    let numbers = (0..links as u16).map(LinkId);
    numbers.take_while(|&link| network.through(link) == link).count()
}

fn tun(ports: &[Port], device: usize) -> &Tun {
    let port = &ports[device / 2];
    if device.is_multiple_of(2) {
        &port.client
    } else {
        &port.server
    }
}

/// The direction of packets that the kernel sends on this device.
const fn direction(device: usize) -> Direction {
    if device.is_multiple_of(2) {
        Direction::Up
    } else {
        Direction::Down
    }
}
