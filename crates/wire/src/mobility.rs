//! Signal reports: a mobile reports to the sender how the signal of one path changes, so that CLA can run at
//! the sender.
//!
//! A report is one UDP datagram of 52 bytes. All numbers are in network byte order:
//!
//! | bytes | content |
//! |---|---|
//! | 0–3 | `SHm1` |
//! | 4–11 | sender id: a random number that the mobile draws at start |
//! | 12–19 | timestamp: nanoseconds since 1970, strictly increasing per mobile |
//! | 20–23 | connection: the token that the *receiver* has for it (RFC 8684 §3.2) |
//! | 24 | path: the address id of the mobile's address |
//! | 25 | flags: 1 = this path follows a hand-off |
//! | 26–27 | zero |
//! | 28–31 | mobility index, −1,000,000 to 1,000,000 (signed) |
//! | 32–35 | quality relative to the next candidate, 0 to 1,000,000 |
//! | 36–51 | the first 16 bytes of HMAC-SHA-256 over bytes 0–35, with the configured key |
//!
//! [`Guard`] protects the receiver against replay. It drops a message whose timestamp
//!
//! - differs too much from the receiver's clock,
//! - is not newer than the last one of the same mobile, or
//! - is from before the receiver began to listen.
//!
//! Copies of one message over several paths therefore count once. Nothing in a message is secret.
//!
//! Clock error has a cost when a receiver restarts. If a mobile's clock is ahead by some time, an attacker
//! can replay the messages that the mobile sent within that time before the restart. If its clock is behind,
//! the receiver ignores the mobile for that time.
//!
//! # Sources
//! - RFC 2104, RFC 4231 (HMAC-SHA-256), RFC 4868 §2.1.1 (truncation to 128 bits), cla §IV.
//!
//! # Where we differ, and why
//! 1. The paper leaves open how the mobile informs the sender. A TCP option would not survive every
//!    middlebox, and a stock kernel cannot send one.
//!
//! # Checked by
//! `tests` below.

use alloc::collections::BTreeMap;
use hmac::{Hmac, Mac};
use sha2::Sha256;

const MAGIC: [u8; 4] = *b"SHm1";
const BODY: usize = 36;
const TAG: usize = 16;
/// Length of a message, in bytes.
pub const LENGTH: usize = BODY + TAG;
/// Largest accepted difference between a timestamp and the receiver's clock, in ns. Clock errors and path
/// delays rarely exceed it.
pub const WINDOW_NS: u64 = 5_000_000_000;
/// Maximum number of mobiles that [`Guard`] remembers. It forgets only those whose last message is older than
/// the window.
const MOST_SENDERS: usize = 4_096;
/// One, in parts per million.
const WHOLE_PPM: u32 = 1_000_000;

/// Secret shared by both ends. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Key from its 32 bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Key from 64 hexadecimal digits, as `openssl rand -hex 32` prints them. Surrounding white space is
    /// ignored.
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

    /// The first 16 bytes of the HMAC-SHA-256 over these parts, one after the other.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        let tag = self.over(parts).finalize().into_bytes();
        tag[..TAG].try_into().expect("a tag is shorter than the HMAC")
    }

    /// Whether `tag` is the [`Self::tag`] of these parts, in constant time.
    pub(crate) fn is_tag(&self, parts: &[&[u8]], tag: &[u8; TAG]) -> bool {
        self.over(parts).verify_truncated_left(tag).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.mac(&[]);
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Content of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Id of the mobile.
    pub sender: u64,
    /// Timestamp, in nanoseconds since 1970.
    pub stamp_ns: u64,
    /// The receiver's token of the connection.
    pub token: u32,
    /// Address id of the mobile's address.
    pub address_id: u8,
    /// The path is new and replaces one that was given up.
    pub handed_off: bool,
    /// Mobility index, −1,000,000 to 1,000,000. Negative if the signal falls.
    pub mobility_ppm: i32,
    /// Quality relative to the next candidate, 0 to 1,000,000.
    pub quality_ppm: u32,
}

