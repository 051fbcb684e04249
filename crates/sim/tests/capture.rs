//! Captures of the virtual air: `linux`'s capture code must give the engine's input, and tshark must show
//! what happened.

mod common;

use common::{ONE, plan};
use links::Position;
use links::air::{AirConfig, Ht, StationConfig, StationId, StationKind};
use linux::capture;
use sim::cells::saturated;
use sim::{Addresses, Capture, Cast, Play, World, digest, play};
use std::collections::BTreeSet;
use std::process::Command;
use trace::PolicyName;
use units::Duration;
use units::wifi::Standard;
use units::wifi::ht::{Guard, Width};

/// A second client with its own flow. Not every station hears every other.
const TWO: &str = "\n[walkers.other]\nat_m = [0, 24]\n\n[flows.rival]\ntransport = \"udp\"\nover = \"near\"\nby = \"other\"\n\
                   direction = \"down\"\n\n[flows.probe]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"everyone\"\nevery_ms = 50\n";

#[test]
fn the_engines_input_equals_what_the_capture_code_reads() {
    let plan = plan(&format!("{ONE}{TWO}"), &["aps.near.tx_power_dbm=6"]);
    let cast = Cast::of(&plan).unwrap();
    let client = cast.client_radios().next().unwrap();
    let mut bytes = Capture::new(
        Addresses::of(&cast.air, cast.kinds(&plan).collect()),
        cast.flows.clone(),
        "client",
    );
    let mut world = World::new(1, &cast.air, cast.flows.clone()).unwrap();
    world.monitor(client);
    world.run_for(Duration::from_secs(1));
    let (mut seen, mut kinds) = (0, BTreeSet::new());
    while let Some(frame) = world.overheard() {
        let shown = bytes.bytes(&frame).to_vec();
        // The radiotap header, ten octets longer with an antenna, and the frame without its FCS, which a
        // truncated payload leaves out.
        let radiotap = if frame.from == frame.monitor { 23 } else { 33 };
        let length = radiotap + frame.bytes as usize - 4;
        let read = capture::digest(&shown, length.max(shown.len()), &[Addresses::mac(client)]);
        assert_eq!(read.map(|sighting| sighting.frame), digest(&frame), "{frame:?}");
        seen += usize::from(read.is_some());
        kinds.insert(read.map(|sighting| (format!("{:?}", sighting.frame.receiver), sighting.frame.retry)));
    }
    assert!(seen > 300, "{seen}");
    // Ours, the other client's with retries, broadcast, and unnumbered frames.
    assert!(kinds.len() >= 5, "{kinds:?}");
}

