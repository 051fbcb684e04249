//! Access points, as `wpa_supplicant` lists them.
//!
//! # Sources
//! - `wpa_supplicant/ctrl_iface.c` (2.10), `print_bss_info`, `wpa_supplicant_ie_txt`; `src/utils/common.c`,
//!   `printf_encode`: how the name of a network is written.

use units::{Bitrate, Dbm, Duration, MacAddr};

/// Fields of [`request`]: id, BSSID, frequency, level, age, flags, SSID, a line between two entries, and the
/// throughput to expect.
const FIELDS: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 9 | 1 << 11 | 1 << 12 | 1 << 17 | 1 << 20;

/// An access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bss {
    pub(super) bssid: MacAddr,
    /// Name of its network.
    pub(super) ssid: Vec<u8>,
    /// Centre frequency of its channel.
    pub(super) mhz: u32,
    pub(super) signal: Dbm,
    /// The throughput that `wpa_supplicant` expects, from the signal and what the access point and the card
    /// can do. `None`: an older version, which does not say.
    pub(super) throughput: Option<Bitrate>,
    /// Time since it was heard last.
    pub(super) age: Duration,
    pub(super) offers: Offers,
}

/// How an access point protects its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Offers {
    /// Any protection.
    pub(super) any: bool,
    /// WPA2 or later with a cipher that is not broken.
    pub(super) strong: bool,
    /// A shared key, by WPA2's handshake.
    pub(super) psk: bool,
    /// A shared key, by WPA3's handshake.
    pub(super) sae: bool,
    /// Encryption without a key (Enhanced Open, RFC 8110).
    pub(super) owe: bool,
    /// A shared key, by a way that slowhand does not support, such as a fast transition (FT).
    pub(super) other_psk: bool,
    /// The same for WPA3.
    pub(super) other_sae: bool,
    /// A login by such a way, as with 192 bits (Suite B).
    pub(super) other_login: bool,
    /// A login.
    pub(super) login: bool,
}

impl Offers {
    pub(super) const fn is_open(self) -> bool {
        !self.any
    }

    /// Parses flags such as `[WPA2-PSK+SAE-CCMP][ESS]`: a version, ways to agree on keys, and ciphers.
    /// `[OWE-TRANS-OPEN]` is the open half of an Enhanced Open network.
    fn parse(flags: &str) -> Self {
        let mut found = Self::default();
        for flag in flags.split(['[', ']']) {
            let Some((version, rest)) = flag.split_once('-') else {
                found.any |= flag == "WEP";
                continue;
            };
            found.any |= matches!(version, "WPA" | "WPA2" | "RSN");
            if matches!(version, "WPA2" | "RSN") {
                found.take(rest);
            }
        }
        found
    }

    fn take(&mut self, rest: &str) {
        // The names of ways have hyphens, too.
        let ciphers = ["CCMP", "GCMP", "TKIP"].iter().filter_map(|name| rest.find(name));
        let (ways, ciphers) = rest.split_at(ciphers.min().unwrap_or(rest.len()));
        self.strong |= ciphers.contains("CCMP") || ciphers.contains("GCMP");
        for way in ways.trim_end_matches('-').split('+') {
            match way {
                "PSK" | "PSK-SHA256" => self.psk = true,
                "SAE" => self.sae = true,
                "EAP" | "EAP-SHA256" => self.login = true,
                "OWE" => self.owe = true,
                other => {
                    self.other_psk |= other.contains("PSK");
                    self.other_sae |= other.contains("SAE");
                    self.other_login |= other.contains("EAP") || other.contains("FILS");
                }
            }
        }
    }
}

/// The request for access points from this number on.
pub(super) fn request(from: u32) -> String {
    format!("BSS RANGE={from}- MASK=0x{FIELDS:x}")
}

/// Parses a reply: access points, and the greatest number in it. `None`: the reply is empty.
pub(super) fn parse(reply: &str) -> (Vec<Bss>, Option<u32>) {
    let (mut all, mut last) = (Vec::new(), None);
    for entry in reply.split("====\n") {
        let value = |name: &str| {
            let mut lines = entry.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        };
        let Some(id) = value("id").and_then(|id| id.parse().ok()) else {
            continue;
        };
        last = last.max(Some(id));
        let bss = || {
            Some(Bss {
                bssid: mac(value("bssid")?)?,
                ssid: decode(value("ssid")?),
                mhz: value("freq")?.parse().ok()?,
                signal: Dbm::from_dbm(value("level")?.parse::<i16>().ok()?.into()),
                throughput: value("est_throughput")
                    .and_then(|kbps| kbps.parse().ok())
                    .map(Bitrate::from_kbps),
                age: Duration::from_secs(value("age")?.parse().ok()?),
                offers: Offers::parse(value("flags")?),
            })
        };
        all.extend(bss());
    }
    (all, last)
}

/// Parses a hardware address.
pub(super) fn mac(text: &str) -> Option<MacAddr> {
    let mut octets = [0; 6];
    let mut parts = text.split(':');
    for octet in &mut octets {
        *octet = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(MacAddr::new(octets))
}

/// The bytes of a name, in which special ones are escaped.
fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'e') => bytes.push(0x1b),
            Some(b'x') => {
                let digits = [rest.next(), rest.next()].map(|digit| digit.and_then(hex));
                if let [Some(high), Some(low)] = digits {
                    bytes.push(high << 4 | low);
                }
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPLY: &str = "id=0\nbssid=02:00:00:00:01:00\nfreq=2437\nlevel=-21\nage=3\nflags=[WPA2-PSK-CCMP][ESS]\nssid=caf\\xc3\\xa9 \\\"x\\\"\n====\n\
         id=4\nbssid=02:00:00:00:02:00\nfreq=5180\nlevel=-70\nage=0\nflags=[ESS]\nssid=\n====\n";

    #[test]
    fn a_list_is_read_with_escaped_names() {
        let (all, last) = parse(REPLY);
        assert_eq!((all.len(), last), (2, Some(4)));
        assert_eq!(all[0].ssid, "café \"x\"".as_bytes());
        assert_eq!((all[0].mhz, all[0].signal), (2437, Dbm::from_dbm(-21)));
        assert_eq!(all[0].bssid, MacAddr::new([2, 0, 0, 0, 1, 0]));
        assert!(all[0].offers.psk && all[0].offers.strong && !all[0].offers.sae);
        assert!(all[1].offers.is_open() && all[1].ssid.is_empty());
        assert_eq!(parse(""), (Vec::new(), None));
        assert_eq!(parse("FAIL\n"), (Vec::new(), None));
    }

    #[test]
    fn an_entry_without_a_value_is_left_out_and_the_list_continues_behind_it() {
        let (all, last) = parse("id=9\nbssid=02:00:00:00:01:00\n====\n");
        assert_eq!((all.len(), last), (0, Some(9)));
    }

    #[test]
    fn the_fields_are_those_of_the_protocol() {
        assert_eq!(request(5), "BSS RANGE=5- MASK=0x121a87");
    }

    proptest! {
        #[test]
        fn any_reply_is_read_without_a_panic(reply in ".*", flags in ".*") {
            let _ = parse(&reply);
            let _ = parse(&format!("id=1\nbssid=02:00:00:00:01:00\nfreq=1\nlevel=-1\nage=1\nflags={flags}\nssid={reply}\n"));
        }
    }
}
