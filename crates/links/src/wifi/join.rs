//! How a client joins an access point, and how it detects the loss of one.
//!
//! # Sources
//! - 802.11-2020 §11.1.4 (scanning), §11.3 (authentication and association). RFC 2131 §3.1, §4.1 (four
//!   messages, back-off).
//! - Linux `net/mac80211/mlme.c`: a probe after 7 missed beacons; `IEEE80211_AUTH_TIMEOUT` and
//!   `IEEE80211_AUTH_MAX_TRIES`.
//!
//! # Where we differ, and why
//! 1. Management frames other than beacons take no airtime (six frames of under half a millisecond per
//!    association). The signal decides their loss like that of all frames, at the lowest rate.
//! 2. The probe times out after 100 ms, as this project's plan says. mac80211 waits 500 ms.
//! 3. DHCP's retransmission times are not randomised by ± 1 s.
//!
//! # Checked by
//! `tests/join.rs`.

use units::wifi::Standard;
use units::{Duration, Instant, Rng};

use super::airtime::ATTEMPTS;
use super::phy;
use crate::LinkState;
use crate::config::Join;

/// Consecutive missed beacons before the client probes the access point.
const MISSED_BEACONS: u32 = 7;

/// Timeout of the probe's reply.
const PROBE_WAIT: Duration = Duration::from_millis(100);

/// Length of a management frame with header and FCS, in bytes.
const MANAGEMENT_BYTES: u32 = 100;

/// Probability that both a frame and its reply get through, including retransmissions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach(f64);

impl Reach {
    pub(super) const NOWHERE: Self = Self(0.0);

    pub(super) fn at(standard: Standard, up_db: f64, down_db: f64) -> Self {
        let arrives = |snr| {
            let lost = phy::loss(standard, standard.basic_rate(), snr, MANAGEMENT_BYTES);
            1.0 - (0..ATTEMPTS).fold(1.0, |power, _| power * lost)
        };
        Self(arrives(up_db) * arrives(down_db))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Out,
    Scanning { tries: u32 },
    Associating { tries: u32 },
    Addressing { wait: Duration },
    In,
}

/// The client's side of one association.
#[derive(Debug)]
pub(super) struct Joining {
    config: Join,
    rng: Rng,
    phase: Phase,
    /// End of the phase.
    until: Option<Instant>,
    missed: u32,
    /// Deadline of the probe's reply.
    probe: Option<Instant>,
    /// Whether a fault drops DHCP messages.
    pub(super) blackhole: bool,
}

impl Joining {
    pub(super) fn new(config: Join, rng: Rng) -> Self {
        Self {
            config,
            rng,
            phase: Phase::Out,
            until: None,
            missed: 0,
            probe: None,
            blackhole: false,
        }
    }

    pub(super) fn state(&self) -> LinkState {
        match self.phase {
            Phase::Out => LinkState::Down,
            Phase::Scanning { .. } | Phase::Associating { .. } => LinkState::Joining,
            Phase::Addressing { .. } => LinkState::Carrier,
            Phase::In => LinkState::Up,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.until.into_iter().chain(self.probe).min()
    }

    /// Starts joining.
    pub(super) fn associate(&mut self, now: Instant) {
        if self.phase == Phase::Out {
            self.enter(Phase::Scanning { tries: 0 }, now + self.config.scan);
        }
    }

    /// Ends the association, for whatever reason.
    pub(super) fn leave(&mut self) {
        self.phase = Phase::Out;
        self.until = None;
        self.probe = None;
        self.missed = 0;
    }

    /// Records that a beacon was heard or missed.
    pub(super) fn beacon(&mut self, now: Instant, heard: bool) {
        if heard {
            self.missed = 0;
            self.probe = None;
        } else if matches!(self.phase, Phase::Addressing { .. } | Phase::In) {
            self.missed += 1;
            if self.missed >= MISSED_BEACONS && self.probe.is_none() {
                self.probe = Some(now + PROBE_WAIT);
            }
        }
    }

    /// Runs what is due.
    pub(super) fn step(&mut self, now: Instant, reach: Reach) {
        if self.probe.is_some_and(|due| due <= now) {
            self.probe_over(reach);
        }
        if self.until.is_some_and(|due| due <= now) {
            self.phase_over(now, reach);
        }
    }

    fn probe_over(&mut self, reach: Reach) {
        if self.answers(reach.0) {
            self.missed = 0;
            self.probe = None;
        } else {
            self.leave();
        }
    }

    fn phase_over(&mut self, now: Instant, reach: Reach) {
        match self.phase {
            Phase::Scanning { tries } => self.scanned(now, tries, reach),
            Phase::Associating { tries } => self.associated(now, tries, reach),
            Phase::Addressing { wait } => self.addressed(now, wait, reach),
            Phase::Out | Phase::In => self.until = None,
        }
    }

    fn scanned(&mut self, now: Instant, tries: u32, reach: Reach) {
        if self.answers(reach.0) {
            self.enter(Phase::Associating { tries: 0 }, now + self.config.associate);
        } else if tries + 1 < self.config.attempts {
            self.enter(Phase::Scanning { tries: tries + 1 }, now + self.config.scan);
        } else {
            self.leave();
        }
    }

    /// Two exchanges: authentication and association.
    fn associated(&mut self, now: Instant, tries: u32, reach: Reach) {
        if self.answers(reach.0 * reach.0) {
            let wait = self.config.dhcp_retry;
            self.enter(Phase::Addressing { wait }, now + self.config.dhcp);
        } else if tries + 1 < self.config.attempts {
            self.enter(Phase::Associating { tries: tries + 1 }, now + self.config.retry);
        } else {
            self.leave();
        }
    }

    /// Four messages, two exchanges.
    fn addressed(&mut self, now: Instant, wait: Duration, reach: Reach) {
        if self.answers(reach.0 * reach.0) && !self.blackhole {
            self.phase = Phase::In;
            self.until = None;
        } else {
            let longer = (wait * 2).min(self.config.dhcp_retry * 16);
            self.enter(Phase::Addressing { wait: longer }, now + wait);
        }
    }

    fn enter(&mut self, phase: Phase, until: Instant) {
        self.phase = phase;
        self.until = Some(until);
    }

    fn answers(&mut self, odds: f64) -> bool {
        self.rng.unit() < odds
    }
}
