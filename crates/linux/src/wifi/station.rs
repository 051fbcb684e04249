//! Names and addresses of station interfaces.
//!
//! # Where we differ, and why
//! 1. The address of an interface depends on the radio, the network and the access point, and stays the same
//!    on each visit: a portal or a reservation of addresses recognises the host. It is no secret.

use crate::rtnl::IfName;
use units::MacAddr;

/// Most interfaces at once.
const MOST: u8 = 8;

/// The name of an interface that only scans, as far as nothing is joined.
pub(super) fn scanner() -> Option<IfName> {
    "slow-w0".parse().ok()
}

/// Whether an interface has a name of ours.
pub(crate) fn is_ours(name: &str) -> bool {
    (0..=MOST).any(|number| name == format!("slow-w{number}"))
}

/// Names of all interfaces that may be created, without those that exist already.
pub(super) fn names(exists: impl Fn(&IfName) -> bool) -> Vec<IfName> {
    let all = (0..=MOST).filter_map(|number| format!("slow-w{number}").parse().ok());
    all.filter(|name| !exists(name)).collect()
}

/// The address for an access point of a network, as seen from a radio.
pub(super) fn address(radio: MacAddr, ssid: &[u8], bssid: MacAddr) -> MacAddr {
    let parts = [&radio.octets()[..], &bssid.octets()[..], ssid];
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

/// The metric of the default route over an interface: behind those of the usual programs.
pub(super) fn metric(name: &IfName) -> u32 {
    let number = name.as_str().trim_start_matches("slow-w").parse().unwrap_or(0);
    FIRST_METRIC + number
}

/// NetworkManager gives WiFi 600.
const FIRST_METRIC: u32 = 700;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_stable_local_and_another_one_for_each_access_point() {
        let (radio, other) = (MacAddr::local(1), MacAddr::local(2));
        let first = address(radio, b"first", MacAddr::local(9));
        assert_eq!(first, address(radio, b"first", MacAddr::local(9)));
        let others = [
            address(other, b"first", MacAddr::local(9)),
            address(radio, b"second", MacAddr::local(9)),
            address(radio, b"first", MacAddr::local(10)),
        ];
        for one in others {
            assert_ne!(one, first);
            assert_eq!(one.octets()[0] & 3, 2);
        }
    }

    #[test]
    fn names_that_exist_are_not_used() {
        let names = names(|name| name.as_str() == "slow-w1");
        assert_eq!(names.len(), usize::from(MOST));
        assert!(names.iter().all(|name| name.as_str() != "slow-w1"));
        assert_eq!(metric(&"slow-w3".parse().unwrap()), 703);
    }
}
