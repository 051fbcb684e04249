use super::*;
use crate::testing::inside;
use units::SeqNum;
use wire::dot11::{Way, fcs};

const US: MacAddr = MacAddr::local(1);
const AP: MacAddr = MacAddr::local(0);

fn data(receiver: MacAddr, tid: Option<u8>) -> Header {
    let kind = if tid.is_some() { Kind::QOS_DATA } else { Kind::DATA };
    Header {
        kind,
        way: Way::FromAccessPoint,
        retry: true,
        third: Some(AP),
        number: Some(SeqNum::new(77)),
        tid,
        ..Header::control(kind, 44, receiver, Some(AP))
    }
}

fn shown(radiotap: Radiotap, header: Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    radiotap.write(&mut bytes);
    header.write(&mut bytes);
    bytes
}

const RADIO: Radiotap = Radiotap {
    tsft_us: None,
    has_fcs: true,
    broken: false,
    padded: false,
    own: false,
    rate: Some(Rate::Legacy(108)),
    frequency_mhz: Some(5_180),
    signal: None,
    antennas: 0,
    aggregate: None,
};

#[test]
fn a_frame_to_us_is_read_from_its_beginning() {
    let bytes = shown(RADIO, data(US, Some(5)));
    // Radiotap here is 8 octets plus flags, rate and channel.
    let sighting = digest(&bytes, 14 + 1_538, &[US]).unwrap();
    assert_eq!((sighting.transmitter, sighting.beacon), (AP, false));
    let expected = Frame {
        receiver: Receiver::Us,
        tid: Some(5),
        number: SeqNum::new(77),
        retry: true,
        rate: Bitrate::from_mbps(54),
        bytes: 1_538,
        aggregate: None,
    };
    assert_eq!(sighting.frame, expected);
    let stripped = Radiotap {
        has_fcs: false,
        ..RADIO
    };
    let bytes = shown(stripped, data(US, Some(5)));
    assert_eq!(digest(&bytes, 14 + 1_534, &[US]).unwrap().frame, expected);
}

#[test]
fn receivers_are_distinguished() {
    let to = |receiver, tid| {
        digest(&shown(RADIO, data(receiver, tid)), 100, &[US])
            .unwrap()
            .frame
    };
    let other = MacAddr::local(9);
    assert_eq!(to(other, None).receiver, Receiver::Other(other));
    assert_eq!(to(MacAddr::BROADCAST, None).receiver, Receiver::Group);
    // Group-addressed frames share one counter, with or without QoS.
    assert_eq!(to(MacAddr::BROADCAST, Some(0)).tid, None);
}

#[test]
fn modes_of_802_11n_have_their_rates() {
    let ht = Radiotap {
        rate: Some(Rate::Ht {
            mcs: 15,
            wide: true,
            short_guard: true,
        }),
        aggregate: Some(3),
        ..RADIO
    };
    let frame = digest(&shown(ht, data(US, Some(0))), 100, &[US]).unwrap().frame;
    assert_eq!((frame.rate, frame.aggregate), (Bitrate::from_mbps(300), Some(3)));
}

/// Whether each frame of `golden/radiotap` counts, with its rate in kb/s (0: unknown) and its length.
const COUNTED: &[(&str, Option<(u64, u16)>)] = &[
    ("legacy", Some((24_000, 130))),
    ("vht-only", Some((390_000, 130))),
    ("version1", None),
    ("pad-nonzero", Some((24_000, 130))),
    ("len8-with-bits", None),
    ("len-over", None),
    ("len0", None),
    ("bit31-to-end", None),
    ("hdr80-for-40", Some((24_000, 130))),
    ("tlv-bit28", Some((24_000, 130))),
    ("psdu0-bit26", None),
    ("vendor-in-word1", Some((24_000, 130))),
    ("vendor-word2", Some((24_000, 130))),
    ("datapad-0x20", Some((24_000, 130))),
    ("fcs-flag-no-fcs", Some((24_000, 126))),
    ("fcs-no-flag", Some((24_000, 134))),
    ("fcs-bad-flag", None),
    ("fcs-flag-wrong-sum", Some((24_000, 130))),
    ("snap96", Some((24_000, 4989))),
    ("fragment-0", Some((24_000, 130))),
    ("fragment-1", None),
    ("order-bit-qos-htc", Some((24_000, 134))),
    ("4addr", Some((24_000, 136))),
    ("short-mac-9", None),
    ("short-mac-23", None),
    ("short-mac-25", None),
    ("type3", None),
    ("proto-version-1", None),
    ("mcs-known-0", Some((0, 130))),
    ("mcs-known-noguard", Some((65_000, 130))),
    ("mcs-77-wide", Some((6_000, 130))),
    ("mcs-255", Some((0, 130))),
    ("mcs-32-dup", Some((6_000, 130))),
    ("mcs-and-rate0", Some((54_000, 130))),
    ("mcs-incomplete-and-rate", Some((6_000, 130))),
    ("rate-255", Some((0, 130))),
    ("rate-130-ht-old", Some((0, 130))),
    ("signal+127", Some((0, 130))),
    ("dB-only", Some((6_000, 130))),
    ("rxflags-badplcp", None),
    ("txflags-own", None),
    ("zero-bytes", None),
    ("7-bytes", None),
    ("group-transmitter", None),
];

