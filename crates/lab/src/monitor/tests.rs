//! `linux` and tshark read what the monitor writes.

use super::*;
use links::Position;
use links::wifi::WifiConfig;
use linux::capture::{Capture, Sighting};
use linux::netns::Netns;
use policy::estimate::delivery::{Frame, Receiver};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::process::Command;
use units::wifi::Standard;
use units::{Bitrate, SeqNum};
use wire::dot11::Header;
use wire::pcapng;
use wire::radiotap::Radiotap;

fn config() -> NetworkConfig {
    let wifi = |name, channel| {
        LinkConfig::Wifi(WifiConfig {
            channel,
            ..WifiConfig::new(name, Position::default())
        })
    };
    NetworkConfig {
        links: vec![wifi("a", 6), wifi("b", 11), wifi("c", 6)],
        ..NetworkConfig::default()
    }
}

fn frame(number: u16, retry: bool) -> Heard {
    Heard {
        number: SeqNum::new(number),
        retry,
        rate: Bitrate::from_kbps(5_500),
        bytes: 1_536,
    }
}

fn heard(ear: &mut Capture) -> Vec<Sighting> {
    let mut heard = Vec::new();
    ear.read(|sighting| heard.push(sighting)).unwrap();
    heard
}

fn address(link: u32) -> MacAddr {
    MacAddr::local(link + 1)
}

#[test]
fn captured_frames_read_like_those_of_a_real_radio() {
    let work = || {
        let mut monitor = Monitor::plug(&config(), None).unwrap();
        let devices: Vec<_> = monitor.devices().collect();
        assert_eq!(devices, [("mon6", CLIENT), ("mon11", CLIENT)]);
        let [mut six, mut eleven] = ["mon6", "mon11"].map(|device| Capture::open(device, &[CLIENT]).unwrap());
        monitor.show(Instant::from_millis(5), LinkId(2), &frame(4_095, true));
        monitor.show(Instant::from_millis(6), LinkId(1), &frame(7, false));
        monitor.show_beacon(Instant::from_millis(7), LinkId(0), Dbm::from_dbm(-61));
        let expected = Frame {
            receiver: Receiver::Us,
            tid: Some(0),
            number: SeqNum::new(4_095),
            retry: true,
            rate: Bitrate::from_kbps(5_500),
            bytes: 1_536,
            aggregate: None,
        };
        let [data, beacon] = heard(&mut six)[..] else {
            panic!("a frame and a beacon");
        };
        assert_eq!(
            (data.transmitter, data.beacon, data.frame),
            (address(2), false, expected)
        );
        assert_eq!((beacon.transmitter, beacon.beacon), (address(0), true));
        assert_eq!(beacon.signal, Some(Dbm::from_dbm(-61)));
        assert_eq!(
            (beacon.frame.receiver, beacon.frame.number.get()),
            (Receiver::Group, 1)
        );
        assert_eq!(heard(&mut eleven)[0].transmitter, address(1));
        assert_eq!(monitor.transmitters()[&address(2)], PolicyLink(2));
    };
    Netns::new().expect("these tests need root").run(work).unwrap();
}

#[test]
fn capture_times_are_those_of_the_medium() {
    let ap = WifiConfig {
        standard: Standard::A,
        channel: 36,
        ..WifiConfig::new("a", Position::default())
    };
    let transmitter = Transmitter::new(LinkId(0), &ap);
    let mut bytes = Vec::new();
    let frame = Heard {
        rate: Bitrate::from_mbps(54),
        ..frame(1, false)
    };
    let payload = transmitter.data(Instant::from_millis(1), &frame, &mut bytes);
    let (radiotap, rest) = Radiotap::parse(&bytes).unwrap();
    // 248 µs of data, 16 of SIFS, 28 of acknowledgement at 24 Mb/s.
    assert_eq!(radiotap.tsft_us, Some(1_000 - 292));
    assert_eq!(radiotap.frequency_mhz, Some(5_180));
    assert_eq!(Header::parse(rest).unwrap().duration, 44);
    assert_eq!(rest.len() + payload + 4, 1_536);
}

