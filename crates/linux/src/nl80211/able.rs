//! What a radio can do at once, and what limits it.
//!
//! # Sources
//! - `net/wireless/util.c` (Linux 6.18), `cfg80211_iter_combinations`: an interface counts against every
//!   limit that has its type, and against the total. A combination is void if it lacks the type of one that
//!   is up. Types made of software do not count.
//!
//! # Where we differ, and why
//! 1. Only station interfaces and a monitor are considered: slowhand makes no others.
//!
//! # Checked by
//! `nl80211::tests`, with the combinations of four drivers; the trial `joins-crowded` of `guest`.

use super::interface::IfType;
use super::rfkill::Switch;
use super::wiphy::{Combination, Wiphy};

/// Most station interfaces that slowhand makes on a radio.
pub const MOST_STATIONS: u32 = 8;

/// What a radio can do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Able {
    /// Station interfaces, which is the number of access points on one channel.
    pub stations: u32,
    /// Channels on which these can be.
    pub channels: u32,
    /// It can look at another channel for a moment while it is connected.
    pub visits: bool,
    /// A monitor interface can exist beside them.
    pub monitor: bool,
}

impl Able {
    /// What `wiphy` can do.
    pub fn of(wiphy: &Wiphy) -> Self {
        let (stations, channels) = places_beside(wiphy, &[]);
        Self {
            stations,
            channels: channels.max(1),
            visits: wiphy.visits,
            monitor: has_monitor_beside(wiphy),
        }
    }
}

/// Station interfaces that fit beside interfaces of these types, which are up.
pub fn stations_beside(wiphy: &Wiphy, others: &[IfType]) -> u32 {
    places_beside(wiphy, others).0
}

/// The same, with the number of channels on which they and the others can be: both of the combination that
/// has the most stations. Another one may have more channels, but not for as many stations.
pub fn places_beside(wiphy: &Wiphy, others: &[IfType]) -> (u32, u32) {
    let counted = others.iter().filter(|kind| !wiphy.software.has(**kind));
    let counted = Vec::from_iter(counted.copied());
    let alone = u32::from(wiphy.supports(IfType::Station) && counted.is_empty());
    let places = wiphy.combinations.iter().map(|combination| {
        let stations = stations(combination, &counted).min(MOST_STATIONS);
        // What the others hold is a channel, too.
        (
            stations,
            combination.channels.min(stations + counted.len() as u32),
        )
    });
    places.chain([(alone, alone)]).max().unwrap_or_default()
}

/// Station interfaces that fit into a combination beside others. All must stay within every limit that has
/// their type, and each type must have one.
fn stations(combination: &Combination, others: &[IfType]) -> u32 {
    let limits = || combination.limits.iter();
    let taken = |types: super::Types| others.iter().filter(|kind| types.has(**kind)).count() as u32;
    let has_limit = |kind: &IfType| limits().any(|limit| limit.types.has(*kind));
    if !others.iter().all(has_limit) || limits().any(|limit| taken(limit.types) > limit.most) {
        return 0;
    }
    let own = limits().filter(|limit| limit.types.has(IfType::Station));
    let left = own.map(|limit| limit.most - taken(limit.types)).min();
    let total = combination.most.saturating_sub(others.len() as u32);
    left.unwrap_or(0).min(total)
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
        stations(combination, &[]) >= 1 && combination.most >= 2 && (separate || shared)
    };
    wiphy.software.has(IfType::Monitor) || wiphy.combinations.iter().any(beside)
}

/// What surrounds a radio.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// The names of its interfaces.
    pub interfaces: &'a [&'a str],
    /// The interfaces of other programs that are up.
    pub others: &'a [(&'a str, IfType)],
    /// Whether NetworkManager manages one of those, and can be told to leave it.
    pub managed: bool,
    /// The switches of the host.
    pub switches: &'a [Switch],
    /// The country whose rules it follows, as two letters. `None`: not known.
    pub country: Option<&'a str>,
}

/// What is found about a radio. `Ok`: what it can do. `Err`: what limits it, with the remedy.
pub fn finding(wiphy: &Wiphy, around: Around<'_>) -> Result<String, String> {
    let name = if around.interfaces.is_empty() {
        wiphy.name.clone()
    } else {
        format!("{} ({})", wiphy.name, around.interfaces.join(", "))
    };
    let able = Able::of(wiphy);
    if able.stations == 0 {
        return Err(format!(
            "{name} cannot join access points: its driver has no station interfaces; use another card"
        ));
    }
    let country = around.country.map(country).unwrap_or_default();
    let words = format!("{name}: {}{country}", in_words(able));
    let taken = taken(wiphy, able.stations, around);
    let mut obstacles: Vec<&str> = Vec::new();
    if let Some(switch) = around.switches.iter().find(|switch| switch.name == wiphy.name) {
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
    obstacles.extend(taken.as_deref());
    if obstacles.is_empty() {
        Ok(words)
    } else {
        Err(format!("{words}. {}", obstacles.join("; ")))
    }
}

const NO_MONITOR: &str =
    "without a monitor interface, losses and airtime are unknown; a card whose driver uses mac80211 has one";
/// How a place of the driver becomes free.
pub(crate) const SET_DOWN: &str =
    "set one down (first `nmcli device set NAME managed no`, if NetworkManager has it)";

/// Who may use the only place of a driver.
const TAKE_OVER: &str =
    ", or let slowhand take it from NetworkManager while it joins: `take_over = true` in [wifi]";

const ONE_STATION: &str = "the driver allows one station interface; a second adapter, named as `radio`, joins one beside your own connection";

/// What interfaces of other programs leave, if that is less than two access points at once.
fn taken(wiphy: &Wiphy, stations: u32, around: Around<'_>) -> Option<String> {
    let others = around.others.iter();
    let others = Vec::from_iter(others.filter(|(_, kind)| !wiphy.software.has(*kind)));
    let types = Vec::from_iter(others.iter().map(|(_, kind)| *kind));
    let left = stations_beside(wiphy, &types);
    let names = Vec::from_iter(others.iter().map(|(name, _)| *name)).join(", ");
    let rest = match left {
        0 => "nothing is left for slowhand",
        1 => "slowhand can join 1 access point at a time",
        _ => return None,
    };
    let has_one = stations == 1 && types.contains(&IfType::Station);
    let take_over = if has_one && around.managed { TAKE_OVER } else { "" };
    (left < stations).then(|| {
        format!(
            "other interfaces that are up ({names}) take places of the driver: {rest}; {SET_DOWN}{take_over}"
        )
    })
}

/// The regulatory domain. Codes of digits are not countries: 00 is the world.
fn country(code: &str) -> String {
    match code {
        "00" => "; country: not set, so only what all countries allow".to_owned(),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("; country: {digits}, which is the rules of no single country")
        }
        letters => format!("; country: {letters}"),
    }
}

fn in_words(able: Able) -> String {
    let points = match able.stations {
        1 => "1 access point at a time".to_owned(),
        MOST_STATIONS => {
            format!("{MOST_STATIONS} access points at once on one channel, the most that slowhand joins")
        }
        stations => format!("{stations} access points at once on one channel"),
    };
    let channels = match able.channels {
        1 => "one channel at a time".to_owned(),
        channels => format!("{channels} channels at a time"),
    };
    let say = |yes| if yes { "yes" } else { "no" };
    let (visits, monitor) = (say(able.visits), say(able.monitor));
    let whom = if able.stations == 1 { "it" } else { "them" };
    format!("{points}; {channels}; visits to others: {visits}; monitor beside {whom}: {monitor}")
}
