//! A coarse medium: packets of different stations take different times, and a weighted fair queue chooses the
//! next one.
//!
//! # Sources
//! - Croitoru, Niculescu and Raiciu 2015, §6.2.1: "different senders' packets take different time for
//!   transmission on the medium, and when multiple senders have packets ready, packets are chosen according
//!   to a weighted fair-queueing algorithm, with predefined weights".
//! - `queue::fair` has the order.
//!
//! # Checked by
//! `tests`.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use thiserror::Error;
use units::{Duration, Instant};

use crate::air::io::{Counters, Destination, Fate, Input, Output, Packet, StationId};
use crate::queue::fair::Fair;

/// One station of the coarse medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WfqStation {
    /// Its name.
    pub name: String,
    /// Time that one of its packets takes, whatever its length.
    pub time: Duration,
    /// How often it wins against a station of weight 1.
    pub weight: u32,
    /// Most packets that may wait.
    pub queue: usize,
}

/// Why a coarse medium is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WfqError {
    /// Stations are told apart by their names.
    #[error("two stations are called `{0}`; give each a name of its own")]
    DuplicateName(String),
    /// A station of weight 0 would never win.
    #[error("`{0}` has weight 0 and would never send; give it a weight of at least 1")]
    Weight(String),
    /// A station whose packets take no time would send for ever at one moment.
    #[error("packets of `{0}` take no airtime; give them some")]
    Time(String),
    /// A station without room for a packet would never transmit.
    #[error("the queue of `{0}` holds no packet; make it hold at least one")]
    NoQueue(String),
}

/// The coarse medium.
#[derive(Debug)]
pub struct Wfq {
    now: u64,
    stations: Vec<Station>,
    fair: Fair,
    /// End of service and station of the packet in service.
    busy: Option<(u64, usize)>,
    exits: VecDeque<(u64, Output)>,
}

#[derive(Debug)]
struct Station {
    time: u64,
    room: usize,
    packets: VecDeque<Packet>,
    counters: Counters,
}

impl Wfq {
    /// Builds the medium at its start, [`Instant::ZERO`].
    pub fn new(stations: &[WfqStation]) -> Result<Self, WfqError> {
        let mut names = BTreeSet::new();
        for station in stations {
            let name = || station.name.clone();
            if !names.insert(&station.name) {
                return Err(WfqError::DuplicateName(name()));
            } else if station.weight == 0 {
                return Err(WfqError::Weight(name()));
            } else if station.time.is_zero() {
                return Err(WfqError::Time(name()));
            } else if station.queue == 0 {
                return Err(WfqError::NoQueue(name()));
            }
        }
        let mut fair = Fair::default();
        stations.iter().for_each(|station| fair.add(station.weight));
        Ok(Self {
            now: 0,
            stations: stations.iter().map(Station::new).collect(),
            fair,
            busy: None,
            exits: VecDeque::new(),
        })
    }

    fn send(&mut self, number: StationId, packet: Packet, first: bool) {
        let station = &mut self.stations[number.0 as usize];
        if !first && station.packets.len() >= station.room {
            let done = Output::Done {
                station: number,
                packet,
                fate: Fate::QueueFull,
            };
            self.exits.push_back((self.now, done));
            return;
        }
        if station.packets.is_empty() {
            self.fair.begins(number.0 as usize);
        }
        if first {
            let behind = usize::from(self.busy.is_some_and(|(_, of)| of == number.0 as usize));
            station.packets.insert(behind.min(station.packets.len()), packet);
        } else {
            station.packets.push_back(packet);
        }
        self.serve();
    }

    fn withdraw(&mut self, number: StationId, receiver: StationId) {
        let in_service = self.busy.is_some_and(|(_, of)| of == number.0 as usize);
        let (now, exits) = (self.now, &mut self.exits);
        let mut place = 0;
        self.stations[number.0 as usize].packets.retain(|&packet| {
            let stays = place == 0 && in_service || packet.to != Destination::Station(receiver);
            place += 1;
            if !stays {
                let done = Output::Done {
                    station: number,
                    packet,
                    fate: Fate::Withdrawn,
                };
                exits.push_back((now, done));
            }
            stays
        });
    }

    /// Takes the next packet into service.
    fn serve(&mut self) {
        if self.busy.is_some() {
            return;
        }
        let waiting = self.stations.iter().enumerate();
        let waiting = waiting.filter(|(_, station)| !station.packets.is_empty());
        let Some(place) = self.fair.next(waiting.map(|(place, _)| place)) else {
            return;
        };
        let station = &mut self.stations[place];
        self.busy = Some((self.now + station.time, place));
        station.counters.attempts += 1;
        station.counters.airtime += Duration::from_nanos(station.time);
        station.counters.occupied += Duration::from_nanos(station.time);
    }

    fn finish(&mut self, place: usize) {
        self.busy = None;
        let station = &mut self.stations[place];
        let Some(packet) = station.packets.pop_front() else {
            return;
        };
        if !station.packets.is_empty() {
            self.fair.continues(place);
        }
        let from = StationId(place as u32);
        let fate = match packet.to {
            Destination::Station(to) => {
                station.counters.acknowledged += 1;
                let counters = &mut self.stations[to.0 as usize].counters;
                counters.received += 1;
                counters.received_bytes += u64::from(packet.bytes);
                let received = Output::Received {
                    station: to,
                    from,
                    packet,
                };
                self.exits.push_back((self.now, received));
                Fate::Acknowledged
            }
            Destination::Everyone => Fate::Unknown,
        };
        let done = Output::Done {
            station: from,
            packet,
            fate,
        };
        self.exits.push_back((self.now, done));
        self.serve();
    }
}

