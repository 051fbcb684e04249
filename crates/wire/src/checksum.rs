//! The Internet checksum.
//!
//! # Sources
//! - RFC 1071 (the sum), RFC 1624 equation 3 (by difference).
//!
//! # Checked by
//! `lab`, `frame::tests`: differences against whole sums over random packets.

/// The one's complement sum of 16-bit words, not yet folded; an odd byte at the end counts as the high half of a word.
pub fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let whole: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    whole + rest.first().map_or(0, |byte| u32::from(*byte) << 8)
}

/// Folds the carries in.
pub const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// The sum of what TCP and UDP checksums cover besides the segment itself.
pub fn pseudo_header(addresses: &[u8], protocol: u8, length: usize) -> u16 {
    fold(sum(addresses) + u32::from(protocol) + (length as u32 & 0xffff) + (length as u32 >> 16))
}

/// Whether a checksum field holds a finished checksum (the complement of the sum) or the bare sum of the pseudo header, to be
/// finished by the hardware that never comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Complemented.
    Finished,
    /// Not complemented.
    Partial,
}

/// Brings the checksum field at `at` up to date after `old` became `new` somewhere under it.
pub fn replace(packet: &mut [u8], at: usize, field: Field, old: &[u8], new: &[u8]) {
    let Some(bytes) = packet.get_mut(at..at + 2) else {
        return;
    };
    let before = u16::from_be_bytes([bytes[0], bytes[1]]);
    let flip = if field == Field::Finished { 0xffff } else { 0 };
    // Each word of `old` is taken away by adding its complement.
    let removed = old.len() as u32 / 2 * 0xffff - sum(old);
    let after = fold(u32::from(before ^ flip) + removed + sum(new)) ^ flip;
    bytes.copy_from_slice(&after.to_be_bytes());
}

/// Writes `new` over the bytes at `at`.
pub fn overwrite(packet: &mut [u8], at: usize, new: &[u8]) {
    packet[at..at + new.len()].copy_from_slice(new);
}
