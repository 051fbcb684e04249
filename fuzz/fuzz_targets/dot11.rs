//! The 802.11 header readers return on any bytes from a monitor interface. What they read can be written and
//! read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::dot11::Header;
use wire::radiotap::Radiotap;

fuzz_target!(|bytes: &[u8]| {
    let Some((radiotap, frame)) = Radiotap::parse(bytes) else {
        return;
    };
    let mut written = Vec::new();
    radiotap.write(&mut written);
    assert_eq!(Radiotap::parse(&written), Some((radiotap, &[][..])));
    if let Some(header) = Header::parse(frame) {
        let mut written = Vec::new();
        header.write(&mut written);
        assert_eq!(Header::parse(&written), Some(header));
    }
});
