//! The cases of the study, and what a run of one carries.

use scenario::{Plan, Setting};
use sim::{Play, play};

const FIRST: &str = include_str!("../../../../../papers/steering/scenario-1.toml");
const SECOND: &str = include_str!("../../../../../papers/steering/scenario-2.toml");
const MORE: &str = include_str!("../../../../../papers/steering/access-points.toml");

/// Packet times of the poor access point, its weights, and the round trips without queue (nsdi15 §6.2.1).
pub(super) const TIMES_MS: [u32; 6] = [1, 2, 3, 4, 5, 6];
pub(super) const WEIGHTS: [u32; 5] = [1, 2, 4, 8, 16];
pub(super) const ROUND_TRIPS_MS: [u32; 4] = [10, 25, 50, 100];
/// Numbers of other flows behind the good access point.
pub(super) const OTHER_FLOWS: [u32; 10] = [0, 1, 2, 3, 4, 5, 7, 10, 15, 20];
/// Numbers of access points beside the good one.
pub(super) const OTHERS: [usize; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

/// Packets per second that the good access point carries alone.
pub(super) const BEST: f64 = 1e3 / GOOD_MS;
const GOOD_MS: f64 = 0.5;
/// The packet time of the poor one in the second scenario.
pub(super) const POOR_MS: f64 = 3.0;
/// What other flows share.
pub(super) const UPLINK_MBPS: f64 = 25.0;
/// Packet times of mixed access points are spread evenly up to this.
const WORST_MS: f64 = 6.0;

/// Bytes of payload in a full packet: of MPTCP with a data sequence signal, and of plain TCP.
const MPTCP_PAYLOAD: f64 = 1_420.0;
const TCP_PAYLOAD: f64 = 1_448.0;
/// Steps of 100 ms at the beginning that do not count.
const WARM: usize = 100;

/// Bytes of the first download.
const START_BYTES: u64 = 10_000_000;

/// One combination under one policy.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) policy: &'static str,
    pub(super) place: Place,
    pub(super) settings: Vec<String>,
}

/// The access points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Second,
    /// Figure 6c: the good one, and this many others.
    More(usize),
}

impl Case {
    /// Parses the scenario of the case with its settings.
    pub(super) fn plan(&self) -> anyhow::Result<Plan> {
        let mut settings = Vec::new();
        for setting in &self.settings {
            settings.extend(Setting::alternatives(setting)?);
        }
        let (name, text) = match self.place {
            Place::First => ("papers/steering/scenario-1.toml", FIRST),
            Place::Second => ("papers/steering/scenario-2.toml", SECOND),
            Place::More(_) => ("papers/steering/access-points.toml", MORE),
        };
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let mut plan = scenario::parse(name, text.as_bytes(), &settings, &no_files)?;
        if let Place::More(others) = self.place {
            plan.links.truncate(1 + others);
        }
        Ok(plan)
    }

    /// Plays the case and measures what the client read.
    pub(super) fn outcome(&self, seed: u64) -> anyhow::Result<Outcome> {
        let plan = self.plan()?;
        let mut what = Play::new(&plan, self.policy.parse()?);
        (what.seed, what.events) = (seed, false);
        let payload = match what.policy.only_link() {
            Some(_) => TCP_PAYLOAD,
            None => MPTCP_PAYLOAD,
        };
        let series = play(&what)?.run.goodput_series;
        let counted = series.get(WARM..).unwrap_or_default();
        let seconds = counted.len() as f64 / 10.0;
        let mut read = 0;
        let begun = series.iter().take_while(|bytes| {
            read += **bytes;
            read < START_BYTES
        });
        Ok(Outcome {
            start_s: (begun.count() + 1) as f64 / 10.0,
            packets_per_s: counted.iter().sum::<u64>() as f64 / payload / seconds.max(0.1),
        })
    }
}

/// What the client read in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// Time until the first 10 MB were read, rounded up to 100 ms. A run that reads less counts with its
    /// length.
    pub(super) start_s: f64,
    /// Full packets per second after the first ten seconds.
    pub(super) packets_per_s: f64,
}

/// Packets per second of a sender that has this many over the good access point, and all air left over for
/// the poor one.
pub(super) fn with_left_air(good: f64) -> f64 {
    good + (1.0 - good / BEST).max(0.0) * 1e3 / POOR_MS
}

/// Payload of that many full packets per second of MPTCP, in Mb/s.
pub(super) fn mbps(packets_per_s: f64) -> f64 {
    packets_per_s * MPTCP_PAYLOAD * 8e-6
}

/// Packet times from the good one's to the worst, in even steps.
pub(super) fn mixed(others: usize) -> Vec<String> {
    let time = |other: usize| GOOD_MS + (WORST_MS - GOOD_MS) * other as f64 / others as f64;
    (1..=others)
        .map(|other| format!("aps.other{other}.wfq.packet_ms={:.3}", time(other)))
        .collect()
}
