//! How frames follow each other: attempt, acknowledgement or time-out, backoff, next packet.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.11 (acknowledgement after SIFS whatever the medium does; time-out if no frame has begun by then; any other
//!   frame instead of the acknowledgement is a failure), §10.3.4.2 (immediate access on an idle medium, backoff otherwise), §10.3.4.3
//!   (backoff after every frame, also after a successful one; the window doubles with failures), §10.3.2.14 (duplicates).
//!
//! # Where we differ, and why
//! 1. A receiver's memory for duplicates is kept with the sender's frame: it never forgets, and a fresh frame is never taken for a
//!    duplicate.

use super::config::Countdown;
use super::ears::{Heard, ending, starting};
use super::engine::Air;
use super::flight::{Flight, Kind};
use super::io::{Destination, Fate, Output, Packet, StationId};
use super::mode::Mode;
use super::radio::{NONE, Phase};
use super::schedule::{NEVER, Schedule};
use super::station::{Head, ack_time};
use units::Duration;
use units::wifi::ACK_BYTES;

impl<S: Schedule> Air<S> {
    /// A packet enters a station's queue.
    pub(super) fn send(&mut self, station: StationId, packet: Packet) {
        let place = station.0 as usize;
        let sender = &mut self.stations[place];
        if !sender.push(packet) {
            self.exit(Output::Done {
                station,
                packet,
                fate: Fate::QueueFull,
            });
            return;
        }
        if !self.radios[place].wants {
            self.take_up(place);
        }
    }

    /// A station that had nothing to send takes up a packet.
    fn take_up(&mut self, place: usize) {
        let (now, sender, radio) = (self.now, &mut self.stations[place], &mut self.radios[place]);
        sender.take_next();
        radio.wants = true;
        let timing = &self.timings[usize::from(radio.timing)];
        let idle = radio.counting && radio.phase == Phase::Listening;
        let counted = radio.access(timing) <= now || radio.slots == 0;
        if idle && counted {
            radio.from = radio.access(timing).max(now);
            radio.slots = 0;
            radio.fresh = true;
        } else if !idle && radio.slots == 0 {
            radio.slots = sender.draw(0, timing);
        }
        if idle {
            self.schedule.set(place, starting(radio.access(timing)));
        }
    }

    /// The countdown is over: the frame goes out.
    pub(super) fn transmit(&mut self, place: usize) {
        self.radios[place].slots = 0;
        let sender = &mut self.stations[place];
        let Some(head) = &mut sender.head else {
            self.schedule.set(place, NEVER);
            return;
        };
        head.attempts += 1;
        let packet = head.packet;
        let (to, mode) = match packet.to {
            Destination::Station(to) => (Some(to.0), sender.mode),
            Destination::Everyone => (None, Mode::basic(sender.mode.phy())),
        };
        sender.counters.attempts += 1;
        let time = sender.data_time(packet.bytes, mode);
        let answer = match to {
            Some(_) => {
                self.timings[usize::from(self.radios[place].timing)].sifs + ack_time(sender.standard, mode)
            }
            None => 0,
        };
        self.launch(
            place,
            Frame {
                to,
                kind: Kind::Data,
                mode,
                bytes: packet.bytes + units::wifi::DATA_OVERHEAD_BYTES,
                time,
                answer,
            },
        );
    }

    /// SIFS after a frame is over: its acknowledgement goes out.
    pub(super) fn answer(&mut self, place: usize) {
        let station = &mut self.stations[place];
        let Some((to, mode)) = station.answer.take() else {
            self.radios[place].phase = Phase::Listening;
            return;
        };
        let time = ack_time(station.standard, mode);
        self.launch(
            place,
            Frame {
                to: Some(to),
                kind: Kind::Ack,
                mode: mode.response(),
                bytes: ACK_BYTES,
                time,
                answer: 0,
            },
        );
    }

