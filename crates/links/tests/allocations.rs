//! After a warm-up, no packet on any kind of link needs an allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use links::wifi::Fading;
use links::*;
use units::{Bitrate, Db, Duration, Instant, Ratio};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has no cell any more. Its deallocations do not matter.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System.alloc` or `System.realloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as `dealloc`; the caller keeps `size`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn every_kind() -> Vec<LinkConfig> {
    let wire = Wire {
        jitter: Duration::from_millis(2),
        loss: Ratio::from_ppm(1_000),
        queue: QueueConfig::codel(true),
        ..Wire::new(Bitrate::from_mbps(20), Duration::from_millis(10))
    };
    let trace: Vec<_> = (1..1_000).map(Duration::from_millis).collect();
    let mut wifi = WifiConfig::new("wifi", Position::default());
    wifi.propagation.fading = Some(Fading {
        k_factor: Some(Db::from_db(6)),
        coherence: Duration::from_millis(50),
    });
    vec![
        LinkConfig::Cable(CableConfig {
            name: "cable".into(),
            up: wire,
            down: wire,
            behind: None,
        }),
        LinkConfig::Cell(CellConfig::constant(
            "constant",
            Bitrate::from_mbps(12),
            Duration::from_millis(30),
        )),
        LinkConfig::Cell(CellConfig::traced(
            "traced",
            trace.clone(),
            trace,
            Duration::from_millis(30),
        )),
        LinkConfig::Wifi(wifi),
    ]
}

/// Offers every link more than it can carry in both directions, from `from` for `time`. Returns how many
/// packets left.
fn offer(network: &mut Network, from: Instant, time: Duration) -> u64 {
    let (mut now, mut left) = (from, 0);
    while now < from + time {
        now += Duration::from_micros(250);
        for link in (0..4).map(LinkId) {
            for direction in [Direction::Up, Direction::Down] {
                let packet = Packet {
                    link,
                    direction,
                    bytes: 1_500,
                    ect: true,
                    flow: 0,
                    token: 0,
                };
                network.handle(now, Input::Packet(packet));
            }
        }
        while let Some(output) = network.poll() {
            left += u64::from(matches!(
                output,
                Output::Delivered { .. } | Output::Dropped { .. }
            ));
        }
    }
    left
}

#[test]
fn packets_cost_no_allocation_after_a_warm_up() {
    let mut network = Network::new(1, every_kind()).unwrap();
    network.handle(Instant::ZERO, Input::Associate(LinkId(3)));
    let warm = Duration::from_secs(5);
    offer(&mut network, Instant::ZERO, warm);
    assert_eq!(network.state(LinkId(3)), LinkState::Up);
    let before = COUNT.get();
    assert!(before > 0, "the allocator counts");
    let left = offer(&mut network, Instant::ZERO + warm, Duration::from_secs(5));
    assert!(left > 100_000, "{left}");
    assert_eq!(COUNT.get() - before, 0);
}
