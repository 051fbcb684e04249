//! The content of transfers: bytes that look random and are known at every offset.

use super::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes per generated word.
const WORD: u64 = 8;

/// The word of a content at a word index: SplitMix64's output function over a Weyl sequence (Steele et al.
/// 2014).
const fn word(seed: u64, index: u64) -> [u8; 8] {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()
}

/// Fills `buffer` with the content of `seed` from `offset` on.
pub(super) fn fill(seed: u64, offset: u64, buffer: &mut [u8]) {
    let head = ((WORD - offset % WORD) % WORD).min(buffer.len() as u64) as usize;
    let (first, rest) = buffer.split_at_mut(head);
    let start = (offset % WORD) as usize;
    first.copy_from_slice(&word(seed, offset / WORD)[start..start + head]);
    let first_word = (offset + head as u64) / WORD;
    for (index, chunk) in (first_word..).zip(rest.chunks_mut(WORD as usize)) {
        chunk.copy_from_slice(&word(seed, index)[..chunk.len()]);
    }
}

/// SHA-256 of the first `length` bytes of the content of `seed`.
pub fn digest(seed: u64, length: u64) -> Digest {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut offset = 0;
    while offset < length {
        let take = (length - offset).min(buffer.len() as u64) as usize;
        fill(seed, offset, &mut buffer[..take]);
        hash.update(&buffer[..take]);
        offset += take as u64;
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_slice_equals_that_slice_of_the_whole(seed: u64, offset in 0u64..200, length in 0usize..200) {
            let mut whole = vec![0; 400];
            fill(seed, 0, &mut whole);
            let mut piece = vec![0; length];
            fill(seed, offset, &mut piece);
            prop_assert_eq!(&piece[..], &whole[offset as usize..][..length]);
        }
    }

    #[test]
    fn the_digest_is_that_of_the_bytes() {
        let mut whole = vec![0; 300_001];
        fill(7, 0, &mut whole);
        let expected: Digest = Sha256::digest(&whole).into();
        assert_eq!(digest(7, 300_001), expected);
        assert_ne!(digest(8, 300_001), expected);
    }
}
