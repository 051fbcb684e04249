//! What a station has to send, and what it knows about the frame that it is sending.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use units::wifi::ht::BLOCK_ACK_BYTES;
use units::wifi::{ACK_BYTES, Standard};
use units::{Rng, SeqNum};

use super::config::{Ht, StationConfig};
use super::io::{Counters, Packet};
use super::mode::Mode;
use super::queue::Queue;
use super::radio::NONE;
use super::session::{EVERYONE, Session};
use super::timing::{Timing, nanos};

#[derive(Debug)]
pub(super) struct Station {
    pub(super) standard: Standard,
    pub(super) ht: Option<Ht>,
    pub(super) channel: u8,
    /// How it sends data to those without 802.11n.
    mode: Mode,
    pub(super) queue: Queue,
    sessions: Vec<Session>,
    /// Which session is whose: receiver and class, in order.
    places: Vec<(u64, u16)>,
    /// The session whose frame is being tried.
    current: Option<u16>,
    /// Sessions that wait for another turn with what is left of their windows.
    again: VecDeque<u16>,
    /// The sequence number of its next frame that is not QoS data.
    number: SeqNum,
    /// How often what is being tried has failed in a row: decides the contention window.
    pub(super) failures: u32,
    /// What it answers after SIFS.
    pub(super) answer: Option<Answer>,
    /// Frames longer than this are preceded by a request to send.
    pub(super) rts: Option<u32>,
    /// It has sent such a request and waits for the answer.
    pub(super) requested: bool,
    /// The frame it has on the air.
    pub(super) flight: u16,
    /// When its wait for an answer is over.
    pub(super) patience: u64,
    pub(super) counters: Counters,
    backoff: Rng,
    airtime: Airtime,
}

/// What a station sends after SIFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// An acknowledgement of a frame in this mode; of an aggregate, with what arrived of it.
    Ack { to: u32, mode: Mode, got: Option<u64> },
    /// Leave to send, to one that will be done by then.
    Cts { to: u32, mode: Mode, until: u64 },
    /// The frame for which it was given leave.
    Data,
}

/// How long the last kind of frame and the answer to it lasted: a station mostly sends frames of one length.
#[derive(Debug, Clone, Copy)]
struct Airtime {
    mode: Mode,
    bytes: u32,
    aggregate: bool,
    time: u64,
    answer: u64,
}

/// What others must know of a station to send to it.
pub(super) type Capabilities = Option<Ht>;

/// Management and control frames have a session of their own, after the sixteen traffic classes.
const MANAGEMENT: u8 = 16;

impl Station {
    pub(super) fn new(seed: u64, config: &StationConfig, channel: u8, mode: Mode) -> Self {
        Self {
            standard: config.standard,
            ht: config.ht,
            channel,
            mode,
            queue: Queue::new(config.queue),
            sessions: Vec::new(),
            places: Vec::new(),
            current: None,
            again: VecDeque::new(),
            number: SeqNum::new(0),
            failures: 0,
            answer: None,
            rts: config.rts,
            requested: false,
            flight: NONE,
            patience: 0,
            counters: Counters::default(),
            backoff: Rng::named(seed, &format!("{}/backoff", config.name)),
            airtime: Airtime {
                mode,
                bytes: 0,
                aggregate: false,
                time: nanos(mode.time(config.standard, 0)),
                answer: ack_time(config.standard, mode, false),
            },
        }
    }

