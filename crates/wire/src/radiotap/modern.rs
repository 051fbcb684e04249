//! The fields in which radiotap describes the modulation of 802.11n and later.
//!
//! # Sources
//! - radiotap.org: MCS, VHT, HE, TLV fields, EHT, U-SIG; Linux 6.18 `include/net/ieee80211_radiotap.h`.
//!
//! # Where we differ, and why
//! 1. A field that leaves out what the rate needs gives no rate. An unknown guard interval is the exception:
//!    the longest is assumed, for an error of at most a tenth (HT, VHT) or a fifth (HE, EHT).
//! 2. Of a frame to several users, the first user's modulation is read.
//!
//! # Checked by
//! `radiotap::tests`, `tests/radiotap_frames.rs` and the fuzz target `dot11`.

use super::array;
use super::rate::{Rate, Unit};

/// MCS field: bandwidth and index are known.
const MCS_NEEDED: u8 = 0x03;
const MCS_GUARD: u8 = 0x04;
const WIDE: u8 = 0x01;
const SHORT_GUARD: u8 = 0x04;

const VHT_BANDWIDTH: u16 = 0x0040;
const VHT_GUARD: u16 = 0x0004;

const HE_NEEDED: u16 = 0x4020;
const HE_DUAL_CARRIER: u16 = 0x1000;
const HE_GUARD: u16 = 0x0002;
/// Size of the resource unit by the code of HE's fifth word. Codes of whole channels come first.
const HE_TONES: [u16; 11] = [242, 484, 996, 1_992, 26, 52, 106, 242, 484, 996, 1_992];

/// U-SIG, the part of the header that all of EHT has.
const U_SIG: u16 = 33;
const U_SIG_BANDWIDTH: u32 = 0x0002;
/// Size of a whole channel by the code of U-SIG.
const U_SIG_TONES: [u16; 6] = [242, 484, 996, 1_992, 3_984, 3_984];
const EHT: u16 = 34;
const EHT_GUARD: u32 = 0x0004;
const EHT_UNIT_SIZE: u32 = 0x0040_0000;
/// Size of the resource unit by its code in EHT's second word. Larger codes are several units.
const EHT_TONES: [u16; 8] = [26, 52, 106, 242, 484, 996, 1_992, 3_984];
/// Octets before the first user: what is known, and nine words.
const EHT_USERS: usize = 40;
/// A user's MCS and streams are known.
const USER_NEEDED: u32 = 0x0012;

/// The MCS field.
pub(super) fn ht(field: &[u8]) -> Option<Rate> {
    let [known, flags, mcs] = array(field, 0)?;
    (known & MCS_NEEDED == MCS_NEEDED).then_some(Rate::Ht {
        mcs,
        wide: flags & 0x03 == WIDE,
        short_guard: known & flags & SHORT_GUARD & MCS_GUARD != 0,
    })
}

/// The VHT field.
pub(super) fn vht(field: &[u8]) -> Option<Rate> {
    let known = u16::from_le_bytes(array(field, 0)?);
    let user = *field.get(4)?;
    let mhz = match *field.get(3)? & 0x1f {
        0 | 2 | 3 | 7..=10 | 18..=25 => 20,
        1 | 5 | 6 | 14..=17 => 40,
        4 | 12 | 13 => 80,
        11 => 160,
        _ => return None,
    };
    let streams = user & 0x0f;
    (known & VHT_BANDWIDTH != 0 && streams > 0).then_some(Rate::Vht {
        mcs: user >> 4,
        streams,
        mhz,
        short_guard: known & VHT_GUARD != 0 && *field.get(2)? & SHORT_GUARD != 0,
    })
}

/// The HE field.
pub(super) fn he(field: &[u8]) -> Option<Rate> {
    let word = |at: usize| Some(u16::from_le_bytes(array(field, 2 * at)?));
    let (known, more, third, fifth, sixth) = (word(0)?, word(1)?, word(2)?, word(4)?, word(5)?);
    if known & HE_NEEDED != HE_NEEDED {
        return None;
    }
    Some(Rate::He(Unit {
        mcs: (third >> 8 & 0x0f) as u8,
        streams: (sixth & 0x0f) as u8,
        tones: *HE_TONES.get(usize::from(fifth & 0x0f))?,
        guard_ns: guard_ns(more & HE_GUARD != 0, fifth >> 4 & 0x03),
        dual_carrier: third & HE_DUAL_CARRIER != 0,
    }))
}

/// The rate in a list of TLV fields, which fills the rest of the header.
pub(super) fn in_list(mut list: &[u8]) -> Option<Rate> {
    let (mut channel, mut eht_field) = (None, None);
    while let Some([a, b, c, d]) = array(list, 0) {
        let (kind, length) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        let Some(value) = list.get(4..4 + usize::from(length)) else {
            break;
        };
        match kind {
            U_SIG => channel = channel_tones(value),
            EHT => eht_field = Some(value),
            _ => {}
        }
        list = list
            .get(4 + usize::from(length).next_multiple_of(4)..)
            .unwrap_or_default();
    }
    eht(eht_field?, channel)
}

fn channel_tones(u_sig: &[u8]) -> Option<u16> {
    let common = u32::from_le_bytes(array(u_sig, 0)?);
    let code = (common >> 15 & 0x07) as usize;
    U_SIG_TONES
        .get(code)
        .copied()
        .filter(|_| common & U_SIG_BANDWIDTH != 0)
}

fn eht(field: &[u8], channel: Option<u16>) -> Option<Rate> {
    let word = |at: usize| Some(u32::from_le_bytes(array(field, at)?));
    let (known, first, second, user) = (word(0)?, word(4)?, word(8)?, word(EHT_USERS)?);
    if user & USER_NEEDED != USER_NEEDED {
        return None;
    }
    let tones = if known & EHT_UNIT_SIZE != 0 {
        *EHT_TONES.get((second & 0x1f) as usize)?
    } else {
        channel?
    };
    Some(Rate::Eht(Unit {
        mcs: (user >> 20 & 0x0f) as u8,
        streams: (user >> 24 & 0x0f) as u8,
        tones,
        guard_ns: guard_ns(known & EHT_GUARD != 0, (first >> 7 & 0x03) as u16),
        dual_carrier: false,
    }))
}

const fn guard_ns(known: bool, code: u16) -> u16 {
    match (known, code) {
        (true, 0) => 800,
        (true, 1) => 1_600,
        _ => 3_200,
    }
}
