//! What a mobile tells a sender about one of its paths: where its signal is going, so that CLA can act where the data is sent.
//!
//! One UDP datagram of 52 bytes, all numbers in network order:
//!
//! | bytes | what |
//! |---|---|
//! | 0–3 | `SHm1` |
//! | 4–11 | who tells: a number that the mobile draws when it starts |
//! | 12–19 | when: nanoseconds since 1970, higher in every message of one mobile |
//! | 20–23 | which connection: the token that the *receiver* has for it (RFC 8684 §3.2) |
//! | 24 | which path: the id of the mobile's address |
//! | 25 | flags: 1 = this path follows a hand-off |
//! | 26–27 | zero |
//! | 28–31 | mobility index, −1,000,000 to 1,000,000 (signed) |
//! | 32–35 | quality beside the next candidate, 0 to 1,000,000 |
//! | 36–51 | the first 16 bytes of HMAC-SHA-256 over bytes 0–35, with the configured key |
//!
//! A message that is too old or too new by the receiver's clock is dropped, and so is one that is not newer than what the same mobile said
//! last, or from before the receiver began to listen ([`Guard`]): a recorded message is of no use to anybody, and copies of one message over
//! several paths count once. Nothing in it is secret.
//!
//! Where a mobile's clock is ahead by so much, what it said in the last so much before a receiver began anew may be repeated to it; where it is
//! behind, it is not heard for as long.
//!
//! # Sources
//! - RFC 2104, RFC 4231 (HMAC-SHA-256), RFC 4868 §2.1.1 (128 bits of it); cla §IV.
//!
//! # Where we differ, and why
//! 1. The paper leaves open how the mobile tells the sender. An option in the TCP header would not survive every middlebox, nor leave a
//!    stock kernel.
//!
//! # Checked by
//! `tests` below.

use alloc::collections::BTreeMap;
use hmac::{Hmac, Mac};
use sha2::Sha256;

const MAGIC: [u8; 4] = *b"SHm1";
const BODY: usize = 36;
const TAG: usize = 16;
/// Length of a message.
pub const LENGTH: usize = BODY + TAG;
/// A message this much older or newer than the receiver's clock is dropped: clocks are seldom further apart, and paths seldom slower.
pub const WINDOW_NS: u64 = 5_000_000_000;
/// So many mobiles are remembered at most; those that said nothing for the longest time go first, and stay out by their age.
const MOST_SENDERS: usize = 4_096;
/// One, in parts of a million.
const WHOLE_PPM: u32 = 1_000_000;

/// A secret that both ends have been given. Shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// From its bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// From 64 hexadecimal digits, as `openssl rand -hex 32` prints them; space around them does not matter.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(Self(bytes))
    }

    fn mac(&self, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(body);
        mac
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Who tells.
    pub sender: u64,
    /// When, in nanoseconds since 1970.
    pub stamp_ns: u64,
    /// The receiver's token of the connection.
    pub token: u32,
    /// The id of the mobile's address.
    pub address_id: u8,
    /// The path is new, and follows one that was given up.
    pub handed_off: bool,
    /// −1,000,000 to 1,000,000: negative when the signal sinks.
    pub mobility_ppm: i32,
    /// 0 to 1,000,000.
    pub quality_ppm: u32,
}

/// Why a datagram says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Not of this kind.
    NotOurs,
    /// Of somebody with another key, or changed on the way.
    Forged,
    /// Numbers that mean nothing, although the key is right.
    Nonsense,
}

