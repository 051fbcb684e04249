//! What a monitor interface hears, as facts for the engine: any device whose packets are radiotap and 802.11, real or made.
//!
//! # Sources
//! - packet(7), Linux 6.18 `net/packet/af_packet.c`: SOCK_RAW hands over whole frames; MSG_TRUNC makes the length that of the frame;
//!   PACKET_STATISTICS counts what found no room. `include/uapi/linux/if_arp.h`: ARPHRD_IEEE80211_RADIOTAP.
//! - `wire::radiotap`, `wire::dot11` for the headers.
//!
//! # Where we differ, and why
//! 1. The device is not asked for monitor mode: it is one already, and its type says so. Anything else is refused.
//! 2. Only the beginning of a frame is read: headers are all that is asked for.
//! 3. Frames with a broken check sum are left out: nobody knows whose they are.
//!
//! # Checked by
//! `tests`: a device made for it; `digest` by hand. `sim`'s `tests/capture.rs`: the engine is told the same in both worlds.

mod listener;
mod socket;
#[cfg(test)]
mod tests;

pub use listener::Listener;
pub use socket::{Capture, OpenError};

use policy::estimate::delivery::{Frame, Receiver};
use units::wifi::ht;
use units::{Bitrate, Dbm, MacAddr};
use wire::dot11::{FCS_BYTES, Header, Kind};
use wire::radiotap::{Radiotap, Rate};

/// A frame that a monitor interface has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// Who sent it.
    pub transmitter: MacAddr,
    /// A beacon: how strong its access point is.
    pub beacon: bool,
    /// How strong it was, if the radio says so.
    pub signal: Option<Dbm>,
    /// What the estimators ask for.
    pub frame: Frame,
}

/// Reads the frame that a monitor interface has handed over: its beginning, and how long all of it was.
///
/// `None`: not a numbered frame (acknowledgements and the like), broken, or not 802.11 at all. `us` is the client.
pub fn digest(bytes: &[u8], length: usize, us: MacAddr) -> Option<Sighting> {
    let (radiotap, frame) = Radiotap::parse(bytes)?;
    let header = Header::parse(frame).filter(|_| !radiotap.broken)?;
    let (number, transmitter) = (header.number?, header.transmitter?);
    let without = if radiotap.has_fcs { 0 } else { FCS_BYTES };
    let mpdu = length - (bytes.len() - frame.len()) + without;
    Some(Sighting {
        transmitter,
        beacon: header.kind == Kind::BEACON,
        signal: radiotap.signal,
        frame: Frame {
            receiver: receiver(header.receiver, us),
            tid: header.tid.filter(|_| !header.receiver.is_group()),
            number,
            retry: header.retry,
            rate: rate(radiotap.rate?)?,
            bytes: u16::try_from(mpdu).unwrap_or(u16::MAX),
            aggregate: radiotap.aggregate,
        },
    })
}

fn receiver(address: MacAddr, us: MacAddr) -> Receiver {
    if address == us {
        Receiver::Us
    } else if address.is_group() {
        Receiver::Group
    } else {
        Receiver::Other(address)
    }
}

fn rate(rate: Rate) -> Option<Bitrate> {
    match rate {
        Rate::Legacy(units) => (units > 0).then(|| Bitrate::from_kbps(u64::from(units) * 500)),
        Rate::Ht {
            mcs,
            wide,
            short_guard,
        } => {
            let width = if wide { ht::Width::Mhz40 } else { ht::Width::Mhz20 };
            let guard = if short_guard {
                ht::Guard::Short
            } else {
                ht::Guard::Long
            };
            ht::Mode::new(mcs, width, guard).map(ht::Mode::rate)
        }
    }
}