/// Why a datagram is rejected before its timestamp is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Wrong length or magic number.
    NotOurs,
    /// Wrong key, or modified in transit.
    Forged,
    /// Right key, but values out of range.
    Nonsense,
}

impl Message {
    /// Encodes and authenticates the report.
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

    /// Decodes a datagram that was authenticated with `key`.
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

/// Why an authentic message is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotHeard {
    /// The timestamp differs from the receiver's clock by more than [`WINDOW_NS`], or is from before the
    /// receiver began to listen.
    Stale,
    /// Not newer than the last message of the same mobile: a copy or a replay.
    Replayed,
}

/// Replay protection: remembers the latest timestamp of each mobile.
#[derive(Debug)]
pub struct Guard {
    /// Start of this receiver. An earlier receiver may have accepted any message with an older timestamp.
    began_ns: u64,
    latest: BTreeMap<u64, u64>,
}

impl Guard {
    /// Guard of a receiver that starts at `began_ns`, in nanoseconds since 1970.
    pub const fn since(began_ns: u64) -> Self {
        Self {
            began_ns,
            latest: BTreeMap::new(),
        }
    }

    /// Checks whether to accept a message, and remembers its timestamp. `now_ns` is in nanoseconds since
    /// 1970.
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
            // Every remembered mobile has sent within the window. Forgetting one would allow its messages to
            // be replayed.
            return Err(NotHeard::Stale);
        }
        self.latest.insert(message.sender, message.stamp_ns);
        Ok(())
    }

    /// Forgets mobiles whose last message is older than the window: the window check already rejects their
    /// replays.
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
    fn a_datagram_with_another_key_or_length_is_rejected() {
        let bytes = message().seal(&Key::new([8; 32]));
        assert_eq!(Message::open(&bytes, &KEY), Err(Unreadable::Forged));
        assert_eq!(Message::open(&bytes[1..], &KEY), Err(Unreadable::NotOurs));
        assert_eq!(Message::open(&[0; LENGTH], &KEY), Err(Unreadable::NotOurs));
    }

    #[test]
    fn values_out_of_range_are_rejected_even_with_the_right_key() {
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
    fn stale_and_replayed_messages_are_rejected() {
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
    fn messages_to_an_earlier_receiver_cannot_be_replayed() {
        let said = message();
        let mut before = Guard::since(NOW - WINDOW_NS);
        assert_eq!(before.admit(NOW, &said), Ok(()));
        // The receiver restarts, and the message is replayed within the window.
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
    fn memory_is_bounded_and_a_full_guard_admits_no_replay() {
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
    fn a_key_is_64_hexadecimal_digits() {
        let text = " 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F\n";
        let bytes = core::array::from_fn(|at| at as u8);
        assert_eq!(Key::from_hex(text), Some(Key::new(bytes)));
        assert_eq!(Key::from_hex("00"), None);
        assert_eq!(Key::from_hex(&"xy".repeat(32)), None);
        assert_eq!(alloc::format!("{KEY:?}"), "Key(…)");
    }

    proptest! {
        #[test]
        fn a_sealed_message_opens_to_itself(
            sender: u64, stamp_ns: u64, token: u32, address_id: u8, handed_off: bool, mobility_ppm in -1_000_000..=1_000_000, quality_ppm in 0u32..=1_000_000
        ) {
            let message = Message { sender, stamp_ns, token, address_id, handed_off, mobility_ppm, quality_ppm };
            prop_assert_eq!(Message::open(&message.seal(&KEY), &KEY), Ok(message));
        }

        #[test]
        fn any_flipped_bit_is_rejected(bit in 0usize..8 * LENGTH) {
            let mut bytes = message().seal(&KEY);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Message::open(&bytes, &KEY).is_err());
        }

        #[test]
        fn random_bytes_are_rejected(bytes: Vec<u8>) {
            prop_assert!(Message::open(&bytes, &KEY).is_err());
        }
    }
}
