//! Sets of trials that mean something only together, such as ours and the stock kernel's with the same seed.
//! Runs as many sets as the definition asks for.
//!
//! A set in which a trial gave no result does not count. Another one with another seed replaces it, so that
//! the number is reached. The replacements are at most as many as the original sets, and every failure stays
//! in the row.
//!
//! # Checked by
//! `tests`: every place is filled, seeds differ, and it ends.

use scenario::Plan;
use trace::PolicyName;

use super::{figures, lever};
use crate::declaration::Setup;
use crate::trial::{self, Doubts, Holds, Observed, Outcomes, Trial};

/// The wanted sets, and how to run them.
pub struct Sets<'s, P, T> {
    /// The places, one set for each.
    pub places: Vec<P>,
    /// Makes the trials for a place and an attempt, counted from 0. Each attempt has another seed.
    pub trials: &'s dyn Fn(&P, u64) -> anyhow::Result<Vec<T>>,
    /// Runs trials.
    pub play: &'s dyn Fn(Vec<T>, &mut Doubts) -> Outcomes,
}

/// Results of the sets.
#[derive(Debug)]
pub struct Results<P> {
    /// The complete sets, each with its trials in their order.
    pub sets: Vec<(P, Vec<Observed>)>,
    /// Doubts about figures drawn from them.
    pub doubts: Doubts,
}

impl<P, T> Sets<'_, P, T> {
    /// Runs the sets, and replaces the incomplete ones.
    pub fn measure(self) -> anyhow::Result<Results<P>> {
        let mut doubts = Doubts::default();
        let sets = fill(self.places, self.trials, &mut |trials| {
            (self.play)(trials, &mut doubts)
        })?;
        doubts.count_late(sets.iter().flat_map(|(_, observed)| observed));
        Ok(Results { sets, doubts })
    }
}

fn fill<P, T, O>(
    places: Vec<P>,
    trials: &dyn Fn(&P, u64) -> anyhow::Result<Vec<T>>,
    play: &mut dyn FnMut(Vec<T>) -> anyhow::Result<Vec<Option<O>>>,
) -> anyhow::Result<Vec<(P, Vec<O>)>> {
    let mut filled: Vec<Option<Vec<O>>> = places.iter().map(|_| None).collect();
    let mut attempts = vec![0; places.len()];
    let mut left = places.len();
    let mut wanted: Vec<usize> = (0..places.len()).collect();
    while !wanted.is_empty() {
        let sets: Vec<Vec<T>> = wanted
            .iter()
            .map(|&place| trials(&places[place], attempts[place]))
            .collect::<Result<_, _>>()?;
        let sizes: Vec<usize> = sets.iter().map(Vec::len).collect();
        let mut played = play(sets.into_iter().flatten().collect())?.into_iter();
        for (&place, size) in wanted.iter().zip(sizes) {
            let set: Vec<Option<O>> = played.by_ref().take(size).collect();
            filled[place] = set.into_iter().collect();
            attempts[place] += 1;
        }
        wanted.retain(|&place| filled[place].is_none());
        wanted.truncate(left);
        left -= wanted.len();
    }
    let sets = places.into_iter().zip(filled);
    Ok(sets.filter_map(|(place, set)| Some((place, set?))).collect())
}

/// One of the sets of a congestion controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nth {
    /// The controller.
    pub cc: String,
    /// Index of the set, from 0.
    pub index: u64,
    /// Number of sets.
    pub of: u64,
}

impl Nth {
    /// This many sets of each controller.
    pub fn all(setup: &Setup, of: u64) -> Vec<Self> {
        let nth = |cc: &str, index| Self {
            cc: cc.to_owned(),
            index,
            of,
        };
        let controllers = setup.controllers();
        controllers
            .flat_map(|cc| (0..of).map(move |index| nth(cc, index)))
            .collect()
    }

    /// Seed of an attempt, where `first` is that of the first set. No two sets of a controller share one.
    pub const fn seed(&self, first: u64, attempt: u64) -> u64 {
        first + attempt * self.of + self.index
    }
}

/// Pairs of runs: ours and the stock kernel's of the same plan with the same seed, in turn.
pub struct Pairs<'p> {
    /// The user's options: controllers and number of trials.
    pub setup: &'p Setup,
    /// Seed of the first pair.
    pub seed: u64,
    /// Makes the plan of both, with that seed.
    pub plan: &'p dyn Fn(&Nth, u64) -> anyhow::Result<Plan>,
    /// Condition that each trial must meet.
    pub holds: &'p (dyn Fn(&Observed) -> anyhow::Result<()> + Sync),
}

