//! A counting allocator, for tests of what the engine allocates and holds. Each thread has its own counts, so
//! tests that run in parallel do not disturb each other.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with counters.
pub struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static FREES: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// How often this thread has allocated or enlarged memory.
pub fn calls() -> u64 {
    CALLS.get()
}

/// How often this thread has freed memory.
pub fn frees() -> u64 {
    FREES.get()
}

/// Bytes that this thread has allocated and not freed.
pub fn held() -> isize {
    HELD.get()
}

fn count(calls: u64, frees: u64, bytes: isize) {
    // An ending thread has no cells any more. Its frees do not matter.
    let _ = CALLS.try_with(|count| count.set(count.get() + calls));
    let _ = FREES.try_with(|count| count.set(count.get() + frees));
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, 0, layout.size() as isize);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, 1, -(layout.size() as isize));
        // SAFETY: `pointer` came from `System.alloc` or `System.realloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, 0, size as isize - layout.size() as isize);
        // SAFETY: as in `dealloc`. The caller keeps `size`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
