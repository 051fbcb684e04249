use super::*;
use crate::Position;
use crate::air::{Air, AirConfig};
use crate::air::{Destination, Ht, Input, Packet, StationConfig};
use units::wifi::Standard;
use units::{Dbm, Instant};

/// A frame of this kind from an access point to a listening client: its bytes and the length of the rest.
fn said(subtype: Subtype, bytes: u32, everyone: bool) -> (Vec<u8>, usize) {
    said_by(StationKind::AccessPoint, subtype, bytes, everyone)
}

/// The same from a station of this kind.
fn said_by(kind: StationKind, subtype: Subtype, bytes: u32, everyone: bool) -> (Vec<u8>, usize) {
    let station = |name, x_mm| StationConfig {
        ht: Some(Ht::new(2, ht::Width::Mhz20, ht::Guard::Short)),
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    };
    let config = AirConfig::new(
        Standard::A,
        Vec::from([station("hall", 0), station("client", 5_000)]),
    );
    let mut air = Air::new(1, &config).unwrap();
    air.monitor(StationId(1));
    let to = if everyone {
        Destination::Everyone
    } else {
        Destination::Station(StationId(1))
    };
    let packet = Packet {
        subtype,
        ..Packet::new(to, bytes, 0)
    };
    air.handle(Instant::ZERO, Input::Send(StationId(0), packet));
    while let Some((at, _)) = air.wake_at() {
        air.tick(at);
    }
    let frame = air.poll_overheard().unwrap();
    let mut written = Vec::new();
    let rest = Addresses::of(&config, Vec::from([kind, StationKind::Client])).write(&frame, &mut written);
    (written, rest)
}

fn elements(mut body: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [id, length, rest @ ..] = body {
        let (contents, after) = rest.split_at(usize::from(*length));
        found.push((*id, contents));
        body = after;
    }
    assert!(body.is_empty());
    found
}

#[test]
fn a_beacon_is_whole() {
    let (written, rest) = said(Subtype::Beacon, 250, true);
    let (radiotap, frame) = Radiotap::parse(&written).unwrap();
    assert_eq!((rest, frame.len()), (0, 250));
    assert!(radiotap.has_fcs);
    assert_eq!((radiotap.antennas, radiotap.rate), (2, Some(Rate::Legacy(12))));
    assert!(radiotap.signal.unwrap() < Dbm::from_dbm(-30));
    let (contents, sum) = frame.split_at(frame.len() - FCS_BYTES);
    assert_eq!(fcs(contents), sum);
    let header = Header::parse(frame).unwrap();
    assert_eq!((header.kind, header.third), (Kind::BEACON, header.transmitter));
    // After the header: timestamp, interval, capabilities.
    let fixed = &contents[24..36];
    assert_eq!(fixed[8..], [100, 0, 1, 0]);
    let found = elements(&contents[36..]);
    let ids: Vec<u8> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 3, 5, 45, 61, 221]);
    assert_eq!(found[0].1, b"hall");
    assert_eq!(found[1].1[0], 0x80 | 12, "6 Mb/s is what everybody knows");
    assert_eq!(found[2].1, [36]);
    assert_eq!(found[4].1[3..6], [0xff, 0xff, 0], "two streams");
}

/// A frame of a peer, and its header.
fn said_by_peer(subtype: Subtype, bytes: u32, everyone: bool) -> (Header, Vec<u8>) {
    let (written, _) = said_by(StationKind::Peer, subtype, bytes, everyone);
    let (_, frame) = Radiotap::parse(&written).unwrap();
    (Header::parse(frame).unwrap(), frame.to_vec())
}

#[test]
fn a_peer_announces_an_ad_hoc_network() {
    let (header, frame) = said_by_peer(Subtype::Beacon, 250, true);
    assert_eq!((header.kind, header.third), (Kind::BEACON, header.transmitter));
    assert_eq!(frame[32..36], [100, 0, 2, 0], "no access point");
    let found = elements(&frame[36..frame.len() - FCS_BYTES]);
    let ids: Vec<u8> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 3, 6, 45, 61, 221]);
    assert_eq!(found[3].1, [0, 0]);
}

#[test]
fn data_of_a_peer_passes_no_access_point() {
    let (header, _) = said_by_peer(Subtype::Data, 1_000, false);
    assert_eq!((header.way, header.third), (Way::Direct, header.transmitter));
}

#[test]
fn joining_says_what_it_is_about() {
    let (written, _) = said(Subtype::Authentication, 34, false);
    let (_, frame) = Radiotap::parse(&written).unwrap();
    assert_eq!(
        frame[24..30],
        [0, 0, 2, 0, 0, 0],
        "the access point's is the second"
    );
    let (written, _) = said(Subtype::AssociationResponse, 110, false);
    let (_, frame) = Radiotap::parse(&written).unwrap();
    assert_eq!(frame.len(), 110);
    assert_eq!(frame[24..30], [1, 0, 0, 0, 0x01, 0xc0]);
    let ids: Vec<u8> = elements(&frame[30..106]).iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [1, 45, 61, 221]);
}

#[test]
fn of_data_the_world_has_the_rest() {
    let (written, rest) = said(Subtype::Data, 1_000, false);
    let (radiotap, frame) = Radiotap::parse(&written).unwrap();
    assert!(!radiotap.has_fcs);
    // LLC and SNAP come before the packet.
    assert_eq!((frame.len(), rest), (26, 1_008));
    assert_eq!(Header::parse(frame).unwrap().tid, Some(0));
}
