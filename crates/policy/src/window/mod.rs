//! Computes the receive window of one connection.
//!
//! The inputs are the rates, round-trip times and out-of-order bytes of one connection. The output is its
//! window. `queue::windows` requests and applies it.
//!
//! A stock sender assigns megabytes to its subflows that it cannot send yet. Whatever is on a slow one blocks
//! everything behind it. The receive window limits that: `W = f · Σ rate · longest base RTT` over the links
//! in use. Round trips of less than 64 ms count for a little more than they are.
//!
//! # Sources
//! - RFC 8684 §3.3.1: the window belongs to the connection, and counts from the data-level acknowledgement.
//! - RFC 6182 §5.3: the buffer that multipath needs, `Σ rate · max RTT`, and twice that to survive a loss.
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: the next bytes go to the subflow with the
//!   least queue divided by pacing rate. `tcp_update_pacing_rate`: that rate is congestion window over
//!   round-trip time, whether the window is full or not.
//!
//! # Where we differ, and why
//! 1. Base round-trip times, never the inflated ones: the queue is what the window limits.
//! 2. The window falls slowly and rises at once: too small costs goodput now, too large costs only if a link
//!    dies. While it settles it falls at once, too, because slow start would fill any room that stays.
//!    Out-of-order bytes have been read by then, so that the window's edge hardly moves.
//! 3. The factor is 1.25, not 2. With twice what is in flight, an access point's queue of 200 packets
//!    overflows before the first cut. Recovery takes a round trip through the full queue. Each factor from 1
//!    to 4 is the best for some links. Trials that searched for it on the live connection gave no more
//!    goodput over 24 random sets of links, and no shorter stalls (docs/window.md).
//! 4. While the signal of a link in use falls, nothing is queued beyond what is in flight: it drains ever
//!    more slowly, and finally not at all.
//! 5. Short round trips count for more. If the window keeps a subflow from filling its own congestion window,
//!    the subflow looks faster to the scheduler than it is. It draws so much of a tight window that the
//!    others never grow or show what they could carry. Two links of 30 Mb/s, 20 and 30 ms, carried 46 Mb/s
//!    for five seconds with 1.25 products. 16 ms beyond the round trip are enough. From 64 ms on, a quarter
//!    of the round trip is at least that.
//! 6. While slow start still finds more ([`growth`]), the window is updated more often, and includes half of
//!    what is in flight. It is capped from the start. Otherwise slow start would overflow every queue on the
//!    way. If a modem's buffer takes it all, its congestion window would even stay that large. It would hold
//!    most of the connection's bytes behind that buffer.
//!    Out-of-order bytes behind a slow link that has just joined also get room.
//! 7. A cable that loses again and again blocks everything for one and a quarter of its mean round trips each
//!    time. That is known here up to ten milliseconds late, so that much more may be in flight. Out-of-order
//!    bytes meanwhile get room, too, and are sampled as often as in slow start ([`missed`]).
//! 8. An application that asks for little does not lower the links' capacity ([`asked`]), nor does a window
//!    that gives a link too little ([`crate::estimate::carries`]). Rates that were forgotten after ten
//!    seconds followed the window down. On `window-bdp`, one random loss on the longest link left it 31 of
//!    its 47 Mb/s for good.
//! 9. When a slow link has just become a backup, its backlog is still on the way: out-of-order bytes get room
//!    beside what is in flight.
//! 10. Over cables, out-of-order bytes have room at any time, once they reach half of the formula's window.
//!     What waits for a slow link would otherwise keep the fast ones from sending: their rates would stay
//!     small, and the window with them. Except in slow start and behind a demoted link, that room stops
//!     growing while a link may be dead. Otherwise stalls after a cut grew on `window-equal` from 98 to
//!     169 ms. After the first seconds it falls as slowly as the rest: if it fell at once, 60, 6 and 6 Mb/s
//!     would reach 0.92 of stock instead of 1.04 (reno, in virtual time). Over radio it would keep a modem's
//!     buffer full (`fade`: 94 ms).
//!
//! # Checked by
//! `golden/window.csv`; `tests`, also against a fluid model of links and sender; `stall-drop` and `walk` in
//! the benchmarks.

