//! Reads `papers/nsdi15-users/scenario.toml`.

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use units::{Bitrate, Duration};

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// What it shows.
    pub sentence: String,
    /// How many channels there are, each with one access point.
    pub channels: u16,
    rate_mbps: u64,
    late_ms: [u64; 2],
    /// α of Eq. 6.
    pub alpha: u32,
    least_slot_ms: u64,
    /// The cycles that the figures are means over.
    pub cycles_ms: Vec<u64>,
    /// How many clients there are, in turn.
    pub users: Vec<usize>,
    /// Runs, each with a seed of its own.
    pub seeds: u64,
    duration_s: u64,
    warmup_s: u64,
    /// The second experiment.
    pub variants: Vec<Variant>,
}

/// One thing done otherwise than in the first experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    /// As the figure calls it.
    pub name: String,
    /// Its cycle.
    pub cycle_ms: u64,
    /// Another α.
    pub alpha: Option<u32>,
    /// The time that is added to a slot is time in which nothing is received.
    #[serde(default)]
    pub deaf: bool,
    together_s: Option<u64>,
}

impl Variant {
    /// All clients begin at once on the first channel; this is how much of it is observed.
    pub(super) fn together(&self) -> Option<Duration> {
        self.together_s.map(Duration::from_secs)
    }
}

impl Scenario {
    /// Reads the text of the file.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let scenario: Self = toml::from_str(text).context("papers/nsdi15-users/scenario.toml")?;
        let [least, most] = scenario.late_ms;
        ensure!(
            scenario.channels > 0 && scenario.rate_mbps > 0 && scenario.seeds > 0,
            "papers/nsdi15-users/scenario.toml: `channels`, `rate_mbps` and `seeds` must be at least 1"
        );
        ensure!(
            least <= most && scenario.warmup_s < scenario.duration_s,
            "papers/nsdi15-users/scenario.toml: `late_ms` must ascend, and `warmup_s` must be less than `duration_s`"
        );
        ensure!(
            !scenario.cycles_ms.is_empty() && scenario.users.iter().all(|&users| users > 0),
            "papers/nsdi15-users/scenario.toml: `cycles_ms` must not be empty, and each of `users` must be at least 1"
        );
        Ok(scenario)
    }

    /// The rate of one client alone on a channel.
    pub(super) const fn alone(&self) -> Bitrate {
        Bitrate::from_mbps(self.rate_mbps)
    }

    /// What is added to a slot: from, to.
    pub(super) const fn late(&self) -> (Duration, Duration) {
        let [least, most] = self.late_ms;
        (Duration::from_millis(least), Duration::from_millis(most))
    }

    /// The least time on a channel.
    pub(super) const fn least_slot(&self) -> Duration {
        Duration::from_millis(self.least_slot_ms)
    }

    /// How long a run is, and how much of its beginning is left out, while slots adapt.
    pub(super) const fn times(&self) -> (Duration, Duration) {
        (
            Duration::from_secs(self.duration_s),
            Duration::from_secs(self.warmup_s),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_experiments_are_refused() {
        let file = include_str!("../../../../../papers/nsdi15-users/scenario.toml");
        assert!(Scenario::read(file).is_ok());
        for (from, to) in [
            ("channels = 3", "channels = 0"),
            ("late_ms = [1, 10]", "late_ms = [10, 1]"),
            ("warmup_s = 20", "warmup_s = 120"),
            ("cycles_ms = [100, 150, 200]", "cycles_ms = []"),
            ("users = [1,", "users = [0,"),
            ("seeds = 20", "sheds = 20"),
        ] {
            let changed = file.replace(from, to);
            assert_ne!(changed, file, "{from}");
            let error = Scenario::read(&changed).unwrap_err().to_string();
            assert!(error.contains("papers/nsdi15-users/scenario.toml"), "{error}");
        }
    }
}
