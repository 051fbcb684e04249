//! The access points that a radio has heard, as far as the name of a joined network is concerned.

use super::attr;
use crate::netlink::{Attr, Attrs};
use units::MacAddr;

/// `NL80211_BSS_*`.
const BSSID: u16 = 1;
const ELEMENTS: u16 = 6;
/// `WLAN_EID_SSID`.
const SSID_ELEMENT: u8 = 0;

/// The access point and the name in its last beacon or probe response. `None`: it hides its name there.
pub fn named(attrs: Attrs<'_>) -> Option<(MacAddr, Vec<u8>)> {
    let bss = attrs.clone().find(attr::BSS)?;
    let value = |kind| bss.attrs().find(kind);
    let bssid = super::interface::mac(&value(BSSID)?)?;
    let ssid = ssid(&value(ELEMENTS)?)?;
    let is_hidden = ssid.iter().all(|byte| *byte == 0);
    (!is_hidden).then(|| (bssid, ssid.to_vec()))
}

fn ssid<'a>(elements: &Attr<'a>) -> Option<&'a [u8]> {
    let mut rest = elements.value;
    while let [kind, length, after @ ..] = rest {
        let (value, after) = after.split_at_checked(usize::from(*length))?;
        if *kind == SSID_ELEMENT {
            return Some(value);
        }
        rest = after;
    }
    None
}
