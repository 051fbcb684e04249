//! A link, and a subflow over it whose congestion window grows and is cut as Linux does it.
//!
//! # Sources
//! Linux 6.18:
//! - `net/ipv4/tcp_input.c`, `tcp_update_pacing_rate`: congestion window over smoothed round trip, times two
//!   in slow start and six fifths later.
//! - `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: the scheduler uses its mean over what was assigned.
//! - `include/net/tcp.h`, `tcp_is_cwnd_limited`: a congestion window grows while it is full, in slow start
//!   while half of it is used.
//! - `net/ipv4/tcp_output.c`, `tcp_cwnd_application_limited`: halfway to what was used, once per timeout in
//!   which it was not full. Not while the application waits for room in the sender's buffer.
//! - `net/ipv4/tcp_input.c`, `tcp_fastretrans_alert`: a loss is detected when later data is acknowledged. It
//!   then no longer counts as in flight, and is sent before anything new. There is one reduction for all that
//!   was in flight, and no growth until that is acknowledged.
//! - `net/ipv4/tcp_cong.c`, `tcp_reno_ssthresh`: by half.
//! - RFC 3168 §6.1.2: a mark counts as a loss, once in a round trip.
//!
//! # Where we differ, and why
//! 1. It moves blocks of three segments.
//! 2. One controller, Reno. No timeouts, and no losses other than by overflow.

use super::super::super::*;
use crate::estimate::arrivals::Arrivals;
use crate::estimate::carries::Carries;
use crate::estimate::tuning::BUSY_SEGMENTS;
use crate::io::SubflowId;
use crate::queue::aqm::{Load, Queue};
use crate::queue::queues::is_young;
use crate::queue::tuning::STARVED_PERCENT;
use alloc::collections::VecDeque;
use units::Ratio;

pub(super) const BLOCK: u64 = 3 * SEGMENT;
pub(super) const SEGMENT: u64 = 1_448;
/// The timeout beyond the round trip.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// The properties of a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) mbps: u64,
    pub(super) rtt_ms: u64,
    /// Its queue, in tenths of its product of rate and round trip.
    pub(super) queue_tenths: u64,
}

impl Shape {
    pub(super) fn rate(self) -> Bitrate {
        Bitrate::from_mbps(self.mbps)
    }

    pub(super) fn rtt(self) -> Duration {
        Duration::from_millis(self.rtt_ms)
    }

    fn queue(self) -> Duration {
        // Room for at least one burst of the sender.
        (self.rtt() * self.queue_tenths as u32 / 10).max(Duration::from_millis(20))
    }
}

/// A block that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    /// When the sender learns about it, or about what followed it.
    answered: Instant,
    /// The block, if it was lost.
    lost: Option<u64>,
}

/// A link, and the subflow over it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) shape: Shape,
    born: Instant,
    window: u64,
    threshold: u64,
    cut_at: Instant,
    /// When the congestion window was last full.
    full_at: Instant,
    /// When it was last cut to what is used of it, and the most used since.
    fitted_at: Instant,
    used: u64,
    smoothed_rtt: Duration,
    /// Bytes per second that the scheduler assumes for it.
    pace: u64,
    /// When all that was sent has left the queue.
    free_at: Instant,
    /// Blocks that wait for room in the congestion window: lost ones, then new ones.
    again: VecDeque<u64>,
    pub(super) unsent: VecDeque<u64>,
    under_way: VecDeque<Sent>,
    pub(super) arriving: VecDeque<(Instant, u64)>,
    pub(super) arrivals: Arrivals,
    pub(super) carries: Carries,
    pub(super) received: u64,
    /// The client's marking of its queue, if it is a cable.
    queue: Queue,
    /// A mark on its way: when the sender learns of it, and when that block was sent.
    mark: Option<(Instant, Instant)>,
}

impl Link {
    pub(super) fn new(now: Instant, shape: Shape) -> Self {
        let mut link = Self {
            shape,
            born: now,
            window: 10 * SEGMENT,
            threshold: u64::MAX,
            cut_at: now,
            full_at: now,
            fitted_at: now,
            used: 0,
            smoothed_rtt: shape.rtt(),
            pace: 0,
            free_at: now,
            again: VecDeque::new(),
            unsent: VecDeque::new(),
            under_way: VecDeque::new(),
            arriving: VecDeque::new(),
            arrivals: Arrivals::new(now),
            carries: Carries::default(),
            received: 0,
            queue: Queue::default(),
            mark: None,
        };
        link.pace = link.pacing_rate();
        link
    }

    /// Takes over what another link has not delivered, before anything new and in order.
    pub(super) fn again_for(&mut self, gone: Self) {
        let lost = gone.under_way.iter().filter_map(|sent| sent.lost);
        let arriving = gone.arriving.iter().map(|(_, block)| *block);
        let waiting = gone.again.iter().chain(&gone.unsent).copied();
        self.again.extend(lost.chain(arriving).chain(waiting));
        self.again.make_contiguous().sort_unstable();
    }

    fn in_flight(&self) -> u64 {
        self.under_way.len() as u64 * BLOCK
    }

    /// In bytes per second.
    fn pacing_rate(&self) -> u64 {
        let percent = if self.window < self.threshold / 2 {
            200
        } else {
            120
        };
        let window = u128::from(self.window * percent / 100);
        (window * 1_000_000_000 / self.smoothed_rtt.as_nanos()) as u64
    }

    fn queued(&self) -> u64 {
        (self.again.len() + self.unsent.len()) as u64 * BLOCK + self.in_flight()
    }

