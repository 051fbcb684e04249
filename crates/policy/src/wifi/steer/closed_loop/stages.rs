//! The four stages, and the transitions between them.

use super::tuning::{
    CHANGED_PERCENT, EQUAL_PERCENT, FIRST_HINT_PAUSE, FIRST_PROBE_PAUSE, FIRST_RISE_PERCENT,
    FIRST_TRIAL_PAUSE, FULL, PROBE_LEAST, PROBE_MOST, PROBE_PERCENT, RISING_OVER, RISING_PERCENT,
    SETTLED_AFTER, SHORT_FOR, SHORT_PERCENT, WON_PERCENT,
};
use super::watched::Watched;
use super::{ClosedLoop, Steer};
use crate::estimate::experiment::{Experiment, Pause, Verdict};
use crate::io::LinkId;
use units::{Bitrate, Duration, Instant, Ratio};

/// The stage of the loop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// The efficient ones only.
    Alone {
        /// Accumulated shortage.
        short: Duration,
    },
    /// The best of the others was just promoted.
    Trial(Experiment<LinkId>),
    /// Others carry data too.
    Shared(Shared),
    /// The others are demoted for a moment.
    Probe(Probe),
}

impl Stage {
    pub(super) const ALONE: Self = Self::Alone {
        short: Duration::ZERO,
    };
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    since: Instant,
    /// The goodput of the efficient ones once it had settled.
    level: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    since: Instant,
    /// Total goodput before it.
    with: u64,
    /// The goodput of the efficient ones when their rise was last checked.
    seen: u64,
    seen_at: Instant,
    /// Whether there was a hint, or only a pause was over.
    hinted: bool,
}

impl ClosedLoop {
    pub(super) fn advance(&mut self, now: Instant, passed: Duration, wanting: bool) {
        match self.stage {
            Stage::Alone { short } => self.alone(now, passed, short, wanting),
            Stage::Trial(trial) => self.trial(now, trial),
            Stage::Shared(shared) => self.shared(now, shared),
            Stage::Probe(probe) => self.probe(now, probe),
        }
    }

    fn efficient(&self, goodput: impl Fn(&Watched) -> u64) -> u64 {
        let efficient = self.watched.iter().filter(|watched| watched.efficient);
        efficient.map(goodput).fold(0, u64::saturating_add)
    }

    fn total(&self, goodput: impl Fn(&Watched) -> u64) -> u64 {
        self.watched.iter().map(goodput).fold(0, u64::saturating_add)
    }

    /// The best of the others, among those that are promoted or those that are not.
    fn best_other(&self, promoted: bool) -> Option<Watched> {
        self.watched
            .iter()
            .filter(|watched| !watched.efficient && watched.promoted == promoted)
            .min_by_key(|watched| (watched.time(), watched.link))
            .copied()
    }

    fn promote(&mut self, link: LinkId, promoted: bool) {
        self.watched
            .iter_mut()
            .filter(|watched| watched.link == link)
            .for_each(|watched| watched.promoted = promoted);
    }

    /// Starts again, as other access points are efficient now: earlier findings do not apply to them.
    pub(super) fn start_anew(&mut self) {
        (self.trials, self.against) = (Pause::new(FIRST_TRIAL_PAUSE), 0);
        self.found = None;
        self.silence();
    }

    /// Demotes all but the efficient ones.
    pub(super) fn silence(&mut self) {
        self.watched
            .iter_mut()
            .for_each(|watched| watched.promoted = false);
        self.stage = Stage::ALONE;
    }

    fn is_full(&self) -> bool {
        self.busy.get() >= FULL.as_raw()
    }

    /// The share of the air that other stations leave.
    fn air_left_by_strangers(&self) -> Ratio {
        let own = self
            .watched
            .iter()
            .map(|watched| watched.air(self.packet).as_raw())
            .fold(0, u64::saturating_add);
        let strangers = self.busy.get().saturating_sub(own);
        Ratio::from_fraction(strangers, Ratio::ONE.as_raw()).complement()
    }

    /// Whether the goodput of the efficient ones rises.
    fn is_rising(&self) -> bool {
        let quick = self.efficient(|watched| watched.quick.get());
        let slow = self.efficient(|watched| watched.slow.get());
        quick > percent(slow, RISING_PERCENT)
    }

    /// What the other could carry alone, if the efficient ones carry less and do not rise.
    fn shortage(&self, other: &Watched) -> Option<Bitrate> {
        let quick = self.efficient(|watched| watched.quick.get());
        let could = other.alone(self.packet, self.air_left_by_strangers());
        let short = quick < could.percent(SHORT_PERCENT).as_bps();
        (short && !self.is_rising() && !self.is_full()).then_some(could)
    }

    fn alone(&mut self, now: Instant, passed: Duration, short: Duration, wanting: bool) {
        let Some(next) = self.best_other(false) else {
            return;
        };
        let shortage = self.shortage(&next).filter(|_| wanting);
        let short = gathered(short, passed, shortage.is_some());
        self.stage = Stage::Alone { short };
        let goodput = self.efficient(|watched| watched.slow.get());
        let allowed = self.trials.is_over(now) || goodput < percent(self.against, 100 - CHANGED_PERCENT);
        if let Some(alone) = shortage.filter(|_| allowed && short >= SHORT_FOR) {
            let goodput = Bitrate::from_bps(goodput);
            self.begin_trial(now, next.link, Steer::Short { goodput, alone });
        }
    }

