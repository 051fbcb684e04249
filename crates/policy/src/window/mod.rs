//! How far ahead the peer may send on one connection.
//!
//! In go rates, round-trip times and out-of-order bytes of one connection. Out comes its window.
//! `queue::windows` asks and applies it.
//!
//! A stock sender assigns megabytes to its subflows that it cannot send yet; whatever is on the wrong one
//! holds up everything behind it. The receiver's window bounds that: `W = f · Σ rate · longest base RTT` over
//! the links in use, where a round trip of less than 64 ms counts for a little more than it is.
//!
//! # Sources
//! - RFC 8684 §3.3.1: the window is of the connection, counted from the data-level acknowledgement.
//! - RFC 6182 §5.3: the buffer that multipath needs, `Σ rate · max RTT`, and twice that to survive a loss.
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: the next bytes go to the subflow whose
//!   queue, over its pacing rate, is shortest; `tcp_update_pacing_rate`: that rate is congestion window over
//!   round-trip time, whether the window is full or not.
//!
//! # Where we differ, and why
//! 1. Base round-trip times, never the inflated ones: the queue is what is to be bounded.
//! 2. The window comes down slowly and goes up at once: too small costs goodput now, too large costs only if
//!    a link dies. While it settles it comes down at once, too: a slow start would fill whatever room stays.
//!    What waited has been read by then, so that the edge of the window hardly moves.
//! 3. The factor begins at 1.25, not at 2: with twice what is under way, an access point's queue of 200
//!    packets overflows before the first cut, and recovery takes a round trip through that full queue. It is
//!    then found by experiment ([`trial`]).
//! 4. While the signal of a link in use sinks, nothing is queued beyond what is under way: it drains ever
//!    more slowly, and then not at all.
//! 5. Short round trips count for more: a subflow that the connection's window keeps from filling its own
//!    congestion window looks faster to the scheduler than it is, and draws so much of a tight window that
//!    the others never grow, nor is seen what they could carry. Two links of 30 Mb/s, 20 and 30 ms, carried
//!    46 Mb/s for five seconds with 1.25 products. 16 ms beyond the round trip are enough; from 64 ms on, a
//!    quarter of it is that.
//! 6. While slow start still finds more ([`growth`]), it is looked at more often, and half of what is under
//!    way has room beside the usual window. It is bounded from the first moments on: slow start would
//!    otherwise overflow every queue on the way, or, where a modem's buffer takes it all, keep a congestion
//!    window for good that then holds most of the connection's bytes behind that buffer. What waits for a
//!    slow link that has just joined has room, too. Over cables it has for five seconds: what slow start
//!    loses in a deep queue holds up everything (`window-long`: 0.92 of stock's first five seconds without
//!    that room, 0.97 with it). Over radio it would keep a modem's buffer full (`fade`: 94 ms).
//! 7. A cable that loses again and again holds everything up for one and a quarter of its mean round trips
//!    each time, and that is known here up to ten milliseconds late: that much more may be under way. What
//!    waits meanwhile has room, too, and is followed as closely as slow start ([`missed`]).
//! 8. An application that asks for little does not make the links slow ([`asked`]), nor does a window that
//!    gives a link too little ([`crate::estimate::carries`]). Rates that were forgotten after ten seconds
//!    followed the window down: on `window-bdp` one chance loss on the longest link left it 31 of its 47 Mb/s
//!    for good.
//! 9. When a slow link has just become a backup, what the sender had given it is still waited for: what waits
//!    has room beside what is under way. And the factor begins anew: a window found beside that link was
//!    larger for its sake.
//! 10. A link that brings next to nothing for a moment and lives (bbr's sender looks for the least round
//!     trip, [`crate::estimate::trickle`]) keeps what it was
//!     given; over cables what waits for that has room for so long, and no longer. Without that a product of window is used up before it is over, and the others stand still.
//!
//! # Checked by
//! `golden/window.csv`; `tests`, also against a fluid model of links and sender; `stall-drop` and `walk` in
//! the benchmarks.

mod asked;
mod growth;
mod missed;
#[cfg(test)]
mod tests;
mod trial;

use crate::io::Ahead;
use asked::Asked;
use growth::Growth;
use missed::Missed;
use trial::{Factor, Reading, Trial};
use units::{Bitrate, Bytes, Duration, Instant};

