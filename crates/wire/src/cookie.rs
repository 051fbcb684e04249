//! The cookie with which a client of a relay shows that it knows a key.
//!
//! A cookie has 40 bytes. All numbers are in network byte order:
//!
//! | bytes | content |
//! |---|---|
//! | 0–7 | key id: which key signed it |
//! | 8–15 | time: seconds since 1970 |
//! | 16–23 | nonce: a random number |
//! | 24–39 | the first 16 bytes of HMAC-SHA-256 over bytes 0–23 and the TLV that says what the client wants |
//!
//! The relay accepts each nonce once, and only while the time is at most [`WINDOW_S`] from its own. A copied
//! cookie therefore opens nothing, and it cannot be moved to another destination. Nothing else of a
//! connection is authenticated, and nothing is encrypted.
//!
//! # Sources
//! - RFC 8803 §4.2.7 (Cookie TLV: opaque to the client there; here both ends know the key).
//! - RFC 2104 (HMAC), RFC 4868 §2.1.1 (truncation to 128 bits).
//!
//! # Checked by
//! `tests` below, and the tests of `convert`.

use crate::mobility::Key;

/// Largest accepted difference between a cookie's time and the relay's clock, in seconds.
pub const WINDOW_S: u64 = 60;
/// Length of the part that the tag covers.
const BODY: usize = 24;
const TAG: usize = 16;

/// Number that names a key without revealing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u64);

impl KeyId {
    /// The id of a key.
    pub fn of(key: &Key) -> Self {
        let tag = key.tag(&[b"slowhand relay key id"]);
        let (id, _) = tag.split_first_chunk().expect("a tag has 16 bytes");
        Self(u64::from_be_bytes(*id))
    }
}

/// Content of a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cookie {
    /// The key that the client claims to know.
    pub key: KeyId,
    /// When the client made it, in seconds since 1970.
    pub made_s: u64,
    /// Random number.
    pub nonce: u64,
    tag: [u8; TAG],
}

impl Cookie {
    /// Length of a cookie, in bytes.
    pub const LENGTH: usize = BODY + TAG;

    /// Makes a cookie over the TLV `wanted`.
    pub fn seal(key: &Key, now_s: u64, nonce: u64, wanted: &[u8]) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&KeyId::of(key).0.to_be_bytes());
        bytes[8..16].copy_from_slice(&now_s.to_be_bytes());
        bytes[16..BODY].copy_from_slice(&nonce.to_be_bytes());
        let tag = key.tag(&[&bytes[..BODY], wanted]);
        bytes[BODY..].copy_from_slice(&tag);
        bytes
    }

    /// Parses a cookie without checking it. `None` if its length is wrong.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.try_into().ok()?;
        let number = |at: usize| bytes[at..at + 8].try_into().ok().map(u64::from_be_bytes);
        Some(Self {
            key: KeyId(number(0)?),
            made_s: number(8)?,
            nonce: number(16)?,
            tag: bytes[BODY..].try_into().ok()?,
        })
    }

    /// Whether `key` made this cookie over the TLV `wanted`. The time that this takes does not depend on the
    /// tag.
    pub fn is_signed(&self, key: &Key, wanted: &[u8]) -> bool {
        let mut body = [0; BODY];
        body[..8].copy_from_slice(&self.key.0.to_be_bytes());
        body[8..16].copy_from_slice(&self.made_s.to_be_bytes());
        body[16..].copy_from_slice(&self.nonce.to_be_bytes());
        key.is_tag(&[&body, wanted], &self.tag)
    }

    /// Whether its time is close enough to `now_s`, the relay's clock in seconds since 1970.
    pub const fn is_timely(&self, now_s: u64) -> bool {
        self.made_s.abs_diff(now_s) <= WINDOW_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::new([1; 32]);
    const WANTED: &[u8] = b"connect to that server";

    #[test]
    fn only_the_same_key_and_wish_are_accepted() {
        let bytes = Cookie::seal(&KEY, 5, 6, WANTED);
        let cookie = Cookie::parse(&bytes).unwrap();
        assert_eq!((cookie.key, cookie.made_s, cookie.nonce), (KeyId::of(&KEY), 5, 6));
        assert!(cookie.is_signed(&KEY, WANTED));
        assert!(!cookie.is_signed(&Key::new([2; 32]), WANTED));
        assert!(!cookie.is_signed(&KEY, b"connect elsewhere"));
    }

    #[test]
    fn no_bit_of_a_cookie_can_be_changed() {
        let bytes = Cookie::seal(&KEY, 5, 6, WANTED);
        for bit in 0..bytes.len() * 8 {
            let mut forged = bytes;
            forged[bit / 8] ^= 1 << (bit % 8);
            let cookie = Cookie::parse(&forged).unwrap();
            assert!(!cookie.is_signed(&KEY, WANTED), "bit {bit}");
        }
    }

    #[test]
    fn a_cookie_of_another_length_is_none() {
        let bytes = Cookie::seal(&KEY, 5, 6, WANTED);
        assert_eq!(Cookie::parse(&bytes[1..]), None);
        assert_eq!(Cookie::parse(&[&bytes[..], &[0; 4]].concat()), None);
    }

    #[test]
    fn the_clocks_may_differ_by_a_minute_either_way() {
        let cookie = Cookie::parse(&Cookie::seal(&KEY, 1_000, 6, WANTED)).unwrap();
        for (now_s, timely) in [(939, false), (940, true), (1_060, true), (1_061, false)] {
            assert_eq!(cookie.is_timely(now_s), timely, "{now_s}");
        }
        let last = Cookie::parse(&Cookie::seal(&KEY, u64::MAX, 6, WANTED)).unwrap();
        assert!(!last.is_timely(0));
    }
}
