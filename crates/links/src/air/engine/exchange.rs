//! Frame exchanges at the sender: attempt, RTS, acknowledgement or time-out, backoff, next packet.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.11: the acknowledgement follows after SIFS, whatever the state of the medium.
//!   The sender times out if no frame has begun by then. Any other frame instead of the acknowledgement is a
//!   failure.
//! - IEEE 802.11-2020 §10.3.4.2: immediate access on an idle medium, backoff otherwise.
//! - IEEE 802.11-2020 §10.3.4.3: backoff after every frame, also after a successful one. The window doubles
//!   with failures.
//! - IEEE 802.11-2020 §10.3.2.6: RTS and CTS.
//! - Beacons are sent without backoff: Linux `drivers/net/wireless/ath/ath9k/main.c`,
//!   `ath9k_beaconq_config` (contention window 0, AIFSN 1), and ns-3 3.37 `ap-wifi-mac.cc` (the same).
//!
//! # Where we differ, and why
//! 1. An unanswered RTS counts as an attempt of the frames behind it. The standard has a separate counter for
//!    short frames, with the same limit.
//! 2. A reservation stays valid even if the frame that it was made for never comes. The standard lets
//!    receivers cancel it (§10.3.2.4).
//! 3. The window of an 802.11n station doubles if no block acknowledgement comes. It does not double if the
//!    block acknowledgement reports missing frames.
//! 4. A beacon waits for DIFS, not PIFS. Then it can collide with the winner of the last exchange, if that
//!    draws 0. The countdown that it interrupts begins anew after it.

use super::Air;
use super::moves::AWAY;
use crate::air::io::{Destination, Fate, Kind, Output, Packet, StationId};
use crate::air::mac::session::{EVERYONE, Session};
use crate::air::mac::station::Answer;
use crate::air::phy::mode::Mode;
use crate::air::schedule::{NEVER, Schedule};
use crate::air::sense::ears::{Heard, ending};
use crate::air::sense::radio::Phase;
use crate::air::transmission::flight::{Flight, NONE};
use crate::config::Countdown;
use units::Duration;
use units::wifi::ACK_BYTES;

/// Length of an RTS with its check sum, in bytes.
const RTS_BYTES: u32 = 20;

impl<S: Schedule> Air<S> {
    /// Puts a packet into a station's queue.
    pub(in crate::air) fn send(&mut self, station: StationId, packet: Packet, first: bool) {
        let place = station.0 as usize;
        let now = self.now;
        if first {
            self.stations[place].queue.push_first(packet);
        } else if let Some(packet) = self.stations[place].queue.push(now, packet) {
            self.exit(Output::Done {
                station,
                packet,
                fate: Fate::QueueFull,
            });
        }
        let radio = &self.radios[place];
        if radio.channel == AWAY || !self.stations[place].has_work() {
            return;
        }
        if !radio.wants {
            self.take_up(place);
        } else if self.stations[place].queue.has_beacon() {
            self.skip_backoff(place);
        }
    }

    /// Ends the backoff of a station that counts down for another frame.
    fn skip_backoff(&mut self, place: usize) {
        self.part(place);
        let (now, radio) = (self.now, &mut self.radios[place]);
        radio.slots = 0;
        if radio.counting && radio.phase == Phase::Listening {
            radio.from = radio.from.max(now);
            self.schedule
                .set(place, crate::air::sense::ears::starting(radio.from));
            self.join(place);
        }
    }

    /// Withdraws the packets that are queued for a receiver.
    pub(in crate::air) fn withdraw(&mut self, station: StationId, receiver: StationId) {
        let mut packets = core::mem::take(&mut self.packets);
        let sender = &mut self.stations[station.0 as usize];
        let busy = match self.radios[station.0 as usize].phase {
            Phase::Listening => false,
            Phase::Transmitting | Phase::Awaiting => true,
            Phase::Responding => sender.answer == Some(Answer::Data),
        };
        sender.withdraw(receiver.0, busy, &mut packets);
        for packet in packets.drain(..) {
            self.exit(Output::Done {
                station,
                packet,
                fate: Fate::Withdrawn,
            });
        }
        self.packets = packets;
    }

