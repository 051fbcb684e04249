//! What a monitor interface on each of the client's radios shows, as facts for the engine: frames of access
//! points, and a driver's survey of each channel.
//!
//! # Checked by
//! `tests/play.rs`, `tests/capture.rs`.

use links::air::{Addresses, FrameKind, Overheard, StationId, Subtype};
use policy::estimate::bandwidth::Sight;
use policy::estimate::delivery::{Frame, Receiver};
use units::{Bytes, Instant};

use super::frames::{Airtime, shown_at};

/// The client's monitors, with the stations behind its links.
#[derive(Debug, Default)]
pub(super) struct Ears {
    /// Per station: the link of the access point that it is.
    links: Vec<Option<usize>>,
    /// Per station: the air time that its radio has heard, if it is the client's.
    heard: Vec<Option<Airtime>>,
    /// Per link of an access point: payload received, and the client's station on its channel.
    received: Vec<Option<(Bytes, StationId)>>,
}

impl Ears {
    /// Monitors that have heard nothing. `links`: per station, the link of the access point that it is.
    /// `radios`: per link, the client's station on its channel.
    pub(super) fn new(links: Vec<Option<usize>>, radios: &[Option<StationId>]) -> Self {
        let stations = radios.iter().flatten().map(|radio| radio.0 as usize + 1);
        let mut heard = vec![None; stations.chain([links.len()]).max().unwrap_or(0)];
        for radio in radios.iter().flatten() {
            heard[radio.0 as usize] = Some(Airtime::default());
        }
        let received = radios.iter().map(|radio| radio.map(|radio| (Bytes::ZERO, radio)));
        Self {
            links,
            heard,
            received: received.collect(),
        }
    }

    /// Takes a frame. Returns when it is shown, and the link of its access point, if it is one's.
    pub(super) fn hear(&mut self, frame: &Overheard) -> Option<(Instant, usize, Frame)> {
        if let Some(channel) = &mut self.heard[frame.monitor.0 as usize] {
            channel.add(frame);
        }
        let link = self.links.get(frame.from.0 as usize).copied().flatten()?;
        let seen = digest(frame)?;
        if seen.receiver == Receiver::Us
            && !seen.retry
            && let Some((received, _)) = &mut self.received[link]
        {
            *received += Bytes::new(u64::from(frame.bytes));
        }
        Some((shown_at(frame), link, seen))
    }

    /// The state of a driver's survey for each link of an access point.
    pub(super) fn surveys(&self) -> impl Iterator<Item = (usize, Sight)> {
        let links = self.received.iter().enumerate();
        links.filter_map(|(link, of)| {
            let (received, station) = (*of)?;
            let channel = self.heard[station.0 as usize]?;
            let sight = Sight {
                received,
                busy: channel.sum,
                exchanges: channel.count,
            };
            Some((link, sight))
        })
    }
}

/// The engine's view of a frame that a monitor has shown. Only frames with a sequence number have one, as in
/// `linux`'s capture code.
pub fn digest(frame: &Overheard) -> Option<Frame> {
    let FrameKind::Data {
        number,
        retry,
        subtype,
        tid,
        ..
    } = frame.kind
    else {
        return None;
    };
    (subtype != Subtype::PsPoll).then(|| Frame {
        receiver: match frame.to {
            None => Receiver::Group,
            Some(to) if to == frame.monitor => Receiver::Us,
            Some(to) => Receiver::Other(Addresses::mac(to)),
        },
        tid: tid.filter(|_| frame.to.is_some()),
        number,
        retry,
        rate: frame.mode.rate(),
        bytes: u16::try_from(frame.bytes).unwrap_or(u16::MAX),
        aggregate: frame.aggregate,
    })
}
