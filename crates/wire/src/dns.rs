//! DNS queries and replies, as far as a probe and the check of one URL need them: one question and the
//! addresses in its reply.
//!
//! # Sources
//! - RFC 1035 §4.1 (messages), §4.1.4 (compression), §3.1 (names)
//! - RFC 3596 §2.1 (AAAA)
//! - RFC 8906 §3 (a server should reply to every query)
//!
//! # Where we differ, and why
//! 1. The parser reads only what a reply says about the name in the question. It does not follow an alias
//!    with further queries, because a resolver sends the whole chain (RFC 1034 §5.3.3).
//! 2. No EDNS and no TCP: a truncated reply still contains addresses.
//!
//! # Checked by
//! `tests`: replies written by hand, and random ones.

use alloc::vec::Vec;
use core::net::IpAddr;

const HEADER: usize = 12;
const RECURSE: u8 = 0x01;
const IS_REPLY: u8 = 0x80;
const CLASS_IN: u16 = 1;
const LONGEST_LABEL: usize = 63;
const LONGEST_NAME: usize = 253;

/// Record type of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// IPv4 addresses.
    A,
    /// Name servers.
    Ns,
    /// IPv6 addresses.
    Aaaa,
}

impl Kind {
    const fn code(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Ns => 2,
            Self::Aaaa => 28,
        }
    }
}

/// Encodes a query for `name`. `None` if `name` is not a valid name. The empty name is the root.
pub fn question(id: u16, name: &str, kind: Kind) -> Option<Vec<u8>> {
    let mut message = Vec::with_capacity(HEADER + name.len() + 6);
    message.extend(id.to_be_bytes());
    message.extend([RECURSE, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.len() > LONGEST_NAME {
        return None;
    }
    for label in name.split('.').filter(|_| !name.is_empty()) {
        let length = u8::try_from(label.len()).ok()?;
        if label.is_empty() || label.len() > LONGEST_LABEL || !label.is_ascii() {
            return None;
        }
        message.push(length);
        message.extend(label.bytes());
    }
    message.push(0);
    message.extend(kind.code().to_be_bytes());
    message.extend(CLASS_IN.to_be_bytes());
    Some(message)
}

/// Id of the query that a message replies to. `None` if the message is no reply.
pub fn replied(message: &[u8]) -> Option<u16> {
    let (id, rest) = message.split_first_chunk::<2>()?;
    let is_reply = message.len() >= HEADER && rest[0] & IS_REPLY != 0;
    is_reply.then(|| u16::from_be_bytes(*id))
}

/// Addresses in the reply to the query `id`. Empty if the message has none or is no such reply.
pub fn addresses(message: &[u8], id: u16) -> Vec<IpAddr> {
    let mut found = Vec::new();
    if replied(message) == Some(id) {
        // Ignores everything after the first malformed record.
        let _ = collect(message, &mut found);
    }
    found
}

fn collect(message: &[u8], found: &mut Vec<IpAddr>) -> Option<()> {
    let count = |at: usize| Some(u16::from_be_bytes(*message.get(at..)?.first_chunk()?));
    let (questions, answers) = (count(4)?, count(6)?);
    let mut at = HEADER;
    for _ in 0..questions {
        at = after_name(message, at)?.checked_add(4)?;
    }
    for _ in 0..answers {
        at = after_name(message, at)?;
        let record = message.get(at..at.checked_add(10)?)?;
        let kind = u16::from_be_bytes([record[0], record[1]]);
        let class = u16::from_be_bytes([record[2], record[3]]);
        let length = usize::from(u16::from_be_bytes([record[8], record[9]]));
        at += 10;
        let data = message.get(at..at + length)?;
        at += length;
        found.extend(address(kind, data).filter(|_| class == CLASS_IN));
    }
    Some(())
}

fn address(kind: u16, data: &[u8]) -> Option<IpAddr> {
    if kind == Kind::A.code() {
        Some(IpAddr::from(<[u8; 4]>::try_from(data).ok()?))
    } else if kind == Kind::Aaaa.code() {
        Some(IpAddr::from(<[u8; 16]>::try_from(data).ok()?))
    } else {
        None
    }
}

/// Offset behind a name: behind its root label, or behind the first compression pointer.
fn after_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ 1..=63 => at += 1 + usize::from(length),
            0xc0..=0xff => return Some(at + 2),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use proptest::prelude::*;

    /// Reply to `question` with records of (type, data). The record names are pointers to the name in the
    /// question.
    fn reply(question: &[u8], records: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = question.to_vec();
        message[2] |= IS_REPLY;
        message[7] = u8::try_from(records.len()).unwrap();
        for (kind, data) in records {
            message.extend([0xc0, 12]);
            message.extend(kind.to_be_bytes());
            message.extend([0, 1, 0, 0, 0, 60]);
            message.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
            message.extend(*data);
        }
        message
    }

    #[test]
    fn a_query_is_encoded_as_in_the_rfc() {
        let asked = question(0x1234, "a.example.", Kind::Aaaa).unwrap();
        assert_eq!(
            asked,
            b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x1c\x00\x01"
        );
        assert_eq!(question(1, "", Kind::Ns).unwrap().len(), 17);
        for wrong in ["a..b", ".", "..", &"x".repeat(64), "ä.example", &"a.".repeat(128)] {
            let asked = question(1, wrong, Kind::A);
            assert!(asked.is_none() || wrong == ".", "{wrong}");
        }
    }

    #[test]
    fn addresses_are_found_behind_aliases_and_only_with_the_right_id() {
        let asked = question(7, "site.example", Kind::A).unwrap();
        let records: [(u16, &[u8]); 3] = [(5, b"\x01b\xc0\x11"), (1, &[192, 0, 2, 1]), (1, &[192, 0, 2, 2])];
        let message = reply(&asked, &records);
        assert_eq!(replied(&message), Some(7));
        let expected = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
        assert_eq!(addresses(&message, 7), expected);
        assert!(addresses(&message, 8).is_empty());
        assert_eq!(replied(&asked), None, "a query is no reply");
        assert!(addresses(&message[..message.len() - 1], 7) == expected[..1]);
        let v6 = reply(&asked, &[(28, &[0x20; 16])]);
        assert_eq!(addresses(&v6, 7), [IpAddr::from([0x20; 16])]);
    }

    proptest! {
        #[test]
        fn no_message_makes_the_parser_panic(message in prop::collection::vec(any::<u8>(), 0..200), id: u16) {
            let _ = addresses(&message, id);
            let mut message = message;
            if message.len() > 3 {
                message[..2].copy_from_slice(&id.to_be_bytes());
                message[2] |= IS_REPLY;
                let _ = addresses(&message, id);
            }
        }

        #[test]
        fn names_of_letters_are_encoded(labels in prop::collection::vec("[a-z]{1,20}", 1..5)) {
            let name: String = labels.join(".");
            prop_assert!(question(1, &name, Kind::A).is_some());
        }
    }
}