#[test]
fn frames_count_whatever_drivers_write_before_them() {
    let lines = include_str!("../../../../golden/radiotap/frames.txt").lines();
    let us = MacAddr::new([2, 0, 0, 0, 0, 1]);
    assert_eq!(lines.clone().count(), COUNTED.len());
    for (line, (name, expected)) in lines.zip(COUNTED) {
        let mut fields = line.split(' ');
        assert_eq!(fields.next(), Some(*name));
        let length: usize = fields.next().unwrap().parse().unwrap();
        let hex = fields.next().unwrap_or_default();
        let octet = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(octet).collect();
        let frame = digest(&bytes, length, &[us]).map(|sighting| sighting.frame);
        let counted = frame.map(|frame| (frame.rate.as_bps() / 1_000, frame.bytes));
        assert_eq!(counted, *expected, "{name}");
    }
}

#[test]
fn uncountable_frames_are_skipped() {
    let ack = Header::control(Kind::ACK, 0, US, None);
    assert_eq!(digest(&shown(RADIO, ack), 24, &[US]), None);
    let broken = Radiotap {
        broken: true,
        ..RADIO
    };
    assert_eq!(digest(&shown(broken, data(US, None)), 100, &[US]), None);
    assert_eq!(digest(&[], 0, &[US]), None);
}

/// A virtual device of the monitor type, and the frames written to it.
mod device {
    use std::fs::{File, OpenOptions};
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
    const TUNSETLINK: libc::Ioctl = 0x4004_54cd;

    /// Type 803, down. A TUN with packet information, because otherwise the kernel accepts only packets that
    /// begin like IP.
    pub fn monitor(name: &str) -> File {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
            .unwrap();
        // SAFETY: an `ifreq` of zeros is a valid one; both requests read what they are given.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
                *to = from.cast_signed();
            }
            request.ifr_ifru.ifru_flags = libc::IFF_TUN as libc::c_short;
            assert_eq!(libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw const request), 0);
            assert_eq!(libc::ioctl(file.as_raw_fd(), TUNSETLINK, 803), 0);
        }
        file
    }

    pub fn write(mut device: &File, frame: &[u8]) {
        let packet = [&[0, 0, 0, 4], frame].concat();
        assert_eq!(device.write(&packet).unwrap(), packet.len());
    }
}

#[test]
fn frames_of_a_device_are_read_with_their_length() {
    inside(|| {
        let monitor = device::monitor("mon0");
        let mut rtnl = crate::rtnl::Rtnl::open().unwrap();
        let index = rtnl.link_named("mon0".parse().unwrap()).unwrap().unwrap().ifindex;
        rtnl.set_up(index, true).unwrap();
        let mut capture = Capture::open("mon0", &[US]).unwrap();
        let mut frame = shown(RADIO, data(US, None));
        frame.resize(14 + 1_532, 0);
        let sum = fcs(&frame[14..]);
        frame.extend_from_slice(&sum);
        for _ in 0..40 {
            device::write(&monitor, &frame);
        }
        let mut heard = Vec::new();
        assert_eq!(capture.read(|sighting| heard.push(sighting)).unwrap(), 40);
        assert_eq!(heard.len(), 40);
        assert!(heard.iter().all(|sighting| sighting.frame.bytes == 1_536));
        assert_eq!(capture.missed().unwrap(), 0);
        assert_eq!(capture.read(|_| panic!("nothing more")).unwrap(), 0);
    });
}

#[test]
fn other_devices_are_refused() {
    inside(|| {
        assert!(matches!(
            Capture::open("lo", &[US]),
            Err(OpenError::NotRadiotap { kind: 772, .. })
        ));
        assert!(matches!(
            Capture::open("mon7", &[US]),
            Err(OpenError::NoDevice(_))
        ));
    });
}
