//! The capacity of the links, also while the application asks for less.
//!
//! Rates are measured on what arrives, and forgotten after ten seconds. If the application asks for little,
//! what arrives is the application's rate. Used as the links' rate, it makes a window in which the
//! application cannot ask for more at once. So while the demand is low, the capacity shown earlier stays
//! valid.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`, `bbr_update_bw`: an application-limited rate sample may raise the
//!   estimate, and never lowers it.
//! - RFC 7661 §4: the same for congestion windows: one that the application does not use stays valid for some
//!   minutes.
//!
//! # Where we differ, and why
//! 1. A receiver does not see whether the sender had more to send. The sign is that little arrives while no
//!    busy link has a queue: a link that has become slow has a queue of the old rate's window.
//! 2. Never across a change of links: a link that is gone carries nothing. Never while a signal falls.
//! 3. A dropped estimate does not return. Otherwise a link that has become slow would get its old window as
//!    soon as its queue is gone.
//!
//! # Checked by
//! `window::tests`, also against a fluid model of links and sender.

use super::Need;
use super::tuning::{LITTLE_PERCENT, SPAN};
use crate::estimate::meter::{Mark, rate_since};
use units::{Bitrate, Bytes, Instant};

/// The estimated capacity of one connection's links.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    believed: Bitrate,
    /// The number of links.
    links: usize,
    /// Whether demand was low in the last whole interval.
    is_app_limited: bool,
    since: Mark,
}

impl Asked {
    /// The capacity of all links together.
    pub(super) fn capacity(&mut self, now: Instant, need: &Need) -> Bitrate {
        self.note(now, need.received);
        let same = core::mem::replace(&mut self.links, need.links) == need.links;
        let says_nothing = self.is_app_limited && same && !need.queued && !need.sinking;
        self.believed = if says_nothing {
            self.believed.max(need.rate)
        } else {
            need.rate
        };
        self.believed
    }

    /// The capacity at the last update.
    pub(super) const fn believed(&self) -> Bitrate {
        self.believed
    }

    fn note(&mut self, now: Instant, received: Bytes) {
        if now - self.since.0 < SPAN {
            return;
        }
        let rate = rate_since(self.since, now, received);
        self.is_app_limited = rate < self.believed.percent(LITTLE_PERCENT);
        self.since = (now, received);
    }
}