impl Station {
    fn new(config: &WfqStation) -> Self {
        Self {
            time: crate::air::phy::timing::nanos(config.time),
            room: config.queue,
            packets: VecDeque::new(),
            counters: Counters::default(),
        }
    }
}

impl crate::air::Medium for Wfq {
    /// This medium has no places and no channels: inputs about them change nothing.
    fn handle(&mut self, now: Instant, input: Input) {
        self.advance_to(now);
        match input {
            Input::Send(station, packet) => self.send(station, packet, false),
            Input::SendFirst(station, packet) => self.send(station, packet, true),
            Input::Withdraw(station, receiver) => self.withdraw(station, receiver),
            Input::Tune(..) | Input::Move(..) | Input::Attenuate(..) | Input::Rate(..) => {}
        }
    }

    fn advance(&mut self, limit: Instant) -> Instant {
        while self.exits.is_empty() {
            match self.busy {
                Some((end, place)) if end <= limit.as_nanos() => {
                    self.now = end;
                    self.finish(place);
                }
                _ => {
                    self.now = limit.as_nanos();
                    break;
                }
            }
        }
        Instant::from_nanos(self.now)
    }

    fn poll_due(&mut self) -> Option<(Instant, Output)> {
        let (at, output) = self.exits.pop_front()?;
        Some((Instant::from_nanos(at), output))
    }

    fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        let (end, _) = self.busy?;
        Some((Instant::from_nanos(end), "end of a packet"))
    }

    fn counters(&self, station: StationId) -> Counters {
        self.stations[station.0 as usize].counters
    }
}

impl Wfq {
    fn advance_to(&mut self, now: Instant) {
        while let Some((end, place)) = self.busy.filter(|&(end, _)| end <= now.as_nanos()) {
            self.now = end;
            self.finish(place);
        }
        self.now = now.as_nanos();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::Medium;

    fn station(name: &str, time_us: u64, weight: u32) -> WfqStation {
        WfqStation {
            name: name.into(),
            time: Duration::from_micros(time_us),
            weight,
            queue: 100,
        }
    }

    /// Packets that each of two saturated access points delivers to station 2 in 1 s.
    fn shares(stations: &[WfqStation]) -> [u64; 2] {
        let mut medium = Wfq::new(stations).unwrap();
        let packet = Packet::new(Destination::Station(StationId(2)), 1_500, 0);
        let end = Instant::from_secs(1);
        for station in [0, 0, 1, 1] {
            medium.handle(Instant::ZERO, Input::Send(StationId(station), packet));
        }
        loop {
            let now = medium.advance(end);
            while let Some((_, output)) = medium.poll_due() {
                if let Output::Done { station, .. } = output {
                    medium.handle(now, Input::Send(station, packet));
                }
            }
            if now >= end {
                return [0, 1].map(|station| medium.counters(StationId(station)).acknowledged);
            }
        }
    }

    #[test]
    fn weights_decide_who_wins_and_times_how_long_it_lasts() {
        for (weight, time_us) in [(1, 500), (1, 3_000), (4, 1_000), (16, 6_000)] {
            let [one, other] = shares(&[
                station("ap-1", time_us, weight),
                station("ap-2", 500, 1),
                station("client", 500, 1),
            ]);
            let expected = other * u64::from(weight);
            assert!(
                one.abs_diff(expected) <= 2 * u64::from(weight),
                "{weight}: {one} {other}"
            );
            let busy = one * time_us + other * 500;
            assert!((990_000..=1_000_000).contains(&busy), "it never idles: {busy} µs");
        }
    }

    #[test]
    fn who_was_silent_saves_nothing_up() {
        let stations = [
            station("a", 1_000, 1),
            station("b", 1_000, 1),
            station("c", 1_000, 1),
        ];
        let mut medium = Wfq::new(&stations).unwrap();
        let packet = |token| Packet::new(Destination::Station(StationId(2)), 100, token);
        (0..50).for_each(|token| medium.handle(Instant::ZERO, Input::Send(StationId(0), packet(token))));
        medium.advance_to(Instant::from_millis(20));
        (100..110).for_each(|token| {
            medium.handle(Instant::from_millis(20), Input::Send(StationId(1), packet(token)));
        });
        medium.advance_to(Instant::from_millis(30));
        let after: Vec<_> = core::iter::from_fn(|| medium.poll_due())
            .filter(|(at, output)| {
                *at > Instant::from_millis(20) && matches!(output, Output::Received { .. })
            })
            .collect();
        let of_second = after.iter().filter(|(_, output)| {
            matches!(
                output,
                Output::Received {
                    from: StationId(1),
                    ..
                }
            )
        });
        assert!((4..=6).contains(&of_second.count()), "{after:?}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_remedy() {
        let refused = |stations: &[WfqStation]| Wfq::new(stations).unwrap_err().to_string();
        assert!(refused(&[station("a", 1, 1), station("a", 1, 1)]).contains("a name of its own"));
        assert!(refused(&[station("a", 1, 0)]).contains("at least 1"));
        assert!(refused(&[station("a", 0, 1)]).contains("give them some"));
        let full = WfqStation {
            queue: 0,
            ..station("a", 1, 1)
        };
        assert!(refused(&[full]).contains("hold at least one"));
    }
}
