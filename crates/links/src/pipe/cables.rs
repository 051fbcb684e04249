//! Cables alone, for media without a network. They follow the contract of [`crate::Network`].

use alloc::vec::Vec;
use units::Instant;

use super::wires::Wires;
use crate::config::{CableConfig, ConfigError, LinkConfig, NetworkConfig, check};
use crate::queue::Entry;
use crate::queue::exits::Exits;
use crate::{Output, Packet};

/// Cables that are always up.
#[derive(Debug)]
pub(crate) struct Cables {
    now: Instant,
    wires: Wires,
    exits: Exits,
}

impl Cables {
    /// Builds them at the start of a run, [`Instant::ZERO`].
    pub(crate) fn new(seed: u64, cables: impl Iterator<Item = CableConfig>) -> Result<Self, ConfigError> {
        let links: Vec<LinkConfig> = cables.map(LinkConfig::Cable).collect();
        let config = NetworkConfig::from(links);
        check::check(&config)?;
        Ok(Self {
            now: Instant::ZERO,
            wires: Wires::new(seed, &config),
            exits: Exits::new(config.links.len()),
        })
    }

    /// Handles a packet that enters a cable at `now`, after everything due until then.
    pub(crate) fn enter(&mut self, now: Instant, packet: Packet) {
        self.tick(now);
        let entry = Entry {
            packet,
            ce: false,
            without_air: false,
            since: self.now,
        };
        self.wires.enter(self.now, entry, &mut self.exits);
    }

    /// Advances time up to and including `now`.
    pub(crate) fn tick(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time goes backwards: {now} after {}", self.now);
        while let Some((due, part)) = self.wires.first().filter(|&(due, _)| due <= now) {
            self.now = self.now.max(due);
            let at = self.now;
            self.wires
                .run(at, part, &mut self.exits, |entry, exits| exits.deliver(at, entry));
        }
        self.now = self.now.max(now);
    }

    /// Whether all outputs have been polled.
    pub(crate) fn has_reported_all(&self) -> bool {
        self.exits.is_empty()
    }

    /// The next output, and the time at which it was due.
    pub(crate) fn poll_due(&mut self) -> Option<(Instant, Output)> {
        self.exits.pop()
    }

    /// When to call [`Cables::tick`] next, and what is due then.
    pub(crate) fn wake_at(&self) -> Option<(Instant, &'static str)> {
        let (due, part) = self.wires.first()?;
        Some((due.max(self.now), self.wires.reason(part)))
    }

    /// [`Cables::wake_at`] without the reason.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.wires.first().map(|(due, _)| due.max(self.now))
    }
}
