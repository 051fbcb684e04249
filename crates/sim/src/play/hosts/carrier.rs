//! Segments on links: a packet of the models names its segment by an index in a table.

use crate::hosts::Host;
use crate::tcp::packet::{Ecn, Kind, Packet};
use links::air::{self, Overheard};
use links::{
    ConfigError, Counters, Datagrams, Direction, Heard, Input, LinkId, LinkState, Network, NetworkConfig,
    Output, RadioReport, RadioSlot,
};
use policy::estimate::delivery::{Frame, Receiver};
use policy::estimate::energy::Carried;
use std::collections::BTreeSet;
use units::{Bytes, Dbm, Duration, Instant};

/// The links, and the segments on them.
#[derive(Debug)]
pub(super) struct Carrier {
    network: Network,
    /// Whether segments without data take airtime.
    acks_take_air: bool,
    /// Segments by token.
    segments: Vec<Packet>,
    free: Vec<u32>,
    /// Per link, those of other hosts included: bytes of IP packets that have arrived.
    carried: Vec<Carried>,
    /// How many links the client has.
    own: usize,
    /// Per link: packets that the client has received.
    received: Vec<u64>,
    sent: u64,
    /// Subflows, by connection and number, whose address the client has lost: none of their segments arrive.
    orphans: BTreeSet<(u32, u16)>,
}

/// What a world must act on.
#[derive(Debug)]
pub(super) enum Happened {
    /// A segment leaves a link. Its token: see [`Carrier::segment`].
    Arrived(LinkId, Direction, u32),
    /// A datagram of this flow is lost.
    Lost { flow: u32 },
    /// A station without a host has received a datagram. Its flow: an index in
    /// [`links::Background::flows`].
    Background { flow: u32, bytes: u32, delay: Duration },
    /// The client heard a beacon.
    Beacon(LinkId, Dbm),
    /// A link changed its state.
    State(LinkId, LinkState),
    /// The client's single radio reports something.
    Radio(RadioReport),
    /// The client heard a frame that was sent to it, on a medium whose monitors show nothing else.
    Frame(LinkId, Frame),
}

impl Carrier {
    pub(super) fn new(seed: u64, config: NetworkConfig, acks_take_air: bool) -> Result<Self, ConfigError> {
        let links = config.links.len() + config.other_links().count();
        Ok(Self {
            own: config.links.len(),
            network: Network::new(seed, config)?,
            acks_take_air,
            segments: Vec::new(),
            free: Vec::new(),
            carried: vec![Carried::default(); links],
            received: vec![0; links],
            sent: 0,
            orphans: BTreeSet::new(),
        })
    }

    pub(super) fn handle(&mut self, now: Instant, input: Input) {
        self.network.handle(now, input);
    }

    /// Lets the client's single radio take these turns.
    pub(super) fn take_turns(&mut self, now: Instant, turns: &[RadioSlot]) {
        self.network.take_turns(now, turns);
    }

    pub(super) fn tick(&mut self, now: Instant) {
        self.network.tick(now);
    }

    /// Runs the links up to `until`, or to the first thing that they report before. Returns the time reached.
    pub(super) fn advance(&mut self, until: Instant) -> Instant {
        let before = until - Duration::from_nanos(1);
        self.network.tick_to_output(before).unwrap_or(until)
    }

    /// Puts all segments that a host sends on their links.
    #[inline]
    pub(super) fn take(&mut self, now: Instant, direction: Direction, host: &mut Host) {
        if host.has_packets() {
            host.transmit(|link, packet| self.send(now, link, direction, packet));
        }
    }

    /// Puts a segment on a link.
    pub(super) fn send(&mut self, now: Instant, link: LinkId, direction: Direction, packet: &Packet) {
        let token = self.free.pop().unwrap_or_else(|| {
            self.segments.push(Packet::EMPTY);
            self.segments.len() as u32 - 1
        });
        self.segments[token as usize] = *packet;
        self.sent += 1;
        let entry = links::Packet {
            link,
            direction,
            bytes: packet.length(),
            ect: packet.ecn != Ecn::NotEct,
            token: token.into(),
            flow: packet.conn,
        };
        let takes_air = self.acks_take_air || packet.kind != Kind::Ack || packet.is_numbered();
        self.network.handle(
            now,
            match takes_air {
                true => Input::Packet(entry),
                false => Input::WithoutAir(entry),
            },
        );
    }

