//! What moving data costs a battery: the power of a radio in its states, and the energy of a radio over a trace of rates.
//!
//! A radio is idle, is promoted before the first bit, is active while data moves, and stays in a tail afterwards in case more follows. The tail
//! is what makes short bursts dear.
//!
//! # Sources
//! - J. Huang et al., MobiSys 2012, "A close examination of performance and power characteristics of 4G LTE networks", tables 3 and 4: set `mobisys2012`.
//! - mobiarch11 §3.3: the table of efficiencies and throughputs implies about 1.07 W for each active radio whatever its rate; a 3G tail of 6–12 s;
//!   up to 50 % more power at poor signal: set `mobiarch11`.
//!
//! # Where we differ, and why
//! 1. Idle power is zero in both sets: neither source counts what a host draws anyway; the field is there for measured hosts.
//! 2. `mobiarch11` gives no power for the tail ("a high power state"): that of the active radio. Its length is 9 s, the middle of what is given,
//!    and [`Radio::with_tail`] sweeps it. It has no LTE, and no promotion.
//! 3. The signal's penalty is linear from −70 to −90 dBm and multiplies the power while data moves; the paper gives the 50 % only.
//! 4. A promotion is charged in one piece when data begins to move; the trace then need not know of it.
//!
//! # Checked by
//! `tests` below: the table of mobiarch11 §3.3, tails by hand; `golden/energy.csv`, `golden/power.csv`.

mod radios;

pub use radios::{Carried, Radios};

pub use crate::io::power::{Phase, Radio};
use core::ops::{Add, AddAssign};
use units::{Bitrate, Bytes, Dbm, Duration};

/// Where the numbers come from; its name goes into results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// Huang et al. 2012.
    Mobisys2012,
    /// Raiciu et al. 2011.
    Mobiarch11,
}

/// What a radio speaks.
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
    /// The stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mobisys2012 => "mobisys2012",
            Self::Mobiarch11 => "mobiarch11",
        }
    }

    /// The radio of this technology; `None` where the source has none.
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
    /// `[β, α_d, α_u]`, promotion, tail.
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

    /// With a tail of another length.
    pub const fn with_tail(mut self, lasts: Duration) -> Self {
        self.tail.lasts = lasts;
        self
    }

    /// Power while data moves, in microwatts.
    pub fn active_uw(&self, down: Bitrate, up: Bitrate, signal: Option<Dbm>) -> u64 {
        let rate = |bps: u64, mw_per_mbps: u32| u128::from(bps) * u128::from(mw_per_mbps) / 1_000;
        let clear = u128::from(self.active_mw) * 1_000
            + rate(down.as_bps(), self.down_mw_per_mbps)
            + rate(up.as_bps(), self.up_mw_per_mbps);
        u64::try_from(clear * u128::from(penalty_milli(signal)) / 1_000).unwrap_or(u64::MAX)
    }

    /// Bits that a joule moves at these rates, without promotion and tail.
    pub fn bits_per_joule(&self, down: Bitrate, up: Bitrate, signal: Option<Dbm>) -> u64 {
        let uw = u128::from(self.active_uw(down, up, signal).max(1));
        let bps = u128::from(down.as_bps()) + u128::from(up.as_bps());
        u64::try_from(bps * 1_000_000 / uw).unwrap_or(u64::MAX)
    }
}

/// Thousandths of the power at good signal: 1,000 from −70 dBm on, 1,500 down from −90.
pub fn penalty_milli(signal: Option<Dbm>) -> u32 {
    let mbm = signal.map_or(-7_000, Dbm::as_mbm).clamp(-9_000, -7_000);
    1_000 + (-7_000 - mbm) as u32 / 4
}

/// Energy, in picojoules inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Energy(u128);

impl Energy {
    /// None.
    pub const ZERO: Self = Self(0);

    fn of(phase: Phase) -> Self {
        Self(u128::from(phase.mw) * phase.lasts.as_nanos())
    }

    fn spent(uw: u64, lasts: Duration) -> Self {
        Self(u128::from(uw) * lasts.as_nanos() / 1_000)
    }

    /// Joules, for people and pictures.
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

/// A piece of a trace: rates and signal do not change in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// How long.
    pub lasts: Duration,
    /// Rate received.
    pub down: Bitrate,
    /// Rate sent.
    pub up: Bitrate,
    /// Received power; `None` counts as good.
    pub signal: Option<Dbm>,
}

/// What a radio is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Idle,
    /// Data moves.
    Active,
    /// Data may follow, for this long.
    Tail(Duration),
}

/// Adds up what a radio spends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    radio: Radio,
    state: State,
    spent: Energy,
    moved: Bytes,
}

impl Meter {
    /// Of an idle radio.
    pub const fn new(radio: Radio) -> Self {
        Self {
            radio,
            state: State::Idle,
            spent: Energy::ZERO,
            moved: Bytes::ZERO,
        }
    }

    /// The radio's state after the last step.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Takes in a piece of the trace.
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

    /// What was spent so far.
    pub const fn spent(&self) -> Energy {
        self.spent
    }

    /// What was moved so far, both ways.
    pub const fn moved(&self) -> Bytes {
        self.moved
    }

    /// What will have been spent when the radio is idle again, if nothing more moves: a run's energy, its tail included.
    pub fn settled(&self) -> Energy {
        let mut idle = *self;
        idle.rest(match self.state {
            State::Idle => Duration::ZERO,
            State::Active => self.radio.tail.lasts,
            State::Tail(left) => left,
        });
        idle.spent
    }

    /// Megabits per joule, tail included; `None` before anything was spent.
    pub fn efficiency(&self) -> Option<f64> {
        let joules = self.settled().as_joules_f64();
        (joules > 0.0).then(|| self.moved.bits() as f64 / 1e6 / joules)
    }
}

#[cfg(test)]
mod tests;
