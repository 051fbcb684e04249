//! How many bytes the program has allocated: the system's allocator with a count beside it, for the benchmarks of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated at this moment.
pub fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

// SAFETY: every call is passed on to the system's allocator as it came; the count beside it touches no memory of the caller's.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from this allocator, that is from the system's, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_add(size, Ordering::Relaxed);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as `dealloc`; the caller keeps `size`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted() {
        // Other tests allocate beside this one: far less than this.
        let before = held();
        let taken = vec![0_u8; 1 << 30];
        assert!(held() > before + (1 << 29));
        drop(taken);
        assert!(held() < before + (1 << 29));
    }
}
