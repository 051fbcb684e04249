//! Active queue management at the client: how many of a link's packets to mark so that its queue stays short.
//!
//! A sender that fills a link also fills its queue. A deep queue delays all other traffic and the
//! retransmissions after another link dies. Few routers mark early. But the receiver also sees the delay, and
//! a mark made here reaches the sender like a router's: on the acknowledgement. What this host itself sends
//! is marked as it leaves.
//!
//! # Sources
//! - RFC 8289 (CoDel) §3: a queue is bad when even its least delay stays over a target for an interval of a
//!   round trip. Bursts are not bad.
//! - Linux 6.18, `net/ipv4/tcp_input.c`, `tcp_sndbuf_expand`, and `net/mptcp/protocol.c`,
//!   `mptcp_subflow_get_send`: the send buffer of a subflow, and what a full one does (point 6).
//! - RFC 3168 §6.1.2: a sender responds to a mark as to a loss, once per round trip. The packet has arrived.
//!
//! # Where we differ, and why
//! 1. The target is a fraction of the base round trip, not 5 ms for all. A halved window keeps a link busy
//!    only if the queue was a whole base round trip at that moment. There is one sender here, not many whose
//!    halvings average out. With three quarters of it, the link idles for a hundredth of the time.
//! 2. One mark per subflow, and no more until it has shown its effect, three round trips later. Marking until
//!    the queue was gone halved windows two and three times, and links of 20 to 100 ms carried 4 to 8 % less.
//!    PI² (RFC 9332, appendix A) did the same.
//! 3. In slow start, a quarter of the base round trip is enough, at once and once per subflow. By the time
//!    the sender responds, its congestion window is twice what fills the link, and after halving it still
//!    fills it. Waiting until the queue persists, as later, means waiting until it overflows. Lost bytes are
//!    then missing for a round trip through the full queue. The marks of one round trip count as one. (RFC
//!    9406, HyStart++, leaves slow start by the same sign, at an eighth. Few senders use it.)
//! 4. The measure is a round trip, which includes the way back. Both queues are of the user's own making.
//! 5. A quick link beside a slow one gets no longer queue, though its bytes wait for the slow one anyway:
//!    when it dies, its whole queue must be sent over the slow one.
//! 6. The exception is a starved link beside it. Linux limits a subflow's send buffer to twice its largest
//!    congestion window. While the buffer of the chosen subflow is full, the scheduler assigns nothing to
//!    the others. A short queue keeps that buffer so small that a long link never gets a full round trip of
//!    data. So a third of the long round trip may queue. The buffer stays large afterwards.
//!
//! # Checked by
//! `tests`, against a model of a sender and a link; `window-long` in the benchmarks.

#[cfg(test)]
mod tests;

use super::tuning::{
    EVERY, LEAST_TARGET, MOST_TARGET, RAREST, ROUNDS_TO_SEE, START_PERCENT, STARVED_BESIDE_PERCENT,
    TARGET_PERCENT,
};
use crate::io::SubflowId;
use crate::window::tuning::EVERY_READING;
use units::{Duration, Instant, Ratio};

/// The load on a link and the subflows that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// The minimum round-trip time ever measured.
    pub(crate) base: Duration,
    /// The present round-trip time.
    pub(crate) rtt: Duration,
    /// Segments that arrive per second.
    pub(crate) segments: u64,
    /// Number of subflows that carry them.
    pub(crate) subflows: u64,
    /// The latest of them, if all may be in slow start.
    pub(crate) young: Option<SubflowId>,
    /// Whether this host sends the data: then it leaves in bursts, with the acknowledgements that arrive.
    pub(crate) own: bool,
    /// The longest base round trip of the starved links beside it.
    pub(crate) beside: Duration,
}

impl Load {
    /// The queueing delay on the link.
    pub(crate) const fn queue(self) -> Duration {
        self.rtt.saturating_sub(self.base)
    }

    /// The permitted queueing delay.
    pub(crate) fn target(self) -> Duration {
        let beside = self.beside * STARVED_BESIDE_PERCENT / 100;
        part(self.base, TARGET_PERCENT).max(beside).min(MOST_TARGET)
    }

    /// The number of segments in this time.
    fn in_time(self, time: Duration) -> u64 {
        self.segments.saturating_mul(time.as_millis() as u64) / 1_000
    }
}

/// Whether a round-trip time shows that slow start begins to fill a queue. `base` is the minimum.
pub(crate) fn begins_to_fill(base: Duration, rtt: Duration) -> bool {
    rtt.saturating_sub(base) >= part(base, START_PERCENT)
}

fn part(base: Duration, percent: u32) -> Duration {
    (base * percent / 100).clamp(LEAST_TARGET, MOST_TARGET)
}

/// The queue of one link in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Queue {
    /// Since when it has been over the target.
    long: Option<Instant>,
    /// The share marked now, and until when.
    dose: Ratio,
    until: Instant,
    /// When the last mark has shown its effect.
    rests: Instant,
    /// The latest subflow whose slow start was ended by a mark.
    ended: Option<SubflowId>,
}

impl Queue {
    /// Resets the queue, where it does not matter or is not known.
    pub(crate) const fn ignore(&mut self) {
        (self.long, self.dose) = (None, Ratio::ZERO);
    }

    /// The share of packets to mark until the next tick.
    pub(crate) fn look(&mut self, now: Instant, load: Load) -> Ratio {
        if now < self.until {
            return self.dose;
        }
        if now >= self.rests && self.overflows_soon(load) {
            return self.end_start(now, load);
        }
        if load.queue() < load.target() {
            self.long = None;
            return Ratio::ZERO;
        }
        let since = *self.long.get_or_insert(now);
        if now - since < load.base || now < self.rests {
            return Ratio::ZERO;
        }
        let one_each = Ratio::from_fraction(
            load.subflows,
            load.in_time(EVERY).max(RAREST.saturating_mul(load.subflows)),
        );
        self.mark(now, load, one_each, EVERY)
    }

    fn overflows_soon(&self, load: Load) -> bool {
        load.young > self.ended && begins_to_fill(load.base, load.rtt)
    }

    /// Marks once per subflow as soon as there are packets for it. More marks may follow in the same round
    /// trip.
    fn end_start(&mut self, now: Instant, load: Load) -> Ratio {
        self.ended = load.young;
        let packets = RAREST.saturating_mul(load.subflows);
        // Half as many more, since the number of packets is a guess.
        let enough = packets.saturating_mul(1_500_000) / load.segments.max(1);
        let least = match load.own {
            true => load.base.clamp(EVERY_READING, EVERY),
            false => EVERY_READING,
        };
        let lasts = Duration::from_micros(enough).clamp(least, EVERY);
        self.mark(now, load, Ratio::from_fraction(1, RAREST), lasts)
    }

    fn mark(&mut self, now: Instant, load: Load, dose: Ratio, lasts: Duration) -> Ratio {
        (self.dose, self.until) = (dose, now + lasts);
        self.rests = self.until + load.rtt * ROUNDS_TO_SEE;
        dose
    }
}
