//! What the links can carry, also while the application asks for less.
//!
//! Rates are read from what arrives, and forgotten after ten seconds. Where the application asks for little,
//! what arrives is the application's rate: taken for the links', it makes a window in which the application
//! cannot ask for more at once, and of which the experiments then take away what it does not use. So while
//! little is asked for, what the links have shown before is believed.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`, `bbr_update_bw`: a rate sample taken while the application was the
//!   limit may raise the estimate, and never lowers it.
//! - RFC 7661 §4: so with congestion windows: one that the application does not use is kept for some minutes.
//!
//! # Where we differ, and why
//! 1. A receiver does not see whether the sender had more to send. That little arrives and no queue stands
//!    before any busy link says so: a link that has become slow has the old rate's window queued before it.
//! 2. Never across a change of links: what is gone carries nothing. Nor while a signal sinks.
//! 3. What is no longer believed is not believed again: otherwise a link that has become slow would be given
//!    its old window as soon as the queue is gone.
//!
//! # Checked by
//! `window::tests`, also against a fluid model of links and sender.

use super::Need;
use units::{Bitrate, Bytes, Duration, Instant};

/// Percent of what the links can carry: with less, it is the application that decides.
pub(super) const LITTLE_PERCENT: u64 = 40;
/// Over such times it is seen how much arrives.
const SPAN: Duration = Duration::from_secs(1);

/// What is believed of the links of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    believed: Bitrate,
    /// How many links these are.
    links: usize,
    /// Whether little was asked for in the last whole span.
    little: bool,
    since: Instant,
    at_since: Bytes,
}

impl Asked {
    /// What the links can carry together.
    pub(super) fn capacity(&mut self, now: Instant, need: &Need) -> Bitrate {
        self.note(now, need.received);
        let same = core::mem::replace(&mut self.links, need.links) == need.links;
        let says_nothing = self.little && same && !need.queued && !need.sinking;
        self.believed = if says_nothing {
            self.believed.max(need.rate)
        } else {
            need.rate
        };
        self.believed
    }

    /// What was believed at the last look.
    pub(super) const fn believed(&self) -> Bitrate {
        self.believed
    }

    fn note(&mut self, now: Instant, received: Bytes) {
        if now - self.since < SPAN {
            return;
        }
        let rate = received.saturating_sub(self.at_since).per(now - self.since);
        self.little = rate < self.believed.percent(LITTLE_PERCENT);
        (self.since, self.at_since) = (now, received);
    }
}
