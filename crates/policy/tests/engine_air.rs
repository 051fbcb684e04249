//! What a monitor interface, a survey and beacons tell the engine about a WiFi link, and what the engine
//! concludes.

mod world;

use policy::cc::{MobileStage, Report};
use policy::estimate::bandwidth::Sight;
use policy::estimate::delivery::{Config, Delivery, Estimate, Frame, Receiver};
use policy::estimate::phy::Phy;
use policy::reason::Trend;
use policy::{Action, Input, LinkEvent, LinkId, LinkKind, Outlook, Policy, Reason, Verb};
use units::wifi::ht::{Band, Guard, Width};
use units::{Bitrate, Bytes, Duration, Instant, Ratio, SeqNum};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const fn access_point(id: u16, mbps: u64, loss_percent: u32) -> Step {
    Step::AccessPoint {
        id,
        channel: 6,
        mbps,
        loss_percent,
    }
}

const fn signal(id: u16, dbm: i32, db_per_s: f64) -> Step {
    Step::Signal { id, dbm, db_per_s }
}

const fn about(link: u16, event: LinkEvent) -> Step {
    Step::Tell(Input::Link(LinkId(link), event))
}

/// One access point in use.
fn one(loss_percent: u32) -> World {
    World::after(
        Policy::Slowhand,
        &[
            access_point(0, 54, loss_percent),
            signal(0, -50, 0.0),
            Step::Up(0, true),
            Step::Open(0),
            Step::Run(2 * S),
        ],
    )
}