fn tshark(file: &std::path::Path, filter: &str, fields: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-r"])
        .arg(file)
        .args(["-Y", filter, "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn tshark_decodes_the_capture() {
    let plan = plan(
        &format!("{ONE}{TWO}"),
        &["duration_s=1", "walkers.other.at_m=[0, 8]"],
    );
    let played = play(&Play {
        capture: true,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    let file = std::env::temp_dir().join(format!("slowhand-capture-{}.pcapng", std::process::id()));
    std::fs::write(&file, played.capture.unwrap()).unwrap();
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ra",
        "wlan.seq",
        "radiotap.datarate",
        "radiotap.channel.freq",
        "udp.length",
        "frame.len",
    ];
    let data = tshark(
        &file,
        "wlan.ra == 02:5b:00:00:00:01 && wlan.fc.type == 2",
        &fields,
    );
    let Some(data) = data else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        std::fs::remove_file(&file).unwrap();
        return;
    };
    let acks = tshark(
        &file,
        "wlan.fc.type_subtype == 29",
        &["wlan.ra", "wlan.fcs.status"],
    )
    .unwrap();
    let wrong = tshark(
        &file,
        "_ws.malformed || wlan.fcs.status == 0 || ip.checksum.status == 0",
        &["frame.number"],
    )
    .unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(wrong, [""; 0], "frames that tshark reports as faulty");
    assert!(
        data.len() > 500 && acks.len() > 500,
        "{} {}",
        data.len(),
        acks.len()
    );
    let first: Vec<&str> = data[0].split('\t').collect();
    // 1,470 bytes of payload: 1,478 with the UDP header, 1,530 with everything except the FCS, behind 33
    // bytes of radiotap.
    assert_eq!(first[..2], ["0x0020", "02:5b:00:00:00:01"]);
    assert_eq!(first[3..], ["54", "5180", "1478", "1563"]);
}

#[test]
fn tshark_shows_power_saving_and_polls() {
    let text = ONE.replace("[walkers.client]", "[walkers.client]\npower_save = true");
    let plan = plan(&text, &["flows.download.limit_mbps=0.5"]);
    let played = play(&Play {
        capture: true,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    let file = std::env::temp_dir().join(format!("slowhand-asleep-{}.pcapng", std::process::id()));
    std::fs::write(&file, played.capture.unwrap()).unwrap();
    let count = |filter: &str| tshark(&file, filter, &["frame.number"]).map(|frames| frames.len());
    let polls = count("wlan.fc.type_subtype == 0x1a");
    let Some(polls) = polls else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        std::fs::remove_file(&file).unwrap();
        return;
    };
    let beacons = count("wlan.fc.type_subtype == 8").unwrap();
    let farewells = count("wlan.fc.type_subtype == 0x24 && wlan.fc.pwrmgt == 1").unwrap();
    let more = count("wlan.fc.type == 2 && wlan.fc.moredata == 1 && wlan.ta == 02:5b:00:00:00:00").unwrap();
    let data = count("wlan.fc.type_subtype == 0x20").unwrap();
    std::fs::remove_file(&file).unwrap();
    // 0.5 Mb/s are 42 datagrams per second. They are buffered until one beacon in ten, and each is polled.
    assert!(
        (70..=90).contains(&data) && polls.abs_diff(data) < 10,
        "{polls} for {data}"
    );
    assert!(more > 30, "{more}");
    assert!(
        (15..=20).contains(&beacons) && farewells >= 1,
        "{beacons} {farewells}"
    );
}

/// Two clients that save power. The other client is associated before the run and so has the first
/// association id. The client joins during the run.
fn two_sleepers() -> Vec<u8> {
    let text = ONE.replace(
        "[walkers.client]",
        "[walkers.client]\nassociated = false\npower_save = true",
    );
    let more = "\n[walkers.other]\nat_m = [0, 5]\npower_save = true\n\n[flows.theirs]\ntransport = \"udp\"\nover = \"near\"\n\
                by = \"other\"\ndirection = \"down\"\nlimit_mbps = 0.05\n";
    let settings = [
        "flows.download.limit_mbps=0.1",
        "duration_s=6",
        "aps.near.dhcp_ms=200",
    ];
    let plan = plan(&format!("{text}{more}"), &settings);
    let played = play(&Play {
        capture: true,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    played.capture.unwrap()
}

const NUMBERS: [&str; 7] = [
    "wlan.fc.type_subtype",
    "wlan.fixed.aid",
    "wlan.aid",
    "wlan.tim.bmapctl.offset",
    "wlan.tim.bmapctl.multicast",
    "wlan.tim.partial_virtual_bitmap",
    "wlan.ra",
];

#[test]
fn tshark_shows_association_ids_traffic_indications_and_polls() {
    let file = std::env::temp_dir().join(format!("slowhand-held-{}.pcapng", std::process::id()));
    std::fs::write(&file, two_sleepers()).unwrap();
    let rows = tshark(&file, "wlan", &NUMBERS);
    let wrong = tshark(&file, "_ws.malformed || wlan.fcs.status == 0", &["frame.number"]);
    std::fs::remove_file(&file).unwrap();
    let (Some(rows), Some(wrong)) = (rows, wrong) else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        return;
    };
    assert_eq!(wrong, [""; 0], "frames that tshark reports as faulty");
    let (mut let_in, mut announced, mut maps) = (Vec::new(), 0, BTreeSet::new());
    let (mut polls, mut data) = ([0; 3], 0);
    for row in &rows {
        let fields: Vec<&str> = row.split('\t').collect();
        match number(fields[0]).unwrap() {
            ASSOCIATION_RESPONSE => let_in.push(number(fields[1]).unwrap()),
            BEACON => {
                assert_eq!(fields[3..5], ["0x00", "0"], "{row}");
                announced = u64::from_str_radix(fields[5], 16).unwrap();
                maps.insert(announced);
            }
            PS_POLL => {
                let who = number(fields[2]).unwrap();
                assert_eq!(
                    announced >> who & 1,
                    1,
                    "{who} polls, but the last beacon announced {announced:b}"
                );
                polls[who as usize] += 1;
            }
            DATA => data += usize::from(fields[6] == "02:5b:00:00:00:01"),
            _ => {}
        }
    }
    assert_eq!(let_in, [2], "the other client has the first id");
    // Bits 1 and 2: buffered frames for neither, one or both of the clients.
    assert_eq!(maps, BTreeSet::from([0, 0b010, 0b100, 0b110]));
    // 0.1 Mb/s are 8.5 datagrams per second for more than five seconds, each of them polled. If both clients
    // poll after one beacon, they collide and poll again (control frames have no retry bit). The client's
    // monitor hears the other's polls, too.
    assert!((40..=52).contains(&data), "{data}");
    assert!(
        (data - 4..2 * data).contains(&polls[2]) && polls[1] > 5,
        "{polls:?} for {data}"
    );
}

const ASSOCIATION_RESPONSE: u64 = 1;
const BEACON: u64 = 8;
const DATA: u64 = 0x20;
const PS_POLL: u64 = 0x1a;

/// An 802.11n access point that uses RTS, and a client that monitors at the edge of its reach.
fn aggregates() -> (Vec<u8>, u64) {
    let ht = Some(Ht::new(1, Width::Mhz20, Guard::Short));
    let stations = [("ap", 0), ("client", EDGE_MM)].map(|(name, x_mm)| StationConfig {
        ht,
        rts: Some(0),
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    });
    let air = AirConfig::new(Standard::A, stations.into());
    let flows = vec![saturated(0, 1, 1_000)];
    let mut capture = Capture::new(
        Addresses::of(&air, vec![StationKind::AccessPoint, StationKind::Client]),
        flows.clone(),
        "client",
    );
    let mut world = World::new(1, &air, flows).unwrap();
    world.monitor(StationId(1));
    world.run_for(Duration::from_millis(300));
    while let Some(frame) = world.overheard() {
        capture.add(&frame);
    }
    (capture.finish(), world.air().counters(StationId(1)).received)
}

/// Distance at which nearly every aggregate in MCS 7 loses some of its frames.
const EDGE_MM: i64 = 13_000;

/// Number in a field of tshark's output. Numbers in hexadecimal begin with 0x.
fn number(field: &str) -> Option<u64> {
    match field.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => field.parse().ok(),
    }
}

const FIELDS: [&str; 11] = [
    "wlan.fc.type_subtype",
    "wlan.seq",
    "wlan.qos.tid",
    "radiotap.mcs.index",
    "radiotap.mcs.gi",
    "radiotap.ampdu.reference",
    "wlan.fixed.ssc.sequence",
    "wlan.ba.bm",
    "wlan.duration",
    "radiotap.mactime",
    "radiotap.datarate",
];

const QOS_DATA: u64 = 0x28;
const BLOCK_ACK: u64 = 0x19;
const RTS: u64 = 0x1b;
const CTS: u64 = 0x1c;

#[test]
fn tshark_shows_aggregates_block_acks_and_rts_cts() {
    let (capture, received) = aggregates();
    let file = std::env::temp_dir().join(format!("slowhand-ht-{}.pcapng", std::process::id()));
    std::fs::write(&file, capture).unwrap();
    let rows = tshark(&file, "wlan", &FIELDS);
    let wrong = tshark(
        &file,
        "_ws.malformed || wlan.fcs.status == 0 || ip.checksum.status == 0",
        &["frame.number"],
    );
    std::fs::remove_file(&file).unwrap();
    let (Some(rows), Some(wrong)) = (rows, wrong) else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        return;
    };
    assert_eq!(wrong, [""; 0], "frames that tshark reports as faulty");
    let mut heard = Heard::default();
    for row in &rows {
        let fields: Vec<&str> = row.split('\t').collect();
        heard.frame(&fields.try_into().unwrap());
    }
    println!("{:?}", heard.counts);
    // Frames behind a hole at the end have not been delivered yet.
    let shown = heard.numbers.len() as u64;
    assert!((received..received + 64).contains(&shown), "{shown} {received}");
    let [data, together, acknowledged, holes, leaves] = heard.counts;
    assert!(data > 500 && together > data / 2, "{:?}", heard.counts);
    assert!(
        acknowledged > 50 && holes > 20 && leaves > 50,
        "{:?}",
        heard.counts
    );
}

/// State while reading what the client's monitor shows, according to tshark.
#[derive(Default)]
struct Heard {
    /// Sequence numbers of all data frames so far.
    numbers: BTreeSet<u64>,
    /// Aggregate of the last data frame.
    aggregate: Option<u64>,
    /// End of the medium reservation by the last RTS, in the radio's µs.
    reserved: Option<u64>,
    /// Number of data frames, data frames in aggregates, block acks, block acks with holes, and CTS frames.
    counts: [u64; 5],
}

impl Heard {
    fn frame(&mut self, row: &[&str; FIELDS.len()]) {
        let [
            kind,
            seq,
            tid,
            mcs,
            gi,
            aggregate,
            start,
            bitmap,
            duration,
            at,
            rate,
        ] = *row;
        let (at, duration) = (number(at).unwrap(), number(duration).unwrap_or(0));
        match number(kind).unwrap() {
            QOS_DATA => {
                assert_eq!((tid, mcs, gi, rate), ("0", "7", "1", "72.2222"), "{row:?}");
                self.numbers.insert(number(seq).unwrap());
                self.aggregate = number(aggregate);
                self.counts[0] += 1;
                self.counts[1] += u64::from(self.aggregate.is_some());
            }
            RTS => {
                assert_eq!(rate, "24");
                self.reserved = Some(at + RTS_US + duration);
            }
            CTS => {
                assert_eq!(Some(at + CTS_US + duration), self.reserved, "{row:?}");
                self.counts[4] += 1;
            }
            BLOCK_ACK => {
                assert!(self.aggregate.take().is_some(), "of an aggregate");
                assert_eq!((rate, duration), ("24", 0));
                assert_eq!(Some(at + BLOCK_ACK_US), self.reserved.take(), "{row:?}");
                self.bitmap(number(start).unwrap(), bitmap);
            }
            _ => {}
        }
    }

    /// Each set bit of a block ack stands for a frame that the monitor has shown, each clear bit for one that
    /// it has not.
    fn bitmap(&mut self, start: u64, octets: &str) {
        let octet = |place: usize| u64::from_str_radix(&octets[2 * place..2 * place + 2], 16).unwrap();
        assert_eq!(octets.len(), 16);
        let bits = (0..8).fold(0, |bits, place| bits | octet(place) << (8 * place));
        for place in 0..64 {
            let shown = self.numbers.contains(&(start + place));
            assert_eq!(bits >> place & 1 == 1, shown, "{start} + {place} of {octets}");
        }
        assert_ne!(bits, 0);
        self.counts[2] += 1;
        // All ones from the first bit on, then only zeros: no hole.
        self.counts[3] += u64::from(bits & bits.wrapping_add(1) != 0);
    }
}

/// Durations of 20, 14 and 32 bytes at 24 Mb/s, in µs.
const RTS_US: u64 = 20 + 4 * 2;
const CTS_US: u64 = 20 + 4 * 2;
const BLOCK_ACK_US: u64 = 20 + 4 * 3;

const ACK: u64 = 0x1d;

const PHYS: [&str; 8] = [
    "wlan.fc.type_subtype",
    "radiotap.datarate",
    "radiotap.channel.freq",
    "radiotap.channel.flags",
    "wlan_radio.phy",
    "wlan_radio.duration",
    "wlan.duration",
    "wlan.supported_rates",
];

/// Fields that tshark shows for a one-second run of a 2.4 GHz standard. `None` if tshark is not installed.
fn at_2_ghz(standard: &str, mbps: u32) -> Option<Vec<Vec<String>>> {
    let text = ONE
        .replace("standard = \"a\"", &format!("standard = \"{standard}\""))
        .replace("channel = 36", "channel = 6");
    let rate = format!("aps.near.rate_mbps={mbps}");
    let plan = plan(&text, &["duration_s=1", &rate]);
    let played = play(&Play {
        capture: true,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    let name = format!("slowhand-{standard}-{}.pcapng", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, played.capture.unwrap()).unwrap();
    let rows = tshark(&file, "wlan", &PHYS);
    let wrong = tshark(
        &file,
        "_ws.malformed || wlan.fcs.status == 0 || ip.checksum.status == 0",
        &["frame.number"],
    );
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        wrong.unwrap_or_default(),
        [""; 0],
        "frames that tshark reports as faulty"
    );
    let split = |row: String| row.split('\t').map(str::to_owned).collect();
    Some(rows?.into_iter().map(split).collect())
}

/// Values of these fields of [`PHYS`], which must be equal in all frames of a type.
fn all(rows: &[Vec<String>], subtype: u64, fields: std::ops::Range<usize>) -> Vec<u64> {
    let of_type = |row: &&Vec<String>| number(&row[0]) == Some(subtype);
    let shown: BTreeSet<&[String]> = rows
        .iter()
        .filter(of_type)
        .map(|row| &row[fields.clone()])
        .collect();
    assert_eq!(shown.len(), 1, "{subtype:#x}: {shown:?}");
    let first = shown.into_iter().next().unwrap();
    let numbers = first.iter().flat_map(|field| field.split(','));
    numbers
        .map(|field| number(field).unwrap_or_else(|| panic!("{first:?}")))
        .collect()
}

#[test]
fn tshark_recognises_802_11b_and_g() {
    let (Some(b), Some(g)) = (at_2_ghz("b", 11), at_2_ghz("g", 54)) else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        return;
    };
    // CCK or OFDM at 2.4 GHz, and tshark's numbers of 802.11b and 802.11g.
    let (cck, ofdm) = ([2_437, 0x00a0, 4], [2_437, 0x00c0, 6]);
    for subtype in [BEACON, DATA, ACK] {
        assert_eq!(all(&b, subtype, 2..5), cck);
        assert_eq!(all(&g, subtype, 2..5), ofdm);
    }
    // Rates: the slowest for beacons, the data rate, and the fastest mandatory rate below it for ACKs.
    assert_eq!([BEACON, DATA, ACK].map(|of| all(&b, of, 1..2)[0]), [1, 11, 2]);
    assert_eq!([BEACON, DATA, ACK].map(|of| all(&g, of, 1..2)[0]), [6, 54, 24]);
    // Durations by tshark's count. Data: 1,530 bytes, since the FCS beyond the cut is not counted, after the
    // long preamble, or a preamble and 57 symbols, without the signal extension. ACKs: 14 bytes, 56 µs at 2
    // Mb/s, or two symbols.
    assert_eq!(
        [DATA, ACK].map(|of| all(&b, of, 5..6)[0]),
        [192 + 1_113, 192 + 56]
    );
    assert_eq!([DATA, ACK].map(|of| all(&g, of, 5..6)[0]), [20 + 57 * 4, 20 + 8]);
    // SIFS and the ACK: 14 bytes at 2 Mb/s after the long preamble, or two symbols after OFDM's preamble,
    // plus the signal extension.
    assert_eq!(all(&b, DATA, 6..7), [10 + 192 + 56]);
    assert_eq!(all(&g, DATA, 6..7), [10 + 20 + 8 + 6]);
    let rates = |rows: &[Vec<String>]| -> Vec<u64> {
        let rates = all(rows, BEACON, 7..8);
        rates.into_iter().map(|rate| rate & 0x7f).collect()
    };
    assert_eq!(rates(&b), [2, 4, 11, 22]);
    assert_eq!(rates(&g), [12, 18, 24, 36, 48, 72, 96, 108]);
}