mod asked;
mod growth;
mod missed;
#[cfg(test)]
mod tests;
pub(crate) mod tuning;

use crate::io::Ahead;
use asked::Asked;
use growth::Growth;
use missed::Missed;
use tuning::{LEAST, MOST, NARROW, PRODUCT, ROOM, SETTLES_FOR, STEP, USUAL, WORTH_BOUNDING};
use units::{Bitrate, Bytes, Duration, Instant};

/// The window of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    set: Option<Bytes>,
    /// When it was first updated.
    began: Option<Instant>,
    growth: Growth,
    stepped: Instant,
    narrow: Option<Narrow>,
    asked: Asked,
    missed: Missed,
    /// The part of the present window that is room for out-of-order bytes.
    room: Bytes,
    /// The window without that room as last reported.
    told: Bytes,
    /// The capacity of the links and the longest round trip at the last update.
    basis: Option<(Bitrate, Duration)>,
}

/// What the links of a connection are doing. The first that applies decides the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The signal of a link falls.
    Fading,
    /// Slow start is still finding the links' rates.
    SlowStart,
    /// Cables that may still have lost much in slow start.
    Settling,
    /// Links lose at random.
    Lossy,
    Steady,
}

/// A window that is narrow for a moment.
#[derive(Debug, Clone, Copy)]
struct Narrow {
    /// When what was in flight has arrived.
    settled: Instant,
    /// When the formula applies again.
    until: Instant,
}

/// The inputs from which the window is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// The rate that the links in use have lately shown together.
    pub(crate) rate: Bitrate,
    /// `rate`, or the rate of their last round trip if that is more.
    pub(crate) goodput: Bitrate,
    /// Bytes in flight when each link is full, by its own round trip.
    pub(crate) under_way: Bytes,
    /// The number of these links.
    pub(crate) links: usize,
    /// Whether a busy one has a queue of half a base round trip.
    pub(crate) queued: bool,
    /// The longest of their base round-trip times.
    pub(crate) rtt: Duration,
    /// How long lost bytes are missing, on links that lose all the time.
    pub(crate) repair: Duration,
    /// Bytes received on the connection so far.
    pub(crate) received: Bytes,
    /// Whether one of the links is about to be too weak.
    pub(crate) sinking: bool,
    /// Out-of-order bytes.
    pub(crate) held: Bytes,
    /// Whether all the links in use are cables.
    pub(crate) wired: bool,
    /// Whether out-of-order bytes wait for a link that has just become a backup.
    pub(crate) drains: bool,
    /// Whether one of the links is dead, or may be.
    pub(crate) doubted: bool,
}

impl Need {
    /// The window of `factor` sixteenths of what is in flight when every link is full.
    fn target(&self, factor: u64) -> Bytes {
        // The usual factor makes five quarters of it.
        let with_room = (self.rtt + ROOM) * 4 / 5;
        let rtt = match self.sinking {
            true => self.rtt,
            false => self.rtt.max(with_room),
        };
        (self.rate * rtt * factor / 16 + self.rate * self.repair).clamp(LEAST, MOST)
    }
}

impl Window {
    /// The new window, if it changes now.
    pub(crate) fn update(&mut self, now: Instant, need: Need) -> Option<Bytes> {
        self.growth.looks(now);
        self.missed.look(&need, self.set.unwrap_or_default());
        let rate = self.asked.capacity(now, &need);
        let need = Need { rate, ..need };
        if self.narrowed(now).is_some() {
            return self.narrower();
        }
        if need.rate == Bitrate::ZERO || need.received < WORTH_BOUNDING {
            return None;
        }
        self.basis = Some((need.rate, need.rtt));
        let phase = self.phase(now, &need);
        let (target, missed) = self.target(phase, need);
        let next = match self.set {
            None => target,
            Some(set) if target > set + set / 32 => target,
            Some(_) if self.falls_at_once(phase) => target,
            Some(set) if now - self.stepped >= STEP => target.max(set - set / 8),
            Some(_) => return None,
        };
        if self.set.is_some_and(|set| next <= set && set - next < set / 16) {
            return None;
        }
        (self.set, self.stepped, self.room) = (Some(next), now, missed);
        Some(next)
    }

