//! The energy schedulers in the engine: [`crate::energy_schedule`] gets the bits per joule of each radio, and
//! only the radios that are to be on get subflows. A radio that carries nothing goes to sleep by itself after
//! its tail.
//!
//! # Sources
//! - mobiarch11 §3.3. The powers of the radios are those of [`crate::estimate::energy`].
//!
//! # Where we differ, and why
//! 1. A radio's rate is that of its subflows, up to the last tick. The omniscient variants use what the world
//!    foresees.
//! 2. Cables draw nothing from a battery, and are always used.
//!
//! # Checked by
//! `tests/engine_baselines.rs`.

use crate::choose::rank::Want;
use crate::estimate::energy::{Radio, Set, Technology};
use crate::io::reason::Choice;
use crate::io::{LinkId, LinkKind};
use crate::known::path::Path;
use crate::known::state::State;
use crate::strategy::energy_schedule::{EnergySchedule, Look, Plan, RadioView, Variant};
use crate::strategy::foresight::only;
use crate::strategy::handover::audible;
use crate::strategy::omniscient;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Bitrate, Duration, Instant};

/// Turns radios on and off by their bits per joule.
#[derive(Debug)]
pub(crate) struct Thrift {
    schedule: EnergySchedule,
    foresees: bool,
    associations: Associations,
    reported: Option<Plan>,
}

/// The duration of associations.
#[derive(Debug, Default)]
struct Associations {
    since: BTreeMap<LinkId, Instant>,
    ended: u32,
    total: Duration,
}

impl Thrift {
    pub(crate) const fn new(variant: Variant) -> Self {
        Self {
            schedule: EnergySchedule::new(variant),
            foresees: matches!(variant, Variant::Omniscient | Variant::Damped),
            associations: Associations {
                since: BTreeMap::new(),
                ended: 0,
                total: Duration::ZERO,
            },
            reported: None,
        }
    }

    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        for link in audible(now, state) {
            state.associate(now, link);
        }
        self.associations.watch(now, state);
        let radios = self.radios(now, state);
        let plan = self.schedule.plan(
            now,
            &Look {
                radios: &radios,
                association: self.associations.mean(),
                tail: tail(state),
            },
        );
        let on = |link: LinkId| {
            let radio = radios.iter().find(|radio| radio.link == link);
            radio.is_none_or(|radio| plan.on.includes(radio))
        };
        let usable = state.paths.iter().filter(|(_, path)| path.is_candidate());
        let because = Choice::Energy(plan.because);
        let wants: Vec<Want> = usable
            .map(|(&link, _)| Want::active(link, because))
            .filter(|want| on(want.link))
            .collect();
        only(now, state, &wants);
        self.report(state, plan, &wants);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.schedule.wake_at()
    }

    fn radios(&self, now: Instant, state: &State) -> Vec<RadioView> {
        let radios = state
            .paths
            .iter()
            .filter(|(_, path)| path.spec.kind != LinkKind::Cable);
        radios
            .map(|(&link, path)| RadioView {
                link,
                kind: path.spec.kind,
                usable: path.is_candidate(),
                bits_per_joule: self.bits_per_joule(now, state, link, path),
            })
            .collect()
    }

    fn bits_per_joule(&self, now: Instant, state: &State, link: LinkId, path: &Path) -> u64 {
        let moved = if self.foresees {
            path.foreseen
                .map_or(Bitrate::ZERO, |bytes| bytes.per(omniscient::SLOT))
        } else {
            let subflows = state.conns.values().flat_map(|conn| conn.over(link));
            subflows.map(|subflow| subflow.arrivals.rate(now)).sum()
        };
        radio(path).bits_per_joule(moved, Bitrate::ZERO, path.signal.mean())
    }

    /// Reports each change of plan once.
    fn report(&mut self, state: &mut State, plan: Plan, wants: &[Want]) {
        if self.reported.is_some_and(|reported| reported.on == plan.on) {
            return;
        }
        self.reported = Some(plan);
        for want in wants {
            state.note(Some(want.link), None, want.verb(), want.because);
        }
    }
}

impl Associations {
    fn watch(&mut self, now: Instant, state: &State) {
        let associated = state
            .paths
            .iter()
            .filter(|(_, path)| path.is_wifi() && path.carrier);
        for (&link, _) in associated {
            self.since.entry(link).or_insert(now);
        }
        let Self { since, ended, total } = self;
        since.retain(|link, since| {
            let lasts = state.paths.get(link).is_some_and(|path| path.carrier);
            if !lasts {
                *ended = ended.saturating_add(1);
                *total = total.saturating_add(now - *since);
            }
            lasts
        });
    }

    fn mean(&self) -> Option<Duration> {
        self.total.checked_div(self.ended)
    }
}

/// What the link's radio draws: as the world reports, or the published figures for its kind.
fn radio(path: &Path) -> Radio {
    let technology = match path.spec.kind {
        LinkKind::Cellular => Technology::Lte,
        LinkKind::Wifi | LinkKind::Cable => Technology::Wifi,
    };
    path.draws
        .or_else(|| Set::Mobisys2012.radio(technology))
        .expect("Huang et al. measured all three technologies")
}

/// The longest tail of a cellular radio.
fn tail(state: &State) -> Duration {
    let cellular = state
        .paths
        .values()
        .filter(|path| path.spec.kind == LinkKind::Cellular);
    cellular
        .map(|path| radio(path).tail.lasts)
        .max()
        .unwrap_or_default()
}
