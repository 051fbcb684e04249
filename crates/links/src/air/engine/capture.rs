//! Frames that a monitor interface shows: every frame that a station can decode, whoever it is for, and its
//! own frames.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.14 (sequence numbers), §9.2.4.1.7 (the retry bit), §9.2.5 (the duration field).
//! - Linux mac80211: a monitor interface of a station's own radio shows what the radio received with a
//!   correct check sum, and what it sent.
//!
//! # Checked by
//! `tests`, and in `sim`: captures that tshark reads.

use units::{Duration, Instant};

use super::Air;
use crate::air::io::{Kind, StationId};
use crate::air::rx::reception::dbm;
use crate::air::schedule::Schedule;
use crate::air::transmission::flight::Flight;
use crate::air::watch::overheard::{FrameKind, Overheard, Says};

impl<S: Schedule> Air<S> {
    /// Reports from now on every frame that this station decodes or sends.
    pub fn monitor(&mut self, station: StationId) {
        let place = station.0 as usize;
        self.part(place);
        self.radios[place].monitor = true;
    }

    /// Next frame that a monitor has heard. Received frames come in the order of their ends, own frames at
    /// their start.
    pub fn poll_overheard(&mut self) -> Option<Overheard> {
        self.captured.pop_front()
    }

    /// Records a frame that ends now for the monitors that heard it. Of an aggregate, only the frames that
    /// arrived.
    pub(in crate::air) fn capture(&mut self, flight: &Flight) {
        while let Some((monitor, got)) = self.overheard.pop() {
            let signal = self.ether.power_at(flight.from, monitor, flight.start);
            self.show(monitor, flight, signal, got);
        }
    }

    /// Records a frame that a monitor starts to send.
    pub(super) fn capture_own(&mut self, place: usize, id: u16) {
        if self.radios[place].monitor {
            let flight = *self.flights.get(id);
            self.show(place as u32, &flight, flight.milliwatts, u64::MAX);
        }
    }

    fn show(&mut self, monitor: u32, flight: &Flight, milliwatts: f64, got: u64) {
        let whole = Overheard {
            monitor: StationId(monitor),
            from: StationId(flight.from),
            to: flight.to.map(StationId),
            kind: self.response(flight),
            start: Instant::from_nanos(flight.start),
            end: Instant::from_nanos(flight.end),
            reserves: Duration::from_nanos(flight.nav - flight.end),
            mode: flight.mode,
            bytes: flight.bytes,
            signal: dbm(milliwatts),
            aggregate: (flight.count > 1).then_some(self.transmissions as u32),
            says: Says::Nothing,
        };
        let session = self.stations[flight.from as usize].current();
        let Some(session) = session.filter(|_| flight.kind == Kind::Data) else {
            self.captured.push_back(whole);
            return;
        };
        let frames = session.tried().enumerate();
        let frames = frames.filter(|(order, _)| got >> order & 1 == 1);
        self.captured.extend(frames.map(|(_, mpdu)| Overheard {
            kind: FrameKind::Data {
                number: mpdu.number,
                retry: mpdu.retry,
                token: mpdu.packet.token,
                subtype: mpdu.packet.subtype,
                tid: session.is_qos().then_some(session.tid),
                asleep: mpdu.packet.asleep,
                more: mpdu.packet.more,
            },
            bytes: mpdu.packet.mpdu_bytes(session.is_qos()),
            ..whole.clone()
        }));
    }

    /// Contents of a frame that does not come from a queue. The sender of a block acknowledgement receives
    /// nothing until that frame is over.
    fn response(&self, flight: &Flight) -> FrameKind {
        match flight.kind {
            Kind::BlockAck => {
                let said = self.stations[flight.from as usize].scoreboard;
                FrameKind::BlockAck {
                    tid: said.tid,
                    start: said.start,
                    bitmap: said.bitmap,
                }
            }
            Kind::Rts => FrameKind::Rts,
            Kind::Cts => FrameKind::Cts,
            Kind::Data | Kind::Ack | Kind::Noise => FrameKind::Ack,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;
    use crate::air::{AirConfig, Destination, Input, Packet, StationConfig};
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
            let packet = Packet::new(to, 1_000, token as u64);
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
        let [data, ack] = &frames[..] else {
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
                _ => None,
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
