//! Addresses that an end announces (ADD_ADDR) and removes (RM_ADDR).
//!
//! An announcement is repeated until the peer has echoed it. A removal is sent once.
//!
//! # Sources
//! - RFC 8684 §3.4; Linux 6.18, `net/mptcp/pm.c` (`mptcp_pm_add_timer`: three repetitions, the interval
//!   follows from the longest RTO of the subflows and doubles, at most `net.mptcp.add_addr_timeout`).
//!
//! # Checked by
//! `tests/hosts_protocol.rs`.

use super::config::Path;
use super::connection::{Connection, Role};
use super::outbox::{Event, Outbox};
use super::subflow::Subflow;
use crate::tcp::packet::{Packet, Signal};
use policy::Family;
use units::{Duration, Instant};

/// Repetitions of an announcement (`ADD_ADDR_RETRANS_MAX`).
const REPETITIONS: u8 = 3;
/// Longest interval between two of them (`net.mptcp.add_addr_timeout`).
const MOST_INTERVAL: Duration = Duration::from_secs(120);

/// An announcement that the peer has not echoed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcement {
    address: u8,
    family: Family,
    sent: u8,
    /// When it is repeated.
    at: Instant,
}

impl Announcement {
    pub(super) const fn wake_at(&self) -> Instant {
        self.at
    }
}

impl Connection {
    /// Announces a further address of this end (ADD_ADDR), and repeats that until the peer echoes it.
    pub fn announce(&mut self, now: Instant, address: u8, family: Family) {
        if !self.mptcp || !self.is_open() {
            return;
        }
        self.announcements.retain(|known| known.address != address);
        self.announcements.push(Announcement {
            address,
            family,
            sent: 0,
            at: now,
        });
        self.repeat_announcements(now);
    }

    /// Sends the announcements that are due. Forgets those that were repeated often enough.
    pub(super) fn repeat_announcements(&mut self, now: Instant) {
        self.announcements
            .retain(|known| known.at > now || known.sent <= REPETITIONS);
        let rtos = self.subflows.iter().map(|subflow| subflow.sender.rto());
        let rto = rtos.max().unwrap_or(MOST_INTERVAL);
        let open = self.subflows.iter_mut().find(|subflow| subflow.is_open());
        let Some(subflow) = open else {
            return;
        };
        for due in self.announcements.iter_mut().filter(|known| known.at <= now) {
            subflow.signal(Signal::AddAddress {
                address: due.address,
                family: due.family,
                echo: false,
            });
            due.at = now + rto.saturating_mul(1 << due.sent).min(MOST_INTERVAL);
            due.sent += 1;
        }
    }

    /// Sends RM_ADDR for this end's address of a path, over another subflow that is not suspect. It is sent
    /// once.
    pub fn withdraw(&mut self, path: Path) {
        let address = self.own_address(path);
        self.announcements.retain(|known| known.address != address);
        let other = |subflow: &&mut Box<Subflow>| {
            subflow.is_open() && subflow.path.link != path.link && !subflow.stale
        };
        let newest = |subflow: &&mut Box<Subflow>| subflow.last_heard;
        if let Some(subflow) = self.subflows.iter_mut().filter(other).max_by_key(newest) {
            subflow.signal(Signal::RemoveAddress { address });
        }
    }

    const fn own_address(&self, path: Path) -> u8 {
        match self.role {
            Role::Client => path.client,
            Role::Server => path.server,
        }
    }

    const fn peer_address(&self, path: Path) -> u8 {
        match self.role {
            Role::Client => path.server,
            Role::Server => path.client,
        }
    }

    /// Option of MPTCP in a packet on an established subflow.
    pub(super) fn heed_signal(&mut self, now: Instant, packet: &Packet, at: usize, out: &mut Outbox) {
        match packet.signal {
            Signal::Priority { backup } => self.subflows[at].backup[1] = backup,
            Signal::RemoveAddress { address } => self.heed_removal(now, address, out),
            Signal::AddAddress {
                echo: true, address, ..
            } => {
                self.announcements.retain(|known| known.address != address);
            }
            Signal::AddAddress {
                address,
                family,
                echo: false,
            } => self.heed_announcement(at, address, family, out),
            Signal::None | Signal::Capable | Signal::Join { .. } => {}
        }
    }

    /// Echoes an announcement of the peer. Each repetition is echoed and reported again.
    fn heed_announcement(&mut self, at: usize, address: u8, family: Family, out: &mut Outbox) {
        self.subflows[at].signal(Signal::AddAddress {
            address,
            family,
            echo: true,
        });
        out.report(Event::Announced {
            conn: self.id,
            address,
            family,
        });
    }

    /// Closes the subflows of an address that the peer has removed.
    fn heed_removal(&mut self, now: Instant, address: u8, out: &mut Outbox) {
        let stamp = self.stamp(now);
        while let Some(at) = self
            .subflows
            .iter()
            .position(|subflow| self.peer_address(subflow.path) == address)
        {
            self.subflows[at].send_reset(&stamp, out);
            self.remove(now, at, out);
        }
    }
}