/// Between two looks in slow start: with every reading. They come ten milliseconds apart, and none that comes
/// a little early is to be missed.
pub(crate) const EVERY_READING: Duration = Duration::from_millis(9);
const LEAST: Bytes = Bytes::from_kib(96);
const MOST: Bytes = Bytes::from_kib(16 * 1024);
/// A connection that has brought less than this is left alone: the window of a short transfer never matters.
const WORTH_BOUNDING: Bytes = Bytes::from_kib(32);
/// So long after its beginning a connection's slow starts over cables overflow queues, and what they lose
/// holds up everything.
const SETTLES_FOR: Duration = Duration::from_secs(5);
/// Beyond the longest round trip, so much has room at least.
const ROOM: Duration = Duration::from_millis(16);
/// A window of which all but one part in so many waits for earlier bytes lets next to nothing be sent.
const NEARLY_ALL: u64 = 7;
/// Thousandths of the looks of a second or two: with more, a window stands closed often.
const OFTEN: u64 = 100;
/// A queue comes and goes with its sender's congestion window.
const QUEUED_FOR: Duration = Duration::from_secs(5);
/// A longest round trip that differs by one part in so many at most is of the same links: the least that was
/// measured sinks for as long as there are packets.
const LIKE: u32 = 8;
/// How often the window may come down, by an eighth each time.
const STEP: Duration = Duration::from_millis(100);

/// The part of the window that is left while a subflow is ended.
const NARROW: u64 = 4;

/// The window of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    set: Option<Bytes>,
    /// When it was first looked at.
    began: Option<Instant>,
    growth: Growth,
    stepped: Instant,
    narrow: Option<Narrow>,
    trial: Option<Trial>,
    asked: Asked,
    /// When a queue was last seen before one of the links.
    queued_at: Option<Instant>,
    /// In how many of the last looks, in thousandths, nearly all of the window waited for earlier bytes.
    closed: u64,
    /// Whether a link has just been put by, as of the last look.
    drains: bool,
    /// Whether there is room for what waits because a link trickles.
    trickled: bool,
    missed: Missed,
    /// So much of the window in force is that room.
    room: Bytes,
    /// The window without it when it was last worth a word.
    told: Bytes,
    /// What the links could carry when the present experiments began.
    basis: Option<(Bitrate, Duration)>,
}

/// Where a window is to be.
struct Aim {
    target: Bytes,
    /// So much of it is for what waits for lost bytes.
    missed: Bytes,
    /// Whether it goes there at once, also downwards.
    at_once: bool,
}

/// A window made small for a moment.
#[derive(Debug, Clone, Copy)]
struct Narrow {
    /// When what was under way has arrived.
    settled: Instant,
    /// When the formula counts again.
    until: Instant,
}

/// What the window is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// What the links in use have shown lately that they can carry together.
    pub(crate) rate: Bitrate,
    /// The same, or what they have brought in their last round trip, if that is more.
    pub(crate) brings: Bitrate,
    /// What is under way when each is full, by its own round trip.
    pub(crate) under_way: Bytes,
    /// How many subflows these are.
    pub(crate) links: usize,
    /// Whether a queue of half a base round trip stands before one of them that is busy.
    pub(crate) queued: bool,
    /// The longest of their base round-trip times.
    pub(crate) rtt: Duration,
    /// For how long what is lost is missed, on links that lose all the time.
    pub(crate) repair: Duration,
    /// Received on the connection so far.
    pub(crate) received: Bytes,
    /// Whether one of the links is about to be too weak.
    pub(crate) sinking: bool,
    /// Received, and waiting for earlier bytes.
    pub(crate) held: Bytes,
    /// Whether all the links in use are cables.
    pub(crate) wired: bool,
    /// Whether what is held waits for a link that is no longer in use.
    pub(crate) drains: bool,
    /// Whether one of the links may be dead, or is.
    pub(crate) doubted: bool,
    /// Whether one of the links brings next to nothing for a moment, and lives.
    pub(crate) trickles: bool,
}

impl Need {
    /// So many sixteenths of what is under way when every link is full.
    fn target(&self, factor: Factor) -> Bytes {
        // The factor that is usual makes five quarters of it.
        let with_room = (self.rtt + ROOM) * 4 / 5;
        let rtt = if self.sinking {
            self.rtt
        } else {
            self.rtt.max(with_room)
        };
        (self.rate * rtt * factor / 16 + self.rate * self.repair).clamp(LEAST, MOST)
    }
}

