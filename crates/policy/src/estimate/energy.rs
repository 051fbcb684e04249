//! Energy of moving data: the power of a radio in its states, and its energy over a trace of rates.
//!
//! A radio is idle, is promoted before the first bit, is active while data moves, and stays in a tail
//! afterwards in case more follows. The tail makes short bursts expensive.
//!
//! # Sources
//! - J. Huang et al., MobiSys 2012, "A close examination of performance and power characteristics of 4G LTE
//!   networks", tables 3 and 4: set `mobisys2012`.
//! - mobiarch11 §3.3: set `mobiarch11`. The table of efficiencies and throughputs implies about 1.07 W for
//!   each active radio at any rate. A 3G tail lasts 6–12 s. Poor signal costs up to 50 % more power.
//!
//! # Where we differ, and why
//! 1. Idle power is zero in both sets: neither source counts what a host draws anyway. The field is there for
//!    measured hosts.
//! 2. `mobiarch11` gives no power for the tail ("a high power state"): it is that of the active radio. Its
//!    length is 9 s, the middle of the given range, and [`Radio::with_tail`] varies it. This set has no LTE
//!    and no promotion.
//! 3. The signal penalty is linear from −70 to −90 dBm and multiplies the power while data moves. The paper
//!    gives the 50 % only.
//! 4. A promotion is charged in one piece when data starts to move, so the trace need not contain it.
//!
//! # Checked by
//! `tests` below: the table of mobiarch11 §3.3, tails by hand. `golden/energy.csv`, `golden/power.csv`.

mod radios;

pub use radios::{Carried, Radios};

pub use crate::io::power::{Phase, Radio};
use core::ops::{Add, AddAssign};
use units::{Bitrate, Bytes, Dbm, Duration};

/// Source of the power figures. Its name appears in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// Huang et al. 2012.
    Mobisys2012,
    /// Raiciu et al. 2011.
    Mobiarch11,
}

/// Radio technology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Technology {
    /// 4G.
    Lte,
    /// UMTS.
    ThreeG,
    /// 802.11.
    Wifi,
}

const fn phase(mw: u32, millis: u64) -> Phase {
    Phase {
        mw,
        lasts: Duration::from_millis(millis),
    }
}

impl Set {
    /// Stable name of the set.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mobisys2012 => "mobisys2012",
            Self::Mobiarch11 => "mobiarch11",
        }
    }

    /// Radio of this technology. `None` if the source has none.
    pub const fn radio(self, technology: Technology) -> Option<Radio> {
        Some(match (self, technology) {
            (Self::Mobisys2012, Technology::Lte) => {
                Radio::new([1_288, 52, 438], phase(1_211, 260), phase(1_060, 11_600))
            }
            (Self::Mobisys2012, Technology::ThreeG) => {
                Radio::new([818, 122, 869], phase(659, 582), phase(601, 8_100))
            }
            (Self::Mobisys2012, Technology::Wifi) => {
                Radio::new([133, 137, 283], phase(124, 79), phase(119, 240))
            }
            (Self::Mobiarch11, Technology::ThreeG) => {
                Radio::new([1_070, 0, 0], phase(0, 0), phase(1_070, 9_000))
            }
            (Self::Mobiarch11, Technology::Wifi) => Radio::new([1_070, 0, 0], phase(0, 0), phase(0, 0)),
            (Self::Mobiarch11, Technology::Lte) => return None,
        })
    }
}

impl Radio {
    /// Creates a radio from `[β, α_d, α_u]`, promotion and tail.
    const fn new(active: [u32; 3], promotion: Phase, tail: Phase) -> Self {
        Self {
            idle_mw: 0,
            promotion,
            active_mw: active[0],
            down_mw_per_mbps: active[1],
            up_mw_per_mbps: active[2],
            tail,
        }
    }

    /// Sets another length of the tail.
    pub const fn with_tail(mut self, lasts: Duration) -> Self {
        self.tail.lasts = lasts;
        self
    }

    /// Power while data moves, in µW.
    pub fn active_uw(&self, down: Bitrate, up: Bitrate, signal: Option<Dbm>) -> u64 {
        let rate = |bps: u64, mw_per_mbps: u32| u128::from(bps) * u128::from(mw_per_mbps) / 1_000;
        let clear = u128::from(self.active_mw) * 1_000
            + rate(down.as_bps(), self.down_mw_per_mbps)
            + rate(up.as_bps(), self.up_mw_per_mbps);
        u64::try_from(clear * u128::from(penalty_milli(signal)) / 1_000).unwrap_or(u64::MAX)
    }