    fn launch(&mut self, place: usize, frame: Frame) {
        let (now, station) = (self.now, &mut self.stations[place]);
        let end = now + frame.time;
        let preamble = super::timing::nanos(frame.mode.phy().preamble());
        let site = self.ether.sites[place];
        let id = self.flights.begin(Flight {
            position: site.position,
            milliwatts: site.milliwatts,
            from: place as u32,
            to: frame.to,
            kind: frame.kind,
            mode: frame.mode,
            channel: station.channel,
            bytes: frame.bytes,
            start: now,
            payload: now + preamble,
            end,
            nav: end + frame.answer,
            sure: self.ether.is_sure(self.audiences[place].weakest, frame.mode),
            alone: None,
            over: false,
        });
        station.flight = id;
        station.counters.airtime += Duration::from_nanos(frame.time);
        self.transmissions += 1;
        let radio = &mut self.radios[place];
        radio.phase = Phase::Transmitting;
        radio.counting = false;
        radio.fresh = false;
        radio.lock = NONE;
        self.schedule.set(place, ending(end));
        let (mut ears, audiences) = self.ears();
        ears.begin(id, &audiences[place], now);
        self.draw_for_interrupted();
        self.capture_own(place, id);
    }

    fn draw_for_interrupted(&mut self) {
        while let Some((station, _)) = self.heard.pop() {
            let (place, radio) = (station as usize, &mut self.radios[station as usize]);
            radio.fresh = false;
            radio.slots = self.stations[place].draw(0, &self.timings[usize::from(radio.timing)]);
        }
    }

    /// A station's frame is over.
    pub(super) fn finish(&mut self, place: usize) {
        let (now, id) = (self.now, self.stations[place].flight);
        let flight = *self.flights.get(id);
        let (mut ears, audiences) = self.ears();
        ears.end(id, &audiences[place], now);
        self.capture(&flight);
        self.flights.end(id);
        match (flight.kind, flight.to) {
            (Kind::Data, Some(_)) => {
                self.await_answer(place);
                self.react(&flight);
            }
            (Kind::Data, None) => {
                self.turn_to_listening(place);
                self.react(&flight);
                self.settle(place, Fate::Unknown);
            }
            (Kind::Ack, _) => {
                self.turn_to_listening(place);
                self.count_down(place);
                self.react(&flight);
            }
        }
    }

    fn turn_to_listening(&mut self, place: usize) {
        self.radios[place].phase = Phase::Listening;
        let now = self.now;
        self.ears().0.go_on(place, now);
    }

    fn await_answer(&mut self, place: usize) {
        let (now, rules) = (self.now, self.rules);
        let radio = &mut self.radios[place];
        let timing = &self.timings[usize::from(radio.timing)];
        let wait = match rules.countdown {
            Countdown::Standard => timing.ack_timeout,
            Countdown::BusyCountsAsSlot => {
                // Bianchi's sender resumes together with everybody else.
                radio.broken = rules.eifs == super::config::Eifs::AfterAnyError;
                if radio.broken { timing.eifs } else { timing.difs }
            }
        };
        radio.phase = Phase::Awaiting;
        self.stations[place].patience = now + wait;
        self.schedule.set(place, ending(now + wait));
        self.ears().0.go_on(place, now);
    }

    /// No acknowledgement has come, or one is still coming in.
    pub(super) fn time_out(&mut self, place: usize) {
        let radio = &self.radios[place];
        if radio.lock != NONE {
            let begun = self.flights.get(radio.lock).start;
            let delay = self.timings[usize::from(radio.timing)].start_delay;
            let in_time = begun + delay <= self.now || self.rules.countdown == Countdown::BusyCountsAsSlot;
            if in_time {
                self.schedule.set(place, NEVER);
                return;
            }
        }
        self.fail(place);
    }

