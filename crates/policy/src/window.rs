//! How far ahead the peer may send on one connection.
//!
//! A stock sender assigns megabytes to its subflows that it cannot send yet; whatever is on the wrong one holds up everything
//! behind it. The receiver's window bounds that: `W = f · Σ rate · longest base RTT` over the links in use.
//!
//! # Sources
//! - RFC 8684 §3.3.1: the window is of the connection, counted from the data-level acknowledgement.
//! - RFC 6182 §5.3: the buffer that multipath needs, `Σ rate · max RTT`, and twice that to survive a loss.
//!
//! # Where we differ, and why
//! 1. Base round-trip times, never the inflated ones: the queue is what is to be bounded.
//! 2. The window comes down slowly and goes up at once: too small costs goodput now, too large costs only if a link dies.
//!
//! # Checked by
//! `tests` below; `stall-drop` and `walk` in the benchmarks.

use units::{Bitrate, Bytes, Duration, Instant};

const LEAST: Bytes = Bytes::from_kib(96);
const MOST: Bytes = Bytes::from_kib(16 * 1024);
/// A connection that has brought less than this is left alone: the window of a short transfer never matters.
const WORTH_BOUNDING: Bytes = Bytes::from_kib(256);
/// How often the window may come down, by an eighth each time.
const STEP: Duration = Duration::from_millis(100);

/// The window of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    set: Option<Bytes>,
    stepped: Instant,
}

/// What the window is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// What the links in use can carry together.
    pub(crate) rate: Bitrate,
    /// The longest of their base round-trip times.
    pub(crate) rtt: Duration,
    /// Received on the connection so far.
    pub(crate) received: Bytes,
}

impl Need {
    /// Twice what is under way when every link is full.
    pub(crate) fn target(&self) -> Bytes {
        (self.rate * self.rtt * 2).clamp(LEAST, MOST)
    }
}

impl Window {
    /// A new window, if it is to change now.
    pub(crate) fn update(&mut self, now: Instant, need: Need) -> Option<Bytes> {
        if need.rate == Bitrate::ZERO || need.received < WORTH_BOUNDING {
            return None;
        }
        let target = need.target();
        let next = match self.set {
            None => (target * 4).min(MOST),
            Some(set) if target > set => target,
            Some(set) if now - self.stepped >= STEP => target.max(set - set / 8),
            Some(_) => return None,
        };
        if self.set.is_some_and(|set| next <= set && set - next < set / 16) {
            return None;
        }
        (self.set, self.stepped) = (Some(next), now);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(mbps: u64, rtt_ms: u64) -> Need {
        Need {
            rate: Bitrate::from_mbps(mbps),
            rtt: Duration::from_millis(rtt_ms),
            received: Bytes::from_kib(1_024),
        }
    }

    #[test]
    fn starts_wide_and_comes_down_to_twice_what_is_under_way() {
        let mut window = Window::default();
        let first = window.update(Instant::ZERO, need(90, 50)).unwrap();
        assert_eq!(first, need(90, 50).target() * 4);
        for n in 1..60 {
            window.update(Instant::from_millis(n * 100), need(90, 50));
        }
        let settled = window.set.unwrap();
        assert!(
            settled >= need(90, 50).target() && settled < need(90, 50).target() * 107 / 100,
            "{settled}"
        );
    }

    #[test]
    fn goes_up_at_once() {
        let mut window = Window::default();
        for n in 0..60 {
            window.update(Instant::from_millis(n * 100), need(30, 20));
        }
        let now = Instant::from_millis(6_001);
        assert_eq!(window.update(now, need(90, 50)), Some(need(90, 50).target()));
    }

    #[test]
    fn leaves_short_and_idle_connections_alone() {
        let mut window = Window::default();
        assert_eq!(
            window.update(
                Instant::ZERO,
                Need {
                    received: Bytes::from_kib(10),
                    ..need(90, 50)
                }
            ),
            None
        );
        assert_eq!(window.update(Instant::ZERO, need(0, 50)), None);
    }
}
