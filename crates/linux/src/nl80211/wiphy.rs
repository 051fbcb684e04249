//! Radios: bands, channels, interface types and their combinations.

use super::attr;
use super::interface::{IfType, Types};
use crate::netlink::{Attr, Attrs};

const BAND_FREQS: u16 = 1;
const FREQ_MHZ: u16 = 1;
const FREQ_DISABLED: u16 = 2;
const FREQ_NO_IR: u16 = 3;
const FREQ_RADAR: u16 = 5;
const COMBINATION_LIMITS: u16 = 1;
const COMBINATION_MOST: u16 = 2;
const COMBINATION_CHANNELS: u16 = 4;
const LIMIT_MOST: u16 = 1;
const LIMIT_TYPES: u16 = 2;

/// A radio.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wiphy {
    /// Its number.
    pub index: u32,
    /// Its name, such as `phy0`.
    pub name: String,
    /// Its channels.
    pub frequencies: Vec<Frequency>,
    /// Types of interfaces that it can have.
    pub types: Types,
    /// Types that exist beside all others, because the kernel makes them of software.
    pub software: Types,
    /// Which interfaces it can have at once. Empty: one.
    pub combinations: Vec<Combination>,
    /// A connected station can send on another channel for a moment.
    pub visits: bool,
}

/// A channel of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequency {
    /// Centre frequency of its 20 MHz, in MHz.
    pub mhz: u32,
    /// The regulatory domain forbids it.
    pub disabled: bool,
    /// Nothing may be sent on it before an access point is heard.
    pub listen_first: bool,
    /// It is shared with radar.
    pub radar: bool,
}

/// Interfaces that a radio can have at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Combination {
    /// How many of which types.
    pub limits: Vec<Limit>,
    /// How many in total.
    pub most: u32,
    /// On how many channels.
    pub channels: u32,
}

/// How many interfaces of some types are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limit {
    /// Their greatest number.
    pub most: u32,
    /// The types.
    pub types: Types,
}

impl Wiphy {
    /// Parses the attributes of one message of a dump, which may have a part of the radio. `None` if they
    /// name no radio.
    pub fn parse(attrs: Attrs<'_>) -> Option<Self> {
        let mut index = None;
        let mut found = Self::default();
        for attr in attrs {
            match attr.kind {
                attr::WIPHY => index = attr.u32(),
                attr::WIPHY_NAME => found.name = attr.str().unwrap_or_default().to_owned(),
                attr::WIPHY_BANDS => found.frequencies.extend(frequencies(&attr)),
                attr::SUPPORTED_IFTYPES => found.types = Types::parse(&attr),
                attr::SOFTWARE_IFTYPES => found.software = Types::parse(&attr),
                attr::OFFCHANNEL_TX_OK => found.visits = true,
                attr::INTERFACE_COMBINATIONS => {
                    let combinations = attr.attrs();
                    found
                        .combinations
                        .extend(combinations.map(|one| Combination::parse(one.attrs())));
                }
                _ => {}
            }
        }
        found.index = index?;
        Some(found)
    }

    fn merge(&mut self, part: Self) {
        if self.name.is_empty() {
            self.name = part.name;
        }
        self.frequencies.extend(part.frequencies);
        self.types = self.types.and(part.types);
        self.software = self.software.and(part.software);
        self.combinations.extend(part.combinations);
        self.visits |= part.visits;
    }

    /// Whether it can have interfaces of this type.
    pub const fn supports(&self, kind: IfType) -> bool {
        self.types.has(kind)
    }
}

/// Joins the parts of each radio.
pub fn wiphys_of(parts: Vec<Wiphy>) -> Vec<Wiphy> {
    let mut whole: Vec<Wiphy> = Vec::new();
    for part in parts {
        match whole.iter_mut().find(|wiphy| wiphy.index == part.index) {
            Some(wiphy) => wiphy.merge(part),
            None => whole.push(part),
        }
    }
    whole
}

fn frequencies<'a>(bands: &Attr<'a>) -> impl Iterator<Item = Frequency> + use<'a> {
    let of_band = |band: Attr<'a>| band.attrs().filter(|attr| attr.kind == BAND_FREQS);
    let lists = bands.attrs().flat_map(of_band);
    lists.flat_map(|list| list.attrs().filter_map(|one| frequency(one.attrs())))
}

fn frequency(attrs: Attrs<'_>) -> Option<Frequency> {
    let has = |kind| attrs.clone().find(kind).is_some();
    Some(Frequency {
        mhz: attrs.clone().find(FREQ_MHZ)?.u32()?,
        disabled: has(FREQ_DISABLED),
        listen_first: has(FREQ_NO_IR),
        radar: has(FREQ_RADAR),
    })
}

impl Combination {
    fn parse(attrs: Attrs<'_>) -> Self {
        let mut found = Self::default();
        for attr in attrs {
            match attr.kind {
                COMBINATION_LIMITS => {
                    let limits = attr.attrs();
                    found.limits.extend(limits.map(|one| Limit::parse(one.attrs())));
                }
                COMBINATION_MOST => found.most = attr.u32().unwrap_or_default(),
                COMBINATION_CHANNELS => found.channels = attr.u32().unwrap_or_default(),
                _ => {}
            }
        }
        found
    }
}

impl Limit {
    fn parse(attrs: Attrs<'_>) -> Self {
        let mut found = Self::default();
        for attr in attrs {
            match attr.kind {
                LIMIT_MOST => found.most = attr.u32().unwrap_or_default(),
                LIMIT_TYPES => found.types = Types::parse(&attr),
                _ => {}
            }
        }
        found
    }
}

/// The number under which the engine knows the channel with this centre frequency, in MHz. In 6 GHz, it is
/// the frequency.
pub const fn channel_number(mhz: u32) -> Option<u16> {
    match mhz {
        2_484 => Some(14),
        2_412..=2_472 => Some(((mhz - 2_407) / 5) as u16),
        5_000..=5_925 => Some(((mhz - 5_000) / 5) as u16),
        5_926..=7_125 => Some(mhz as u16),
        _ => None,
    }
}
