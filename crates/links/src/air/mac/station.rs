//! What a station has to send, and the state of the frame that it is sending.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use units::wifi::ht::{BLOCK_ACK_BYTES, subframe_bytes};
use units::wifi::{ACK_BYTES, Standard};
use units::{Bitrate, Duration, Rng, SeqNum};

use super::queue::Queue;
use super::rate::Rate;
use super::session::{EVERYONE, Scoreboard, Session};
use crate::Position;
use crate::air::io::{Counters, Packet};
use crate::air::phy::mode::Mode;
use crate::air::phy::timing::{Timing, nanos};
use crate::air::transmission::flight::NONE;
use crate::config::{Ht, RateControl, StationConfig};

#[derive(Debug)]
pub(in crate::air) struct Station {
    pub(in crate::air) standard: Standard,
    /// The mode of data to stations without 802.11n.
    mode: Mode,
    pub(in crate::air) queue: Queue,
    sessions: Vec<Session>,
    /// The last session looked up, which mostly is the next one needed.
    latest: u16,
    /// The session whose frame is being tried.
    current: Option<u16>,
    /// Sessions that wait for another turn with the rest of their windows.
    again: VecDeque<u16>,
    /// The sequence number of its next frame that is not QoS data.
    number: SeqNum,
    /// Consecutive failures of the current try: decides the contention window.
    pub(in crate::air) failures: u32,
    /// Its response after SIFS.
    pub(in crate::air) answer: Option<Answer>,
    /// The contents of its last block acknowledgement.
    pub(in crate::air) scoreboard: Scoreboard,
    /// RTS threshold: longer frames are preceded by RTS.
    pub(in crate::air) rts: Option<u32>,
    /// Whether it has sent RTS and waits for CTS.
    pub(in crate::air) requested: bool,
    /// Its new place and channel, for when its exchange is over.
    pub(in crate::air) changes: Option<Box<Changes>>,
    /// The frame it has on the air.
    pub(in crate::air) flight: u16,
    /// End of its wait for a response.
    pub(in crate::air) patience: u64,
    pub(in crate::air) counters: Counters,
    /// End of the last frame of its own or for it.
    occupied_until: u64,
    backoff: Rng,
    airtime: Airtime,
    seldom: Box<Seldom>,
}

/// State that most frames do not need, stored separately: in large networks memory access dominates the run
/// time.
#[derive(Debug)]
struct Seldom {
    ht: Option<Ht>,
    /// The mode of data to some stations without 802.11n, by receiver.
    modes: Vec<(u32, Mode)>,
    /// Sessions by receiver and class, sorted.
    places: Vec<(u64, u16)>,
    rates: Rng,
    control: RateControl,
}

/// Changes that wait for the end of an exchange.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::air) struct Changes {
    pub(in crate::air) position: Option<Position>,
    /// An index in the air's list of channels, or off all channels.
    pub(in crate::air) channel: Option<u8>,
}

/// A station's response after SIFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) enum Answer {
    /// An acknowledgement of a frame in this mode. For an aggregate, with what arrived of it.
    Ack { to: u32, mode: Mode, got: Option<u64> },
    /// CTS, to a station whose exchange ends by then.
    Cts { to: u32, mode: Mode, until: u64 },
    /// The frame for which it received CTS.
    Data,
}

/// Cached air time of the last kind of frame and of its acknowledgement: a station mostly sends frames of one
/// length.
#[derive(Debug, Clone, Copy)]
struct Airtime {
    mode: Mode,
    bytes: u32,
    aggregate: bool,
    time: u64,
    answer: u64,
}

/// What others must know about a station to send to it.
pub(in crate::air) type Capabilities = Option<Ht>;

/// Management and control frames have a session of their own, after the sixteen traffic classes.
const MANAGEMENT: u8 = 16;

/// The part of an interval after `until`. That then becomes the end of the interval, if it is earlier.
/// Intervals must come in the order of their starts.
pub(in crate::air) fn cover(until: &mut u64, start: u64, end: u64) -> u64 {
    let from = start.max(*until);
    *until = end.max(*until);
    end.saturating_sub(from)
}

