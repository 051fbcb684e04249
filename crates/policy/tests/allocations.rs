//! Once they are built, the estimators that hear every frame never allocate, and never free.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use policy::estimate::airtime::{Contention, Exchange, Form};
use policy::estimate::bandwidth::{Bandwidth, Sight};
use policy::estimate::delivery::{Config, Delivery, Frame, Receiver, Scope};
use policy::estimate::mobility::Mobility;
use units::wifi::Standard;
use units::{Bitrate, Bytes, Db, Duration, Instant, MacAddr, Ratio, Rng, SeqNum};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has no cell any more; what it does then is of no interest.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: `pointer` came from `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Any frame to anybody, later than the one before.
fn frame(rng: &mut Rng) -> Frame {
    let station = MacAddr::local(rng.below(100) as u32);
    Frame {
        receiver: [Receiver::Us, Receiver::Other(station), Receiver::Group][rng.below(3) as usize],
        tid: [None, Some(rng.below(16) as u8)][rng.below(2) as usize],
        number: SeqNum::new(rng.below(4_096) as u16),
        retry: rng.chance(Ratio::from_ppm(300_000)),
        rate: Bitrate::from_mbps(54),
        bytes: 1_536,
        aggregate: Some(rng.below(9) as u32),
    }
}

#[test]
fn no_frame_and_no_answer_costs_an_allocation() {
    let config = Config {
        scope: Scope::Everybody,
        records: 500,
        ..Config::HT
    };
    let mut delivery = Delivery::new(config);
    let mut mobility = Mobility::default();
    let mut bandwidth = Bandwidth::new(&Contention::dcf(Standard::G));
    let mut rng = Rng::named(5, "frames");
    let mut now = Instant::ZERO;
    let before = COUNT.get();
    for _ in 0..100_000 {
        now += rng.duration_up_to(Duration::from_millis(2));
        let frame = frame(&mut rng);
        delivery.hear(now, &frame);
        mobility.hear(now, Db::from_centi(rng.below(4_000) as i32));
        let loss = delivery.estimate(now).loss(100).unwrap_or(Ratio::ZERO);
        let exchange = Exchange::legacy(Standard::G, frame.rate, 1_500);
        let airtime = exchange.airtime(Form::PerDelivered, loss);
        let sight = Sight {
            received: Bytes::new(now.as_nanos() / 1_000),
            busy: now - Instant::ZERO,
            exchanges: now.as_millis(),
        };
        bandwidth.read(now, sight, Bytes::new(1_500), airtime);
    }
    assert!(mobility.trend(now).is_some() && delivery.traffic(now).is_some() && bandwidth.limit().is_some());
    assert_eq!(COUNT.get(), before);
}