    /// How many packets wait, those that are being tried included.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.sessions.iter().map(Session::pending).sum::<usize>()
    }

    /// Whether there is anything to send.
    pub(super) fn has_work(&self) -> bool {
        self.current.is_some() || !self.again.is_empty() || !self.queue.is_empty()
    }

    /// The session of the frame that is being tried.
    pub(super) fn current(&self) -> Option<&Session> {
        self.current.map(|place| &self.sessions[usize::from(place)])
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Session> {
        self.current.map(|place| &mut self.sessions[usize::from(place)])
    }

    /// The frame that is being tried is done with; what is left of its window gets another turn.
    pub(super) fn put_away(&mut self) {
        self.failures = 0;
        if let Some(place) = self.current.take()
            && self.sessions[usize::from(place)].pending() > 0
        {
            self.again.push_back(place);
        }
    }

    /// Makes sure that there is a frame to try: the one that failed, then what windows hold, then the oldest packet and all that fit with
    /// it. `false`: there is nothing.
    ///
    /// What windows hold is filled up with fresh packets only while the oldest of them is for the same receiver: losses on the way to
    /// one receiver must not keep the others waiting.
    pub(super) fn prepare(&mut self, all: &[Capabilities]) -> bool {
        if self.current.is_some() {
            return true;
        }
        let oldest = self.queue.first().map(key_of);
        let place = match (self.again.pop_front(), oldest) {
            (Some(place), _) => place,
            (None, Some(key)) => self.session(key, all),
            (None, None) => return false,
        };
        let session = &mut self.sessions[usize::from(place)];
        let (key, mode) = (key(session.to, session.tid), mode_of(session, self.mode));
        let fresh = oldest == Some(key);
        let qos = session.is_qos();
        let queue = &mut self.queue;
        session.fill(mode, &mut self.number, |most| {
            fresh.then(|| {
                queue.take_if(|packet| {
                    key_of(packet) == key
                        && (most == u32::MAX
                            || units::wifi::ht::subframe_bytes(packet.mpdu_bytes(qos)) <= most)
                })
            })?
        });
        self.current = Some(place);
        true
    }

    fn session(&mut self, key: u64, all: &[Capabilities]) -> u16 {
        match self.places.binary_search_by_key(&key, |&(of, _)| of) {
            Ok(at) => self.places[at].1,
            Err(at) => {
                let place = self.sessions.len() as u16;
                self.places.insert(at, (key, place));
                self.sessions
                    .push(new_session(key, self.ht, self.mode, self.standard, all));
                place
            }
        }
    }

    /// Slots to count before the next attempt, after this many failures of the frame.
    pub(super) fn draw(&mut self, failures: u32, timing: &Timing) -> u32 {
        let doubled = (u64::from(timing.cw_min) + 1) << failures.min(16);
        let window = doubled.min(u64::from(timing.cw_max) + 1);
        // Windows are powers of two: some of the bits are uniform without rejection.
        (self.backoff.next_u64() >> 32) as u32 & (window as u32 - 1)
    }

    /// How long a frame or an aggregate of that many bytes is on the air, and the acknowledgement of it.
    pub(super) fn times(&mut self, mode: Mode, bytes: u32, aggregate: bool) -> (u64, u64) {
        let known = &self.airtime;
        if (known.bytes, known.mode, known.aggregate) != (bytes, mode, aggregate) {
            self.airtime = Airtime {
                mode,
                bytes,
                aggregate,
                time: nanos(mode.time(self.standard, bytes)),
                answer: ack_time(self.standard, mode, aggregate),
            };
        }
        (self.airtime.time, self.airtime.answer)
    }
}

/// How a session's next frame is sent.
fn mode_of(session: &Session, legacy: Mode) -> Mode {
    if session.tid == MANAGEMENT || session.to == EVERYONE {
        Mode::basic(legacy.phy())
    } else {
        session.mode
    }
}

const fn key(to: u32, tid: u8) -> u64 {
    (to as u64) << 8 | tid as u64
}

/// Which session a packet belongs to.
fn key_of(packet: &Packet) -> u64 {
    let tid = if packet.subtype.is_data() {
        packet.tid % MANAGEMENT
    } else {
        MANAGEMENT
    };
    key(packet.to.station().unwrap_or(EVERYONE), tid)
}

fn new_session(key: u64, own: Option<Ht>, legacy: Mode, standard: Standard, all: &[Capabilities]) -> Session {
    let (to, tid) = ((key >> 8) as u32, key as u8);
    let theirs = all.get(to as usize).copied().flatten();
    let ht = own
        .zip(theirs)
        .filter(|_| tid != MANAGEMENT)
        .map(|(own, theirs)| own.with(theirs));
    let mode = ht.and_then(|ht| ht.mode()).map_or(legacy, Mode::of_ht);
    debug_assert!(mode == legacy || standard != Standard::B);
    Session::new(to, tid, ht, mode)
}

/// How long the acknowledgement of a frame in this mode lasts, or of an aggregate.
pub(super) fn ack_time(standard: Standard, mode: Mode, aggregate: bool) -> u64 {
    let bytes = if aggregate { BLOCK_ACK_BYTES } else { ACK_BYTES };
    nanos(mode.response().time(standard, bytes))
}