    /// Bits moved per joule at these rates, without promotion and tail.
    pub fn bits_per_joule(&self, down: Bitrate, up: Bitrate, signal: Option<Dbm>) -> u64 {
        let uw = u128::from(self.active_uw(down, up, signal).max(1));
        let bps = u128::from(down.as_bps()) + u128::from(up.as_bps());
        u64::try_from(bps * 1_000_000 / uw).unwrap_or(u64::MAX)
    }
}

/// Power relative to good signal, in thousandths: 1,000 at −70 dBm and above, 1,500 at −90 dBm and below.
pub fn penalty_milli(signal: Option<Dbm>) -> u32 {
    let mbm = signal.map_or(-7_000, Dbm::as_mbm).clamp(-9_000, -7_000);
    1_000 + (-7_000 - mbm) as u32 / 4
}

/// Energy. Stored in picojoules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Energy(u128);

impl Energy {
    /// No energy.
    pub const ZERO: Self = Self(0);

    fn of(phase: Phase) -> Self {
        Self(u128::from(phase.mw) * phase.lasts.as_nanos())
    }

    fn spent(uw: u64, lasts: Duration) -> Self {
        Self(u128::from(uw) * lasts.as_nanos() / 1_000)
    }

    /// Energy in joules, for people and pictures.
    pub fn as_joules_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Add for Energy {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Energy {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

/// Piece of a trace with constant rates and signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Duration of the piece.
    pub lasts: Duration,
    /// Rate received.
    pub down: Bitrate,
    /// Rate sent.
    pub up: Bitrate,
    /// Received signal power. `None` counts as good.
    pub signal: Option<Dbm>,
}

/// State of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Doing nothing.
    Idle,
    /// Data is moving.
    Active,
    /// Waiting for more data, for this long.
    Tail(Duration),
}

/// Adds up the energy of one radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    radio: Radio,
    state: State,
    spent: Energy,
    moved: Bytes,
}

impl Meter {
    /// Starts with an idle radio.
    pub const fn new(radio: Radio) -> Self {
        Self {
            radio,
            state: State::Idle,
            spent: Energy::ZERO,
            moved: Bytes::ZERO,
        }
    }

    /// The radio that the meter is for.
    pub const fn radio(&self) -> Radio {
        self.radio
    }

    /// The radio's state after the last step.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Adds a piece of the trace.
    pub fn step(&mut self, step: &Step) {
        if step.down == Bitrate::ZERO && step.up == Bitrate::ZERO {
            return self.rest(step.lasts);
        }
        if self.state == State::Idle {
            self.spent += Energy::of(self.radio.promotion);
        }
        self.state = State::Active;
        let uw = self.radio.active_uw(step.down, step.up, step.signal);
        self.spent += Energy::spent(uw, step.lasts);
        self.moved += step.down * step.lasts + step.up * step.lasts;
    }

    fn rest(&mut self, lasts: Duration) {
        let left = match self.state {
            State::Idle => Duration::ZERO,
            State::Active => self.radio.tail.lasts,
            State::Tail(left) => left,
        };
        let in_tail = left.min(lasts);
        self.spent += Energy::of(Phase {
            lasts: in_tail,
            ..self.radio.tail
        });
        self.spent += Energy::of(Phase {
            mw: self.radio.idle_mw,
            lasts: lasts - in_tail,
        });
        self.state = match left - in_tail {
            Duration::ZERO => State::Idle,
            rest => State::Tail(rest),
        };
    }

    /// Energy spent so far.
    pub const fn spent(&self) -> Energy {
        self.spent
    }

    /// Bytes moved so far, in both directions.
    pub const fn moved(&self) -> Bytes {
        self.moved
    }

    /// Energy spent by the time the radio is idle again if nothing more moves: a run's energy, its tail
    /// included.
    pub fn settled(&self) -> Energy {
        let mut idle = *self;
        idle.rest(match self.state {
            State::Idle => Duration::ZERO,
            State::Active => self.radio.tail.lasts,
            State::Tail(left) => left,
        });
        idle.spent
    }

    /// Megabits per joule, tail included. `None` before any energy was spent.
    pub fn efficiency(&self) -> Option<f64> {
        let joules = self.settled().as_joules_f64();
        (joules > 0.0).then(|| self.moved.bits() as f64 / 1e6 / joules)
    }
}

#[cfg(test)]
mod tests;
