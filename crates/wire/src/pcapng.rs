//! Packet captures in pcapng: one section, its interfaces, and packets with nanosecond timestamps.
//!
//! # Sources
//! - IETF draft-ietf-opsawg-pcapng (section header, interface description, enhanced packet, options `if_name`
//!   and `if_tsresol`).
//!
//! # Where we differ, and why
//! 1. Write-only, and little-endian on every machine, so that one run always gives the same bytes.
//!
//! # Checked by
//! `tests`, and `sim`'s captures, which tshark reads.

use alloc::vec::Vec;
use units::Instant;

/// Link type of 802.11 frames with a radiotap header.
pub const LINKTYPE_RADIOTAP: u16 = 127;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// Timestamp resolution, as an exponent: 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Appends the section header, which must come first in a file.
pub fn section(out: &mut Vec<u8>) {
    block(out, SECTION, |out| {
        out.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        out.extend_from_slice(&[1, 0, 0, 0]);
        // The length of the section is unspecified.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
    });
}

/// Appends an interface. Interfaces are numbered from 0 in order.
pub fn interface(out: &mut Vec<u8>, linktype: u16, name: &str) {
    block(out, INTERFACE, |out| {
        out.extend_from_slice(&linktype.to_le_bytes());
        // Reserved bytes, then no limit on the packet length.
        out.extend_from_slice(&[0; 6]);
        option(out, IF_NAME, name.as_bytes());
        option(out, IF_TSRESOL, &[NANOSECONDS]);
        option(out, 0, &[]);
    });
}

/// Appends a packet. `captured` is its first part, `length` its full length in bytes.
pub fn packet(out: &mut Vec<u8>, interface: u32, at: Instant, captured: &[u8], length: u32) {
    block(out, PACKET, |out| {
        let nanos = at.as_nanos();
        let words = [
            interface,
            (nanos >> 32) as u32,
            nanos as u32,
            captured.len() as u32,
            length,
        ];
        words
            .iter()
            .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        padded(out, captured);
    });
}

/// Appends a block. Its length comes both before and after its body.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    padded(out, value);
}

fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type and body of each block.
    fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut found = Vec::new();
        while !file.is_empty() {
            let length = word(file, 4) as usize;
            assert_eq!((length % 4, word(file, length - 4) as usize), (0, length));
            found.push((word(file, 0), &file[8..length - 4]));
            file = &file[length..];
        }
        found
    }

    #[test]
    fn a_file_is_a_chain_of_blocks() {
        let mut file = Vec::new();
        section(&mut file);
        interface(&mut file, LINKTYPE_RADIOTAP, "wlan0");
        packet(&mut file, 0, Instant::from_nanos(5_000_000_007), b"abcde", 1_500);
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET]);
        let body = blocks[2].1;
        assert_eq!(body[4..8], [1, 0, 0, 0], "5,000,000,007 is over 2³²");
        assert_eq!(body[12..20], [5, 0, 0, 0, 0xdc, 5, 0, 0]);
        assert_eq!(&body[20..], b"abcde\0\0\0");
    }
}
