//! The 802.11 readers return on any bytes from a monitor interface. What they read can be written and read
//! again, other than rates that no model sends.

use wire::beacon::{Beacon, Elements};
use wire::dot11::Header;
use wire::radiotap::{Radiotap, Rate};

/// Fails if they do not.
pub fn read(bytes: &[u8]) {
    let Some((mut radiotap, frame)) = Radiotap::parse(bytes) else {
        return;
    };
    let _ = radiotap.rate.and_then(Rate::bitrate);
    radiotap.rate = radiotap
        .rate
        .filter(|rate| matches!(rate, Rate::Legacy(_) | Rate::Ht { .. }));
    let mut written = Vec::new();
    radiotap.write(&mut written);
    assert_eq!(Radiotap::parse(&written), Some((radiotap, &[][..])));
    if let Some(header) = Header::parse(frame) {
        let mut written = Vec::new();
        header.write(&mut written);
        assert_eq!(Header::parse(&written), Some(header));
        if let Some(body) = frame.get(header.octets(frame)..) {
            let _ = Beacon::parse(body);
            assert!(
                Elements::new(body)
                    .map(|element| element.value.len() + 2)
                    .sum::<usize>()
                    <= body.len()
            );
        }
    }
}
