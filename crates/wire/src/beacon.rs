//! Beacons and probe responses: what an access point says of itself.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.3.3.2 (beacon), §9.4.1.4 (capabilities), §9.4.2.1 (elements), §9.4.2.2 (SSID),
//!   §9.4.2.4 (DSSS parameter set), §9.4.2.18 (channel switch announcement), §9.4.2.24 (RSN), §9.4.2.52
//!   (extended channel switch announcement), §9.4.2.55 (HT capabilities), §9.4.2.56 (HT operation),
//!   §9.4.2.157 (VHT capabilities); IEEE 802.11ax-2021 §9.4.2.248 (HE capabilities).
//! - Wi-Fi Alliance, WPA 3.1: the vendor element of WPA.
//!
//! # Where we differ, and why
//! 1. An element that is longer than the frame ends the list: a capture may hold only a frame's beginning.
//! 2. Of several elements of one kind the first counts, as in Linux.
//!
//! # Checked by
//! `tests` below and the fuzz target `dot11`.

/// Octets of timestamp, interval and capabilities in front of the elements.
const FIELDS: usize = 12;
const PRIVACY: u16 = 0x0010;
/// Longest SSID, in octets.
const LONGEST_SSID: usize = 32;

const SSID: u8 = 0;
const DS_PARAMETER: u8 = 3;
const CHANNEL_SWITCH: u8 = 37;
const HT_CAPABILITIES: u8 = 45;
const RSN: u8 = 48;
const EXTENDED_CHANNEL_SWITCH: u8 = 60;
const HT_OPERATION: u8 = 61;
const VHT_CAPABILITIES: u8 = 191;
const VENDOR: u8 = 221;
const EXTENSION: u8 = 255;
const HE_CAPABILITIES: u8 = 35;
/// Organisation and type of WPA's element.
const WPA: [u8; 4] = [0x00, 0x50, 0xf2, 0x01];

/// What a beacon says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beacon<'f> {
    /// Interval between beacons, in units of 1,024 µs.
    pub interval: u16,
    /// Name of the network. Empty if it is hidden.
    pub ssid: &'f [u8],
    /// The channel, if the beacon names it.
    pub channel: Option<u8>,
    /// How the network is protected.
    pub security: Security,
    /// The newest standard that it announces.
    pub generation: Generation,
    /// The channel to which it is about to switch.
    pub switch: Option<Switch>,
}

/// How a network is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Security {
    /// Not at all.
    Open,
    /// WEP, which protects nobody.
    Wep,
    /// WPA alone.
    Wpa,
    /// WPA2 or WPA3.
    Rsn,
}

/// A generation of 802.11.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// 802.11a, b or g.
    Legacy,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax and later.
    He,
}

/// A channel switch that an access point announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The next channel.
    pub channel: u8,
    /// Beacons until then. 0: at any time.
    pub count: u8,
}

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'f> {
    /// Its identifier.
    pub id: u8,
    /// What it holds.
    pub value: &'f [u8],
}

/// Iterates over a list of elements. Ends at the first one that is cut off.
#[derive(Debug, Clone)]
pub struct Elements<'f> {
    rest: &'f [u8],
}

impl<'f> Elements<'f> {
    /// Reads the list from the first byte of `bytes`.
    pub const fn new(bytes: &'f [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'f> Iterator for Elements<'f> {
    type Item = Element<'f>;

    fn next(&mut self) -> Option<Element<'f>> {
        let [id, length, rest @ ..] = self.rest else {
            return None;
        };
        let (value, rest) = rest.split_at_checked(usize::from(*length))?;
        self.rest = rest;
        Some(Element { id: *id, value })
    }
}

impl<'f> Beacon<'f> {
    /// Parses the body of a beacon or a probe response. `None` if its fixed fields are cut off.
    pub fn parse(body: &'f [u8]) -> Option<Self> {
        let (fields, list) = body.split_at_checked(FIELDS)?;
        let capabilities = u16::from_le_bytes([fields[10], fields[11]]);
        let mut beacon = Self {
            interval: u16::from_le_bytes([fields[8], fields[9]]),
            ssid: &[],
            channel: None,
            security: if capabilities & PRIVACY == 0 {
                Security::Open
            } else {
                Security::Wep
            },
            generation: Generation::Legacy,
            switch: None,
        };
        let mut named = false;
        for element in Elements::new(list) {
            if element.id == SSID && !named {
                named = true;
                beacon.ssid = ssid(element.value);
            }
            beacon.take(element);
        }
        Some(beacon)
    }

