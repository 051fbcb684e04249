//! Probes backups that have long been silent, so that a dead one is found before it is needed.
//!
//! A backup receives nothing while another link carries data, so its silence proves nothing. One that died
//! minutes ago would count as sound: it would replace a link that dies, and signals to the peer would be sent
//! over it. So it is probed with one packet every few seconds while its connection is busy. An unanswered
//! probe raises an ordinary doubt, and only the probes of that doubt decide.
//!
//! | the connection | a silent backup is probed after |
//! |---|---|
//! | received something in the last second | 5 s |
//! | is idle | 1 min |
//!
//! # Sources
//! - RFC 8684 §3.3.8: a backup carries data only where no other subflow can.
//! - Huang et al. 2012, tables 3 and 4 ([`crate::estimate::energy`]): a packet keeps an LTE radio in its tail
//!   for 11.6 s, and a WiFi radio for 0.24 s.
//!
//! # Where we differ, and why
//! 1. A probe by itself is not a doubt: the backup stays sound until the reply is due. Otherwise a link that
//!    dies then would have to wait for it.
//! 2. There is no hurry: a reply may take [`PATIENCE`], also to the probes of a doubt. On a line that a
//!    neighbour has filled, they wait in a queue that this host cannot see.
//! 3. Limit: no backup that counts as sound is probed over a mobile network, a metered link, or WiFi. A probe
//!    wakes a sleeping radio and keeps it awake for longer than the probe takes. A WiFi link is probed if the
//!    world reports by [`crate::LinkEvent::Draws`] that its radio has no tail. A dead backup of this kind is
//!    found when it is used. `fade` had gaps of 84 ms (median) where more probes woke a WiFi link. A dead
//!    link is probed over any medium, at last every 6.4 s ([`crate::alive::silence`]).
//! 4. Limit: a peer that answers no echoes is probed by a handshake, which its server has to accept. Hence
//!    the intervals are seconds and minutes.
//!
//! # Checked by
//! `tests::reserves`.

use super::tuning::{BUSY_PAUSE, BUSY_WITHIN, IDLE_PAUSE, PATIENCE};
use crate::alive::silence;
use crate::io::{ConnId, LinkId, LinkKind};
use crate::known::conn::{Conn, Subflow};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::Instant;

/// The latest probe of each backup.
#[derive(Debug, Default)]
pub(crate) struct Reserves {
    asked: BTreeMap<LinkId, Asked>,
}

/// The latest probe over a link.
#[derive(Debug, Clone, Copy)]
struct Asked {
    at: Instant,
    /// Whether its reply is still awaited.
    open: bool,
}

/// A link over which a connection has a backup, and nothing else that would be heard.
#[derive(Debug, Clone, Copy)]
struct Reserve {
    conn: ConnId,
    /// When something from a peer last arrived over it.
    heard: Instant,
    is_busy: bool,
}

impl Reserves {
    /// Probes the backups that are due, and doubts those that did not reply.
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        let mut links: Vec<LinkId> = backups(state)
            .filter(|link| state.paths.get(link).is_some_and(may_be_asked))
            .collect();
        links.sort_unstable();
        links.dedup();
        self.asked.retain(|link, _| links.contains(link));
        for link in links {
            if let Some(reserve) = reserve(now, state, link) {
                self.look_at(now, state, link, reserve);
            }
        }
    }

    fn look_at(&mut self, now: Instant, state: &mut State, link: LinkId, reserve: Reserve) {
        let last = self.asked.get(&link).copied();
        let pause = if reserve.is_busy { BUSY_PAUSE } else { IDLE_PAUSE };
        match last {
            Some(asked) if asked.open && reserve.heard >= asked.at => self.close(link),
            Some(asked) if asked.open && now - asked.at >= PATIENCE => {
                self.close(link);
                silence::doubt(now, state, link, reserve.conn, now - reserve.heard, PATIENCE);
            }
            Some(asked) if asked.open => {}
            _ if now - last.map_or(reserve.heard, |asked| asked.at.max(reserve.heard)) >= pause => {
                self.asked.insert(link, Asked { at: now, open: true });
                state.probe(link, reserve.conn);
            }
            _ => {}
        }
    }

    fn close(&mut self, link: LinkId) {
        if let Some(asked) = self.asked.get_mut(&link) {
            asked.open = false;
        }
    }
}

/// Links with a backup subflow. A link with many appears many times.
fn backups(state: &State) -> impl Iterator<Item = LinkId> {
    let subflows = state.conns.values().flat_map(|conn| &conn.subflows);
    subflows
        .filter(|subflow| is_backup(subflow))
        .map(|subflow| subflow.link)
}

const fn is_backup(subflow: &Subflow) -> bool {
    subflow.backup && subflow.draining.is_none()
}

/// Whether a probe costs no more than its packet.
fn may_be_asked(path: &Path) -> bool {
    let sleeps = match path.spec.kind {
        LinkKind::Cable => false,
        LinkKind::Wifi => path.draws.is_none_or(|radio| !radio.tail.lasts.is_zero()),
        LinkKind::Cellular => true,
    };
    path.is_alive() && path.is_allowed() && !sleeps && !path.cost.is_metered()
}

fn reserve(now: Instant, state: &State, link: LinkId) -> Option<Reserve> {
    let over = state.conns.values().flat_map(|conn| conn.over(link));
    let heard = over.map(heard).max()?;
    let mut conns = state
        .conns
        .iter()
        .filter(|(_, conn)| conn.over(link).any(is_backup));
    let (first, _) = conns.clone().next()?;
    let busy = conns.find(|(_, conn)| is_busy(now, conn, link));
    Some(Reserve {
        conn: busy.map_or(*first, |(conn, _)| *conn),
        heard,
        is_busy: busy.is_some(),
    })
}

/// When a peer was last heard over this subflow, or over its link by a probe.
fn heard(subflow: &Subflow) -> Instant {
    let last = subflow.arrivals.last().max(subflow.cleared);
    last.unwrap_or(subflow.since).max(subflow.since)
}

/// Whether data arrives over another link.
fn is_busy(now: Instant, conn: &Conn, link: LinkId) -> bool {
    let mut others = conn.subflows.iter().filter(|subflow| subflow.link != link);
    others.any(|subflow| {
        subflow
            .arrivals
            .last()
            .is_some_and(|last| now - last < BUSY_WITHIN)
    })
}
