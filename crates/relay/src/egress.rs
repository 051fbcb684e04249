//! Destinations that a relay refuses unless a key allows them.
//!
//! A relay connects on behalf of others. Without this list, a client could reach services that trust the
//! relay's own network: its loopback, its cloud's metadata, its private neighbours.
//!
//! # Sources
//! - RFC 6890 (special-purpose addresses), RFC 6598 (carrier-grade NAT), RFC 4193 (ULA).
//! - RFC 4291 §2.5.5 (mapped, compatible), RFC 3056 (6to4), RFC 6052 and RFC 8215 (NAT64), RFC 4380 (Teredo).
//!
//! # Checked by
//! `tests` below.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Mail to other hosts: what spammers look for.
const SMTP: u16 = 25;

/// Addresses with a common beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Networks outside the Internet, or with a meaning for their own hosts only.
const SPECIAL_V4: [(Ipv4Addr, u8); 11] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The same for IPv6. The networks that embed IPv4 addresses of unknown relays are among them.
const SPECIAL_V6: [(Ipv6Addr, u8); 8] = [
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
    // Unspecified, loopback and IPv4-compatible addresses.
    (Ipv6Addr::UNSPECIFIED, 96),
];

impl Network {
    /// Whether it contains this address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits.min(32));
                (net.to_bits() ^ address.to_bits())
                    .checked_shr(shift)
                    .unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits.min(128));
                (net.to_bits() ^ address.to_bits())
                    .checked_shr(shift)
                    .unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a network; write it like 192.0.2.0/24 or 2001:db8::/32")]
pub struct ParseNetworkError(String);

impl FromStr for Network {
    type Err = ParseNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseNetworkError(text.to_owned());
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > most {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Every network that is special on its own, without those that embed IPv4 addresses.
pub fn special() -> impl Iterator<Item = Network> {
    let v4 = SPECIAL_V4.map(|(address, bits)| (IpAddr::V4(address), bits));
    let v6 = SPECIAL_V6.map(|(address, bits)| (IpAddr::V6(address), bits));
    v4.into_iter()
        .chain(v6)
        .map(|(address, bits)| Network { address, bits })
}

/// The IPv4 address inside a mapped, 6to4 or NAT64 address: the host that would get the packets.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match parts {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

/// The host that would get the packets to this address.
fn meant(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => embedded(address).map_or(IpAddr::V6(address), IpAddr::V4),
        address => address,
    }
}

/// Whether this address means another host in each network, or none.
pub fn is_special(address: IpAddr) -> bool {
    special().any(|network| network.contains(meant(address)))
}

/// Whether a relay with these `own` addresses refuses `server`, for a key that allows `allowed` beyond the
/// default.
pub fn is_refused(server: SocketAddr, own: &[IpAddr], allowed: &[Network]) -> bool {
    let address = meant(server.ip());
    if allowed.iter().any(|network| network.contains(address)) {
        return false;
    }
    server.port() == SMTP || server.port() == 0 || own.contains(&address) || is_special(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(server: &str) -> bool {
        let own = ["198.51.100.7".parse().unwrap()];
        is_refused(server.parse().unwrap(), &own, &[])
    }

    #[test]
    fn every_special_range_is_refused_to_its_last_address() {
        for address in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.0.1",
            "192.168.255.255",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "198.51.100.7",
        ] {
            assert!(refused(&format!("{address}:443")), "{address}");
            let v4: Ipv4Addr = address.parse().unwrap();
            let [a, b, c, d] = v4.octets();
            for hidden in [
                format!("[::ffff:{address}]:443"),
                format!("[64:ff9b::{address}]:443"),
                format!("[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1]:443"),
                format!("[::{address}]:443"),
            ] {
                assert!(refused(&hidden), "{hidden}");
            }
        }
        for address in [
            "::",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "2001:0:1::1",
            "64:ff9b:1::1",
            "100::1",
        ] {
            assert!(refused(&format!("[{address}]:443")), "{address}");
        }
    }

    #[test]
    fn the_internet_is_allowed_up_to_the_edges_of_those_ranges() {
        for server in [
            "1.1.1.1:443",
            "9.255.255.255:80",
            "11.0.0.0:80",
            "100.63.255.255:80",
            "100.128.0.0:80",
            "172.15.255.255:80",
            "172.32.0.0:80",
            "223.255.255.255:22",
            "[2001:4860::8888]:443",
            "[64:ff9b::1.1.1.1]:443",
            "[2002:101:101::1]:443",
            "[::ffff:1.1.1.1]:443",
        ] {
            assert!(!refused(server), "{server}");
        }
        for server in ["1.1.1.1:25", "1.1.1.1:0", "[2001:4860::8888]:25"] {
            assert!(refused(server), "{server}");
        }
    }

    #[test]
    fn a_key_can_allow_more() {
        let allowed = ["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()];
        for (server, refused) in [
            ("10.1.255.1:25", false),
            ("10.2.0.1:80", true),
            ("[fd12::1]:80", false),
            ("[::ffff:10.1.0.1]:80", false),
            ("127.0.0.1:80", true),
        ] {
            assert_eq!(
                is_refused(server.parse().unwrap(), &[], &allowed),
                refused,
                "{server}"
            );
        }
    }

    #[test]
    fn networks_are_read_and_written() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "::/0", "fe80::/10"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        assert_eq!("10.0.0.1".parse::<Network>().unwrap().to_string(), "10.0.0.1/32");
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "a/8"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