    /// The next thing that the links report.
    pub(super) fn poll(&mut self) -> Option<(Instant, Happened)> {
        loop {
            let (at, output) = self.network.poll_due()?;
            let happened = match output {
                Output::Delivered { packet, ce } => match self.arrive(packet, ce) {
                    Some(arrived) => arrived,
                    None => continue,
                },
                Output::Dropped { packet, .. } => {
                    self.free.push(packet.token as u32);
                    let lost = self.segments[packet.token as usize];
                    if lost.kind != Kind::Datagram {
                        continue;
                    }
                    Happened::Lost { flow: lost.conn }
                }
                Output::Background { flow, bytes, delay } => Happened::Background { flow, bytes, delay },
                Output::Beacon { link, signal } => Happened::Beacon(link, signal),
                Output::State { link, state } => Happened::State(link, state),
                Output::Radio(report) => Happened::Radio(report),
                Output::Heard { link, frame } => Happened::Frame(link, digest(frame)),
            };
            return Some((at, happened));
        }
    }

    /// A segment leaves a link. Returns nothing if it has no receiver.
    fn arrive(&mut self, entry: links::Packet, ce: bool) -> Option<Happened> {
        let token = entry.token as u32;
        let packet = &mut self.segments[token as usize];
        self.free.push(token);
        if self.orphans.contains(&(packet.conn, packet.port)) && !packet.kind.is_probe() {
            return None;
        }
        if ce && packet.ecn == Ecn::Ect {
            packet.ecn = Ecn::Ce;
        }
        let (link, bytes) = (usize::from(entry.link.0), Bytes::new(entry.bytes.into()));
        match entry.direction {
            Direction::Up => self.carried[link].up += bytes,
            Direction::Down => {
                self.carried[link].down += bytes;
                self.received[link] += 1;
            }
        }
        Some(Happened::Arrived(entry.link, entry.direction, token))
    }

    /// A segment that has just left a link. Sending another one may overwrite it.
    pub(super) fn segment(&mut self, token: u32) -> &mut Packet {
        &mut self.segments[token as usize]
    }

    /// Records that the client has lost the address of this subflow.
    pub(super) fn orphan(&mut self, conn: u32, port: u16) {
        self.orphans.insert((conn, port));
    }

    /// The next frame that the client's monitors heard.
    pub(super) fn overheard(&mut self) -> Option<Overheard> {
        self.network.overheard()
    }

    pub(super) fn state(&self, link: usize) -> LinkState {
        self.network.state(LinkId(link as u16))
    }

    pub(super) fn counters(&self, link: usize) -> Counters {
        self.network.counters(LinkId(link as u16))
    }

    /// What each station has done on the air, by its name. The coarse medium has no stations.
    pub(super) fn stations(&self) -> impl Iterator<Item = (&str, air::Counters)> {
        self.network.stations()
    }

    /// Each channel of the air, and for how long there were frames on it.
    pub(super) fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        self.network.channels()
    }

    /// Datagrams of a flow of stations without a host: an index in [`links::Background::flows`].
    pub(super) fn background(&self, flow: u32) -> Datagrams {
        self.network.background(flow)
    }

    /// Bytes of IP packets of the client that have arrived, per link.
    pub(super) fn carried(&self) -> &[Carried] {
        &self.carried[..self.own]
    }

    /// Packets that the client has received over a link.
    pub(super) fn received(&self, link: usize) -> u64 {
        self.received[link]
    }

    /// Segments that the hosts have sent.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }
}

/// The engine's view of a frame to the client, with a sequence number of its own counter.
fn digest(frame: Heard) -> Frame {
    Frame {
        receiver: Receiver::Us,
        tid: Some(0),
        number: frame.number,
        retry: frame.retry,
        rate: frame.rate,
        bytes: u16::try_from(frame.bytes).unwrap_or(u16::MAX),
        aggregate: None,
    }
}
