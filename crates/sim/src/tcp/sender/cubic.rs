//! CUBIC with Linux's end of the first slow start.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_cubic.c` (`hystart_update`, `cubictcp_cong_avoid`). [`policy::cc::Cubic`] for
//!   the curve.
//!
//! # Checked by
//! `tests/hosts.rs`: CUBIC fills a link.

use policy::cc::{Cubic, Increase};
use units::{Duration, Instant};

/// Smallest window whose RTT is watched (`hystart_low_window`).
const LEAST_WINDOW: u32 = 16;
/// Samples of a round (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u8 = 8;
/// Limits of the growth of the RTT that ends slow start.
const LEAST_DELAY: Duration = Duration::from_millis(4);
const MOST_DELAY: Duration = Duration::from_millis(16);
/// ACKs this close together form a train (`hystart_ack_delta_us`).
const TRAIN: Duration = Duration::from_millis(2);

/// CUBIC's state of a path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CubicPath {
    curve: Cubic,
    start: Start,
}

/// State of the first slow start.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    began: Instant,
    last_ack: Instant,
    until: u64,
    shortest: Option<Duration>,
    samples: u8,
}

/// An ACK in slow start.
#[derive(Debug, Clone, Copy)]
pub(super) struct AckInStart {
    pub(super) now: Instant,
    pub(super) cwnd: u32,
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) rtt: Duration,
    pub(super) min_rtt: Duration,
}

impl CubicPath {
    /// Growth per segment, after an ACK of `acked` segments.
    pub(super) fn increase(&mut self, now: Instant, acked: u32, cwnd: u32, min_rtt: Duration) -> Increase {
        let (now_us, min_rtt_us) = (now.as_nanos() / 1_000, min_rtt.as_micros() as u32);
        self.curve.increase(now_us, acked, cwnd, min_rtt_us)
    }

    /// A retransmission time-out forgets the last window.
    pub(super) fn timed_out(&mut self) {
        self.curve.reset();
    }

    pub(super) fn after_loss(&mut self, cwnd: u32) -> u32 {
        self.curve.after_loss(cwnd)
    }

    /// Whether slow start is over.
    pub(super) fn ends_start(&mut self, ack: AckInStart) -> bool {
        let start = &mut self.start;
        if ack.first > start.until {
            *start = Start {
                began: ack.now,
                last_ack: ack.now,
                until: ack.end,
                shortest: None,
                samples: 0,
            };
        }
        if ack.cwnd < LEAST_WINDOW {
            return false;
        }
        if ack.now - start.last_ack <= TRAIN {
            start.last_ack = ack.now;
            if ack.now - start.began > ack.min_rtt / 2 {
                return true;
            }
        }
        start.shortest = Some(start.shortest.map_or(ack.rtt, |shortest| shortest.min(ack.rtt)));
        if start.samples < SAMPLES {
            start.samples += 1;
            return false;
        }
        let more = (ack.min_rtt / 8).clamp(LEAST_DELAY, MOST_DELAY);
        start
            .shortest
            .is_some_and(|shortest| shortest > ack.min_rtt + more)
    }
}
