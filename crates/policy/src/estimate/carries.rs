//! What a link carries, by what a subflow over it has brought: a rate that was shown once counts until a queue before the link refutes it.
//!
//! What arrives over a link is what the link carries only while a queue stands before it. Without one it is what the sender gave it, and that
//! follows the connection's window: if the window went by it, a link that is given less would for that be given less again.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`, `bbr_update_bw`: a sample that was not limited by the path may raise the estimate and never lowers it.
//!
//! # Where we differ, and why
//! 1. A receiver does not see what limits the sender; the queue tells it: a path that is full delays.
//! 2. A link that loses at random is full without a queue, if its sender gives way to that: what it brings is what it carries. That it gives way shows where less
//!    than half of what is believed comes; a window that gives a link too little costs less than that. An application that asks for
//!    little looks the same; for its sake the connection goes on believing ([`crate::window`], its point 8). Without this rule what slow start
//!    had shown before the first loss was believed for good: 6 to 9 Mb/s of two links under reno that brought 1.3, and 1.1 MB of window.
//!    Nor is a link believed while its signal sinks.
//!
//! # Checked by
//! `tests`; the window against a fluid model of links and sender (`window::tests::fluid`), `window-never-worse` in the benchmarks.

use units::{Bitrate, Duration, Instant};

/// A queue comes and goes with its sender's congestion window: so long after it what has come since is what the link carries.
const MEMORY: Duration = Duration::from_secs(10);
/// Where losses go on, and so little comes of what is believed, it is the losses.
const GIVES_WAY_PERCENT: u64 = 50;

/// The belief of one subflow's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Carries {
    rate: Bitrate,
    refuted: Option<Instant>,
}

impl Carries {
    /// Takes in the best rate of the last seconds, and whether what comes now is all that the link carries.
    pub(crate) fn look(&mut self, now: Instant, best: Bitrate, full: bool) {
        if full {
            self.refuted = Some(now);
        }
        let refuted = self.refuted.is_some_and(|at| now - at <= MEMORY);
        self.rate = if refuted { best } else { self.rate.max(best) };
    }

    /// Whether so little comes that losses, if they go on, are the reason.
    pub(crate) fn gives_way(&self, best: Bitrate) -> bool {
        best < self.rate.percent(GIVES_WAY_PERCENT)
    }

    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn mbps(mbps: u64) -> Bitrate {
        Bitrate::from_mbps(mbps)
    }

    #[test]
    fn what_is_given_less_carries_as_much_as_before() {
        let mut carries = Carries::default();
        carries.look(Instant::from_secs(1), mbps(30), true);
        carries.look(Instant::from_secs(12), mbps(30), false);
        carries.look(Instant::from_secs(600), mbps(3), false);
        assert_eq!(carries.rate(), mbps(30));
        carries.look(Instant::from_secs(601), mbps(40), false);
        assert_eq!(carries.rate(), mbps(40));
    }

    #[test]
    fn a_sender_that_gives_way_to_losses_brings_less_than_half() {
        let mut carries = Carries::default();
        assert!(!carries.gives_way(Bitrate::ZERO), "nothing is believed yet");
        carries.look(Instant::from_secs(1), mbps(30), false);
        assert!(carries.gives_way(mbps(14)));
        assert!(!carries.gives_way(mbps(15)), "a window may be the reason");
    }

    #[test]
    fn a_queue_says_what_it_carries_now_and_for_some_seconds() {
        let mut carries = Carries::default();
        carries.look(Instant::from_secs(1), mbps(30), false);
        carries.look(Instant::from_secs(20), mbps(15), true);
        assert_eq!(carries.rate(), mbps(15));
        carries.look(Instant::from_secs(30), mbps(14), false);
        assert_eq!(carries.rate(), mbps(14));
        carries.look(Instant::from_secs(31), mbps(10), false);
        assert_eq!(carries.rate(), mbps(14));
    }
}
