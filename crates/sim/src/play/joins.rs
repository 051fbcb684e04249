//! Records which radio joined which access point when, how long that took, and losses of associations.
//!
//! # Checked by
//! `tests`, `tests/joining.rs`.

use links::LinkState;
use units::{Duration, Instant};

/// Change of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// Time of the change.
    pub(super) at: Instant,
    /// Index among [`super::Cast::associations`].
    pub(super) association: usize,
    /// New state.
    pub(super) state: LinkState,
}

/// History of all associations.
#[derive(Debug, Default)]
pub(super) struct Joins(Vec<History>);

#[derive(Debug, Clone, Copy, Default)]
struct History {
    is_up: bool,
    /// When the current join began.
    began: Instant,
    /// When it was up for the first time.
    first: Option<Instant>,
    joined: u32,
    /// Total time of all joins.
    time: Duration,
    lost: u32,
}

impl Joins {
    /// Initial state: whether each association is up.
    pub(super) fn new(up: impl IntoIterator<Item = bool>) -> Self {
        let history = |is_up| History {
            is_up,
            ..History::default()
        };
        Self(up.into_iter().map(history).collect())
    }

    /// Records a change.
    pub(super) fn take(&mut self, change: Change) {
        let history = &mut self.0[change.association];
        match change.state {
            LinkState::Joining => history.began = change.at,
            LinkState::Carrier => {}
            LinkState::Up => {
                history.first.get_or_insert(change.at);
                history.joined += 1;
                history.time += change.at.since(history.began);
            }
            LinkState::Down => history.lost += u32::from(history.is_up),
        }
        history.is_up = change.state == LinkState::Up;
    }

    /// A sentence for each association that was joined or lost, with its index.
    pub(super) fn sentences(&self) -> impl Iterator<Item = (usize, String)> {
        let histories = self.0.iter().enumerate();
        histories.filter_map(|(place, history)| Some((place, history.sentence()?)))
    }
}

impl History {
    fn sentence(&self) -> Option<String> {
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        let lost = match self.lost {
            0 => String::new(),
            1 => "lost it once".to_owned(),
            times => format!("lost it {times} times"),
        };
        let Some(first) = self.first else {
            return (self.lost > 0).then_some(lost);
        };
        let at = seconds(first.since(Instant::ZERO));
        let took = seconds(self.time / self.joined);
        let joined = match self.joined {
            1 => format!("joined at {at}, which took {took}"),
            times => format!("joined {times} times, first at {at}, which took {took} on average"),
        };
        let and = if lost.is_empty() { "" } else { "; " };
        Some(format!("{joined}{and}{lost}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(is_up: bool, changes: &[(u64, LinkState)]) -> Option<String> {
        let mut joins = Joins::new([false, is_up]);
        for &(ms, state) in changes {
            joins.take(Change {
                at: Instant::from_millis(ms),
                association: 1,
                state,
            });
        }
        let mut sentences = joins.sentences();
        let first = sentences.next();
        assert!(sentences.next().is_none() && first.as_ref().is_none_or(|(place, _)| *place == 1));
        first.map(|(_, sentence)| sentence)
    }

    #[test]
    fn sentences_give_the_time_and_the_duration() {
        use LinkState::{Carrier, Down, Joining, Up};
        assert_eq!(sentence(true, &[]), None);
        assert_eq!(sentence(false, &[(100, Joining), (190, Down)]), None);
        assert_eq!(sentence(true, &[(5_000, Down)]).unwrap(), "lost it once");
        let joined = [
            (100, Joining),
            (190, Down),
            (3_000, Joining),
            (3_040, Carrier),
            (4_041, Up),
        ];
        assert_eq!(
            sentence(false, &joined).unwrap(),
            "joined at 4.041 s, which took 1.041 s"
        );
        let again = [
            &joined[..],
            &[(6_000, Down), (8_000, Joining), (10_001, Up), (12_000, Down)],
        ]
        .concat();
        assert_eq!(
            sentence(false, &again).unwrap(),
            "joined 2 times, first at 4.041 s, which took 1.521 s on average; lost it 2 times"
        );
    }
}
