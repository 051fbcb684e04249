//! Names and addresses of station interfaces.
//!
//! # Where we differ, and why
//! 1. The address of an interface depends on the radio, the network and the access point, and stays the same
//!    on each visit: a portal or a reservation of addresses recognises the host. It is no secret. Where the
//!    user wants that, it also depends on a number that is drawn at each start ([`draw`]).

use crate::nl80211::able::MOST_STATIONS;
use crate::rtnl::IfName;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use units::MacAddr;

/// The name of an interface that only scans, as far as nothing is joined.
pub(super) fn scanner() -> Option<IfName> {
    "slow-w0".parse().ok()
}

/// Whether an interface has a name of ours.
pub(crate) fn is_ours(name: &str) -> bool {
    (0..=MOST_STATIONS).any(|number| name == format!("slow-w{number}"))
}

/// Names of all interfaces that may be created, without those that exist already.
pub(super) fn names(exists: impl Fn(&IfName) -> bool) -> Vec<IfName> {
    let all = (0..=MOST_STATIONS).filter_map(|number| format!("slow-w{number}").parse().ok());
    all.filter(|name| !exists(name)).collect()
}

/// Draws a random number for the addresses of one start.
pub fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The address for an access point of a network, as seen from a radio, with a number that was drawn or none.
pub(super) fn address(radio: MacAddr, (ssid, bssid): (&[u8], MacAddr), drawn: Option<u64>) -> MacAddr {
    let drawn = drawn.map(u64::to_be_bytes);
    let drawn = drawn.as_ref().map_or(&[][..], |drawn| drawn);
    let parts = [drawn, &radio.octets()[..], &bssid.octets()[..], ssid];
    let hash = parts.into_iter().flatten().fold(FNV_BASIS, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    });
    let mut octets = [0; 6];
    octets.copy_from_slice(&hash.to_be_bytes()[2..]);
    // Locally administered, and no group address.
    octets[0] = octets[0] & 0xfc | 0x02;
    MacAddr::new(octets)
}

/// FNV-1a with 64 bits (RFC 9923 §5).
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x100_0000_01b3;

/// The metric of the routes over an interface: behind those that programs give by themselves.
pub(super) fn metric(name: &IfName) -> u32 {
    let number = name.as_str().trim_start_matches("slow-w").parse().unwrap_or(0);
    FIRST_METRIC + number
}

/// NetworkManager gives WiFi 600, and adds 20,000 without a way to the Internet. systemd-networkd gives
/// 1,024, dhcpcd some thousands.
const FIRST_METRIC: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_stable_local_and_another_one_for_each_access_point() {
        let (radio, other) = (MacAddr::local(1), MacAddr::local(2));
        let first = address(radio, (b"first", MacAddr::local(9)), None);
        assert_eq!(first, address(radio, (b"first", MacAddr::local(9)), None));
        let others = [
            address(other, (b"first", MacAddr::local(9)), None),
            address(radio, (b"second", MacAddr::local(9)), None),
            address(radio, (b"first", MacAddr::local(10)), None),
        ];
        for one in others {
            assert_ne!(one, first);
            assert_eq!(one.octets()[0] & 3, 2);
        }
    }

    #[test]
    fn a_random_address_stays_for_one_start_only() {
        let of = |drawn| address(MacAddr::local(1), (b"first", MacAddr::local(9)), drawn);
        let (one, two) = (draw(), draw());
        assert_eq!(of(Some(one)), of(Some(one)));
        assert_ne!(of(Some(one)), of(Some(two)));
        assert_ne!(of(Some(one)), of(None));
        assert_eq!(of(Some(one)).octets()[0] & 3, 2);
    }

    #[test]
    fn names_that_exist_are_not_used() {
        let names = names(|name| name.as_str() == "slow-w1");
        assert_eq!(names.len(), MOST_STATIONS as usize);
        assert!(names.iter().all(|name| name.as_str() != "slow-w1"));
        assert_eq!(metric(&"slow-w3".parse().unwrap()), 1_000_003);
    }
}
