use super::*;
use crate::floor::tests::plan;
use crate::hwsim::{RATES, Tries};
use crate::netlink::{Attributes, Message, messages};
use units::Ratio;

const AP: MacAddr = MacAddr::new([2, 0, 0, 0, 1, 0]);
const STATION: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 0]);
const MHZ: u32 = 2_437;

fn air(more: &str) -> Air<Vec<u8>> {
    let floor = Floor::new(&plan(more)).unwrap();
    let mut air = Air::new(30, floor, 1, Vec::new(), Instant::ZERO);
    air.hear(Instant::ZERO, Event::Address(1, AP)).unwrap();
    air.hear(Instant::ZERO, Event::Address(0, STATION)).unwrap();
    air
}

fn content(kind: u8, from: MacAddr, to: MacAddr) -> Vec<u8> {
    let mut content = vec![kind, 0, 0, 0];
    content.extend(to.octets());
    content.extend(from.octets());
    content.extend(from.octets());
    content.resize(1_528, 0);
    content
}

fn sent(radio: Radio, cookie: u64, content: &[u8]) -> Event<'_> {
    let mut rates = [Tries::NONE; RATES];
    rates[0] = Tries { rate: 11, count: 4 };
    Event::Frame(Sent {
        radio,
        content,
        cookie,
        no_ack: false,
        mhz: MHZ,
        rates,
        has_later_rates: false,
    })
}

/// Runs until nothing but the truth is due, and returns the time.
fn drain(air: &mut Air<Vec<u8>>) -> Instant {
    let mut last = Instant::ZERO;
    while let Some((at, Some(_))) = { air.channels.iter() }
        .filter_map(|(mhz, channel)| Some((channel.due()?, Some(*mhz))))
        .min()
    {
        air.run(at);
        last = at;
    }
    last
}

/// Commands to the kernel, with their attributes, in their order.
fn told(air: &Air<Vec<u8>>) -> Vec<(u8, Attributes<'_>)> {
    let commands = messages(air.world.requests.as_bytes()).map(|message| match message {
        Message::Command { command, attributes } => (command, attributes),
        Message::Reply { .. } => panic!("no reply was written"),
    });
    commands.collect()
}

const DELIVERED: u8 = 2;
const REPORTED: u8 = 3;

#[test]
fn frames_to_everybody_reach_all_in_range_and_nobody_acknowledges_them() {
    let mut air = air("");
    let beacon = content(0x80, AP, MacAddr::new([0xff; 6]));
    air.hear(Instant::ZERO, sent(1, 7, &beacon)).unwrap();
    drain(&mut air);
    let told = told(&air);
    let receivers: Vec<_> = { told.iter() }
        .filter(|(command, _)| *command == DELIVERED)
        .map(|(_, attributes)| attributes.find(1).unwrap()[4])
        .collect();
    // The far one is too far for 54 Mb/s.
    assert_eq!(receivers, [0]);
    let (command, report) = told.last().unwrap();
    assert_eq!((*command, report.find(4).unwrap()[0]), (REPORTED, 2));
}

#[test]
fn retries_have_the_bit_and_are_reported() {
    let mut air = air("[[losses]]\nfrom = \"near\"\nto = \"client\"\npercent = 40\n");
    // The client is on the channel.
    air.hear(Instant::ZERO, sent(0, 0, &content(0x48, STATION, AP)))
        .unwrap();
    let mut now = drain(&mut air);
    air.world.requests = Requests::default();
    let (mut first, mut retried, mut lost) = (0_u64, 0_u64, 0_u64);
    for cookie in 1..=2_000 {
        air.hear(now, sent(1, cookie, &content(0x08, AP, STATION)))
            .unwrap();
        now = drain(&mut air);
        let told = told(&air);
        let (_, report) = told.last().unwrap();
        let tries = report.find(7).unwrap()[1];
        let acknowledged = report.find(4).unwrap()[0] == 4;
        let delivered: Vec<_> = { told.iter() }
            .filter(|(command, _)| *command == DELIVERED)
            .map(|(_, attributes)| attributes.find(3).unwrap()[1] & RETRY != 0)
            .collect();
        match (delivered.first(), acknowledged) {
            (Some(false), true) => first += u64::from(tries == 1),
            (Some(true), true) => retried += u64::from((2..=4).contains(&tries)),
            (None, false) => lost += u64::from(tries == 4),
            other => panic!("{other:?} after {tries} tries"),
        }
        air.world.requests = Requests::default();
    }
    assert_eq!(first + retried + lost, 2_000);
    let share = Ratio::from_fraction(retried + lost, 2_000).as_f64();
    assert!((share - 0.4).abs() < 0.04, "{share}");
    let gone = Ratio::from_fraction(lost, 2_000).as_f64();
    assert!((gone - 0.4_f64.powi(4)).abs() < 0.015, "{gone}");
}

