//! The frame with which a station asks for access points.
//!
//! # Sources
//! - IEEE 802.11-2020 §9.3.3.9 (probe request), §9.4.2.3 (supported rates), §17.3.2 and §16.2 (rates).

use units::MacAddr;

const PROBE_REQUEST: [u8; 2] = [0x40, 0];
const SSID: u8 = 0;
const RATES: u8 = 1;
/// Rates in 500 kb/s. The highest bit says that a rate is basic.
const RATES_2_4_GHZ: [u8; 8] = [0x82, 0x84, 0x8b, 0x96, 12, 24, 48, 96];
const RATES_5_GHZ: [u8; 8] = [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];
const LONGEST_SSID: usize = 32;

/// A probe request of the station `mac` on the channel at `mhz`. Empty `ssid`: for every network that does
/// not hide its name.
pub(super) fn request(mac: MacAddr, mhz: u32, ssid: &[u8]) -> Vec<u8> {
    let all = MacAddr::BROADCAST.octets();
    let rates = if mhz < 5_000 { RATES_2_4_GHZ } else { RATES_5_GHZ };
    let ssid = &ssid[..ssid.len().min(LONGEST_SSID)];
    // The driver fills in the duration and the sequence number.
    let mut frame = Vec::from(PROBE_REQUEST);
    frame.extend([0, 0]);
    frame.extend([all, mac.octets(), all].as_flattened());
    frame.extend([0, 0]);
    for (kind, value) in [(SSID, ssid), (RATES, &rates)] {
        frame.extend([kind, value.len() as u8]);
        frame.extend(value);
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_station_and_the_network() {
        let frame = request(MacAddr::local(7), 2_437, b"first");
        assert_eq!(frame[..4], [0x40, 0, 0, 0]);
        assert_eq!(frame[4..10], [0xff; 6]);
        assert_eq!(frame[10..16], MacAddr::local(7).octets());
        assert_eq!(frame[16..22], [0xff; 6]);
        assert_eq!(frame[22..31], *b"\0\0\0\x05first");
        assert_eq!(frame[31..33], [RATES, 8]);
        assert_eq!(frame.len(), 41);
    }

    #[test]
    fn rates_are_those_of_the_band() {
        let rates = |mhz| request(MacAddr::local(7), mhz, b"")[28..].to_vec();
        assert_eq!(rates(2_412), RATES_2_4_GHZ);
        assert_eq!(rates(5_180), RATES_5_GHZ);
    }
}
