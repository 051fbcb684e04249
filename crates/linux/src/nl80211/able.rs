//! What a radio can do at once, and what limits it.
//!
//! # Sources
//! - `net/wireless/util.c` (Linux 6.18), `cfg80211_iter_combinations`: an interface counts against every
//!   limit that has its type, and against the total. Types made of software do not count.
//!
//! # Where we differ, and why
//! 1. Only station interfaces and a monitor are considered: slowhand makes no others.
//!
//! # Checked by
//! `nl80211::tests`, with the combinations of four drivers.

use super::interface::IfType;
use super::rfkill::Switch;
use super::wiphy::{Combination, Wiphy};

/// What a radio can do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Able {
    /// Station interfaces, which is the number of access points on one channel.
    pub stations: u32,
    /// Channels on which these can be.
    pub channels: u32,
    /// A monitor interface can exist beside them.
    pub monitor: bool,
}

impl Able {
    /// What `wiphy` can do.
    pub fn of(wiphy: &Wiphy) -> Self {
        let fallback = u32::from(wiphy.supports(IfType::Station));
        let best = wiphy
            .combinations
            .iter()
            .max_by_key(|combination| (stations(combination), combination.channels));
        let several = wiphy.combinations.iter().filter(|one| stations(one) >= 2);
        Self {
            stations: best.map_or(fallback, stations).max(fallback),
            channels: several.map(|one| one.channels).max().unwrap_or(1).max(1),
            monitor: has_monitor_beside(wiphy),
        }
    }
}

/// Station interfaces that fit into a combination. They must stay within every limit that has their type.
fn stations(combination: &Combination) -> u32 {
    let limits = combination.limits.iter();
    let limits = limits.filter(|limit| limit.types.has(IfType::Station));
    let least = limits.map(|limit| limit.most).min().unwrap_or(0);
    least.min(combination.most)
}

/// Whether a monitor interface can exist beside as many station interfaces as are possible.
fn has_monitor_beside(wiphy: &Wiphy) -> bool {
    let beside = |combination: &Combination| {
        let limits = || combination.limits.iter();
        let own = |types: super::Types| types.has(IfType::Monitor) && !types.has(IfType::Station);
        let separate = limits().any(|limit| own(limit.types));
        let shared = limits().any(|limit| {
            limit.most >= 2 && limit.types.has(IfType::Monitor) && limit.types.has(IfType::Station)
        });
        stations(combination) >= 1 && combination.most >= 2 && (separate || shared)
    };
    wiphy.software.has(IfType::Monitor) || wiphy.combinations.iter().any(beside)
}

/// What is found about a radio. `Ok`: what it can do. `Err`: what limits it, with the remedy.
///
/// `interfaces` are the names of its interfaces, and `switches` those of the host.
pub fn finding(wiphy: &Wiphy, interfaces: &[&str], switches: &[Switch]) -> Result<String, String> {
    let name = if interfaces.is_empty() {
        wiphy.name.clone()
    } else {
        format!("{} ({})", wiphy.name, interfaces.join(", "))
    };
    let able = Able::of(wiphy);
    if able.stations == 0 {
        return Err(format!(
            "{name} cannot join access points: its driver has no station interfaces; use another card"
        ));
    }
    let words = format!("{name}: {}", in_words(able));
    let mut obstacles: Vec<&str> = Vec::new();
    if let Some(switch) = switches.iter().find(|switch| switch.name == wiphy.name) {
        obstacles.extend(
            switch
                .hard
                .then_some("a switch on the device turns it off; turn it on there"),
        );
        obstacles.extend((switch.soft && !switch.hard).then_some("it is blocked; run `rfkill unblock wifi`"));
    }
    if !wiphy.frequencies.is_empty() && wiphy.frequencies.iter().all(|channel| channel.disabled) {
        obstacles.push("the regulatory domain allows no channel; set the country with `iw reg set`");
    }
    obstacles.extend((!able.monitor).then_some(NO_MONITOR));
    obstacles.extend((able.stations == 1).then_some(ONE_STATION));
    if obstacles.is_empty() {
        Ok(words)
    } else {
        Err(format!("{words}. {}", obstacles.join("; ")))
    }
}

const NO_MONITOR: &str = "without a monitor interface, losses and airtime follow from the driver's counters alone; a card whose \
                          driver uses mac80211 has one";
const ONE_STATION: &str =
    "the driver allows one station interface; add a second adapter to join two access points at once";

fn in_words(able: Able) -> String {
    let points = match able.stations {
        1 => "1 access point at a time".to_owned(),
        stations => format!("{stations} access points at once on one channel"),
    };
    let channels = match able.channels {
        1 => "one channel at a time".to_owned(),
        channels => format!("{channels} channels at a time"),
    };
    let monitor = if able.monitor { "yes" } else { "no" };
    let whom = if able.stations == 1 { "it" } else { "them" };
    format!("{points}; {channels}; monitor beside {whom}: {monitor}")
}
