//! Who joined which access point when, how long that took, and who lost one.
//!
//! # Checked by
//! `tests`; `tests/joining.rs`.

use links::LinkState;
use units::{Duration, Instant};

/// An association has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// When.
    pub(super) at: Instant,
    /// Which: its place among [`super::Cast::associations`].
    pub(super) association: usize,
    /// How it is now.
    pub(super) state: LinkState,
}

/// What became of all associations.
#[derive(Debug, Default)]
pub(super) struct Joins(Vec<Story>);

#[derive(Debug, Clone, Copy, Default)]
struct Story {
    is_up: bool,
    /// When it began to join.
    began: Instant,
    /// When it had joined for the first time.
    first: Option<Instant>,
    joined: u32,
    /// What joining took, all times together.
    time: Duration,
    lost: u32,
}

impl Joins {
    /// Of associations that are up at the start, or not.
    pub(super) fn new(up: impl IntoIterator<Item = bool>) -> Self {
        let story = |is_up| Story {
            is_up,
            ..Story::default()
        };
        Self(up.into_iter().map(story).collect())
    }

    /// One has changed.
    pub(super) fn take(&mut self, change: Change) {
        let story = &mut self.0[change.association];
        match change.state {
            LinkState::Joining => story.began = change.at,
            LinkState::Carrier => {}
            LinkState::Up => {
                story.first.get_or_insert(change.at);
                story.joined += 1;
                story.time += change.at.since(story.began);
            }
            LinkState::Down => story.lost += u32::from(story.is_up),
        }
        story.is_up = change.state == LinkState::Up;
    }

    /// A sentence for each that joined or lost something, with its place.
    pub(super) fn told(&self) -> impl Iterator<Item = (usize, String)> {
        let stories = self.0.iter().enumerate();
        stories.filter_map(|(place, story)| Some((place, story.told()?)))
    }
}

impl Story {
    fn told(&self) -> Option<String> {
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

    fn told(is_up: bool, changes: &[(u64, LinkState)]) -> Option<String> {
        let mut joins = Joins::new([false, is_up]);
        for &(ms, state) in changes {
            joins.take(Change {
                at: Instant::from_millis(ms),
                association: 1,
                state,
            });
        }
        let mut told = joins.told();
        let first = told.next();
        assert!(told.next().is_none() && first.as_ref().is_none_or(|(place, _)| *place == 1));
        first.map(|(_, sentence)| sentence)
    }

    #[test]
    fn sentences_say_when_and_how_long() {
        use LinkState::{Carrier, Down, Joining, Up};
        assert_eq!(told(true, &[]), None);
        assert_eq!(told(false, &[(100, Joining), (190, Down)]), None);
        assert_eq!(told(true, &[(5_000, Down)]).unwrap(), "lost it once");
        let joined = [
            (100, Joining),
            (190, Down),
            (3_000, Joining),
            (3_040, Carrier),
            (4_041, Up),
        ];
        assert_eq!(
            told(false, &joined).unwrap(),
            "joined at 4.041 s, which took 1.041 s"
        );
        let again = [
            &joined[..],
            &[(6_000, Down), (8_000, Joining), (10_001, Up), (12_000, Down)],
        ]
        .concat();
        assert_eq!(
            told(false, &again).unwrap(),
            "joined 2 times, first at 4.041 s, which took 1.521 s on average; lost it 2 times"
        );
    }
}