impl Station {
    pub(in crate::air) fn new(seed: u64, config: &StationConfig, mode: Mode) -> Self {
        Self {
            standard: config.standard,
            mode,
            queue: Queue::new(config.queue, config.discipline),
            sessions: Vec::new(),
            latest: 0,
            current: None,
            again: VecDeque::new(),
            number: SeqNum::new(0),
            failures: 0,
            answer: None,
            scoreboard: Scoreboard::default(),
            rts: config.rts,
            requested: false,
            changes: None,
            flight: NONE,
            patience: 0,
            counters: Counters::default(),
            occupied_until: 0,
            backoff: Rng::named(seed, &format!("{}/backoff", config.name)),
            airtime: Airtime {
                mode,
                bytes: 0,
                aggregate: false,
                time: nanos(mode.time(config.standard, 0)),
                answer: ack_time(config.standard, mode, false),
            },
            seldom: Box::new(Seldom {
                ht: config.ht,
                modes: Vec::new(),
                places: Vec::new(),
                rates: Rng::named(seed, &format!("{}/rates", config.name)),
                control: config.control,
            }),
        }
    }

    /// Counts a frame of its own or for it as time in which it occupies the medium.
    pub(in crate::air) fn occupy(&mut self, start: u64, end: u64) {
        let more = cover(&mut self.occupied_until, start, end);
        self.counters.occupied += Duration::from_nanos(more);
    }

    /// Number of waiting packets, including those being tried.
    pub(in crate::air) fn waiting(&self) -> usize {
        self.queue.len() + self.sessions.iter().map(Session::pending).sum::<usize>()
    }

    /// Whether there is anything to send.
    pub(in crate::air) fn has_work(&self) -> bool {
        self.current.is_some() || !self.again.is_empty() || !self.queue.is_empty()
    }

    /// Takes back everything that waits for this receiver. `busy`: the current try is on the air, or its
    /// response is awaited.
    pub(in crate::air) fn withdraw(&mut self, receiver: u32, busy: bool, packets: &mut Vec<Packet>) {
        let trying = self.current.filter(|_| busy);
        for (place, session) in self.sessions.iter_mut().enumerate() {
            if session.to == receiver && session.tid != MANAGEMENT && trying != Some(place as u16) {
                session.clear(packets);
            }
        }
        let sessions = &self.sessions;
        self.again
            .retain(|&place| sessions[usize::from(place)].pending() > 0);
        if self
            .current()
            .is_some_and(|session| session.to == receiver && session.pending() == 0 && !busy)
        {
            (self.current, self.failures) = (None, 0);
        }
        let wanted = |packet: &Packet| packet.subtype.is_data() && packet.to.station() == Some(receiver);
        self.queue.withdraw(wanted, packets);
    }

    /// The session of the frame being tried.
    pub(in crate::air) fn current(&self) -> Option<&Session> {
        self.current.map(|place| &self.sessions[usize::from(place)])
    }

    pub(in crate::air) fn current_mut(&mut self) -> Option<&mut Session> {
        self.current.map(|place| &mut self.sessions[usize::from(place)])
    }

    /// Finishes the frame being tried. The rest of its window gets another turn.
    pub(in crate::air) fn put_away(&mut self) {
        self.failures = 0;
        if let Some(place) = self.current.take()
            && self.sessions[usize::from(place)].pending() > 0
        {
            self.again.push_back(place);
        }
    }

    /// Lets the frame that failed wait for the next turn.
    fn set_aside(&mut self) {
        if let Some(place) = self.current.take() {
            self.failures = 0;
            self.again.push_front(place);
        }
    }

    /// Makes sure that there is a frame to try: the one that failed, then what windows hold, then the oldest
    /// packet and all that fit with it. Returns `false` if there is nothing.
    ///
    /// Windows are filled up with fresh packets only while the oldest of these is for the same receiver.
    /// Losses towards one receiver must not delay the others. A beacon goes before all of these.
    pub(in crate::air) fn prepare(&mut self, now: u64, all: &[Capabilities]) -> bool {
        let beacon = self.queue.has_beacon();
        if beacon {
            self.set_aside();
        } else if self.current.is_some() {
            return true;
        }
        let oldest = self.queue.first(now).map(key_of);
        let place = match (self.again.pop_front_if(|_| !beacon), oldest) {
            (Some(place), _) => place,
            (None, Some(key)) => self.session(key, all),
            (None, None) => return false,
        };
        let session = &mut self.sessions[usize::from(place)];
        let key = key(session.to, session.tid);
        let fresh = oldest == Some(key);
        let qos = session.is_qos();
        let queue = &mut self.queue;
        let fits = |packet: &Packet, most: u32| {
            key_of(packet) == key && (most == u32::MAX || subframe_bytes(packet.mpdu_bytes(qos)) <= most)
        };
        session.fill((now, &mut self.seldom.rates), &mut self.number, |most| {
            let next = fresh.then(|| queue.take_if(now, |packet| fits(packet, most)));
            next.flatten()
        });
        self.current = Some(place);
        true
    }

