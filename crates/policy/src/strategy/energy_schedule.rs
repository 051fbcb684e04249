//! Which radios are on when the battery matters: a baseline.
//!
//! The simple scheduler uses every radio for 10 s to measure the bits that each moves per joule. It then uses
//! only the best one for 100 s, and starts again. Its variants know more, or change more slowly.
//!
//! # Sources
//! - mobiarch11 §3.3: 10 s and 100 s. The omniscient strategy lost to the tail energy of its own changes, but
//!   not "when we applied damping". "A smarter scheduler could use the mean WiFi association time to decide
//!   whether to turn 3G off".
//!
//! # Where we differ, and why
//! 1. The paper does not say how it damped: here another radio must be 20 % better for 10 s without
//!    interruption.
//! 2. When the only radio that is on is lost, all are turned on at once and the probe starts again: the
//!    paper's walk has full coverage.
//! 3. Association-aware: the cellular radio stays on while the mean association is shorter than its tail,
//!    since turning it off would save nothing.
//!
//! The policy [`crate::Policy::Energy`] runs it.
//!
//! # Checked by
//! `tests/engine_baselines.rs`: through the engine. `energy_schedule/tests.rs`: golden timelines, and radios
//! with `estimate::energy`'s powers.

use crate::io::reason::Energy;
use crate::io::{LinkId, LinkKind};
use alloc::vec::Vec;
use units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// How long all radios are on for comparison.
pub const PROBE: Duration = Duration::from_secs(10);
/// How long only the best one is on.
pub const USE: Duration = Duration::from_secs(100);
/// Damped: how long another radio must be better, and by how much.
const DAMPED_FOR: Duration = Duration::from_secs(10);
const DAMPED_PERCENT: u128 = 120;

/// How much the scheduler knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// What it measured while all radios were on.
    Probing,
    /// As `Probing`, and the duration of associations.
    AssociationAware,
    /// The bits that each radio would move per joule now.
    Omniscient,
    /// The same, but a change needs a radio that has been clearly better for a while.
    Damped,
}

/// The present state of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioView {
    /// Its link.
    pub link: LinkId,
    /// Its kind.
    pub kind: LinkKind,
    /// Whether it can carry data.
    pub usable: bool,
    /// Bits per joule. For the omniscient variants, also while it is off.
    pub bits_per_joule: u64,
}

/// The inputs of the scheduler.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Every radio.
    pub radios: &'a [RadioView],
    /// The mean duration of associations with access points. `None` if none has ended yet.
    pub association: Option<Duration>,
    /// How long the cellular radio stays in a high power state after its last byte.
    pub tail: Duration,
}

/// Which radios are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// All of them.
    All,
    /// This one only.
    Only(LinkId),
    /// This one and every cellular one.
    AndCellular(LinkId),
}

impl On {
    /// Whether this radio is on.
    pub fn includes(self, radio: &RadioView) -> bool {
        match self {
            Self::All => true,
            Self::Only(link) => radio.link == link,
            Self::AndCellular(link) => radio.link == link || radio.kind == LinkKind::Cellular,
        }
    }
}

/// Which radios are on, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Which radios are on.
    pub on: On,
    /// Why.
    pub because: Energy,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    link: LinkId,
    /// Bits per joule, summed over nanoseconds.
    sum: u128,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Probe {
        until: Instant,
    },
    Use {
        link: LinkId,
        until: Instant,
    },
    Follow {
        link: LinkId,
        challenger: Option<(LinkId, Instant)>,
    },
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct EnergySchedule {
    variant: Variant,
    stage: Option<Stage>,
    measured: Vec<Measured>,
    looked: Instant,
}

impl EnergySchedule {
    /// A scheduler of this variant that has measured nothing.
    pub const fn new(variant: Variant) -> Self {
        Self {
            variant,
            stage: None,
            measured: Vec::new(),
            looked: Instant::ZERO,
        }
    }

    /// Which radios are on from now on.
    pub fn plan(&mut self, now: Instant, look: &Look<'_>) -> Plan {
        match self.variant {
            Variant::Omniscient | Variant::Damped => self.follow(now, look),
            Variant::Probing | Variant::AssociationAware => self.probe_and_use(now, look),
        }
    }

    /// When to call [`Self::plan`] again at the latest. The omniscient variants are called whenever something
    /// changes.
    pub fn wake_at(&self) -> Option<Instant> {
        match self.stage? {
            Stage::Probe { until } | Stage::Use { until, .. } => Some(until),
            Stage::Follow { challenger, .. } => challenger.map(|(_, since)| since + DAMPED_FOR),
        }
    }

