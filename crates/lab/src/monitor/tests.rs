//! What is written is what `linux` and tshark read.

use super::*;
use links::Position;
use links::wifi::WifiConfig;
use linux::capture::{Capture, Sighting};
use linux::netns::Netns;
use policy::estimate::delivery::{Frame, Receiver};
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
fn what_a_radio_hears_is_read_as_from_a_real_one() {
    let work = || {
        let mut monitor = Monitor::plug(&config()).unwrap();
        assert_eq!(monitor.devices().collect::<Vec<_>>(), ["mon6", "mon11"]);
        let [mut six, mut eleven] = ["mon6", "mon11"].map(|device| Capture::open(device, CLIENT).unwrap());
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
fn times_are_those_of_the_air() {
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
fn tshark(packets: &[Vec<u8>], fields: &[&str]) -> Option<String> {
    let mut capture = Vec::new();
    pcapng::section(&mut capture);
    pcapng::interface(&mut capture, pcapng::LINKTYPE_RADIOTAP, "mon36");
    for packet in packets {
        pcapng::packet(&mut capture, 0, Instant::ZERO, packet, packet.len() as u32);
    }
    let file = std::env::temp_dir().join(format!("slowhand-monitor-{}.pcapng", std::process::id()));
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
fn tshark_reads_what_is_shown() {
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
    let Some(read) = tshark(&[data, beacon], &fields) else {
        return println!("skipped: there is no tshark");
    };
    let lines: Vec<&str> = read.lines().collect();
    let expected = [
        "0x0028,02:5b:00:00:00:01,77,1,54,5180,,,,",
        "0x0008,02:5b:00:00:00:01,1,0,6,5180,-61,100,36,",
    ];
    assert_eq!(lines, expected);
}
