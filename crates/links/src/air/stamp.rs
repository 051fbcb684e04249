//! Tokens of datagrams: which flow one belongs to, and when it was sent.
//!
//! # Where we differ, and why
//! 1. The time wraps after 18 minutes, so that flow and time fit into the 60 bits that a packet of nobody's
//!    association has. No datagram waits that long.
//!
//! # Checked by
//! `tests` below.

use units::{Duration, Instant};

/// Bits of the time, in nanoseconds.
const TIME_BITS: u32 = 40;
const TIME: u64 = (1 << TIME_BITS) - 1;

/// Flow and time of a datagram, as a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// Number of bits that name the flow. They are the lowest ones of a token.
    pub const FLOW_BITS: u32 = 20;

    /// The stamp of a datagram of this flow that is sent now.
    pub fn new(flow: u32, now: Instant) -> Self {
        debug_assert!(flow >> Self::FLOW_BITS == 0, "flows have 20 bits");
        Self((now.as_nanos() & TIME) << Self::FLOW_BITS | u64::from(flow))
    }

    /// The stamp in a token.
    pub const fn read(token: u64) -> Self {
        Self(token)
    }

    /// The token.
    pub const fn token(self) -> u64 {
        self.0
    }

    /// The flow.
    pub const fn flow(self) -> u32 {
        (self.0 & ((1 << Self::FLOW_BITS) - 1)) as u32
    }

    /// Time since the datagram was sent.
    pub const fn age(self, now: Instant) -> Duration {
        let sent = self.0 >> Self::FLOW_BITS;
        Duration::from_nanos(now.as_nanos().wrapping_sub(sent) & TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_flow_and_its_age_across_a_wrap() {
        for sent in [0, 1_000, TIME, TIME + 1, 3 * TIME] {
            let sent = Instant::from_nanos(sent);
            let stamp = Stamp::read(Stamp::new(0xf_fffe, sent).token());
            assert_eq!(stamp.flow(), 0xf_fffe);
            assert!(stamp.token() >> 60 == 0, "the upper bits are free");
            for age in [
                Duration::ZERO,
                Duration::from_nanos(1),
                Duration::from_secs(1_000),
            ] {
                assert_eq!(stamp.age(sent + age), age);
            }
        }
    }
}
