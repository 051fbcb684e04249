//! Turns frames heard on a monitor interface into facts for the engine. Any device works whose packets are
//! radiotap and 802.11, physical or virtual.
//!
//! # Sources
//! - packet(7), Linux 6.18 `net/packet/af_packet.c`: SOCK_RAW delivers whole frames. With MSG_TRUNC, the
//!   returned length is that of the frame. PACKET_STATISTICS counts dropped frames.
//!   `include/uapi/linux/if_arp.h`: ARPHRD_IEEE80211_RADIOTAP.
//! - `wire::radiotap`, `wire::dot11` for the headers.
//!
//! # Where we differ, and why
//! 1. The device is not switched to monitor mode: it must be a monitor interface already, as its type shows.
//!    Any other device is refused.
//! 2. Only the beginning of a frame is read, because only the headers are needed.
//! 3. Frames with a bad checksum are skipped, because their addresses are not reliable. So are frames that
//!    the radio itself has sent.
//! 4. A frame whose rate is not known counts all the same. Without it, its number would count as lost: a
//!    perfect link with a modern radio would look like one that loses most frames.
//! 5. Only the first fragment of a packet counts: the others have its number.
//!
//! # Checked by `tests`: a virtual device, `digest` with hand-made frames, and those of `golden/radiotap`.
//! `sim`'s `tests/capture.rs`: the engine gets the same facts in both worlds.

mod listener;
mod socket;
#[cfg(test)]
mod tests;

pub use listener::{Aliases, Beacons, Listener, Reports};
pub use socket::{Capture, OpenError};

use policy::estimate::delivery::{Frame, Receiver};
use units::{Bitrate, Dbm, MacAddr};
use wire::dot11::{FCS_BYTES, Header, Kind};
use wire::radiotap::{Radiotap, Rate};

/// A frame heard on a monitor interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// MAC address of the transmitter.
    pub transmitter: MacAddr,
    /// Whether it is a beacon, whose signal is that of its access point.
    pub beacon: bool,
    /// Signal strength, if the radio reports it.
    pub signal: Option<Dbm>,
    /// The fields that the estimators use.
    pub frame: Frame,
}

/// Parses a frame from a monitor interface: `bytes` is its beginning and `length` its whole length. `us` are
/// the client's addresses.
///
/// `None` if the frame has no sequence number (such as an acknowledgement), is damaged, is not 802.11, or was
/// sent by the radio itself.
pub fn digest(bytes: &[u8], length: usize, us: &[MacAddr]) -> Option<Sighting> {
    let (radiotap, frame) = Radiotap::parse(bytes)?;
    let header = Header::parse(frame).filter(|_| !radiotap.broken && !radiotap.own)?;
    let (number, transmitter) = (header.number?, header.transmitter?);
    // A packet is one number, however many fragments it has. No station has a group address.
    if header.fragment > 0 || transmitter.is_group() {
        return None;
    }
    let padding = if radiotap.padded {
        header.octets(frame).next_multiple_of(4) - header.octets(frame)
    } else {
        0
    };
    let without = if radiotap.has_fcs { 0 } else { FCS_BYTES };
    let mpdu = (length - (bytes.len() - frame.len())).saturating_sub(padding) + without;
    Some(Sighting {
        transmitter,
        beacon: header.kind == Kind::BEACON,
        signal: radiotap.signal,
        frame: Frame {
            receiver: receiver(header.receiver, us),
            tid: header.tid.filter(|_| !header.receiver.is_group()),
            number,
            retry: header.retry,
            rate: radiotap.rate.and_then(Rate::bitrate).unwrap_or(Bitrate::ZERO),
            bytes: u16::try_from(mpdu).unwrap_or(u16::MAX),
            aggregate: radiotap.aggregate,
        },
    })
}

fn receiver(address: MacAddr, us: &[MacAddr]) -> Receiver {
    if us.contains(&address) {
        Receiver::Us
    } else if address.is_group() {
        Receiver::Group
    } else {
        Receiver::Other(address)
    }
}
