//! Rate that a link carries, from what a subflow over it has shown. A rate shown once counts until a queue at
//! the link refutes it.
//!
//! The arrival rate over a link is the link's capacity only while there is a queue in front of it. Otherwise
//! it is what the sender assigned to the link, and that follows the connection's window. If the window
//! followed the arrival rate, a link that is assigned less would then be assigned even less.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`, `bbr_update_bw`: a sample that was not limited by the path may raise
//!   the estimate and never lowers it.
//!
//! # Where we differ, and why
//! 1. A receiver does not see what limits the sender. The queue shows it: a full path adds delay.
//! 2. A link that loses at random can be full without a queue, if its sender backs off after losses. Its
//!    arrival rate is then what it carries. Such a sender shows when less than half of the believed rate
//!    arrives. A window that gives a link too little costs less than that. An application with little data
//!    looks the same. For its sake the connection keeps its belief ([`crate::window`], its point 8). Without
//!    this rule, the rate of slow start before the first loss was believed for good: 6 to 9 Mb/s for two
//!    links that carried 1.3 under reno, and a window of 1.1 MB. Nor is a link's rate believed while its
//!    signal gets weaker.
//!
//! # Checked by
//! `tests`. The window against a fluid model of links and sender (`window::tests::fluid`).
//! `window-never-worse` in the benchmarks.

use super::tuning::{GIVES_WAY_PERCENT, MEMORY};
use units::{Bitrate, Instant};

/// Believed rate of one subflow's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Carries {
    rate: Bitrate,
    refuted: Option<Instant>,
}

impl Carries {
    /// Takes in the best rate of the last seconds, and whether the current arrival rate is all that the link
    /// carries.
    pub(crate) fn look(&mut self, now: Instant, best: Bitrate, full: bool) {
        if full {
            self.refuted = Some(now);
        }
        let refuted = self.refuted.is_some_and(|at| now - at <= MEMORY);
        self.rate = if refuted { best } else { self.rate.max(best) };
    }

    /// Whether so little arrives that losses, if they continue, are the reason.
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
    fn a_link_that_is_assigned_less_keeps_its_rate() {
        let mut carries = Carries::default();
        carries.look(Instant::from_secs(1), mbps(30), true);
        carries.look(Instant::from_secs(12), mbps(30), false);
        carries.look(Instant::from_secs(600), mbps(3), false);
        assert_eq!(carries.rate(), mbps(30));
        carries.look(Instant::from_secs(601), mbps(40), false);
        assert_eq!(carries.rate(), mbps(40));
    }

    #[test]
    fn a_sender_that_backs_off_delivers_less_than_half() {
        let mut carries = Carries::default();
        assert!(!carries.gives_way(Bitrate::ZERO), "no rate is believed yet");
        carries.look(Instant::from_secs(1), mbps(30), false);
        assert!(carries.gives_way(mbps(14)));
        assert!(!carries.gives_way(mbps(15)), "a window may be the reason");
    }

    #[test]
    fn a_queue_sets_the_rate_for_some_seconds() {
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
