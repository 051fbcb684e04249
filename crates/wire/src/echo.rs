//! ICMP echo messages (RFC 792, RFC 4443 §4). The payload of 16 bytes holds the prober's own 64-bit word and
//! the number of the probe.

use crate::checksum;

const REQUEST_V4: u8 = 8;
const REPLY_V4: u8 = 0;
const REQUEST_V6: u8 = 128;
const REPLY_V6: u8 = 129;
const HEADER: usize = 8;
const LENGTH: usize = HEADER + 16;

/// Encodes an echo request. The kernel fills in the ICMPv6 checksum, which covers the addresses.
pub fn request(v6: bool, word: u64, probe: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[0] = if v6 { REQUEST_V6 } else { REQUEST_V4 };
    bytes[4..6].copy_from_slice(&(word as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&(probe as u16).to_be_bytes());
    bytes[8..16].copy_from_slice(&word.to_be_bytes());
    bytes[16..20].copy_from_slice(&probe.to_be_bytes());
    if !v6 {
        let sum = !checksum::fold(checksum::sum(&bytes));
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// Number of the probe that this packet from a raw socket replies to. `None` if it is no reply to this
/// prober.
pub fn reply(v6: bool, packet: &[u8], word: u64) -> Option<u32> {
    // IPv4 raw sockets also deliver the IP header, IPv6 raw sockets do not.
    let skip = if v6 {
        0
    } else {
        usize::from(packet.first()? & 0x0f) * 4
    };
    let message = packet.get(skip..)?;
    let expected = if v6 { REPLY_V6 } else { REPLY_V4 };
    let ours = *message.first()? == expected && message.get(8..16)? == word.to_be_bytes();
    let number = message.get(16..20)?.try_into().ok()?;
    ours.then_some(u32::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_reply_names_its_probe(word: u64, probe: u32) {
            let mut message = request(true, word, probe);
            message[0] = REPLY_V6;
            prop_assert_eq!(reply(true, &message, word), Some(probe));
            prop_assert_eq!(reply(true, &message, word.wrapping_add(1)), None);
            let request = request(false, word, probe);
            prop_assert_eq!(checksum::fold(checksum::sum(&request)), 0xffff);
        }

        #[test]
        fn no_packet_makes_the_parser_panic(packet in prop::collection::vec(any::<u8>(), 0..100), v6: bool, word: u64) {
            let _ = reply(v6, &packet, word);
        }
    }
}