    fn probe_and_use(&mut self, now: Instant, look: &Look<'_>) -> Plan {
        self.measure(now, look);
        match self.stage {
            Some(Stage::Probe { until }) if now >= until => self.choose(now, look),
            Some(Stage::Use { link, until }) if now >= until || !is_usable(look, link) => self.probe(now),
            None => self.probe(now),
            _ => {}
        }
        match self.stage {
            Some(Stage::Use { link, .. }) => self.used(look, link),
            _ => Plan {
                on: On::All,
                because: Energy::Comparing,
            },
        }
    }

    fn probe(&mut self, now: Instant) {
        self.measured.clear();
        self.stage = Some(Stage::Probe { until: now + PROBE });
    }

    fn measure(&mut self, now: Instant, look: &Look<'_>) {
        let passed = (now - self.looked).as_nanos();
        self.looked = now;
        if !matches!(self.stage, Some(Stage::Probe { .. })) {
            return;
        }
        for radio in look.radios.iter().filter(|radio| radio.usable) {
            let known = self
                .measured
                .iter()
                .position(|measured| measured.link == radio.link);
            let at = known.unwrap_or_else(|| {
                let link = radio.link;
                self.measured.push(Measured { link, sum: 0 });
                self.measured.len() - 1
            });
            let more = passed.saturating_mul(u128::from(radio.bits_per_joule));
            self.measured[at].sum = self.measured[at].sum.saturating_add(more);
        }
    }

    /// After a probe: uses the best radio for 100 s, or probes again if none could carry data.
    fn choose(&mut self, now: Instant, look: &Look<'_>) {
        let usable = self
            .measured
            .iter()
            .filter(|measured| is_usable(look, measured.link));
        let best = usable.max_by_key(|measured| (measured.sum, core::cmp::Reverse(measured.link)));
        match best {
            None => self.probe(now),
            Some(best) => {
                let link = best.link;
                self.stage = Some(Stage::Use {
                    link,
                    until: now + USE,
                });
            }
        }
    }

    fn used(&self, look: &Look<'_>, link: LinkId) -> Plan {
        let wifi = look
            .radios
            .iter()
            .any(|radio| radio.link == link && radio.kind == LinkKind::Wifi);
        if let (Variant::AssociationAware, true, Some(association)) = (self.variant, wifi, look.association)
            && association < look.tail
        {
            let tail = look.tail;
            return Plan {
                on: On::AndCellular(link),
                because: Energy::ShortAssociations { association, tail },
            };
        }
        let sum = self.measured.iter().find(|measured| measured.link == link);
        let bits_per_joule = sum.map_or(0, |measured| measured.sum / PROBE.as_nanos());
        Plan {
            on: On::Only(link),
            because: Energy::Best {
                bits_per_joule: u64::try_from(bits_per_joule).unwrap_or(u64::MAX),
            },
        }
    }

    fn follow(&mut self, now: Instant, look: &Look<'_>) -> Plan {
        let usable = look.radios.iter().filter(|radio| radio.usable);
        let held = match self.stage {
            Some(Stage::Follow { link, challenger }) => Some((link, challenger)),
            _ => None,
        };
        let holds = |radio: &RadioView| held.is_some_and(|(link, _)| link == radio.link);
        let rank = |radio: &&RadioView| (radio.bits_per_joule, holds(radio), core::cmp::Reverse(radio.link));
        let Some(best) = usable.max_by_key(rank) else {
            self.stage = None;
            return Plan {
                on: On::All,
                because: Energy::NothingUsable,
            };
        };
        let (link, challenger) = match held {
            Some((link, since)) if self.variant == Variant::Damped => damped(now, look, (link, since), best),
            _ => (best.link, None),
        };
        self.stage = Some(Stage::Follow { link, challenger });
        let bits_per_joule = efficiency(look, link).unwrap_or(0);
        Plan {
            on: On::Only(link),
            because: Energy::Best { bits_per_joule },
        }
    }
}

type Challenger = Option<(LinkId, Instant)>;

/// Which radio is on, and which one challenges it, given the best one.
fn damped(
    now: Instant,
    look: &Look<'_>,
    (link, challenger): (LinkId, Challenger),
    best: &RadioView,
) -> (LinkId, Challenger) {
    let Some(held) = efficiency(look, link) else {
        return (best.link, None);
    };
    if best.link == link || u128::from(best.bits_per_joule) * 100 < u128::from(held) * DAMPED_PERCENT {
        return (link, None);
    }
    match challenger.filter(|(challenger, _)| *challenger == best.link) {
        Some((_, since)) if now - since >= DAMPED_FOR => (best.link, None),
        Some(same) => (link, Some(same)),
        None => (link, Some((best.link, now))),
    }
}

/// The efficiency of a usable radio.
fn efficiency(look: &Look<'_>, link: LinkId) -> Option<u64> {
    let radio = look
        .radios
        .iter()
        .find(|radio| radio.link == link && radio.usable)?;
    Some(radio.bits_per_joule)
}

fn is_usable(look: &Look<'_>, link: LinkId) -> bool {
    efficiency(look, link).is_some()
}
