//! Whatever an engine is told, in whatever order: it does not panic, lets time pass, asks only for what exists, and stays small.

mod drive;

use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no cell any more; what it frees is of no interest.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `pointer` came from `System.alloc` or `System.realloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as `dealloc`; the caller keeps `size`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What an engine holds after being told all this, in bytes.
fn held_after(bytes: &[u8]) -> isize {
    let before = LIVE.get();
    let engine = drive::drive(bytes);
    let held = LIVE.get() - before;
    drop(engine);
    held
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn stands_any_facts_in_any_order(bytes in prop::collection::vec(any::<u8>(), 0..6_000)) {
        let held = held_after(&bytes);
        // Seven links, four connections, twenty-four subflows; the frames of each link take up to 200 kB.
        prop_assert!(held < 2048 * 1024, "it holds {held} bytes");
    }
}

#[test]
fn does_not_grow_with_what_it_is_told() {
    let mut rng = units::Rng::named(1, "facts");
    let bytes: Vec<u8> = (0..400_000).map(|_| rng.next_u64() as u8).collect();
    let short = held_after(&bytes[..40_000]);
    let long = held_after(&bytes);
    println!("{short} bytes held after 40,000 bytes of facts, {long} after 400,000");
    assert!(long < 2048 * 1024, "{long}");
}
