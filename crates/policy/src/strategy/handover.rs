//! Present practice, as baselines: handover between access points by their beacons, WiFi first, and the
//! kernel's own path manager alone.
//!
//! # Sources
//! - nsdi15 §6.3: beacons counted over 2 s. Switch when another access point has Δ = 10 more. Break before
//!   make.
//! - mobiarch11 §3.2: WiFi where there is any, otherwise cellular. One path at a time.
//! - cla §V: handover between access points with the cellular path joined throughout.
//!
//! # Where we differ, and why
//! 1. `Warm` gives the baseline an association and an address with every access point that it hears: the best
//!    possible fast handover.
//! 2. With cellular beside it, the cla paper's trigger also applies: a signal-to-noise ratio of 20 dB, once
//!    another access point is 3 dB stronger (the paper gives no difference).
//! 3. If nobody reports beacons, a carrier and an address show that an access point is usable. The first such
//!    link in the order in which the user declared them is kept until it loses either. The first beacon that
//!    is heard ends that.
//!
//! # Checked by
//! `tests` (counts and the moment of the switch); `tests/engine_baselines.rs` (the trigger); `walk` in the
//! benchmarks.

use crate::choose::rank::Want;
use crate::estimate::mobility::HANDOFF;
use crate::estimate::signal::snr;
use crate::io::reason::{self, Choice};
use crate::io::{LinkId, LinkKind, SubflowId};
use crate::known::path::Path;
use crate::known::state::State;
use crate::subflow::membership;
use alloc::vec::Vec;
use units::{Db, Instant};

/// How many more beacons another access point must have.
const DELTA: usize = 10;
/// With cellular beside it: by how much another access point must be stronger once the present one is weak. A
/// smaller margin would alternate.
const CLEARLY: Db = Db::from_db(3);

/// How the next access point is reached, and how cellular is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Leave, then associate, then get an address.
    Cold,
    /// The next access point is already associated.
    Warm,
    /// As `Warm`, with every cellular link joined throughout.
    WarmAndCellular,
    /// As `Warm`; cellular only where there is no WiFi.
    WifiFirst,
}

/// Why an access point was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// Most beacons were heard from it.
    Beacons,
    /// It was clearly stronger than a weak one.
    Signal,
    /// It is usable, and nobody reports beacons.
    Order,
}

/// One access point at a time.
#[derive(Debug)]
pub(crate) struct Handover {
    form: Form,
    current: Option<LinkId>,
    /// Why the present one was chosen.
    by: By,
    /// The link last reported as in use.
    reported: Option<LinkId>,
}