impl Message {
    /// The datagram.
    pub fn seal(&self, key: &Key) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..12].copy_from_slice(&self.sender.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.stamp_ns.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.token.to_be_bytes());
        bytes[24] = self.address_id;
        bytes[25] = u8::from(self.handed_off);
        bytes[28..32].copy_from_slice(&self.mobility_ppm.to_be_bytes());
        bytes[32..36].copy_from_slice(&self.quality_ppm.to_be_bytes());
        let tag = key.mac(&bytes[..BODY]).finalize().into_bytes();
        bytes[BODY..].copy_from_slice(&tag[..TAG]);
        bytes
    }

    /// What a datagram says, if it was made with this key.
    pub fn open(datagram: &[u8], key: &Key) -> Result<Self, Unreadable> {
        let bytes: &[u8; LENGTH] = datagram.try_into().map_err(|_| Unreadable::NotOurs)?;
        if bytes[..4] != MAGIC {
            return Err(Unreadable::NotOurs);
        }
        key.mac(&bytes[..BODY])
            .verify_truncated_left(&bytes[BODY..])
            .map_err(|_| Unreadable::Forged)?;
        Self::read(bytes).ok_or(Unreadable::Nonsense)
    }

    fn read(bytes: &[u8; LENGTH]) -> Option<Self> {
        let message = Self {
            sender: u64::from_be_bytes(bytes[4..12].try_into().ok()?),
            stamp_ns: u64::from_be_bytes(bytes[12..20].try_into().ok()?),
            token: u32::from_be_bytes(bytes[20..24].try_into().ok()?),
            address_id: bytes[24],
            handed_off: bytes[25] == 1,
            mobility_ppm: i32::from_be_bytes(bytes[28..32].try_into().ok()?),
            quality_ppm: u32::from_be_bytes(bytes[32..36].try_into().ok()?),
        };
        let known = bytes[25] <= 1 && bytes[26..28] == [0, 0];
        let bounded = message.mobility_ppm.unsigned_abs() <= WHOLE_PPM && message.quality_ppm <= WHOLE_PPM;
        (known && bounded).then_some(message)
    }
}

/// Why a message that was made with the right key is not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotHeard {
    /// Older or newer than [`WINDOW_NS`] by the receiver's clock, or from before it began to listen.
    Stale,
    /// Not newer than the last one of the same mobile: a copy, or a recording.
    Replayed,
}

/// Remembers what each mobile said last.
#[derive(Debug)]
pub struct Guard {
    /// Whoever listened before may have admitted what was said until then.
    began_ns: u64,
    latest: BTreeMap<u64, u64>,
}

impl Guard {
    /// Of a receiver that begins to listen at this moment, in nanoseconds since 1970.
    pub const fn since(began_ns: u64) -> Self {
        Self {
            began_ns,
            latest: BTreeMap::new(),
        }
    }

    /// Whether a message may be heard; `now_ns` is nanoseconds since 1970.
    pub fn admit(&mut self, now_ns: u64, message: &Message) -> Result<(), NotHeard> {
        if now_ns.abs_diff(message.stamp_ns) > WINDOW_NS || message.stamp_ns < self.began_ns {
            return Err(NotHeard::Stale);
        }
        let latest = self.latest.get(&message.sender).copied();
        if latest.is_some_and(|latest| message.stamp_ns <= latest) {
            return Err(NotHeard::Replayed);
        }
        if latest.is_none() && self.latest.len() >= MOST_SENDERS {
            self.make_room(now_ns);
        }
        if latest.is_none() && self.latest.len() >= MOST_SENDERS {
            // Everybody has spoken within the window: to forget one would let its recordings in.
            return Err(NotHeard::Stale);
        }
        self.latest.insert(message.sender, message.stamp_ns);
        Ok(())
    }

