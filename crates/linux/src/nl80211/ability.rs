//! How many access points a card can join at once, and what stands in the way.
//!
//! # Sources
//! - `net/wireless/util.c` (Linux 6.18), `cfg80211_iter_combinations`: a combination allows a set of interfaces
//!   if each type stays within every limit that names it. Types in software do not count.
//!
//! # Where we differ, and why
//! 1. A driver may refuse a second address even if its combination allows a second interface. Only an attempt
//!    shows that, and none is made here.
//!
//! # Checked by
//! `nl80211::tests`: combinations of real drivers.

use super::kinds::Kind;
use super::rfkill::Block;
use super::wiphy::{Combination, Wiphy};
use std::fmt;

/// What a card can do for slowhand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ability {
    /// Most access points at once on one channel.
    pub access_points: u32,
    /// Most channels at once with more than one access point.
    pub channels: u32,
    /// Whether every frame can be heard.
    pub monitor: Monitor,
}

/// Whether a monitor interface can exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitor {
    /// Beside associations.
    Beside,
    /// Only without associations.
    Alone,
    /// Not at all.
    Never,
}

/// What a card can do.
pub fn of(wiphy: &Wiphy) -> Ability {
    let stations = |combination: &Combination| {
        if wiphy.software.has(Kind::Station) {
            return combination.most;
        }
        let limits = combination.limits.iter();
        let named = limits.filter(|limit| limit.kinds.has(Kind::Station));
        named
            .map(|limit| limit.most)
            .min()
            .map_or(0, |most| most.min(combination.most))
    };
    let can_join = wiphy.supported.has(Kind::Station);
    // One interface may exist without any combination.
    let access_points = wiphy.combinations.iter().map(stations).max().unwrap_or(1).max(1);
    let several = wiphy
        .combinations
        .iter()
        .filter(|combination| stations(combination) > 1);
    Ability {
        access_points: if can_join { access_points } else { 0 },
        channels: several
            .map(|combination| combination.channels.min(stations(combination)))
            .max()
            .unwrap_or(1)
            .max(1),
        monitor: monitor(wiphy),
    }
}

fn monitor(wiphy: &Wiphy) -> Monitor {
    let has_both = |combination: &Combination| {
        let named = |kind| combination.limits.iter().any(|limit| limit.kinds.has(kind));
        let shared = combination
            .limits
            .iter()
            .filter(|limit| limit.kinds.has(Kind::Monitor) && limit.kinds.has(Kind::Station));
        named(Kind::Station)
            && named(Kind::Monitor)
            && combination.most > 1
            && shared.map(|limit| limit.most).min().unwrap_or(2) > 1
    };
    if !wiphy.supported.has(Kind::Monitor) && !wiphy.software.has(Kind::Monitor) {
        Monitor::Never
    } else if wiphy.software.has(Kind::Monitor) || wiphy.combinations.iter().any(has_both) {
        Monitor::Beside
    } else {
        Monitor::Alone
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.access_points {
            0 => f.write_str("no access point at all")?,
            1 => f.write_str("1 access point at a time")?,
            several => write!(f, "{several} access points at once on one channel")?,
        }
        match self.channels {
            1 => f.write_str("; one channel at a time")?,
            several => write!(f, "; {several} channels at once")?,
        }
        f.write_str(match self.monitor {
            Monitor::Beside => "; monitor beside them: yes",
            Monitor::Alone => "; monitor beside them: no, only alone",
            Monitor::Never => "; monitor beside them: no",
        })
    }
}

/// What stands in the way of a card's use, each with its remedy. Empty if nothing does.
pub fn obstacles(ability: &Ability, block: Option<Block>, country: Option<[u8; 2]>) -> Vec<&'static str> {
    const WORLD: [u8; 2] = *b"00";
    let mut obstacles = Vec::new();
    match block {
        Some(Block::Hard) => {
            obstacles.push("switched off by a hardware switch or the firmware; use the switch or the BIOS setup");
        }
        Some(Block::Soft) => obstacles.push("switched off; run `rfkill unblock wifi`"),
        None => {}
    }
    match ability.access_points {
        0 => obstacles.push("its driver has no station interface; use another card"),
        1 => obstacles.push(
            "its driver allows one station interface; for two access points at once add a second card",
        ),
        _ => {}
    }
    if ability.monitor != Monitor::Beside {
        obstacles.push(
            "frames cannot be heard beside an association; retries are then known only from the driver's own counters",
        );
    }
    if country == Some(WORLD) {
        obstacles.push("no country is set, so channels are closed or passive; run `iw reg set` with yours");
    }
    obstacles
}