    fn phase(&mut self, now: Instant, need: &Need) -> Phase {
        let waits = self.set.is_some_and(|set| need.held * 2 >= set);
        let age = now - *self.began.get_or_insert(now);
        let growing = self.growth.may_grow(now, *need, age, waits);
        if need.sinking {
            Phase::Fading
        } else if growing {
            Phase::SlowStart
        } else if need.wired && age < SETTLES_FOR {
            Phase::Settling
        } else if self.missed.loses() {
            Phase::Lossy
        } else {
            Phase::Steady
        }
    }

    /// The target of the window, and the part of it reserved for losses.
    fn target(&self, phase: Phase, need: Need) -> (Bytes, Bytes) {
        let target = match phase {
            Phase::Fading => need.target(PRODUCT),
            Phase::SlowStart => need.growing_target(),
            _ => need.target(USUAL),
        };
        let grows = phase == Phase::SlowStart;
        let held = match grows || need.drains {
            true => need.held,
            false => self.missed.held(),
        };
        let room = match need.drains || ((grows || need.wired) && held * 2 >= target) {
            true => held.min(target * 2),
            false => Bytes::ZERO,
        };
        let [usual, target] = [room, room.max(self.missed.room())].map(|room| (target + room).min(MOST));
        (target, target - usual)
    }

    /// Whether the window falls at once: slow start would fill the room that stays, and out-of-order bytes
    /// leave theirs.
    fn falls_at_once(&self, phase: Phase) -> bool {
        !matches!(phase, Phase::Fading | Phase::Steady) || self.room > Bytes::ZERO
    }

    /// Narrows the window so that little is soon in flight. `None` if nothing is gained.
    ///
    /// Out-of-order bytes behind a loss are not in flight, and keep their room. Without it, nothing could be
    /// sent until the lost bytes have arrived.
    pub(crate) fn narrow(&mut self, now: Instant) -> Option<Ahead> {
        let ((rate, rtt), usual) = (self.basis?, self.ahead()?.usual());
        let small = (usual / NARROW).max(LEAST);
        if small > usual / 2 {
            return None;
        }
        let settled = now + rate.time_for(usual.saturating_sub(small))? + rtt;
        let until = settled + rtt * 2;
        self.narrow = Some(Narrow { settled, until });
        self.set = Some(small + self.room);
        self.told = small;
        self.ahead()
    }

    /// Shrinks the room of a narrow window as fewer bytes are out of order.
    fn narrower(&mut self) -> Option<Bytes> {
        let gone = self.room.saturating_sub(self.missed.room());
        let set = self.set.filter(|_| gone > Bytes::ZERO)? - gone;
        (self.set, self.room) = (Some(set), self.room - gone);
        self.set
    }

    /// Whether slow start may have found more since the last tick, or links lose.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.growth.is_due(now, self.missed.loses())
    }

    /// The present window, and how much of it is reserved for losses.
    pub(crate) fn ahead(&self) -> Option<Ahead> {
        let missed = self.room;
        self.set.map(|window| Ahead { window, missed })
    }

    /// Whether links lose, so that the window may include such room.
    pub(crate) const fn loses(&self) -> bool {
        self.missed.loses()
    }

    /// Whether it differs, without that room, from what was last reported. If so, it counts as reported.
    pub(crate) fn is_news(&mut self) -> bool {
        let usual = self.ahead().map(Ahead::usual).unwrap_or_default();
        let differs = usual.max(self.told) - usual.min(self.told) >= self.told / 32;
        if differs {
            self.told = usual;
        }
        differs
    }

    /// The present window, if there is one.
    pub(crate) const fn bound(&self) -> Option<Bytes> {
        self.set
    }

    /// The estimated capacity of all links together.
    pub(crate) const fn capacity(&self) -> Bitrate {
        self.asked.believed()
    }

    /// When a narrow window has settled, while it stays narrow.
    pub(crate) fn narrowed(&self, now: Instant) -> Option<Instant> {
        self.narrow
            .filter(|narrow| now < narrow.until)
            .map(|narrow| narrow.settled)
    }
}
