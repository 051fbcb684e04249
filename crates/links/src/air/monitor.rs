//! What a monitor interface shows: every frame that a station makes sense of, whoever it is for, and the frames of its own.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.14 (sequence numbers), §9.2.4.1.7 (the retry bit), §9.2.5 (the duration field).
//! - Linux mac80211: a monitor interface of a station's own radio shows what the radio received with a sound check sum, and what it sent.
//!
//! # Checked by
//! `tests`, and in `sim`: captures that tshark reads.

use units::{Dbm, Duration, Instant, SeqNum};

use super::engine::Air;
use super::flight::{Flight, Kind};
use super::io::StationId;
use super::mode::Mode;
use super::schedule::Schedule;

/// A frame as a monitor interface shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overheard {
    /// Who listens.
    pub monitor: StationId,
    /// Who sent it; equal to `monitor`: it is the listener's own.
    pub from: StationId,
    /// For whom; `None`: for everybody.
    pub to: Option<StationId>,
    /// What it is.
    pub kind: FrameKind,
    /// When its preamble began.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// How long it reserves the medium after its end: the duration field.
    pub reserves: Duration,
    /// How it was modulated.
    pub mode: Mode,
    /// Length of the MPDU, check sum included.
    pub bytes: u32,
    /// The power at which it arrived; the transmit power of a frame of one's own.
    pub signal: Dbm,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A packet.
    Data {
        /// Its sequence number.
        number: SeqNum,
        /// Whether it was sent before.
        retry: bool,
        /// The world's name for the packet.
        token: u64,
    },
    /// An acknowledgement.
    Ack,
}

impl<S: Schedule> Air<S> {
    /// From now on the world is told of every frame that this station makes sense of or sends.
    pub fn monitor(&mut self, station: StationId) {
        self.radios[station.0 as usize].monitor = true;
    }

    /// The next frame that a monitor has heard, in the order of their ends; its own at their beginning.
    pub fn poll_overheard(&mut self) -> Option<Overheard> {
        self.captured.pop_front()
    }

    /// Monitors have heard this frame, which ends now.
    pub(super) fn capture(&mut self, flight: &Flight) {
        while let Some(monitor) = self.overheard.pop() {
            let signal = self.ether.power(flight.from, monitor);
            self.captured.push_back(self.overheard(monitor, flight, signal));
        }
    }

    /// A monitor has begun to send.
    pub(super) fn capture_own(&mut self, place: usize, id: u16) {
        if self.radios[place].monitor {
            let flight = self.flights.get(id);
            let own = self.overheard(place as u32, flight, flight.milliwatts);
            self.captured.push_back(own);
        }
    }

    fn overheard(&self, monitor: u32, flight: &Flight, milliwatts: f64) -> Overheard {
        Overheard {
            monitor: StationId(monitor),
            from: StationId(flight.from),
            to: flight.to.map(StationId),
            kind: self.kind_of(flight),
            start: Instant::from_nanos(flight.start),
            end: Instant::from_nanos(flight.end),
            reserves: Duration::from_nanos(flight.nav - flight.end),
            mode: flight.mode,
            bytes: flight.bytes,
            signal: Dbm::from_mbm(libm::round(1_000.0 * libm::log10(milliwatts)) as i32),
        }
    }

    fn kind_of(&self, flight: &Flight) -> FrameKind {
        let head = self.stations[flight.from as usize].head.as_ref();
        match (flight.kind, head) {
            (Kind::Data, Some(head)) => FrameKind::Data {
                number: head.number,
                retry: head.attempts > 1,
                token: head.packet.token,
            },
            _ => FrameKind::Ack,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AirConfig, Destination, Input, Packet, StationConfig};
    use super::*;
    use crate::Position;
    use alloc::vec::Vec;
    use units::wifi::Standard;

    fn air() -> Air {
        let station = |name, x_mm| StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 });
        let stations = Vec::from([
            station("ap", 0),
            station("laptop", 5_000),
            station("ear", 6_000),
            station("gone", 900_000),
        ]);
        Air::new(1, &AirConfig::new(Standard::A, stations)).unwrap()
    }

    fn captured(air: &mut Air, to: &[Destination]) -> Vec<Overheard> {
        for (token, &to) in to.iter().enumerate() {
            let packet = Packet {
                to,
                bytes: 1_000,
                token: token as u64,
            };
            air.handle(Instant::ZERO, Input::Send(StationId(0), packet));
        }
        while let Some((at, _)) = air.wake_at() {
            air.tick(at);
        }
        core::iter::from_fn(|| air.poll_overheard()).collect()
    }

    #[test]
    fn a_third_party_hears_data_and_acknowledgement() {
        let mut air = air();
        air.monitor(StationId(2));
        let frames = captured(&mut air, &[Destination::Station(StationId(1))]);
        let [data, ack] = frames[..] else {
            panic!("{frames:?}")
        };
        assert_eq!((data.from, data.to), (StationId(0), Some(StationId(1))));
        assert_eq!((ack.from, ack.to), (StationId(1), Some(StationId(0))));
        assert_eq!((ack.kind, ack.bytes), (FrameKind::Ack, 14));
        // SIFS and the acknowledgement, which reserves nothing.
        assert_eq!(data.reserves, Duration::from_micros(16) + (ack.end - ack.start));
        assert_eq!(
            (ack.start, ack.reserves),
            (data.end + Duration::from_micros(16), Duration::ZERO)
        );
        assert!(data.signal < ack.signal, "{data:?} {ack:?}");
    }

    #[test]
    fn numbers_go_up_by_one_and_repeats_keep_theirs() {
        let mut air = air();
        air.monitor(StationId(0));
        let to = [
            Destination::Station(StationId(1)),
            Destination::Station(StationId(3)),
            Destination::Everyone,
        ];
        let frames = captured(&mut air, &to);
        let own = frames.iter().filter(|frame| frame.from == StationId(0));
        let seen: Vec<(u16, bool)> = own
            .filter_map(|frame| match frame.kind {
                FrameKind::Data { number, retry, .. } => Some((number.get(), retry)),
                FrameKind::Ack => None,
            })
            .collect();
        let mut expected = Vec::from([(0, false), (1, false)]);
        expected.extend([(1, true); 6]);
        expected.push((2, false));
        assert_eq!(seen, expected);
        assert_eq!(frames.len(), 10, "and one acknowledgement");
    }

    #[test]
    fn nobody_listens_unless_told_to() {
        assert_eq!(captured(&mut air(), &[Destination::Everyone]), []);
    }
}