    fn session(&mut self, key: u64, all: &[Capabilities]) -> u16 {
        let latest = self.sessions.get(usize::from(self.latest));
        if latest.is_some_and(|session| self::key(session.to, session.tid) == key) {
            return self.latest;
        }
        self.latest = match self.seldom.places.binary_search_by_key(&key, |&(of, _)| of) {
            Ok(at) => self.seldom.places[at].1,
            Err(at) => {
                let place = self.sessions.len() as u16;
                if self.sessions.is_empty() {
                    // Most stations send to one receiver only. Reserving more would spread thousands of
                    // stations over memory.
                    self.sessions.reserve_exact(1);
                    self.seldom.places.reserve_exact(1);
                }
                self.seldom.places.insert(at, (key, place));
                self.sessions.push(self.new_session(key, all));
                place
            }
        };
        self.latest
    }

    fn new_session(&self, key: u64, all: &[Capabilities]) -> Session {
        let (to, tid) = ((key >> 8) as u32, key as u8);
        if to == EVERYONE || tid == MANAGEMENT {
            let basic = Mode::basic(self.mode.phy());
            return Session::new(to, tid, None, Rate::Fixed(basic), basic);
        }
        let theirs = all.get(to as usize).copied().flatten();
        let ht = self.seldom.ht.zip(theirs).map(|(own, theirs)| own.with(theirs));
        let own = self.seldom.modes.iter().find(|(of, _)| *of == to);
        let legacy = own.map_or(self.mode, |&(_, mode)| mode);
        let mode = ht.and_then(|ht| ht.mode()).map_or(legacy, Mode::of_ht);
        let rate = Rate::new(self.seldom.control, self.standard, ht.as_ref(), mode);
        Session::new(to, tid, ht, rate, mode)
    }

    /// Sends data for this receiver at this rate from now on.
    pub(in crate::air) fn keep_to(&mut self, receiver: u32, rate: Bitrate) {
        let Some(mode) = Mode::of(self.standard, rate) else {
            return;
        };
        match self.seldom.modes.iter_mut().find(|(of, _)| *of == receiver) {
            Some((_, known)) => *known = mode,
            None => self.seldom.modes.push((receiver, mode)),
        }
        let own = |session: &&mut Session| {
            (session.to, session.is_qos()) == (receiver, false) && session.tid != MANAGEMENT
        };
        let sessions = self.sessions.iter_mut().filter(own);
        sessions.for_each(|session| session.keep_to(mode));
    }

    /// Draws the number of backoff slots before the next attempt, after this many failures of the frame. A
    /// beacon needs none.
    pub(in crate::air) fn draw(&mut self, failures: u32, timing: &Timing) -> u16 {
        if self.queue.has_beacon() {
            return 0;
        }
        let doubled = (u64::from(timing.cw_min) + 1) << failures.min(16);
        let window = doubled.min(u64::from(timing.cw_max) + 1);
        // Windows are powers of two: some of the bits are uniform without rejection.
        ((self.backoff.next_u64() >> 32) as u32 & (window as u32 - 1)) as u16
    }

    /// Air time of a frame or an aggregate of that many bytes, and of its acknowledgement.
    pub(in crate::air) fn times(&mut self, mode: Mode, bytes: u32, aggregate: bool) -> (u64, u64) {
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

const fn key(to: u32, tid: u8) -> u64 {
    (to as u64) << 8 | tid as u64
}

/// The session that a packet belongs to.
fn key_of(packet: &Packet) -> u64 {
    let tid = if packet.subtype.is_data() {
        packet.tid % MANAGEMENT
    } else {
        MANAGEMENT
    };
    key(packet.to.station().unwrap_or(EVERYONE), tid)
}

/// Air time of the acknowledgement of a frame in this mode, or of an aggregate.
pub(in crate::air) fn ack_time(standard: Standard, mode: Mode, aggregate: bool) -> u64 {
    let bytes = if aggregate { BLOCK_ACK_BYTES } else { ACK_BYTES };
    nanos(mode.response().time(standard, bytes))
}