impl Window {
    /// A new window, if it is to change now.
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
        self.queued_at = if need.queued { Some(now) } else { self.queued_at };
        let Aim {
            target,
            missed,
            at_once,
        } = self.aim(now, need);
        let next = match self.set {
            None => target,
            Some(set) if target > set + set / 32 => target,
            Some(_) if at_once => target,
            Some(set) if now - self.stepped >= STEP => target.max(set - set / 8),
            Some(_) => return None,
        };
        if self.set.is_some_and(|set| next <= set && set - next < set / 16) {
            return None;
        }
        (self.set, self.stepped, self.room) = (Some(next), now, missed);
        Some(next)
    }

    /// Where it is to be.
    fn aim(&mut self, now: Instant, need: Need) -> Aim {
        let waits = self.set.is_some_and(|set| need.held * 2 >= set);
        let age = now - *self.began.get_or_insert(now);
        let growing = self.growth.goes_on(now, need, age, waits);
        if !growing {
            self.note_closed(need.held);
        }
        let factor = self.factor(now, need, growing);
        let target = match growing {
            true => need.growing_target(factor),
            false => need.target(factor),
        };
        let settles = growing || (need.wired && age < SETTLES_FOR);
        let trickles = need.wired && need.trickles && waits;
        let relieved = self.trickled && !need.trickles;
        self.trickled = need.trickles && (self.trickled || trickles);
        let blocked = settles && need.held * 2 >= target;
        let room = match need.drains || blocked || trickles {
            true => need.held.min(target * 2),
            false => Bytes::ZERO,
        };
        let [usual, target] = [room, room.max(self.missed.room())].map(|room| (target + room).min(MOST));
        Aim {
            target,
            missed: target - usual,
            at_once: settles || relieved || self.missed.goes_on() || self.room > Bytes::ZERO,
        }
    }

    /// Makes the window so small that soon little is under way; `None` where there is nothing to gain.
    ///
    /// What waits for lost bytes is under way no more, and keeps its room: without that nothing could be sent
    /// until these have come.
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
        if let Some(trial) = &mut self.trial {
            trial.interrupt(now, false);
        }
        self.ahead()
    }

    /// While it is narrow: less has room when less waits.
    fn narrower(&mut self) -> Option<Bytes> {
        let gone = self.room.saturating_sub(self.missed.room());
        let set = self.set.filter(|_| gone > Bytes::ZERO)? - gone;
        (self.set, self.room) = (Some(set), self.room - gone);
        self.set
    }

    /// Whether slow start may have found more since the last look, or links lose.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.growth.is_due(now, self.missed.goes_on())
    }

    /// The window in force, and how much of it is room for what waits for lost bytes.
    pub(crate) fn ahead(&self) -> Option<Ahead> {
        let missed = self.room;
        self.set.map(|window| Ahead { window, missed })
    }

    /// Whether links lose, so that there may be such room.
    pub(crate) const fn loses(&self) -> bool {
        self.missed.goes_on()
    }

    /// Whether it differs, without that room, from what was last told; if so, it is told now.
    pub(crate) fn is_news(&mut self) -> bool {
        let usual = self.ahead().map(Ahead::usual).unwrap_or_default();
        let differs = usual.max(self.told) - usual.min(self.told) >= self.told / 32;
        if differs {
            self.told = usual;
        }
        differs
    }

    /// The window in force, if there is one.
    pub(crate) const fn bound(&self) -> Option<Bytes> {
        self.set
    }

    /// What the links are believed to carry together.
    pub(crate) const fn capacity(&self) -> Bitrate {
        self.asked.believed()
    }

    /// When a window that was made narrow has settled, while it stays so.
    pub(crate) fn narrowed(&self, now: Instant) -> Option<Instant> {
        self.narrow
            .filter(|narrow| now < narrow.until)
            .map(|narrow| narrow.settled)
    }

    fn note_closed(&mut self, held: Bytes) {
        let closed = self.set.is_some_and(|set| held >= set - set / NEARLY_ALL);
        self.closed = (self.closed * 31 + if closed { 1_000 } else { 0 }) / 32;
    }

    fn factor(&mut self, now: Instant, need: Need, growing: bool) -> Factor {
        let trial = self.trial.get_or_insert_with(|| Trial::new(now));
        let same = |(rate, rtt): (Bitrate, Duration)| {
            let (least, most) = (rtt - rtt / LIKE, rtt + rtt / LIKE);
            let is_like = (least..=most).contains(&need.rtt);
            is_like && need.rate >= rate.percent(75) && need.rate <= rate.percent(133)
        };
        let relieved = need.drains && !self.drains;
        self.drains = need.drains;
        if relieved || !self.basis.is_some_and(same) {
            self.basis = Some((need.rate, need.rtt));
            trial.interrupt(now, true);
        }
        if need.sinking {
            return trial.caution(now);
        }
        if growing {
            return trial.factor();
        }
        trial.advance(
            now,
            Reading {
                received: need.received,
                capacity: need.rate,
                rtt: need.rtt,
                closed: self.closed >= OFTEN,
                queued: self.queued_at.is_some_and(|at| now - at <= QUEUED_FOR),
                lossy: need.repair > Duration::ZERO,
            },
        );
        trial.factor()
    }
}
