//! Bytes of heap that are in use.
//!
//! # Where we differ, and why
//! 1. The heap is what the C library reports as in use (mallinfo2(3)). That includes its own headers and
//!    rounding, so it is a little more than was requested.

/// Bytes allocated at this moment, including those in their own mappings.
pub fn in_use() -> usize {
    // SAFETY: `mallinfo2` takes no arguments and only reads the allocator's own counts, under its locks.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted_small_and_large() {
        // Other tests allocate at the same time: far less than this.
        for (pieces, bytes) in [(1, 1 << 28), (1 << 16, 1 << 12)] {
            let before = in_use();
            let taken: Vec<Vec<u8>> = (0..pieces).map(|_| Vec::with_capacity(bytes)).collect();
            let during = in_use();
            assert!(
                during > before + (1 << 27),
                "{pieces} of {bytes}: {before}, {during}"
            );
            drop(taken);
            assert!(in_use() < during - (1 << 27), "{pieces} of {bytes}");
        }
    }
}
