//! The estimators that hear every frame allocate only when they are built, and free nothing.

mod counting;

use policy::estimate::airtime::{Contention, Exchange, Form};
use policy::estimate::bandwidth::{Bandwidth, Sight};
use policy::estimate::delivery::{Config, Delivery, Frame, Receiver, Scope};
use policy::estimate::mobility::Mobility;
use units::wifi::Standard;
use units::{Bitrate, Bytes, Db, Duration, Instant, MacAddr, Ratio, Rng, SeqNum};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// A frame to any receiver, with a number after the previous one.
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
fn neither_frames_nor_estimates_allocate() {
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
    let before = (counting::calls(), counting::frees());
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
    assert_eq!((counting::calls(), counting::frees()), before);
}
