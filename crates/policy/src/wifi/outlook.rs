//! Reports how the signal of each WiFi link in use develops, to whoever controls a sender's windows.
//!
//! # Sources
//! - cla §IV: the mobile reports the mobility index and the quality of each path to the sender, and the time
//!   of a handoff. [`crate::cc::MobileStage`] is what the sender does with them.
//!
//! # Where we differ, and why
//! 1. The paper's mobile reports all the time. Ours reports when a path begins to fade, while it fades, and
//!    when it stops fading.
//!
//! # Checked by
//! `tests/engine_air.rs`.

use crate::estimate::mobility::{HANDOFF, Trend};
use crate::estimate::signal::snr;
use crate::io::{Action, LinkId, Outlook, Verb, reason};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Db, Duration, Instant};

/// Interval between ticks.
const EVERY: Duration = Duration::from_millis(200);

/// The last report about each link that fades.
#[derive(Debug, Default)]
pub(crate) struct Outlooks {
    fading: BTreeMap<LinkId, Outlook>,
    next: Instant,
}

impl Outlook {
    fn of(trend: &Trend, candidate: Option<Db>) -> Self {
        Self {
            mobility_ppm: libm::round(trend.mobility_index() * 1e6) as i32,
            quality: trend.quality(candidate),
            fading: trend.is_fading(candidate),
            handoff_in: trend.time_to(HANDOFF),
        }
    }
}

impl Outlooks {
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        self.fading.retain(|link, _| state.paths.contains_key(link));
        let outlooks: Vec<(LinkId, Outlook)> = state
            .paths
            .iter()
            .filter(|(_, path)| path.is_wifi() && path.is_usable())
            .filter_map(|(&link, path)| Some((link, outlook(now, state, link, path)?)))
            .collect();
        for (link, outlook) in outlooks {
            self.tell(state, link, outlook);
        }
    }

    /// Drops the last report about a link: its signal is that of another access point.
    pub(crate) fn forget(&mut self, link: LinkId) {
        self.fading.remove(&link);
    }

    fn tell(&mut self, state: &mut State, link: LinkId, outlook: Outlook) {
        let before = if outlook.fading {
            self.fading.insert(link, outlook)
        } else {
            self.fading.remove(&link)
        };
        if before == Some(outlook) || (before.is_none() && !outlook.fading) {
            return;
        }
        state.push(Action::Outlook(link, outlook));
        if before.is_none() || !outlook.fading {
            state.remark(None, Some(link), Verb::Fade, reason_of(outlook));
        }
    }
}

fn outlook(now: Instant, state: &State, link: LinkId, path: &Path) -> Option<Outlook> {
    let trend = path.mobility.as_ref()?.trend(now)?;
    let others = state
        .paths
        .iter()
        .filter(|&(&other, path)| other != link && path.is_wifi() && path.beacons.count(now) > 0);
    let candidate = others.filter_map(|(_, other)| other.signal.mean().map(snr)).max();
    Some(Outlook::of(&trend, candidate))
}

const fn reason_of(outlook: Outlook) -> reason::Trend {
    if !outlook.fading {
        return reason::Trend::Steady;
    }
    reason::Trend::Falling {
        mobility_ppm: outlook.mobility_ppm,
        quality: outlook.quality,
        handoff_in: match outlook.handoff_in {
            Some(time) => time,
            None => Duration::ZERO,
        },
    }
}