/// What tshark says of a capture of these packets, a line for each.
fn tshark(whose: &str, packets: &[Vec<u8>], fields: &[&str]) -> Option<String> {
    let mut capture = Vec::new();
    pcapng::section(&mut capture);
    pcapng::interface(&mut capture, pcapng::LINKTYPE_RADIOTAP, "mon36");
    for packet in packets {
        pcapng::packet(&mut capture, 0, Instant::ZERO, packet, packet.len() as u32);
    }
    let file = std::env::temp_dir().join(format!("slowhand-monitor-{whose}-{}.pcapng", std::process::id()));
    std::fs::write(&file, capture).unwrap();
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-r"])
        .arg(&file)
        .args(["-T", "fields", "-E", "separator=,"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    std::fs::remove_file(&file).unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn tshark_reads_the_capture() {
    let ap = WifiConfig {
        standard: Standard::A,
        channel: 36,
        ..WifiConfig::new("corner café", Position::default())
    };
    let mut transmitter = Transmitter::new(LinkId(0), &ap);
    let (mut data, mut beacon) = (Vec::new(), Vec::new());
    let frame = Heard {
        rate: Bitrate::from_mbps(54),
        ..frame(77, true)
    };
    let payload = transmitter.data(Instant::from_millis(1), &frame, &mut data);
    data.resize(data.len() + payload, 0);
    transmitter.beacon(Instant::from_millis(2), Dbm::from_dbm(-61), &mut beacon);
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ta",
        "wlan.seq",
        "wlan.fc.retry",
        "radiotap.datarate",
        "radiotap.channel.freq",
        "radiotap.dbm_antsignal",
        "wlan.fixed.beacon",
        "wlan.ds.current_channel",
        "_ws.malformed",
    ];
    let Some(read) = tshark("shown", &[data, beacon], &fields) else {
        return println!("skipped: needs tshark");
    };
    let lines: Vec<&str> = read.lines().collect();
    let expected = [
        "0x0028,02:5b:00:00:00:01,77,1,54,5180,,,,",
        "0x0008,02:5b:00:00:00:01,1,0,6,5180,-61,100,36,",
    ];
    assert_eq!(lines, expected);
}

/// What the radios of a client on the exact medium hear and send: it joins, and packets go both ways.
fn a_client_that_joins() -> (NetworkConfig, Vec<Overheard>) {
    let near = WifiConfig {
        standard: Standard::A,
        channel: 36,
        ..WifiConfig::new("near", Position::default())
    };
    let config = NetworkConfig {
        links: vec![LinkConfig::Wifi(near)],
        medium: links::Medium::Frames,
        monitor: true,
        ..NetworkConfig::default()
    };
    let mut network = links::Network::new(1, config.clone()).unwrap();
    network.handle(Instant::ZERO, links::Input::Associate(LinkId(0)));
    network.tick(Instant::from_millis(1_500));
    for direction in [links::Direction::Up, links::Direction::Down] {
        for token in 0..10 {
            let packet = links::Packet {
                link: LinkId(0),
                direction,
                bytes: 1_500,
                ect: false,
                flow: 0,
                token,
            };
            network.handle(Instant::from_millis(1_500), links::Input::Packet(packet));
        }
    }
    network.tick(Instant::from_millis(1_600));
    (config, std::iter::from_fn(|| network.overheard()).collect())
}

#[test]
fn the_exact_medium_feeds_estimators_like_a_real_interface() {
    let (config, frames) = a_client_that_joins();
    let work = || {
        let known = config.stations().unwrap();
        let mut monitor = Monitor::plug(&config, known).unwrap();
        let devices: Vec<(String, MacAddr)> = monitor
            .devices()
            .map(|(name, own)| (name.to_owned(), own))
            .collect();
        assert_eq!(devices, [("mon36".to_owned(), MacAddr::local(1))]);
        let mut ear = Capture::open("mon36", &[devices[0].1]).unwrap();
        frames.iter().for_each(|frame| monitor.overhear(frame));
        let heard = heard(&mut ear);
        let access_point = MacAddr::local(0);
        assert_eq!(
            monitor.transmitters(),
            BTreeMap::from([(access_point, PolicyLink(0))])
        );
        let told = heard
            .iter()
            .filter(|sighting| sighting.transmitter == access_point);
        let data = told
            .clone()
            .filter(|sighting| sighting.frame.receiver == Receiver::Us);
        assert!(data.filter(|sighting| sighting.frame.bytes == 1_536).count() >= 10);
        let beacons: Vec<&Sighting> = told.filter(|sighting| sighting.beacon).collect();
        assert!(beacons.len() > 10, "{}", beacons.len());
        assert!(
            beacons
                .iter()
                .all(|beacon| beacon.signal.is_some() && beacon.frame.bytes == 250)
        );
    };
    Netns::new().expect("these tests need root").run(work).unwrap();
}

#[test]
fn tshark_finds_no_fault_with_a_client_that_joins() {
    let (config, frames) = a_client_that_joins();
    let known = config.stations().unwrap().unwrap();
    let packets: Vec<Vec<u8>> = frames
        .iter()
        .map(|frame| {
            let mut bytes = Vec::new();
            let payload = write_down(&known, frame, &mut bytes);
            bytes.resize(bytes.len() + payload, 0);
            bytes
        })
        .collect();
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.fcs.status",
        "_ws.malformed",
        "wlan.ssid",
        "wlan.ds.current_channel",
        "radiotap.antenna",
    ];
    let Some(read) = tshark("joins", &packets, &fields) else {
        return println!("skipped: needs tshark");
    };
    let lines: Vec<Vec<&str>> = read.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), packets.len());
    let kinds: BTreeSet<&str> = lines.iter().map(|line| line[0]).collect();
    // Association, probing, beacons, authentication; acknowledgements; data.
    for kind in [
        "0x0000", "0x0001", "0x0004", "0x0005", "0x0008", "0x000b", "0x001d", "0x0020",
    ] {
        assert!(kinds.contains(kind), "{kind} of {kinds:?}");
    }
    assert!(
        lines.iter().all(|line| line[1] != "0" && line[2].is_empty()),
        "{read}"
    );
    let beacon = lines.iter().find(|line| line[0] == "0x0008").unwrap();
    // Some versions print names as octets.
    assert!(["near", "6e656172"].contains(&beacon[3]), "{beacon:?}");
    assert_eq!(beacon[4..], ["36", "0"]);
}
