//! How stations process received frames, and what they answer after SIFS.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.11 (acknowledgement), §10.25.6 (block acknowledgement), §10.3.2.6 (CTS: only if
//!   the NAV says that the medium is idle), §10.3.2.14 (duplicates).

use units::wifi::ACK_BYTES;
use units::wifi::ht::BLOCK_ACK_BYTES;

use super::Air;
use super::exchange::Frame;
use crate::air::io::{Kind, StationId};
use crate::air::mac::station::{Answer, ack_time};
use crate::air::phy::mode::Mode;
use crate::air::phy::timing::nanos;
use crate::air::schedule::Schedule;
use crate::air::sense::ears::{Heard, starting};
use crate::air::sense::radio::Phase;
use crate::air::transmission::flight::Flight;

impl<S: Schedule> Air<S> {
    /// Processes the frame that has just ended at all stations that heard it.
    pub(in crate::air) fn react(&mut self, flight: &Flight) {
        while let Some((station, heard)) = self.heard.pop() {
            let place = station as usize;
            match (heard, flight.kind) {
                (Heard::Frame(got), Kind::Data) => self.receive(place, flight, got),
                (Heard::Frame(_), Kind::Ack | Kind::BlockAck) => self.acknowledge(place, flight),
                (Heard::Frame(_), Kind::Rts) => self.requested(place, flight),
                (Heard::Frame(_), Kind::Cts) => self.clear_to_send(place, flight),
                (Heard::Other, _) => self.fail(place),
                (Heard::Noise, _) if self.now >= self.stations[place].patience => self.fail(place),
                (Heard::Noise | Heard::Interrupted, _) | (Heard::Frame(_), Kind::Noise) => {}
            }
        }
    }

    /// Receives a data frame, or the frames of an aggregate that arrived.
    fn receive(&mut self, place: usize, flight: &Flight, got: u64) {
        let sender = flight.from as usize;
        if flight.to.is_none() {
            if got == 0 {
                return;
            }
            let packet = self.stations[sender]
                .current()
                .and_then(|session| session.tried().next().map(|mpdu| mpdu.packet));
            if let Some(packet) = packet {
                self.received(StationId(place as u32), flight.from, packet);
            }
            return;
        }
        self.stop_waiting(place);
        if got == 0 {
            self.change_if_idle(place);
            return;
        }
        let bits = self.stations[sender]
            .current_mut()
            .map_or(0, |session| session.receive(got));
        if flight.count > 1
            && let Some(session) = self.stations[sender].current()
        {
            self.stations[place].scoreboard = session.scoreboard();
        }
        let answer = Answer::Ack {
            to: flight.from,
            mode: flight.mode,
            got: (flight.count > 1).then_some(bits),
        };
        self.answer_after_sifs(place, answer);
        self.deliver(sender);
    }

    /// Receives an RTS.
    fn requested(&mut self, place: usize, flight: &Flight) {
        self.stop_waiting(place);
        if self.radios[place].nav > self.now {
            self.change_if_idle(place);
            return;
        }
        let answer = Answer::Cts {
            to: flight.from,
            mode: flight.mode,
            until: flight.nav,
        };
        self.answer_after_sifs(place, answer);
    }

    /// Ends the wait for an answer: another frame has come instead. The station may have to answer that one.
    /// So it does not move or change channel yet.
    fn stop_waiting(&mut self, place: usize) {
        if self.radios[place].phase == Phase::Awaiting {
            let changes = self.stations[place].changes.take();
            self.fail(place);
            self.stations[place].changes = changes;
        }
    }

    pub(super) fn answer_after_sifs(&mut self, place: usize, answer: Answer) {
        self.part(place);
        let radio = &mut self.radios[place];
        radio.phase = Phase::Responding;
        let sifs = self.timings[usize::from(radio.timing)].sifs;
        self.stations[place].answer = Some(answer);
        self.schedule.set(place, starting(self.now + sifs));
    }

    /// Sends the answer, SIFS after the frame.
    pub(in crate::air) fn answer(&mut self, place: usize) {
        match self.stations[place].answer.take() {
            Some(Answer::Ack { to, mode, got }) => self.send_ack(place, to, mode, got),
            Some(Answer::Cts { to, mode, until }) => self.send_cts(place, to, mode.response(), until),
            Some(Answer::Data) => self.send_data(place),
            None => self.radios[place].phase = Phase::Listening,
        }
    }

    fn send_ack(&mut self, place: usize, to: u32, mode: Mode, got: Option<u64>) {
        let time = ack_time(self.stations[place].standard, mode, got.is_some());
        let (kind, bytes) = match got {
            Some(_) => (Kind::BlockAck, BLOCK_ACK_BYTES),
            None => (Kind::Ack, ACK_BYTES),
        };
        let frame = Frame {
            to: Some(to),
            kind,
            mode: mode.response(),
            bytes,
            count: 1,
            time,
            answer: 0,
            got: got.unwrap_or(0),
        };
        let id = self.launch(place, frame);
        self.capture_own(place, id);
    }

    fn send_cts(&mut self, place: usize, to: u32, mode: Mode, until: u64) {
        let time = nanos(mode.time(self.stations[place].standard, ACK_BYTES));
        let frame = Frame {
            to: Some(to),
            kind: Kind::Cts,
            mode,
            bytes: ACK_BYTES,
            count: 1,
            time,
            answer: until.saturating_sub(self.now + time),
            got: 0,
        };
        let id = self.launch(place, frame);
        self.capture_own(place, id);
    }
}