#[test]
fn stations_share_the_air() {
    let mut air = air("");
    for cookie in 0..100 {
        air.hear(Instant::ZERO, sent(0, cookie, &content(0x08, STATION, AP)))
            .unwrap();
        air.hear(Instant::ZERO, sent(1, cookie, &content(0x08, AP, STATION)))
            .unwrap();
    }
    let end = drain(&mut air);
    // 200 exchanges of 292 µs with DIFS and the shortest backoffs cannot take less.
    let least = Duration::from_micros(200 * (28 + 292));
    assert!(end.since(Instant::ZERO) > least, "{end:?}");
    assert!(end.since(Instant::ZERO) < least * 2, "{end:?}");
}

#[test]
fn nobody_acknowledges_for_a_radio_that_is_elsewhere() {
    let mut air = air("");
    let elsewhere = content(0x48, STATION, AP);
    let Event::Frame(away) = sent(0, 1, &elsewhere) else {
        panic!("no frame")
    };
    air.hear(Instant::ZERO, Event::Frame(Sent { mhz: 2_412, ..away }))
        .unwrap();
    let mut now = drain(&mut air);
    for (home, expected) in [(false, 0), (true, 4)] {
        if home {
            air.hear(now, sent(0, 2, &elsewhere)).unwrap();
            now = drain(&mut air);
        }
        air.world.requests = Requests::default();
        air.hear(now, sent(1, 3, &content(0x08, AP, STATION))).unwrap();
        now = drain(&mut air);
        let told = told(&air);
        let (_, report) = told.last().unwrap();
        assert_eq!(report.find(4).unwrap()[0], expected);
    }
}

#[test]
fn a_full_queue_is_no_failure_of_the_receiver() {
    let mut air = air("");
    for cookie in 0..300 {
        air.hear(Instant::ZERO, sent(1, cookie, &content(0x08, AP, STATION)))
            .unwrap();
    }
    let told = told(&air);
    assert_eq!(told.len(), 300 - QUEUE);
    let (command, report) = told[0];
    assert_eq!((command, report.find(4).unwrap()[0]), (REPORTED, 2));
    assert_eq!(report.find(7).unwrap()[0], 255);
}

#[test]
fn rates_and_radios_that_the_medium_does_not_have_are_refused() {
    let mut air = air("");
    let data = content(0x08, AP, STATION);
    let Event::Frame(frame) = sent(1, 1, &data) else {
        panic!("no frame")
    };
    let later = Event::Frame(Sent {
        has_later_rates: true,
        ..frame
    });
    assert_eq!(air.hear(Instant::ZERO, later), Err(AirError::Rates(1)));
    let unknown = Event::Frame(Sent { radio: 3, ..frame });
    assert_eq!(air.hear(Instant::ZERO, unknown), Err(AirError::Radio(3)));
}

#[test]
fn an_address_stays_until_its_last_interface_is_gone() {
    let mut air = air("");
    let now = Instant::ZERO;
    air.hear(now, Event::Address(0, STATION)).unwrap();
    air.hear(now, Event::NoAddress(STATION)).unwrap();
    assert_eq!(air.world.owner(STATION), Some(0));
    air.hear(now, Event::NoAddress(STATION)).unwrap();
    assert_eq!(air.world.owner(STATION), None);
}

#[test]
fn frames_are_numbered_in_the_order_of_the_air() {
    let mut air = air("");
    for cookie in 0..3 {
        air.hear(Instant::ZERO, sent(1, cookie, &content(0x08, AP, STATION)))
            .unwrap();
    }
    // A beacon overtakes what waits.
    air.hear(
        Instant::ZERO,
        sent(1, 3, &content(0x80, AP, MacAddr::new([0xff; 6]))),
    )
    .unwrap();
    drain(&mut air);
    let told = told(&air);
    let heard: Vec<_> = { told.iter() }
        .filter(|(command, attributes)| *command == DELIVERED && attributes.find(1).unwrap()[4] == 0)
        .map(|(_, attributes)| Header::parse(attributes.find(3).unwrap()).unwrap())
        .map(|header| (header.kind == Kind::BEACON, header.number.unwrap().get()))
        .collect();
    assert!(heard[0] == (true, 0) && heard[1].1 == 1, "{heard:?}");
    assert!(
        heard
            .windows(2)
            .all(|pair| pair[1].1 == pair[0].1 || pair[1].1 == pair[0].1 + 1),
        "{heard:?}"
    );
}