    fn take(&mut self, element: Element<'_>) {
        let first = element.value.first().copied();
        match element.id {
            DS_PARAMETER | HT_OPERATION => self.channel = self.channel.or(first),
            CHANNEL_SWITCH => self.switch = self.switch.or_else(|| switch(element.value, (1, 2))),
            EXTENDED_CHANNEL_SWITCH => self.switch = self.switch.or_else(|| switch(element.value, (2, 3))),
            RSN => self.security = Security::Rsn,
            VENDOR if element.value.starts_with(&WPA) => self.security = self.security.max(Security::Wpa),
            HT_CAPABILITIES => self.generation = self.generation.max(Generation::Ht),
            VHT_CAPABILITIES => self.generation = self.generation.max(Generation::Vht),
            EXTENSION if first == Some(HE_CAPABILITIES) => self.generation = Generation::He,
            _ => {}
        }
    }
}

/// A hidden network sends an empty name, or zeros in its place.
fn ssid(value: &[u8]) -> &[u8] {
    let is_name = value.len() <= LONGEST_SSID && value.iter().any(|&octet| octet != 0);
    if is_name { value } else { &[] }
}

/// A switch from the element that has channel and count at these places.
fn switch(value: &[u8], (channel, count): (usize, usize)) -> Option<Switch> {
    Some(Switch {
        channel: *value.get(channel)?,
        count: *value.get(count)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn body(capabilities: u16, elements: &[(u8, &[u8])]) -> Vec<u8> {
        let mut body = alloc::vec![0; 8];
        body.extend(100_u16.to_le_bytes());
        body.extend(capabilities.to_le_bytes());
        for (id, value) in elements {
            body.extend([*id, value.len() as u8]);
            body.extend(*value);
        }
        body
    }

    #[test]
    fn a_beacon_says_what_the_network_is() {
        let body = body(
            0x0011,
            &[
                (0, b"cafe"),
                (3, &[6]),
                (45, &[0; 26]),
                (48, &[1, 0]),
                (191, &[0; 12]),
                (37, &[0, 11, 5]),
            ],
        );
        let beacon = Beacon::parse(&body).unwrap();
        assert_eq!(
            (beacon.interval, beacon.ssid, beacon.channel),
            (100, &b"cafe"[..], Some(6))
        );
        assert_eq!(
            (beacon.security, beacon.generation),
            (Security::Rsn, Generation::Vht)
        );
        assert_eq!(
            beacon.switch,
            Some(Switch {
                channel: 11,
                count: 5
            })
        );
    }

    #[test]
    fn protection_is_what_the_elements_say() {
        let security = |capabilities, elements: &[(u8, &[u8])]| {
            Beacon::parse(&body(capabilities, elements)).unwrap().security
        };
        let wpa: (u8, &[u8]) = (221, &[0, 0x50, 0xf2, 1, 1, 0]);
        assert_eq!(security(0x0001, &[]), Security::Open);
        assert_eq!(security(0x0011, &[]), Security::Wep);
        assert_eq!(security(0x0011, &[wpa]), Security::Wpa);
        assert_eq!(security(0x0011, &[(48, &[1, 0]), wpa]), Security::Rsn);
        // Another type of the same organisation (WMM).
        assert_eq!(security(0x0001, &[(221, &[0, 0x50, 0xf2, 2])]), Security::Open);
    }

    #[test]
    fn hidden_names_cut_elements_and_second_names_do_not_confuse_it() {
        let ssid = |elements: &[(u8, &[u8])]| Beacon::parse(&body(1, elements)).unwrap().ssid.to_vec();
        assert_eq!(ssid(&[(0, &[0, 0, 0])]), b"");
        assert_eq!(ssid(&[(0, b"one"), (0, b"two")]), b"one");
        assert_eq!(ssid(&[(0, &[b'x'; 33])]), b"");
        let whole = body(1, &[(0, b"cafe"), (3, &[6])]);
        let cut = Beacon::parse(&whole[..whole.len() - 1]).unwrap();
        assert_eq!((cut.ssid, cut.channel), (&b"cafe"[..], None));
        assert_eq!(Beacon::parse(&whole[..11]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Beacon::parse(&body);
        }
    }
}
