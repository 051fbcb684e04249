//! The parsers of WiFi messages return on any bytes from the kernel, and what they found can be put in words.

use linux::netlink::Attrs;
use linux::nl80211::{Event, IfType, Interface, Station, Survey, Wiphy, able, bss, wiphys_of};

/// Fails if they do not.
pub fn read(bytes: &[u8]) {
    let _ = Event::parse(bytes);
    let attrs = || Attrs::new(bytes);
    let _ = (
        Interface::parse(attrs()),
        Station::parse(attrs()),
        Survey::parse(attrs()),
    );
    if let Some((_, name)) = bss::named(attrs()) {
        assert!(!name.is_empty() && name.len() <= usize::from(u8::MAX));
    }
    // The two halves are the parts of a dump.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let parts = [bytes, first, second].map(|part| Wiphy::parse(Attrs::new(part)));
    for wiphy in wiphys_of(parts.into_iter().flatten().collect()) {
        let around = able::Around {
            interfaces: &["wlan0"],
            others: &[("wlan1", IfType::Station)],
            ..able::Around::default()
        };
        let _ = able::finding(&wiphy, around);
    }
}