    /// What stations make of the frame that has just ended.
    fn react(&mut self, flight: &Flight) {
        while let Some((station, heard)) = self.heard.pop() {
            let place = station as usize;
            match (heard, flight.kind) {
                (Heard::Frame, Kind::Data) => self.receive(place, flight),
                (Heard::Frame, Kind::Ack) => self.acknowledge(place, flight),
                (Heard::Other, _) => self.fail(place),
                (Heard::Noise, _) if self.now >= self.stations[place].patience => self.fail(place),
                (Heard::Noise | Heard::Interrupted, _) => {}
            }
        }
    }

    /// A data frame has arrived.
    fn receive(&mut self, place: usize, flight: &Flight) {
        if self.radios[place].phase == Phase::Awaiting {
            self.fail(place);
        }
        if flight.to.is_some() {
            let radio = &mut self.radios[place];
            radio.phase = Phase::Responding;
            let sifs = self.timings[usize::from(radio.timing)].sifs;
            self.stations[place].answer = Some((flight.from, flight.mode));
            self.schedule.set(place, starting(self.now + sifs));
        }
        let Some(head) = &mut self.stations[flight.from as usize].head else {
            return;
        };
        let fresh = !core::mem::replace(&mut head.received, flight.to.is_some());
        let packet = head.packet;
        if fresh {
            let counters = &mut self.stations[place].counters;
            counters.received += 1;
            counters.received_bytes += u64::from(packet.bytes);
            self.exit(Output::Received {
                station: StationId(place as u32),
                from: StationId(flight.from),
                packet,
            });
        }
    }

    fn acknowledge(&mut self, place: usize, flight: &Flight) {
        let expected = self.stations[place].head.map(|head| head.packet.to);
        if self.radios[place].phase == Phase::Awaiting
            && expected == Some(Destination::Station(StationId(flight.from)))
        {
            self.settle(place, Fate::Acknowledged);
        }
    }

    /// An attempt was not acknowledged.
    fn fail(&mut self, place: usize) {
        let station = &mut self.stations[place];
        station.counters.failures += 1;
        let attempts = station.head.map_or(0, |head| head.attempts);
        if self.rules.attempts.is_some_and(|most| attempts >= most) {
            self.settle(place, Fate::GivenUp);
        } else {
            self.back_off(place, attempts);
        }
    }

    /// A station is done with its packet.
    fn settle(&mut self, place: usize, fate: Fate) {
        let station = &mut self.stations[place];
        match fate {
            Fate::Acknowledged => station.counters.acknowledged += 1,
            Fate::GivenUp => station.counters.given_up += 1,
            Fate::Unknown | Fate::QueueFull => {}
        }
        if let Some(Head { packet, .. }) = station.head.take() {
            self.exit(Output::Done {
                station: StationId(place as u32),
                packet,
                fate,
            });
        }
        self.back_off(place, 0);
    }

    /// Begins a backoff after this many failures of the frame, for the next attempt or for the next packet.
    fn back_off(&mut self, place: usize, failures: u32) {
        let (station, radio) = (&mut self.stations[place], &mut self.radios[place]);
        let timing = &self.timings[usize::from(radio.timing)];
        radio.phase = Phase::Listening;
        radio.wants = station.take_next();
        radio.begin_backoff(self.now, station.draw(failures, timing), timing);
        self.count_down(place);
    }

    /// Sets a listening station's deadline to the end of its countdown, if it has something to send and the medium is idle.
    fn count_down(&mut self, place: usize) {
        let radio = &self.radios[place];
        let timing = &self.timings[usize::from(radio.timing)];
        let deadline = if radio.wants && radio.counting {
            starting(radio.access(timing))
        } else {
            NEVER
        };
        self.schedule.set(place, deadline);
    }

    fn exit(&mut self, output: Output) {
        self.exits.push_back((self.now, output));
    }
}

/// A frame that is about to go out.
struct Frame {
    to: Option<u32>,
    kind: Kind,
    mode: Mode,
    bytes: u32,
    time: u64,
    /// How long the answer to it will keep the medium.
    answer: u64,
}
