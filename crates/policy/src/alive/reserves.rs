//! Asks reserves that have long been silent whether they are still there, so that none is found dead at the
//! moment when it is needed.
//!
//! A backup brings nothing while another link carries, so its silence says nothing, and one that died minutes
//! ago would count as sound: it would be raised in the place of a link that dies, and words to the peer would
//! be trusted to it. So it is asked, with one packet, every few seconds while its connection is busy. A
//! question that stays unanswered raises a doubt like any other, and only a doubt's own probes settle that.
//!
//! | the connection | a silent reserve is asked after |
//! |---|---|
//! | brought something in the last second | 5 s |
//! | is idle | 1 min |
//!
//! # Sources
//! - RFC 8684 §3.3.8: a backup carries data only where no other subflow can.
//! - Huang et al. 2012, tables 3 and 4 ([`crate::estimate::energy`]): a packet costs an LTE radio 11.6 s of
//!   its tail, one of WiFi 0.24 s.
//!
//! # Where we differ, and why
//! 1. A question by itself is no doubt: the reserve stays sound while it is under way, or a link that dies
//!    then would wait for its answer.
//! 2. There is no hurry: an answer may take [`PATIENCE`], and so may those to a doubt's probes. On a line
//!    that a neighbour has filled they wait in a queue of which nothing is seen here.
//! 3. Limit: no reserve that counts as sound is asked over a mobile network, over a metered link, or over
//!    WiFi: a question wakes a radio that sleeps, and keeps it awake for longer than it takes. (A WiFi link
//!    is, if the world tells by [`crate::LinkEvent::Draws`] that its radio has no tail; none does yet.)
//!    Whether such a reserve is dead is found when it is used. `fade` had gaps of 84 ms (median) where more
//!    questions woke a WiFi link. One that was given up is asked whether it is back, over any link, every 6.4
//!    s in the end ([`crate::alive::silence`]).
//! 4. Limit: a peer that answers no echoes is asked by a handshake, and its server has to accept that: hence
//!    seconds and minutes, not moments.
//!
//! # Checked by
//! `tests::reserves`.

use crate::alive::silence;
use crate::io::{ConnId, LinkId, LinkKind};
use crate::known::conn::{Conn, Subflow};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// A connection that brought something within this time is busy.
const BUSY_WITHIN: Duration = Duration::from_secs(1);
/// The silence of a busy connection's reserve that is worth a question.
const BUSY_PAUSE: Duration = Duration::from_secs(5);
/// The same while nothing is to be lost.
const IDLE_PAUSE: Duration = Duration::from_secs(60);
/// An answer may take so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// What reserves were asked.
#[derive(Debug, Default)]
pub(crate) struct Reserves {
    asked: BTreeMap<LinkId, Asked>,
}

/// The last question over a link.
#[derive(Debug, Clone, Copy)]
struct Asked {
    at: Instant,
    /// It is still waited for the answer.
    open: bool,
}

/// A link over which a connection has a backup, and nothing else is known to come.
#[derive(Debug, Clone, Copy)]
struct Reserve {
    conn: ConnId,
    /// When something last came over it from a peer.
    heard: Instant,
    is_busy: bool,
}

impl Reserves {
    /// Asks those that are due, and doubts those that did not answer.
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

/// Links over which something is a backup; one with many comes many times.
fn backups(state: &State) -> impl Iterator<Item = LinkId> {
    let subflows = state.conns.values().flat_map(|conn| &conn.subflows);
    subflows
        .filter(|subflow| is_backup(subflow))
        .map(|subflow| subflow.link)
}

const fn is_backup(subflow: &Subflow) -> bool {
    subflow.backup && subflow.draining.is_none()
}

/// Whether a question costs no more than its packet.
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

/// Whether something comes over another link.
fn is_busy(now: Instant, conn: &Conn, link: LinkId) -> bool {
    let mut others = conn.subflows.iter().filter(|subflow| subflow.link != link);
    others.any(|subflow| {
        subflow
            .arrivals
            .last()
            .is_some_and(|last| now - last < BUSY_WITHIN)
    })
}