    /// What was said before the window cannot be heard again anyhow.
    fn make_room(&mut self, now_ns: u64) {
        self.latest
            .retain(|_, stamp_ns| now_ns.saturating_sub(*stamp_ns) <= WINDOW_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: Key = Key::new([7; 32]);
    const NOW: u64 = 1_700_000_000_000_000_000;

    fn message() -> Message {
        Message {
            sender: 42,
            stamp_ns: NOW,
            token: 0xdead_beef,
            address_id: 3,
            handed_off: false,
            mobility_ppm: -704_833,
            quality_ppm: 312_500,
        }
    }

    #[test]
    fn the_tag_is_hmac_sha_256() {
        // RFC 4231, test case 2.
        let mut mac = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let tag = mac.finalize().into_bytes();
        assert_eq!(tag[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    }

    #[test]
    fn a_datagram_has_the_documented_bytes() {
        let bytes = message().seal(&KEY);
        let body = [
            0x53, 0x48, 0x6d, 0x31, 0, 0, 0, 0, 0, 0, 0, 42, 0x17, 0x97, 0x9c, 0xfe, 0x36, 0x2a, 0, 0, 0xde,
            0xad, 0xbe, 0xef, 3, 0, 0, 0, 0xff, 0xf5, 0x3e, 0xbf, 0, 4, 0xc4, 0xb4,
        ];
        assert_eq!(bytes[..BODY], body);
        assert_eq!(bytes.len(), 52);
    }

    #[test]
    fn another_key_says_nothing() {
        let bytes = message().seal(&Key::new([8; 32]));
        assert_eq!(Message::open(&bytes, &KEY), Err(Unreadable::Forged));
        assert_eq!(Message::open(&bytes[1..], &KEY), Err(Unreadable::NotOurs));
        assert_eq!(Message::open(&[0; LENGTH], &KEY), Err(Unreadable::NotOurs));
    }

    #[test]
    fn numbers_out_of_bounds_are_nonsense_even_with_the_key() {
        let beyond = Message {
            quality_ppm: WHOLE_PPM + 1,
            ..message()
        };
        assert_eq!(Message::open(&beyond.seal(&KEY), &KEY), Err(Unreadable::Nonsense));
        let beyond = Message {
            mobility_ppm: i32::MIN,
            ..message()
        };
        assert_eq!(Message::open(&beyond.seal(&KEY), &KEY), Err(Unreadable::Nonsense));
    }

    #[test]
    fn what_is_stale_or_said_before_is_not_heard() {
        let mut guard = Guard::since(0);
        let said = |stamp_ns| Message {
            stamp_ns,
            ..message()
        };
        assert_eq!(guard.admit(NOW + WINDOW_NS + 1, &said(NOW)), Err(NotHeard::Stale));
        assert_eq!(guard.admit(NOW - WINDOW_NS - 1, &said(NOW)), Err(NotHeard::Stale));
        assert_eq!(guard.admit(NOW + 1, &said(NOW)), Ok(()));
        assert_eq!(guard.admit(NOW + 1, &said(NOW)), Err(NotHeard::Replayed));
        assert_eq!(guard.admit(NOW + 1, &said(NOW - 1)), Err(NotHeard::Replayed));
        assert_eq!(guard.admit(NOW + 2, &said(NOW + 1)), Ok(()));
    }

    #[test]
    fn what_was_said_to_whoever_listened_before_is_not_heard_again() {
        let said = message();
        let mut before = Guard::since(NOW - WINDOW_NS);
        assert_eq!(before.admit(NOW, &said), Ok(()));
        // The receiver begins anew, and within the window the recording comes.
        let mut anew = Guard::since(NOW + 1);
        assert_eq!(anew.admit(NOW + 2, &said), Err(NotHeard::Stale));
        let next = Message {
            stamp_ns: NOW + 1,
            ..said
        };
        assert_eq!(anew.admit(NOW + 2, &next), Ok(()));
        assert_eq!(anew.admit(NOW + 2, &said), Err(NotHeard::Stale));
    }

    #[test]
    fn memory_is_bounded_and_a_full_one_lets_no_recording_in() {
        let mut guard = Guard::since(0);
        let of = |sender, stamp_ns| Message {
            sender,
            stamp_ns,
            ..message()
        };
        for sender in 0..MOST_SENDERS as u64 {
            assert_eq!(guard.admit(NOW, &of(sender, NOW)), Ok(()));
        }
        assert_eq!(guard.admit(NOW, &of(1 << 40, NOW)), Err(NotHeard::Stale));
        assert_eq!(guard.admit(NOW, &of(5, NOW)), Err(NotHeard::Replayed));
        let later = NOW + WINDOW_NS + 1;
        assert_eq!(guard.admit(later, &of(1 << 40, later)), Ok(()));
        assert_eq!(guard.latest.len(), 1);
    }

    #[test]
    fn a_key_is_64_digits() {
        let text = " 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F\n";
        let bytes = core::array::from_fn(|at| at as u8);
        assert_eq!(Key::from_hex(text), Some(Key::new(bytes)));
        assert_eq!(Key::from_hex("00"), None);
        assert_eq!(Key::from_hex(&"xy".repeat(32)), None);
        assert_eq!(alloc::format!("{KEY:?}"), "Key(…)");
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_opened(
            sender: u64, stamp_ns: u64, token: u32, address_id: u8, handed_off: bool, mobility_ppm in -1_000_000..=1_000_000, quality_ppm in 0u32..=1_000_000
        ) {
            let message = Message { sender, stamp_ns, token, address_id, handed_off, mobility_ppm, quality_ppm };
            prop_assert_eq!(Message::open(&message.seal(&KEY), &KEY), Ok(message));
        }

        #[test]
        fn a_changed_bit_is_noticed(bit in 0usize..8 * LENGTH) {
            let mut bytes = message().seal(&KEY);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Message::open(&bytes, &KEY).is_err());
        }

        #[test]
        fn any_bytes_are_borne(bytes: Vec<u8>) {
            prop_assert!(Message::open(&bytes, &KEY).is_err());
        }
    }
}