    /// Nanoseconds that its blocks would take at its pacing rate.
    pub(super) fn linger(&self) -> u128 {
        u128::from(self.queued()) * 1_000_000_000 / u128::from(self.pace)
    }

    /// Takes these blocks.
    pub(super) fn take(&mut self, blocks: core::ops::Range<u64>) {
        let (queued, burst) = (self.queued(), (blocks.end - blocks.start) * BLOCK);
        self.pace = (self.pace * queued + self.pacing_rate() * burst) / (queued + burst);
        self.unsent.extend(blocks);
    }

    pub(super) fn hear(&mut self, now: Instant) {
        if let Some((_, sent_at)) = self.mark.take_if(|(at, _)| *at <= now) {
            self.reduce(now, sent_at);
        }
        let before = self.in_flight();
        while let Some(sent) = self.under_way.pop_front_if(|sent| sent.answered <= now) {
            match sent.lost {
                Some(block) => {
                    self.again.push_back(block);
                    self.reduce(now, sent.at);
                }
                None => {
                    self.smoothed_rtt = (self.smoothed_rtt * 7 + (sent.answered - sent.at)) / 8;
                    self.grow(now, sent.at, before);
                }
            }
        }
    }

    fn is_busy(&self, now: Instant) -> bool {
        self.arrivals.recent_segments(now) >= BUSY_SEGMENTS
    }

    /// The round trip of its data: the base, and the queue.
    fn data_rtt(&self, now: Instant) -> Duration {
        self.shape.rtt() + (self.free_at - now)
    }

    pub(super) fn is_queued(&self, now: Instant) -> bool {
        self.is_busy(now) && self.data_rtt(now) >= self.shape.rtt() * 3 / 2
    }

    /// Its estimated capacity.
    pub(super) fn believe(&mut self, now: Instant) -> Bitrate {
        let best = self.arrivals.best_rate(now);
        self.carries
            .look(now, best, self.data_rtt(now) >= self.shape.rtt() * 3 / 2);
        self.carries.rate()
    }

    /// The rate of its last round trip, or its estimated capacity.
    pub(super) fn goodput(&self, now: Instant) -> Bitrate {
        let (_, lately) = self.arrivals.lately(now, self.shape.rtt());
        self.carries.rate().max(lately)
    }

    /// Whether it receives less than it has shown it can carry.
    pub(super) fn is_starved(&self, now: Instant) -> bool {
        let [rate, shown] = [self.arrivals.rate(now), self.arrivals.best_rate(now)];
        rate < shown.percent(STARVED_PERCENT) && self.data_rtt(now) < self.shape.rtt() * 3 / 2
    }

    /// Checks whether its queue is to be marked.
    pub(super) fn look(&mut self, now: Instant, marks: bool) {
        if !marks {
            return self.queue.ignore();
        }
        let (base, rtt) = (self.shape.rtt(), self.data_rtt(now));
        let load = Load {
            base,
            rtt,
            segments: self.arrivals.recent_segments(now) * 10 / 3,
            subflows: 1,
            young: is_young(now - self.born, base).then_some(SubflowId(0)),
            own: false,
            beside: Duration::ZERO,
        };
        if self.is_busy(now) && self.queue.look(now, load) > Ratio::ZERO {
            self.mark = Some((now + base / 2, now - (rtt - base / 2)));
        }
    }

    fn reduce(&mut self, now: Instant, sent_at: Instant) {
        if sent_at >= self.cut_at {
            self.threshold = (self.window / 2).max(2 * SEGMENT);
            (self.window, self.cut_at) = (self.threshold.max(BLOCK), now);
        }
    }

    fn grow(&mut self, now: Instant, sent_at: Instant, in_flight: u64) {
        let is_full = now - self.full_at <= self.smoothed_rtt;
        if sent_at < self.cut_at {
            return;
        }
        if self.window < self.threshold {
            self.window += if is_full || self.window < 2 * in_flight {
                BLOCK
            } else {
                0
            };
        } else if is_full {
            self.window += SEGMENT * BLOCK / self.window;
        }
    }

    /// Shrinks the congestion window while the application leaves it idle.
    pub(super) fn fit(&mut self, now: Instant) {
        if now - self.full_at.max(self.fitted_at) < self.smoothed_rtt + LEAST_TIMEOUT {
            return;
        }
        let used = self.used.max(10 * SEGMENT);
        if used < self.window {
            self.threshold = self.threshold.max(self.window * 3 / 4);
            self.window = (self.window + used) / 2;
        }
        (self.fitted_at, self.used) = (now, 0);
    }

    pub(super) fn send(&mut self, now: Instant) {
        while self.in_flight() + BLOCK <= self.window {
            let Some(block) = self.again.pop_front().or_else(|| self.unsent.pop_front()) else {
                return;
            };
            self.transmit(now, block);
        }
        self.full_at = now;
    }

    fn transmit(&mut self, now: Instant, block: u64) {
        self.used = self.used.max(self.in_flight());
        let queue = self.free_at - now;
        if queue > self.shape.queue() {
            let answered = now + queue + self.shape.rtt();
            let lost = Some(block);
            return self.under_way.push_back(Sent {
                at: now,
                answered,
                lost,
            });
        }
        self.free_at = self.free_at.max(now) + self.shape.rate().time_for(Bytes::new(BLOCK)).unwrap();
        let one_way = self.shape.rtt() / 2;
        self.arriving.push_back((self.free_at + one_way, block));
        self.under_way.push_back(Sent {
            at: now,
            answered: self.free_at + one_way * 2,
            lost: None,
        });
    }
}
