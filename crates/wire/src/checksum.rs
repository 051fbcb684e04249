//! The Internet checksum.
//!
//! # Sources
//! - RFC 1071 (the sum), RFC 1624 equation 3 (incremental update).
//!
//! # Checked by
//! `lab`, `frame::tests`: incremental updates compared with full sums over random packets.

/// One's complement sum of 16-bit words, not yet folded. A trailing odd byte is the high byte of a word.
pub fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let whole: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    whole + rest.first().map_or(0, |byte| u32::from(*byte) << 8)
}

/// Folds the carries into 16 bits.
pub const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Sum of the pseudo header, which TCP and UDP checksums cover in addition to the segment.
pub fn pseudo_header(addresses: &[u8], protocol: u8, length: usize) -> u16 {
    fold(sum(addresses) + u32::from(protocol) + (length as u32 & 0xffff) + (length as u32 >> 16))
}

/// State of a checksum field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Complete: the complement of the sum.
    Finished,
    /// The sum of the pseudo header only, not complemented. Hardware is expected to complete it (checksum
    /// offload).
    Partial,
}

/// Updates the checksum field at `at` after `old` was replaced by `new` in the data that it covers.
pub fn replace(packet: &mut [u8], at: usize, field: Field, old: &[u8], new: &[u8]) {
    let Some(bytes) = packet.get_mut(at..at + 2) else {
        return;
    };
    let before = u16::from_be_bytes([bytes[0], bytes[1]]);
    let flip = if field == Field::Finished { 0xffff } else { 0 };
    // Adding the complement of a word of `old` subtracts it.
    let removed = old.len() as u32 / 2 * 0xffff - sum(old);
    let after = fold(u32::from(before ^ flip) + removed + sum(new)) ^ flip;
    bytes.copy_from_slice(&after.to_be_bytes());
}

/// Overwrites the bytes at `at` with `new`.
pub fn overwrite(packet: &mut [u8], at: usize, new: &[u8]) {
    packet[at..at + new.len()].copy_from_slice(new);
}
