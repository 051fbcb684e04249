//! Frames in which each has one thing that drivers or attackers do: `golden/radiotap/frames.txt` has a name,
//! the length on the air and the bytes of each.

use units::Dbm;
use wire::dot11::Header;
use wire::radiotap::Radiotap;

const FRAMES: &str = include_str!("../../../golden/radiotap/frames.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let octet = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(octet).collect()
}

/// What the radio says of the frame.
fn radio(radiotap: &Radiotap) -> String {
    let mut words: Vec<String> = Vec::new();
    let rate = radiotap.rate.and_then(wire::radiotap::Rate::bitrate);
    words.extend(rate.map(|rate| format!("{} kb/s", rate.as_bps() / 1_000)));
    words.extend(
        radiotap
            .signal
            .map(|signal| format!("{} dBm", Dbm::as_mbm(signal) / 100)),
    );
    words.extend(radiotap.frequency_mhz.map(|mhz| format!("{mhz} MHz")));
    let flags = [
        (radiotap.has_fcs, "fcs"),
        (radiotap.broken, "broken"),
        (radiotap.padded, "padded"),
        (radiotap.own, "own"),
    ];
    words.extend(
        flags
            .into_iter()
            .filter(|(set, _)| *set)
            .map(|(_, word)| word.to_owned()),
    );
    words.extend((radiotap.antennas > 0).then(|| format!("{} antennas", radiotap.antennas)));
    words.join(", ")
}

/// What the frame's header says.
fn frame(frame: &[u8]) -> String {
    let Some(header) = Header::parse(frame) else {
        return "no header".into();
    };
    let number = header
        .number
        .map_or("-".into(), |number| number.get().to_string());
    let tid = header.tid.map_or("-".into(), |tid| tid.to_string());
    let octets = header.octets(frame);
    format!("number {number}.{} tid {tid}, {octets} octets", header.fragment)
}

fn described(hex: &str) -> String {
    let bytes = bytes(hex);
    match Radiotap::parse(&bytes) {
        None => "refused".into(),
        Some((radiotap, rest)) => format!("{}; {}", radio(&radiotap), frame(rest)),
    }
}

#[test]
fn each_frame_is_read_as_expected() {
    let mut lines = FRAMES.lines();
    for (name, expected) in EXPECTED {
        let mut fields = lines.next().expect("a frame for each expectation").split(' ');
        assert_eq!(fields.next(), Some(*name));
        let hex = fields.nth(1).unwrap_or_default();
        assert_eq!(described(hex), *expected, "{name}");
    }
    assert_eq!(lines.next(), None, "an expectation for each frame");
}

const EXPECTED: &[(&str, &str)] = &[
    (
        "legacy",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "vht-only",
        "390000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    ("version1", "refused"),
    (
        "pad-nonzero",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    ("len8-with-bits", "refused"),
    ("len-over", "refused"),
    ("len0", "refused"),
    ("bit31-to-end", "refused"),
    (
        "hdr80-for-40",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "tlv-bit28",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "psdu0-bit26",
        "24000 kb/s, -60 dBm, 5180 MHz, broken; number 5.0 tid 0, 26 octets",
    ),
    (
        "vendor-in-word1",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "vendor-word2",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "datapad-0x20",
        "24000 kb/s, -60 dBm, 5180 MHz, padded; number 5.0 tid 0, 26 octets",
    ),
    (
        "fcs-flag-no-fcs",
        "24000 kb/s, -60 dBm, 5180 MHz, fcs; number 5.0 tid 0, 26 octets",
    ),
    (
        "fcs-no-flag",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "fcs-bad-flag",
        "24000 kb/s, -60 dBm, 5180 MHz, fcs, broken; number 5.0 tid 0, 26 octets",
    ),
    (
        "fcs-flag-wrong-sum",
        "24000 kb/s, -60 dBm, 5180 MHz, fcs; number 5.0 tid 0, 26 octets",
    ),
    (
        "snap96",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
    (
        "fragment-0",
        "24000 kb/s, -60 dBm, 5180 MHz; number 6.0 tid 0, 26 octets",
    ),
    (
        "fragment-1",
        "24000 kb/s, -60 dBm, 5180 MHz; number 6.1 tid 0, 26 octets",
    ),
    (
        "order-bit-qos-htc",
        "24000 kb/s, -60 dBm, 5180 MHz; number 7.0 tid 0, 30 octets",
    ),
    (
        "4addr",
        "24000 kb/s, -60 dBm, 5180 MHz; number 8.0 tid 3, 32 octets",
    ),
    ("short-mac-9", "24000 kb/s, -60 dBm, 5180 MHz; no header"),
    ("short-mac-23", "24000 kb/s, -60 dBm, 5180 MHz; no header"),
    ("short-mac-25", "24000 kb/s, -60 dBm, 5180 MHz; no header"),
    ("type3", "24000 kb/s, -60 dBm, 5180 MHz; no header"),
    ("proto-version-1", "24000 kb/s, -60 dBm, 5180 MHz; no header"),
    ("mcs-known-0", "; number 5.0 tid 0, 26 octets"),
    ("mcs-known-noguard", "65000 kb/s; number 5.0 tid 0, 26 octets"),
    ("mcs-77-wide", "6000 kb/s; number 5.0 tid 0, 26 octets"),
    ("mcs-255", "; number 5.0 tid 0, 26 octets"),
    ("mcs-32-dup", "6000 kb/s; number 5.0 tid 0, 26 octets"),
    ("mcs-and-rate0", "54000 kb/s; number 5.0 tid 0, 26 octets"),
    (
        "mcs-incomplete-and-rate",
        "6000 kb/s; number 5.0 tid 0, 26 octets",
    ),
    ("rate-255", "; number 5.0 tid 0, 26 octets"),
    ("rate-130-ht-old", "; number 5.0 tid 0, 26 octets"),
    ("signal+127", "; number 5.0 tid 0, 26 octets"),
    ("dB-only", "6000 kb/s; number 5.0 tid 0, 26 octets"),
    (
        "rxflags-badplcp",
        "6000 kb/s, broken; number 5.0 tid 0, 26 octets",
    ),
    ("txflags-own", "own; number 5.0 tid 0, 26 octets"),
    ("zero-bytes", "refused"),
    ("7-bytes", "refused"),
    (
        "group-transmitter",
        "24000 kb/s, -60 dBm, 5180 MHz; number 5.0 tid 0, 26 octets",
    ),
];
