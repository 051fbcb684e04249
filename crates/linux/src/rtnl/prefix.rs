//! IP prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// An address and its prefix length, as in `192.168.1.7/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    addr: IpAddr,
    len: u8,
}

/// Why a text is not a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not a prefix; write ADDRESS/LENGTH, length at most 32 (IPv4) or 128 (IPv6)")]
pub struct PrefixError {
    text: String,
}

impl Prefix {
    /// `0.0.0.0/0`.
    pub const ANY_V4: Self = Self {
        addr: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        len: 0,
    };
    /// `::/0`.
    pub const ANY_V6: Self = Self {
        addr: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        len: 0,
    };

    /// `addr/len`.
    pub fn new(addr: IpAddr, len: u8) -> Result<Self, PrefixError> {
        if len > bits(addr) {
            return Err(PrefixError {
                text: format!("{addr}/{len}"),
            });
        }
        Ok(Self { addr, len })
    }

    /// The host prefix of `addr`.
    pub const fn host(addr: IpAddr) -> Self {
        Self {
            addr,
            len: bits(addr),
        }
    }

    /// The all-covering prefix (`/0`) of the family of `addr`.
    pub const fn any(addr: IpAddr) -> Self {
        if addr.is_ipv4() {
            Self::ANY_V4
        } else {
            Self::ANY_V6
        }
    }

    /// The address, including its host bits.
    pub const fn addr(self) -> IpAddr {
        self.addr
    }

    /// The prefix length, in bits.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a length of bits, not of a collection"
    )]
    pub const fn len(self) -> u8 {
        self.len
    }

    /// The same prefix with its host bits cleared.
    pub fn network(self) -> Self {
        let host_bits = u32::from(bits(self.addr) - self.len);
        let addr = match self.addr {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Self { addr, len: self.len }
    }

    /// Whether this network contains `addr`.
    pub fn contains(self, addr: IpAddr) -> bool {
        addr.is_ipv4() == self.addr.is_ipv4() && Self { addr, len: self.len }.network() == self.network()
    }

    /// `AF_INET` or `AF_INET6`.
    pub(crate) const fn family(self) -> u8 {
        family(self.addr)
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let error = || PrefixError {
            text: text.to_owned(),
        };
        let (addr, len) = text.split_once('/').ok_or_else(error)?;
        let addr = addr.parse().map_err(|_| error())?;
        Self::new(addr, len.parse().map_err(|_| error())?)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

const fn bits(addr: IpAddr) -> u8 {
    if addr.is_ipv4() { 32 } else { 128 }
}

/// `AF_INET` or `AF_INET6`.
pub(crate) const fn family(addr: IpAddr) -> u8 {
    (if addr.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    }) as u8
}