/// Delivery probability of link 0 in the user's explanation, in percent.
fn delivered_percent(world: &World) -> f64 {
    let why = world.explanation(0).why;
    let (before, _) = why.split_once(" % of ").expect(&why);
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn frames_show_the_delivery_probability_of_the_first_attempt() {
    for loss in [0, 5, 20, 40] {
        let percent = delivered_percent(&one(loss));
        // Half a second has at least 400 frames, so 5 points are two σ in the worst case.
        assert!(
            (percent - f64::from(100 - loss)).abs() < 5.0,
            "{percent} % delivered, {loss} % lost"
        );
    }
}

#[test]
fn frames_of_unknown_rate_count_for_the_sequence() {
    let config = Config::LEGACY;
    let mut delivery = Delivery::new(config);
    let mut now = Instant::from_secs(1);
    for number in 0..200_u16 {
        // A radio that reports the rate of every fourth frame alone.
        let rate = if number % 4 == 0 {
            Bitrate::from_mbps(2)
        } else {
            Bitrate::ZERO
        };
        now += Duration::from_millis(2);
        delivery.hear(now, &heard(number, rate));
    }
    let Estimate::Known { delivered, frames } = delivery.estimate(now) else {
        panic!("{:?}", delivery.estimate(now));
    };
    assert_eq!(delivered, Ratio::ONE);
    assert!(frames > 190, "{frames}");
    assert_eq!(delivery.traffic(now).unwrap().rate, Bitrate::from_mbps(2));
    let mut silent = Delivery::new(config);
    for number in 0..100_u16 {
        silent.hear(now, &heard(number, Bitrate::ZERO));
    }
    assert_eq!(silent.traffic(now).unwrap().rate, Bitrate::ZERO);
}

/// A frame to us that needed no retry.
const fn heard(number: u16, rate: Bitrate) -> Frame {
    Frame {
        receiver: Receiver::Us,
        tid: Some(0),
        number: SeqNum::new(number),
        retry: false,
        rate,
        bytes: 1_536,
        aggregate: None,
    }
}

#[test]
fn an_estimate_from_few_frames_says_so() {
    let mut world = one(0);
    assert!(!world.explanation(0).why.contains("too few"));
    world.monitor = false;
    world.follow(&[Step::Run(S)]);
    world.monitor = true;
    let frames = world.link(0).transmitter.as_mut().unwrap().send(10);
    for frame in frames {
        world.tell(Input::Link(LinkId(0), LinkEvent::Frame(frame)));
    }
    world.monitor = false;
    world.follow(&[Step::Run(S / 10)]);
    let why = world.explanation(0).why;
    assert!(why.contains("too few to decide"), "{why}");
}

#[test]
fn frames_sent_while_the_radio_was_away_are_not_lost() {
    let mut missed = Vec::new();
    for away in [true, false] {
        let mut world = one(0);
        let unheard = world.link(0).transmitter.as_mut().unwrap().send(300);
        assert_eq!(unheard.len(), 300);
        if away {
            world.follow(&[about(0, LinkEvent::Away)]);
        }
        world.follow(&[Step::Run(S / 5)]);
        missed.push(100.0 - delivered_percent(&world));
    }
    assert!(missed[0] < 0.5 && missed[1] > 10.0, "{missed:?} % missed");
}

#[test]
fn a_standard_with_aggregation_needs_less_air() {
    let air_of = |phy: Option<Phy>| {
        let mut world = one(0);
        if let Some(phy) = phy {
            world.follow(&[about(0, LinkEvent::Phy(phy)), Step::Run(2 * S)]);
        }
        let why = world.explanation(0).why;
        let (before, _) = why.split_once(" µs of airtime").expect(&why);
        before.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let legacy = air_of(None);
    let ht = air_of(Some(Phy::Ht {
        band: Band::Ghz2,
        width: Width::Mhz20,
        guard: Guard::Long,
    }));
    assert_eq!(legacy, 393);
    // The same rate with a longer preamble. 52 Mb/s is the fastest mode at or below 54.
    assert!((400..440).contains(&ht), "{ht}");
}

#[test]
fn a_survey_distinguishes_a_full_air_from_a_slow_backhaul() {
    for (exchanges, words) in [
        (254, "its channel is full"),
        (60, "the limit is behind the access point"),
        (2, "it has little traffic"),
    ] {
        let mut world = one(0);
        let (mut sight, each) = (Sight::default(), Duration::from_micros(298));
        for _ in 0..20 {
            sight.received += Bytes::new(1_500 * exchanges);
            sight.exchanges += exchanges;
            sight.busy += each * exchanges as u32;
            world.follow(&[about(0, LinkEvent::Survey(sight)), Step::Run(S / 10)]);
        }
        let why = world.explanation(0).why;
        assert!(why.contains(words), "{exchanges} exchanges in 100 ms: {why}");
    }
}

/// A walk from one access point to another, with a modem in the pocket.
const WALK: &[Step] = &[
    access_point(0, 54, 5),
    access_point(1, 54, 5),
    Step::Wire {
        id: 2,
        kind: LinkKind::Cellular,
        mbps: 10,
    },
    signal(0, -45, -3.0),
    signal(1, -75, 3.0),
    Step::Up(2, true),
    Step::Up(0, true),
    Step::Open(2),
    Step::Run(Duration::from_secs(9)),
];

fn outlooks(world: &World, id: u16) -> Vec<(Instant, Outlook)> {
    let outlook = |(at, action): &(Instant, Action)| match action {
        Action::Outlook(link, outlook) if link.0 == id => Some((*at, *outlook)),
        _ => None,
    };
    world.done.iter().filter_map(outlook).collect()
}

#[test]
fn the_controller_learns_of_a_fading_signal_in_advance() {
    let world = World::after(Policy::HandoverCell, WALK);
    let told = outlooks(&world, 0);
    let (at, first) = *told
        .first()
        .expect("the walk leads away from the first access point");
    // Both are equally strong after five seconds. The first is then at −60 dBm: 34 dB above the noise, 14 dB
    // above cla's hand-off level.
    assert!((4.5..6.0).contains(&at.as_secs_f64()), "{at}");
    assert!(first.fading && first.quality <= Ratio::from_ppm(500_000));
    assert!((-850_000..-750_000).contains(&first.mobility_ppm), "{first:?}");
    let handoff = first.handoff_in.expect("it sinks").as_secs_f64();
    assert!((3.8..5.6).contains(&handoff), "{handoff} s");
    assert!(told.len() > 5, "the outlook is repeated while the signal fades");
    let note = world.notes(Verb::Fade)[0];
    assert!(
        matches!(note.reason, Reason::Trend(Trend::Falling { .. })),
        "{note:?}"
    );
    assert!(outlooks(&world, 2).is_empty(), "a modem has no beacons");
}

#[test]
fn a_recovered_signal_is_reported_once() {
    let mut world = World::after(Policy::HandoverCell, WALK);
    let before = outlooks(&world, 0).len();
    world.follow(&[signal(0, -60, 4.0), Step::Run(3 * S)]);
    let after: Vec<bool> = outlooks(&world, 0)[before..]
        .iter()
        .map(|(_, outlook)| outlook.fading)
        .collect();
    assert_eq!(after.iter().filter(|fading| !**fading).count(), 1, "{after:?}");
    assert_eq!(after.last(), Some(&false));
}

/// What a CLA sender does with the outlooks.
#[test]
fn outlooks_move_the_fading_paths_rate_to_the_other() {
    let world = World::after(Policy::HandoverCell, WALK);
    let mut stage = MobileStage::default();
    let path = |outlook: Option<Outlook>| Report {
        rate: 2e6,
        base_rtt_s: 0.04,
        mi: outlook.map_or(0.0, |outlook| f64::from(outlook.mobility_ppm) / 1e6),
        q: outlook.map_or(1.0, |outlook| outlook.quality.as_f64()),
        queued: false,
    };
    let windows: Vec<[u32; 2]> = outlooks(&world, 0)
        .iter()
        .filter_map(|(_, outlook)| stage.report(&[path(Some(*outlook)), path(None)], 1_448))
        .map(|windows| [windows[0], windows[1]])
        .collect();
    let [[wifi, cellular]] = windows[..] else {
        panic!("one cut for one fading: {windows:?}")
    };
    // Each had 55 segments. 1 − Q is about ½ and MI about −0.8.
    assert!(
        (28..40).contains(&wifi) && wifi + cellular >= 109,
        "{wifi} {cellular}"
    );
}