    /// Starts medium access for a packet of a station that had nothing to send.
    fn take_up(&mut self, place: usize) {
        self.part(place);
        let (now, sender, radio) = (self.now, &mut self.stations[place], &mut self.radios[place]);
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
            self.schedule
                .set(place, crate::air::sense::ears::starting(radio.access(timing)));
            self.join(place);
        }
    }

    /// Sends the frame, or its RTS, at the end of the countdown.
    pub(in crate::air) fn transmit(&mut self, place: usize) {
        self.part(place);
        self.radios[place].slots = 0;
        let sender = &mut self.stations[place];
        let ready = sender.prepare(self.now, &self.capabilities);
        let dropped = sender.queue.has_dropped();
        if dropped {
            self.tell_dropped(place);
        }
        if !ready {
            self.radios[place].wants = false;
            self.schedule.set(place, NEVER);
            self.begin_noise(place);
            return;
        }
        let sender = &mut self.stations[place];
        let rts = sender.rts;
        let Some(session) = sender.current_mut() else {
            return;
        };
        session.attempt();
        let long = session.asks() || rts.is_some_and(|most| session.psdu_bytes() > most);
        if long && session.to != EVERYONE {
            self.request(place);
        } else {
            self.send_data(place);
        }
    }

    /// Reports the packets of this station that queue management has dropped.
    fn tell_dropped(&mut self, place: usize) {
        while let Some(packet) = self.stations[place].queue.dropped() {
            self.exit(Output::Done {
                station: StationId(place as u32),
                packet,
                fate: Fate::Dropped,
            });
        }
    }

    fn request(&mut self, place: usize) {
        let (to, frame) = self.data_frame(place);
        let sender = &mut self.stations[place];
        sender.counters.requests += 1;
        sender.requested = true;
        let sifs = self.timings[usize::from(self.radios[place].timing)].sifs;
        let mode = frame.mode.response();
        let time = crate::air::phy::timing::nanos(mode.time(sender.standard, RTS_BYTES));
        let cts = crate::air::phy::timing::nanos(mode.response().time(sender.standard, ACK_BYTES));
        let answer = sifs + cts + sifs + frame.time + frame.answer;
        let id = self.launch(
            place,
            Frame {
                kind: Kind::Rts,
                mode,
                bytes: RTS_BYTES,
                count: 1,
                time,
                answer,
                to,
                got: 0,
            },
        );
        self.capture_own(place, id);
    }

    /// Puts the current attempt on the air.
    pub(in crate::air) fn send_data(&mut self, place: usize) {
        let (_, frame) = self.data_frame(place);
        let no_retry = self.rules.no_retry_bit_on_rate_change;
        let sender = &mut self.stations[place];
        sender.counters.attempts += u64::from(frame.count);
        sender.counters.aggregates += u64::from(frame.count > 1);
        let repeats = sender.current_mut().map_or(0, |session| session.sent(no_retry));
        sender.counters.own.repeats += repeats;
        if let Some(to) = frame.to {
            let counters = &mut self.stations[to as usize].counters;
            counters.inbound += u64::from(frame.count);
            counters.others.repeats += repeats;
        }
        let id = self.launch(place, frame);
        if frame.count > 1
            && let Some(session) = self.stations[place].current()
        {
            let frames = session.tried().map(|mpdu| session.subframe_bytes(&mpdu.packet));
            self.flights.divide(id, frames);
        }
        self.capture_own(place, id);
    }

    fn data_frame(&mut self, place: usize) -> (Option<u32>, Frame) {
        let sender = &mut self.stations[place];
        let Some((to, mode, bytes, count)) = sender
            .current()
            .map(|session| (session.to, session.mode(), session.psdu_bytes(), session.count()))
        else {
            unreachable!("a frame is being tried whenever one goes out")
        };
        let (time, answer) = sender.times(mode, bytes, count > 1);
        let to = (to != EVERYONE).then_some(to);
        let sifs = self.timings[usize::from(self.radios[place].timing)].sifs;
        let frame = Frame {
            to,
            kind: Kind::Data,
            mode,
            bytes,
            count,
            time,
            answer: if to.is_some() { sifs + answer } else { 0 },
            got: 0,
        };
        (to, frame)
    }

    pub(super) fn launch(&mut self, place: usize, frame: Frame) -> u16 {
        let (now, station) = (self.now, &mut self.stations[place]);
        let end = now + frame.time;
        let preamble = crate::air::phy::timing::nanos(frame.mode.preamble());
        let site = self.ether.sites[place];
        let id = self.flights.begin(Flight {
            position: site.position,
            circle: self.audiences[place].circle,
            milliwatts: site.milliwatts,
            rings: self.ether.rings(site.milliwatts),
            from: place as u32,
            to: frame.to,
            kind: frame.kind,
            mode: frame.mode,
            channel: self.radios[place].channel,
            bytes: frame.bytes,
            count: frame.count,
            got: frame.got,
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
        station.occupy(now, end);
        if let Some(to) = frame.to {
            self.stations[to as usize].occupy(now, end);
        }
        self.transmissions += 1;
        let radio = &mut self.radios[place];
        self.carried[usize::from(radio.channel)].add(now, end);
        radio.phase = Phase::Transmitting;
        radio.counting = false;
        radio.fresh = false;
        radio.lock = NONE;
        self.schedule.set(place, ending(end));
        let (mut ears, audiences) = self.ears();
        ears.begin(id, &audiences[place], now);
        self.draw_for_interrupted();
        id
    }

    fn draw_for_interrupted(&mut self) {
        while let Some((station, _)) = self.heard.pop() {
            let (place, radio) = (station as usize, &mut self.radios[station as usize]);
            radio.fresh = false;
            radio.slots = self.stations[place].draw(0, &self.timings[usize::from(radio.timing)]);
        }
    }

    /// Ends a station's frame.
    pub(in crate::air) fn finish(&mut self, place: usize) {
        let (now, id) = (self.now, self.stations[place].flight);
        let flight = *self.flights.get(id);
        let (mut ears, audiences) = self.ears();
        ears.end(id, &audiences[place], now);
        self.lose(&flight);
        self.capture(&flight);
        self.count_collision(&flight, id);
        self.flights.end(id);
        self.stations[place].flight = NONE;
        match (flight.kind, flight.to) {
            (Kind::Data | Kind::Rts, Some(_)) => {
                self.await_answer(place);
                self.react(&flight);
            }
            (Kind::Data | Kind::Rts, None) => {
                self.turn_to_listening(place);
                self.react(&flight);
                self.settle_all(place, Fate::Unknown);
            }
            (Kind::Noise, _) => self.end_noise(place),
            (Kind::Cts | Kind::Ack | Kind::BlockAck, _) => {
                self.turn_to_listening(place);
                self.count_down(place);
                self.react(&flight);
            }
        }
    }

    /// Counts a data frame that its receiver has not decoded, if another station was on the air.
    fn count_collision(&mut self, flight: &Flight, id: u16) {
        let Some(to) = flight.to.filter(|_| flight.kind == Kind::Data) else {
            return;
        };
        let decoded = |&(station, heard): &(u32, Heard)| station == to && matches!(heard, Heard::Frame(_));
        if self.heard.iter().any(decoded) {
            return;
        }
        let stations = self.first_noise as u32;
        if self.ether.has_rival(&self.flights, id, to, stations) {
            let count = u64::from(flight.count);
            self.stations[flight.from as usize].counters.own.collisions += count;
            self.stations[to as usize].counters.others.collisions += count;
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
                // Bianchi's sender resumes at the same time as all other stations.
                radio.broken = rules.eifs == crate::config::Eifs::AfterAnyError;
                if radio.broken { timing.eifs } else { timing.difs }
            }
        };
        radio.phase = Phase::Awaiting;
        self.stations[place].patience = now + wait;
        self.schedule.set(place, ending(now + wait));
        self.ears().0.go_on(place, now);
    }

    /// Ends the wait for an answer, unless one that began in time is still arriving.
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

    /// Handles an acknowledgement of the current attempt. A block acknowledgement says which frames of the
    /// aggregate arrived.
    pub(in crate::air) fn acknowledge(&mut self, place: usize, flight: &Flight) {
        let sender = &self.stations[place];
        let expected = sender.current().is_some_and(|session| session.to == flight.from);
        if self.radios[place].phase != Phase::Awaiting || !expected || sender.requested {
            return;
        }
        let got = if flight.kind == Kind::BlockAck {
            flight.got
        } else {
            u64::MAX
        };
        if let Some(session) = self.stations[place].current_mut() {
            session.report(session.arrived(got));
        }
        self.settle(place, got, Fate::Acknowledged);
        let failed = self.stations[place]
            .current()
            .map_or(0, |session| session.count());
        self.stations[place].counters.failures += u64::from(failed);
        self.give_up(place);
        self.stations[place].put_away();
        self.back_off(place, 0);
    }

    /// Handles a CTS.
    pub(super) fn clear_to_send(&mut self, place: usize, flight: &Flight) {
        let sender = &mut self.stations[place];
        let expected = sender.current().is_some_and(|session| session.to == flight.from);
        if self.radios[place].phase == Phase::Awaiting && expected && sender.requested {
            sender.requested = false;
            self.answer_after_sifs(place, Answer::Data);
        }
    }

    /// Handles an attempt without an answer.
    pub(super) fn fail(&mut self, place: usize) {
        let station = &mut self.stations[place];
        let tried = station.current().map_or(0, |session| session.count());
        if !core::mem::take(&mut station.requested) {
            station.counters.failures += u64::from(tried);
            if let Some(session) = station.current_mut() {
                session.report(0);
            }
        }
        station.failures += 1;
        self.give_up(place);
        let station = &mut self.stations[place];
        if station.current().is_none_or(Session::is_used_up) {
            station.put_away();
        }
        let failures = self.stations[place].failures;
        self.back_off(place, failures);
    }

    /// Gives up the frames that have had all their attempts.
    fn give_up(&mut self, place: usize) {
        let attempts = self.rules.attempts;
        let exhausted = self.stations[place]
            .current()
            .map_or(0, |session| session.exhausted(attempts));
        if exhausted != 0 {
            self.settle(place, exhausted, Fate::GivenUp);
        }
    }

    fn settle_all(&mut self, place: usize, fate: Fate) {
        self.settle(place, u64::MAX, fate);
        self.stations[place].put_away();
        self.back_off(place, 0);
    }

    /// Removes tried frames from the session and reports their fate.
    fn settle(&mut self, place: usize, bits: u64, fate: Fate) {
        let mut packets = core::mem::take(&mut self.packets);
        let station = &mut self.stations[place];
        let Some(session) = station.current_mut() else {
            return;
        };
        session.settle(bits, &mut packets);
        let count = packets.len() as u64;
        match fate {
            Fate::Acknowledged => station.counters.acknowledged += count,
            Fate::GivenUp => station.counters.given_up += count,
            Fate::Unknown | Fate::QueueFull | Fate::Dropped | Fate::Withdrawn => {}
        }
        for packet in packets.drain(..) {
            self.exit(Output::Done {
                station: StationId(place as u32),
                packet,
                fate,
            });
        }
        self.packets = packets;
        if fate == Fate::GivenUp {
            self.deliver(place);
        }
        if let Some(session) = self.stations[place].current_mut() {
            session.slide();
        }
    }

    /// Delivers the packets that the receiver of a station's frames has in order.
    pub(in crate::air) fn deliver(&mut self, place: usize) {
        let Some(session) = self.stations[place].current_mut() else {
            return;
        };
        let mut packets = core::mem::take(&mut self.packets);
        session.deliver(&mut packets);
        for packet in packets.drain(..) {
            if let Destination::Station(to) = packet.to {
                self.received(to, place as u32, packet);
            }
        }
        self.packets = packets;
    }

    pub(in crate::air) fn received(&mut self, station: StationId, from: u32, packet: Packet) {
        let counters = &mut self.stations[station.0 as usize].counters;
        counters.received += 1;
        counters.received_bytes += u64::from(packet.bytes);
        self.exit(Output::Received {
            station,
            from: StationId(from),
            packet,
        });
    }

    /// Begins a backoff after this many failures, for the next attempt or the next packet.
    fn back_off(&mut self, place: usize, failures: u32) {
        let (station, radio) = (&mut self.stations[place], &mut self.radios[place]);
        let timing = &self.timings[usize::from(radio.timing)];
        radio.phase = Phase::Listening;
        radio.wants = station.has_work() && radio.channel != AWAY;
        radio.begin_backoff(self.now, station.draw(failures, timing), timing);
        self.count_down(place);
    }

    /// Sets a listening station's deadline to the end of its countdown if it has something to send and the
    /// medium is idle.
    pub(super) fn count_down(&mut self, place: usize) {
        if self.stations[place].changes.is_some() {
            self.change(place);
        }
        let radio = &self.radios[place];
        let timing = &self.timings[usize::from(radio.timing)];
        let deadline = if radio.wants && radio.counting {
            crate::air::sense::ears::starting(radio.access(timing))
        } else {
            NEVER
        };
        self.schedule.set(place, deadline);
        self.join(place);
    }

    pub(super) fn exit(&mut self, output: Output) {
        self.exits.push_back((self.now, output));
    }
}

/// A frame about to be sent.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Frame {
    pub(in crate::air) to: Option<u32>,
    pub(in crate::air) kind: Kind,
    pub(in crate::air) mode: Mode,
    pub(in crate::air) bytes: u32,
    pub(in crate::air) count: u32,
    pub(in crate::air) time: u64,
    /// How long the frame reserves the medium after its end, in ns.
    pub(in crate::air) answer: u64,
    pub(in crate::air) got: u64,
}