impl Handover {
    pub(crate) const fn new(form: Form) -> Self {
        Self {
            form,
            current: None,
            by: By::Beacons,
            reported: None,
        }
    }

    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        self.choose(now, state);
        self.associate(now, state);
        let wants = self.wants(now, state);
        if let Some(first) = wants.first() {
            state.default_routes(first.link);
            self.report(state, first);
        }
        let conns: Vec<_> = state.conns.keys().copied().collect();
        for conn in conns {
            membership::fit(now, state, conn, &wants);
            leave_others(now, state, conn, &wants);
        }
    }

    /// Reports each change once.
    fn report(&mut self, state: &mut State, want: &Want) {
        if self.reported.replace(want.link) != Some(want.link) {
            state.note(Some(want.link), None, want.verb(), want.because);
        }
    }

    /// Why this link is used.
    fn reason(&self, now: Instant, path: &Path) -> reason::Handover {
        match self.by {
            _ if !path.is_wifi() => reason::Handover::NoAccessPoint,
            By::Signal => reason::Handover::Stronger,
            By::Beacons => reason::Handover::MostBeacons {
                heard: path.beacons.count(now),
            },
            By::Order => reason::Handover::FirstUsable,
        }
    }

    fn choose(&mut self, now: Instant, state: &mut State) {
        if let Some(clearer) = self.clearer(state) {
            return self.switch(state, clearer, By::Signal);
        }
        let eligible = |path: &Path| {
            path.is_wifi() && path.is_allowed() && (self.form == Form::Cold || path.is_usable())
        };
        let heard = state
            .paths
            .iter()
            .filter(|(_, path)| eligible(path))
            .map(|(&link, path)| (path.beacons.count(now), link));
        match heard.max_by_key(|&(count, link)| (count, core::cmp::Reverse(link))) {
            Some((most @ 1.., best)) => self.take_most_heard(now, state, (most, best)),
            Some(_) => self.take_first(state),
            None => self.current = self.current.filter(|&link| is_usable(state, link)),
        }
    }

    /// Switches to the access point with the most beacons, if it is clearly ahead.
    fn take_most_heard(&mut self, now: Instant, state: &mut State, (most, best): (usize, LinkId)) {
        let count = |link: LinkId| state.paths.get(&link).map_or(0, |path| path.beacons.count(now));
        let held = self
            .current
            .filter(|&link| self.by != By::Order && self.holds(state, link));
        match held {
            Some(current) if most < count(current) + DELTA => {}
            _ if Some(best) == self.current => self.by = By::Beacons,
            _ => self.switch(state, best, By::Beacons),
        }
    }

    /// Chooses an access point when no beacon is heard. Keeps the present one while it is usable. Otherwise
    /// takes, of the usable ones whose beacons were never reported, the one that the user's routes put first.
    /// One that was heard before and is silent now is out of range.
    fn take_first(&mut self, state: &mut State) {
        if self.current.is_some_and(|link| is_usable(state, link)) {
            return;
        }
        let unreported = |path: &Path| path.is_wifi() && !path.is_heard() && path.is_allowed();
        let usable = state
            .paths
            .iter()
            .filter(|(_, path)| unreported(path) && path.is_usable());
        let first = usable
            .min_by_key(|(_, path)| path.uplinks.into_iter().min())
            .map(|(&link, _)| link);
        if let Some(first) = first {
            self.switch(state, first, By::Order);
        }
    }

    /// With cellular beside it: the access point that replaces one whose signal is so weak that the cla
    /// paper's mobile looks for another.
    fn clearer(&self, state: &State) -> Option<LinkId> {
        let level = |path: &Path| path.signal.mean().map(snr);
        let current = self.current.filter(|_| self.form == Form::WarmAndCellular)?;
        let own = state
            .paths
            .get(&current)
            .and_then(level)
            .filter(|own| *own < HANDOFF)?;
        let others = state.paths.iter().filter(|(link, path)| {
            **link != current && path.is_wifi() && path.is_allowed() && path.is_usable()
        });
        let heard = others.filter_map(|(&link, path)| Some((level(path)?, link)));
        let (level, link) = heard.max()?;
        (level >= own + CLEARLY).then_some(link)
    }

    /// Whether the present access point still counts: it has its carrier, or (cold) is still being joined.
    fn holds(&self, state: &State, link: LinkId) -> bool {
        state
            .paths
            .get(&link)
            .is_some_and(|path| path.carrier || (self.form == Form::Cold && path.asked.is_some()))
    }

    fn switch(&mut self, state: &mut State, best: LinkId, by: By) {
        self.by = by;
        if let Some(old) = self.current.replace(best)
            && self.form == Form::Cold
        {
            state.leave(old);
        }
    }

    fn associate(&self, now: Instant, state: &mut State) {
        let wanted: Vec<LinkId> = match self.form {
            Form::Cold => self.current.into_iter().collect(),
            _ => audible(now, state),
        };
        for link in wanted {
            state.associate(now, link);
        }
    }

    fn wants(&self, now: Instant, state: &State) -> Vec<Want> {
        let active = |link| Want::active(link, Choice::Handover(self.reason(now, &state.paths[&link])));
        let usable = |link: &LinkId| is_usable(state, *link);
        let mut wants: Vec<Want> = self.current.filter(usable).map(active).into_iter().collect();
        let cellular = match self.form {
            Form::Cold | Form::Warm => false,
            Form::WarmAndCellular => true,
            Form::WifiFirst => wants.is_empty(),
        };
        let fallback = state
            .paths
            .iter()
            .filter(|(link, path)| path.spec.kind != LinkKind::Wifi && usable(link));
        wants.extend(fallback.filter(|_| cellular).map(|(&link, _)| active(link)));
        wants
    }
}

fn is_usable(state: &State, link: LinkId) -> bool {
    let path = state.paths.get(&link);
    path.is_some_and(|path| path.is_usable() && path.is_allowed())
}

/// Access points whose beacons are heard now.
pub(crate) fn audible(now: Instant, state: &State) -> Vec<LinkId> {
    let heard = |path: &Path| path.is_wifi() && path.is_allowed() && state.hears(now, path);
    state
        .paths
        .iter()
        .filter(|(_, path)| heard(path))
        .map(|(&link, _)| link)
        .collect()
}

/// One path at a time: closes the others once a wanted one is established.
pub(crate) fn leave_others(now: Instant, state: &mut State, id: crate::io::ConnId, wants: &[Want]) {
    let Some(conn) = state.conns.get(&id) else { return };
    let wanted = |link: LinkId| wants.iter().any(|want| want.link == link);
    let lost =
        |subflow: &&crate::known::conn::Subflow| membership::is_lost(state.paths.get(&subflow.link), subflow);
    let arrived = conn
        .subflows
        .iter()
        .any(|subflow| wanted(subflow.link) && !lost(&subflow));
    let others: Vec<SubflowId> = conn
        .subflows
        .iter()
        .filter(|subflow| !wanted(subflow.link))
        .map(|s| s.id)
        .collect();
    if arrived && !others.is_empty() {
        state.give_up(now, id, &others);
    }
}