impl Pairs<'_> {
    /// Runs the pairs side by side.
    pub fn measure(&self) -> anyhow::Result<Results<Nth>> {
        let sets = Sets {
            places: Nth::all(self.setup, self.setup.trials().into()),
            trials: &|nth: &Nth, attempt| {
                let seed = nth.seed(self.seed, attempt);
                Ok(figures::both(&(self.plan)(nth, seed)?, seed).into())
            },
            play: &|trials, doubts| side_by_side(trials, &|_, seen| (self.holds)(seen), doubts),
        };
        sets.measure()
    }
}

/// Runs trials side by side, with windows bounded in the best way that the kernel offers to running
/// connections. If it offers none, ours give no result.
pub fn side_by_side(trials: Vec<Trial>, holds: Holds<'_>, doubts: &mut Doubts) -> Outcomes {
    let bounds: Vec<bool> = trials
        .iter()
        .map(|trial| trial.policy == PolicyName::Slowhand)
        .collect();
    let holds = |index: usize, seen: &Observed| {
        if bounds[index] {
            lever::ensure_bounds(&lever::report(seen)?.levers)?;
        }
        holds(index, seen)
    };
    let best = |trial| (trial, None);
    trial::each(trials.into_iter().map(best).collect(), &holds, doubts)
}

impl Results<Nth> {
    /// Ours and theirs of each pair with this controller.
    pub fn pairs(&self, cc: &str) -> Vec<(&Observed, &Observed)> {
        let of_it = self.sets.iter().filter(|(nth, _)| nth.cc == cc);
        of_it
            .filter_map(|(_, set)| match &set[..] {
                [ours, stock] => Some((ours, stock)),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A trial: its place, its seed, and its index in the set.
    type Made = (u64, u64, u8);

    fn setup(cc: Option<&str>) -> Setup {
        Setup {
            bench: crate::catalogue::bench("window-equal"),
            asked_trials: None,
            beside: None,
            cc: cc.map(str::to_owned),
            seed: 5,
        }
    }

    /// Fills three sets of two. Trials for which `fails` is true give no result. Returns the sets, and all
    /// trials that were run.
    fn filled(fails: impl Fn(&Made) -> bool) -> (Vec<(u64, Vec<Made>)>, Vec<Made>) {
        let mut run = Vec::new();
        let trials = |place: &u64, attempt: u64| {
            let seed = 5 + attempt * 3 + place;
            Ok(vec![(*place, seed, 0), (*place, seed, 1)])
        };
        let sets = fill(vec![0, 1, 2], &trials, &mut |trials| {
            run.extend(trials.iter().copied());
            let outcome = |made: Made| (!fails(&made)).then_some(made);
            Ok(trials.into_iter().map(outcome).collect())
        });
        (sets.unwrap(), run)
    }

    #[test]
    fn nothing_is_run_twice_where_nothing_fails() {
        let (sets, run) = filled(|_| false);
        assert_eq!(sets.len(), 3);
        assert_eq!(run.len(), 6);
        assert_eq!(sets[1], (1, vec![(1, 6, 0), (1, 6, 1)]));
    }

    #[test]
    fn a_set_with_a_failure_is_replaced_by_a_whole_one_with_another_seed() {
        // The first of the second set fails, and so does the second of its replacement.
        let (sets, run) = filled(|&(_, seed, which)| (seed, which) == (6, 0) || (seed, which) == (9, 1));
        let places: Vec<u64> = sets.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 1, 2]);
        assert_eq!(sets[1].1, [(1, 12, 0), (1, 12, 1)]);
        assert_eq!(run.len(), 6 + 2 + 2);
        assert_eq!(run.iter().collect::<BTreeSet<_>>().len(), run.len());
    }

    #[test]
    fn an_end_comes_where_every_trial_fails_or_those_of_one_place() {
        let (sets, run) = filled(|_| true);
        assert_eq!((sets.len(), run.len()), (0, 6 + 6));
        let (sets, run) = filled(|&(place, ..)| place == 2);
        assert_eq!((sets.len(), run.len()), (2, 6 + 3 * 2));
    }

    #[test]
    fn no_two_sets_of_a_controller_have_the_same_seed_in_any_attempt() {
        let nths = Nth::all(&setup(None), 4);
        assert_eq!(nths.len(), 8);
        let reno = nths.iter().filter(|nth| nth.cc == "reno");
        let seeds: Vec<u64> = reno
            .flat_map(|nth| (0..3).map(|attempt| nth.seed(5, attempt)))
            .collect();
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 12);
        assert!((5..5 + 4).all(|first| seeds.contains(&first)));
        assert!(
            Nth::all(&setup(Some("cubic")), 4)
                .iter()
                .all(|nth| nth.cc == "cubic")
        );
    }
}
