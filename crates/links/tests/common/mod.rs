//! A driver that follows the contract exactly and checks its invariants.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeMap, BTreeSet};

use links::*;
use units::Instant;

/// How a packet left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Dropped(DropReason),
}

/// A network, with all its inputs and outputs.
pub struct Driver {
    pub network: Network,
    pub outputs: Vec<(Instant, Output)>,
    sent: Vec<Packet>,
    now: Instant,
}

pub fn packet(link: LinkId, direction: Direction, bytes: u32, token: u64) -> Packet {
    Packet {
        link,
        direction,
        bytes,
        ect: false,
        flow: 0,
        token,
    }
}

pub fn link_of(output: &Output) -> LinkId {
    match *output {
        Output::Delivered { packet, .. } | Output::Dropped { packet, .. } => packet.link,
        Output::Beacon { link, .. } | Output::State { link, .. } | Output::Heard { link, .. } => link,
        Output::Background { .. } | Output::Radio(_) => panic!("nobody has asked for it"),
    }
}

impl Driver {
    pub fn new(seed: u64, config: impl Into<NetworkConfig>) -> Self {
        Self {
            network: Network::new(seed, config).unwrap(),
            outputs: Vec::new(),
            sent: Vec::new(),
            now: Instant::ZERO,
        }
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Ticks whenever the network asks, until `at`.
    pub fn run_until(&mut self, at: Instant) {
        while let Some((due, reason)) = self.network.wake_at().filter(|&(due, _)| due <= at) {
            assert!(due >= self.now, "wakes in the past: {reason}");
            self.now = due;
            self.network.tick(due);
            self.drain();
        }
        self.now = at;
        self.network.tick(at);
        self.drain();
    }

    pub fn input(&mut self, at: Instant, input: Input) {
        self.run_until(at);
        self.network.handle(at, input);
        self.drain();
    }

    pub fn send(&mut self, at: Instant, packet: Packet) {
        self.sent.push(packet);
        self.input(at, Input::Packet(packet));
    }

    fn drain(&mut self) {
        while let Some((due, output)) = self.network.poll_due() {
            assert_eq!(due, self.now, "a driver in time sees everything in time");
            self.outputs.push((due, output));
        }
    }

    pub fn fates(&self) -> impl Iterator<Item = (Instant, Packet, Fate)> + '_ {
        self.outputs.iter().filter_map(|&(at, output)| match output {
            Output::Delivered { packet, .. } => Some((at, packet, Fate::Delivered)),
            Output::Dropped { packet, reason } => Some((at, packet, Fate::Dropped(reason))),
            _ => None,
        })
    }

    pub fn delivered_at(&self, token: u64) -> Option<Instant> {
        let mut delivered = self
            .fates()
            .filter(|&(_, packet, fate)| packet.token == token && fate == Fate::Delivered);
        delivered.next().map(|(at, ..)| at)
    }

    pub fn count(&self, fate: Fate) -> usize {
        self.fates().filter(|&(.., one)| one == fate).count()
    }

    pub fn states(&self) -> Vec<LinkState> {
        let states = self.outputs.iter().filter_map(|&(_, output)| match output {
            Output::State { state, .. } => Some(state),
            _ => None,
        });
        states.collect()
    }

    pub fn assert_each_packet_left_once(&self) {
        let mut left = BTreeSet::new();
        for (at, packet, fate) in self.fates() {
            assert!(
                left.insert(packet.token),
                "{} left twice, at {at} as {fate:?}",
                packet.token
            );
        }
        let sent: BTreeSet<_> = self.sent.iter().map(|packet| packet.token).collect();
        assert_eq!(left, sent);
    }

    pub fn assert_order_kept(&self) {
        let mut last = BTreeMap::new();
        for (at, packet, _) in self.fates().filter(|&(.., fate)| fate == Fate::Delivered) {
            let earlier = last.insert((packet.link, packet.direction), packet.token);
            assert!(
                earlier.is_none_or(|token| token < packet.token),
                "{} overtakes at {at}",
                packet.token
            );
        }
    }

    /// For every pair of arrivals: their times, and the bytes that arrived after the first, up to and
    /// including the second.
    pub fn assert_windows(&self, holds: impl Fn(Instant, Instant, u64) -> bool) {
        let arrivals: Vec<_> = self
            .fates()
            .filter(|&(.., fate)| fate == Fate::Delivered)
            .collect();
        for (index, &(from, ..)) in arrivals.iter().enumerate() {
            let mut bytes = 0;
            for &(to, packet, _) in &arrivals[index + 1..] {
                bytes += u64::from(packet.bytes);
                assert!(holds(from, to, bytes), "{bytes} bytes between {from} and {to}");
            }
        }
    }
}