    fn begin_trial(&mut self, now: Instant, link: LinkId, because: Steer) {
        self.promote(link, true);
        self.found = Some(because);
        let before = Bitrate::from_bps(self.total(|watched| watched.slow.get()));
        self.stage = Stage::Trial(Experiment::begin(now, link, before));
    }

    fn trial(&mut self, now: Instant, mut trial: Experiment<LinkId>) {
        let goodput = Bitrate::from_bps(self.total(|watched| watched.quick.get()));
        let verdict = trial.judge(now, goodput, trial.before.percent(WON_PERCENT));
        self.stage = Stage::Trial(trial);
        match verdict {
            None => {}
            Some(Verdict { kept: true, .. }) => {
                self.probes = Pause::new(FIRST_PROBE_PAUSE);
                self.probes.failed(now);
                self.hints = Pause::new(FIRST_HINT_PAUSE);
                self.share(now);
            }
            Some(Verdict { with, .. }) => self.lose(now, trial, with),
        }
    }

    fn share(&mut self, now: Instant) {
        self.stage = Stage::Shared(Shared {
            since: now,
            level: None,
        });
    }

    fn lose(&mut self, now: Instant, trial: Experiment<LinkId>, with: Bitrate) {
        self.trials.failed(now);
        self.against = trial.before.as_bps();
        let before = trial.before;
        self.found = Some(Steer::NoGain { before, with });
        self.promote(trial.subject, false);
        self.silence();
    }

    fn shared(&mut self, now: Instant, mut shared: Shared) {
        if self.best_other(true).is_none() {
            self.silence();
            return;
        }
        let slow = self.efficient(|watched| watched.slow.get());
        if now - shared.since >= SETTLED_AFTER {
            shared.level.get_or_insert(slow);
        }
        self.stage = Stage::Shared(shared);
        let hinted = self.hints.is_over(now) && self.is_hinted(&shared, slow);
        if hinted || self.probes.is_over(now) {
            self.begin_probe(now, hinted);
        }
    }

    /// Whether the efficient ones may be able to carry more. Either they carry more than before, or they
    /// carry as many packets as those that share their air, so that the air limits them.
    fn is_hinted(&self, shared: &Shared, slow: u64) -> bool {
        let freed = shared
            .level
            .is_some_and(|level| slow > percent(level, 100 + CHANGED_PERCENT));
        let promoted = self.watched.iter().filter(|watched| watched.promoted);
        let equal = promoted
            .map(|watched| watched.slow.get())
            .any(|other| slow > percent(other, EQUAL_PERCENT));
        freed || (shared.level.is_some() && equal)
    }

    fn begin_probe(&mut self, now: Instant, hinted: bool) {
        let with = self.total(|watched| watched.slow.get());
        self.found = Some(Steer::Trying {
            with: Bitrate::from_bps(with),
        });
        self.stage = Stage::Probe(Probe {
            since: now,
            with,
            seen: self.efficient(|watched| watched.slow.get()),
            seen_at: now,
            hinted,
        });
    }

    fn probe(&mut self, now: Instant, probe: Probe) {
        let quick = self.efficient(|watched| watched.quick.get());
        let elapsed = now - probe.since;
        if elapsed < PROBE_LEAST {
            return;
        }
        let goal = percent(probe.with, PROBE_PERCENT);
        if quick >= goal {
            self.trials.failed(now);
            self.against = quick;
            self.silence();
            return;
        }
        let first = probe.seen_at == probe.since;
        if !first && now - probe.seen_at < RISING_OVER {
            return;
        }
        let rise = if first { FIRST_RISE_PERCENT } else { RISING_PERCENT };
        if quick >= percent(probe.seen, rise)
            && reaches(goal, (probe.seen, quick), now - probe.seen_at, elapsed)
        {
            self.stage = Stage::Probe(Probe {
                seen: quick,
                seen_at: now,
                ..probe
            });
        } else {
            self.miss(now, probe, quick);
        }
    }

    fn miss(&mut self, now: Instant, probe: Probe, quick: u64) {
        (self.trials, self.against) = (Pause::new(FIRST_TRIAL_PAUSE), 0);
        let pause = if probe.hinted {
            &mut self.hints
        } else {
            &mut self.probes
        };
        pause.failed(now);
        self.found = Some(Steer::Missed {
            with: Bitrate::from_bps(probe.with),
            without: Bitrate::from_bps(quick),
        });
        self.share(now);
    }
}

/// Whether goodput that rose from `before` to `after` in `over` reaches the goal within the rest of a probe.
fn reaches(goal: u64, (before, after): (u64, u64), over: Duration, elapsed: Duration) -> bool {
    let left = PROBE_MOST.saturating_sub(elapsed);
    let missing = u128::from(goal.saturating_sub(after)) * over.as_nanos();
    missing < u128::from(after.saturating_sub(before)) * left.as_nanos()
}

/// A shortage accumulates while it lasts and decays as fast, up to what leads to a trial.
fn gathered(short: Duration, passed: Duration, more: bool) -> Duration {
    if more {
        (short + passed).min(SHORT_FOR)
    } else {
        short.saturating_sub(passed)
    }
}

fn percent(value: u64, percent: u64) -> u64 {
    Bitrate::from_bps(value).percent(percent).as_bps()
}
