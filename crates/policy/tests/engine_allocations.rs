//! After a warm-up, taking in a frame or a subflow's counters allocates nothing. The full evaluation, twenty
//! times a second, allocates little.

mod counting;

use policy::estimate::delivery::{Frame, Receiver};
use policy::{
    Action, Config, ConnEvent, ConnId, ConnSample, Engine, Input, LinkEvent, LinkId, LinkKind, LinkSpec,
    Policy, Role, SubflowEvent, SubflowId, SubflowSample,
};
use units::{Bitrate, Bytes, Dbm, Duration, Instant, MacAddr, SeqNum};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const CONN: ConnId = ConnId(7);
const MS: Duration = Duration::from_millis(1);

fn link(n: u16) -> LinkSpec {
    LinkSpec {
        name: format!("link{n}"),
        kind: if n == 0 {
            LinkKind::Cellular
        } else {
            LinkKind::Wifi
        },
        role: Role::Primary,
        channel: (n > 0).then_some(6),
    }
}

/// A connection over three busy links.
fn engine(policy: Policy) -> Engine {
    let config = Config {
        policy,
        peer_subflows: 2,
    };
    let mut engine = Engine::new(config);
    let now = Instant::ZERO;
    for n in 0..3 {
        engine.handle(now, Input::Link(LinkId(n), LinkEvent::Appeared(link(n))));
        engine.handle(now, Input::Link(LinkId(n), LinkEvent::Carrier(true)));
        engine.handle(now, Input::Link(LinkId(n), LinkEvent::Usable(true)));
    }
    engine.handle(now, Input::Conn(CONN, ConnEvent::Opened));
    for n in 0..3 {
        let established = SubflowEvent::Established {
            conn: CONN,
            link: LinkId(n),
            initial: n == 0,
            backup: false,
        };
        engine.handle(now, Input::Subflow(SubflowId(u32::from(n)), established));
    }
    engine
}

fn sample(subflow: u64, ms: u64) -> Input {
    let segments = ms * (subflow + 1);
    let sample = SubflowSample {
        segs_in: segments,
        bytes_received: Bytes::new(segments * 1_448),
        srtt: 40 * MS,
        min_rtt: 20 * MS,
        cwnd: 10,
        ..SubflowSample::default()
    };
    Input::Subflow(SubflowId(subflow as u32), SubflowEvent::Sample(sample))
}

/// Feeds one input and drains the actions. Returns the number of allocations, and whether there was an action
/// other than a note.
fn tell(engine: &mut Engine, now: Instant, input: Input) -> (u64, bool) {
    let before = counting::calls();
    engine.handle(now, input);
    let mut asked = false;
    while let Some(action) = engine.poll() {
        asked |= !matches!(action, Action::Note(_));
    }
    (counting::calls() - before, asked)
}

/// Feeds everything that happens in one millisecond. Records the allocations of each input, and whether it
/// triggered an evaluation.
fn millisecond(engine: &mut Engine, ms: u64, costs: &mut Vec<(bool, u64)>) {
    let now = Instant::from_millis(ms);
    if ms.is_multiple_of(100) {
        for n in 0..3 {
            tell(
                engine,
                now,
                Input::Link(LinkId(n), LinkEvent::Beacon(Dbm::from_dbm(-55 - i32::from(n)))),
            );
        }
        let bytes_received = Bytes::new(ms * 6 * 1_448);
        let sample = ConnSample {
            bytes_received,
            ..ConnSample::default()
        };
        tell(engine, now, Input::Conn(CONN, ConnEvent::Sample(sample)));
    }
    for subflow in 0..3 {
        let due = engine.wake_at().is_some_and(|(at, _)| now >= at);
        let (cost, asked) = tell(engine, now, sample(subflow, ms));
        if !asked {
            costs.push((due, cost));
        }
    }
}

#[test]
fn counters_cost_no_allocation_once_warm() {
    for policy in [
        Policy::Slowhand,
        Policy::SlowhandNoWindow,
        Policy::HandoverWarm,
        Policy::Mptcp,
    ] {
        let mut engine = engine(policy);
        let mut costs = Vec::with_capacity(200_000);
        (0..5_000).for_each(|ms| millisecond(&mut engine, ms, &mut costs));
        costs.clear();
        (5_000..15_000).for_each(|ms| millisecond(&mut engine, ms, &mut costs));
        let worst = |looking: bool| {
            let those = costs.iter().filter(|(due, _)| *due == looking);
            those.map(|(_, cost)| *cost).max().unwrap_or(0)
        };
        let looks = costs.iter().filter(|(due, _)| *due).count();
        let quiet = costs.len() - looks;
        println!(
            "{policy:?}: {quiet} inputs: at most {} allocations; {looks} evaluations: {}",
            worst(false),
            worst(true)
        );
        assert!(quiet > 20_000 && looks > 50);
        assert_eq!(worst(false), 0, "{policy:?}");
        assert!(worst(true) <= 32, "{policy:?}: {}", worst(true));
    }
}

/// The `n`th frame heard on a link: to us and to others, with losses, retries and aggregates.
fn frame(n: u64) -> Frame {
    let receiver = match n % 5 {
        0 => Receiver::Other(MacAddr::local(n as u32 % 97)),
        1 if n % 50 == 1 => Receiver::Group,
        _ => Receiver::Us,
    };
    Frame {
        receiver,
        tid: (n % 5 != 1).then_some((n % 3) as u8),
        number: SeqNum::new((n + n / 9) as u16 % 4_096),
        retry: n.is_multiple_of(7),
        rate: Bitrate::from_mbps(6 * (1 + n % 9)),
        bytes: 1_536,
        aggregate: n.is_multiple_of(2).then_some(n as u32 / 16),
    }
}

#[test]
fn frames_cost_no_allocation_once_warm() {
    for policy in [
        Policy::Slowhand,
        Policy::Ecn(policy::steer::Form::DEFAULT),
        Policy::Mptcp,
    ] {
        let mut engine = engine(policy);
        let mut costs = Vec::with_capacity(200_000);
        let (mut heard, mut allocations) = (0_u64, 0);
        for ms in 0..8_000 {
            millisecond(&mut engine, ms, &mut costs);
            for link in 0..3 {
                let fact = Input::Link(LinkId(link), LinkEvent::Frame(frame(ms)));
                let (cost, asked) = tell(&mut engine, Instant::from_millis(ms), fact);
                assert!(!asked, "{policy:?} requests an action at a frame");
                if ms >= 2_000 {
                    (heard, allocations) = (heard + 1, allocations + cost);
                }
            }
        }
        println!("{policy:?}: {heard} frames: {allocations} allocations");
        assert_eq!((heard, allocations), (18_000, 0), "{policy:?}");
        let measured = engine.explain();
        let measured = measured
            .iter()
            .filter(|link| link.why.contains("at the first attempt") || link.why.contains("are missing"));
        assert_eq!(measured.count(), 2, "the frames did not reach their estimators");
    }
}
