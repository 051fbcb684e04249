//! Results of runs: the document of `play --json`.

use crate::{PlaySchema, PolicyName, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use units::Duration;

/// The output of `slowhand play`: one run per policy (and seed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayDocument {
    /// Name and version of this format.
    pub schema: PlaySchema,
    /// The scenario's name.
    pub scenario: String,
    /// Where it ran; `both` if each run says it for itself.
    pub world: World,
    /// The seed (the first one, when several were run).
    pub seed: u64,
    /// One per policy and seed, in the order of the request.
    pub runs: Vec<Run>,
    /// Wall time of all runs, in seconds.
    pub wall_s: f64,
}

impl PlayDocument {
    /// The first run of a policy.
    pub fn run(&self, policy: &PolicyName) -> Option<&Run> {
        self.runs.iter().find(|run| run.policy == *policy)
    }
}

/// What distinguishes a run from others of its document, besides its policy and seed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Case {
    /// Where it ran, in a document of both worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<World>,
    /// Keys of the scenario that were given several values, each with the value of this run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, SetValue>,
}

/// Value of a key of a scenario, by its type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SetValue {
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// True or false.
    Flag(bool),
    /// Text, or what has no type of its own, as it was written.
    Text(String),
}

impl SetValue {
    /// The number, if it is one.
    pub const fn number(&self) -> Option<f64> {
        match *self {
            Self::Integer(whole) => Some(whole as f64),
            Self::Real(number) => Some(number),
            Self::Flag(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for SetValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(whole) => write!(f, "{whole}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// One run of one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The policy.
    pub policy: PolicyName,
    /// What else distinguishes the run from others of its document.
    #[serde(flatten)]
    pub case: Case,
    /// The sender's congestion controller. `null` if all flows are datagrams. Older results of virtual time
    /// name the scenario's controller.
    #[serde(default)]
    pub cc: Option<String>,
    /// `stock` or `slowhand`.
    pub server: String,
    /// The run's seed.
    pub seed: u64,
    /// How long it lasted, in seconds of scenario time.
    pub duration_s: f64,
    /// How much of that, at the start, counts in no figure of flows, links, stations and levels, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup_s: f64,
    /// What its applications moved.
    pub flows: Vec<Flow>,
    /// What its links did.
    pub links: Vec<LinkUse>,
    /// What each station did on the air. Only in virtual time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<StationUse>,
    /// How much of each channel's time was idle, in virtual time with every frame.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelUse>,
    /// Energy that the client's radios spent on the data, in joules, by the figures of Huang et al. 2012.
    /// Counts one radio for each WiFi channel and one modem for each cellular link, tails included. 0 if
    /// there is no radio.
    #[serde(default)]
    pub energy_j: f64,
    /// The most that the models allow, in Mb/s: TCP's, or that of datagrams if all flows are datagrams. 0 if
    /// unknown.
    #[serde(default)]
    pub optimal_mbps: f64,
    /// Bytes read by all applications together in each 100 ms since the start.
    #[serde(default)]
    pub goodput_series: Vec<u64>,
    /// What was queued at the server, how far ahead it might queue, and what waited at the client.
    #[serde(default, skip_serializing_if = "Levels::is_unknown")]
    pub levels: Levels,
    /// Caveats of the result ("repeated alone: the emulator was 1.4 ms late"); usually none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Run {
    /// A run with these flows and a stock server, of which nothing else is known.
    pub fn of_flows(policy: PolicyName, seed: u64, duration_s: f64, flows: Vec<Flow>) -> Self {
        Self {
            policy,
            case: Case::default(),
            cc: None,
            server: "stock".to_owned(),
            seed,
            duration_s,
            flows,
            links: Vec::new(),
            stations: Vec::new(),
            channels: Vec::new(),
            warmup_s: 0.0,
            energy_j: 0.0,
            optimal_mbps: 0.0,
            goodput_series: Vec::new(),
            levels: Levels::default(),
            notes: Vec::new(),
        }
    }

    /// What all flows moved together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// How much of the run counts, in seconds.
    pub fn counted_s(&self) -> f64 {
        self.duration_s - self.warmup_s
    }

    /// Goodput of all flows together over the time that counts, in Mb/s.
    pub fn goodput_mbps(&self) -> f64 {
        if self.counted_s() > 0.0 {
            self.bytes() as f64 * 8e-6 / self.counted_s()
        } else {
            0.0
        }
    }

    /// The longest stall of any flow, in milliseconds.
    pub fn longest_stall_ms(&self) -> f64 {
        self.flows
            .iter()
            .map(|flow| flow.longest_stall_ms)
            .fold(0.0, f64::max)
    }

    /// All stalls of all flows, in milliseconds.
    pub fn stall_total_ms(&self) -> f64 {
        self.flows.iter().map(|flow| flow.stall_total_ms).sum()
    }

    /// Whether no flow arrived other than it was sent.
    pub fn intact(&self) -> bool {
        self.flows.iter().all(|flow| flow.intact != Some(false))
    }

    /// Whether no flow arrived other than it was sent. `None` if all flows are datagrams, which may be lost.
    pub fn arrived_intact(&self) -> Option<bool> {
        let known = self.flows.iter().any(|flow| flow.intact.is_some());
        known.then(|| self.intact())
    }

    /// Goodput over `optimal_mbps`, where that is known.
    pub fn versus_optimal(&self) -> Option<f64> {
        (self.optimal_mbps > 0.0).then(|| self.goodput_mbps() / self.optimal_mbps)
    }
}

/// What one application moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name in the scenario.
    pub name: String,
    /// Bytes read by the receiving application.
    pub bytes: u64,
    /// Over the flow's own time, in Mb/s.
    pub goodput_mbps: f64,
    /// The receiver's SHA-256 equals the sender's. `null` for datagrams, which may be lost, unless one was
    /// altered.
    pub intact: Option<bool>,
    /// From connect to the first byte read, in milliseconds; absent if none came.
    pub first_byte_ms: Option<f64>,
    /// The longest stall, in milliseconds; 0 without any.
    pub longest_stall_ms: f64,
    /// All stalls together, in milliseconds.
    pub stall_total_ms: f64,
    /// How many stalls.
    #[serde(default)]
    pub stalls: u64,
    /// What became of the flow's datagrams. Only in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// One-way delays of its datagrams, in virtual time: from the sender's queue to the receiving host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<TimesMs>,
    /// Interarrival jitter after the last datagram (RFC 3550 §6.4.1), in milliseconds, in virtual time.
    /// Broadcasts have none, because several hosts receive them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<f64>,
    /// From each request to the end of its reply, for flows with `requests`. A request that had to wait for
    /// the reply to the last one counts from when it was due. One without a reply at the end of the run
    /// counts until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<TimesMs>,
    /// What a player that needs its blocks in time did, for flows with `video`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playback: Option<Playback>,
    /// What each link carried of it.
    pub paths: Vec<PathUse>,
}

/// What a video player did. It begins with a full buffer, stops for a block that has not arrived, and
/// continues when the buffer is full again.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Playback {
    /// From the start of the flow until playback began, in milliseconds. `null`: it never did.
    pub startup_ms: Option<f64>,
    /// How often playback stopped.
    pub gaps: u64,
    /// All gaps together, in milliseconds.
    pub gap_total_ms: f64,
    /// The longest gap, in milliseconds.
    pub longest_gap_ms: f64,
    /// What was played, in milliseconds of video.
    pub played_ms: f64,
}

impl Playback {
    /// For people.
    pub fn in_words(&self) -> String {
        let Some(startup_ms) = self.startup_ms else {
            return "playback never began".to_owned();
        };
        let gaps = match self.gaps {
            0 => "no gap".to_owned(),
            1 => format!("1 gap of {:.1} s", self.gap_total_ms / 1e3),
            gaps => format!("{gaps} gaps, {:.1} s in all", self.gap_total_ms / 1e3),
        };
        format!("playback began after {:.1} s, {gaps}", startup_ms / 1e3)
    }
}

/// Times of many packets or requests, in milliseconds. Percentiles are at most 1 % too high.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TimesMs {
    /// Mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The percentiles 0, 5, 10 … 100: the distribution function. Older results do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf_ms: Option<[f64; CDF_STEPS + 1]>,
}

/// Parts into which percentiles divide a distribution.
pub const CDF_STEPS: usize = 20;

impl Flow {
    /// How long its replies took, for people.
    pub fn replies_in_words(&self) -> Option<String> {
        let reply = self.reply?;
        let TimesMs {
            p50_ms,
            p95_ms,
            p99_ms,
            ..
        } = reply;
        let name = &self.name;
        Some(format!(
            "{name}: half of the replies took at most {p50_ms:.0} ms, 95 % {p95_ms:.0} ms, 99 % {p99_ms:.0} ms"
        ))
    }
}

impl TimesMs {
    /// Exact figures of these times. `None` without any.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let millis = |time: Duration| time.as_nanos() as f64 / 1e6;
        let most = millis(*times.last()?);
        // The least time that this share of all does not exceed.
        let quantile = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            millis(times[rank.max(1) - 1])
        };
        let sum: f64 = times.iter().copied().map(millis).sum();
        Some(Self {
            mean_ms: sum / times.len() as f64,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: most,
            cdf_ms: Some(std::array::from_fn(|step| {
                quantile(step as f64 / CDF_STEPS as f64)
            })),
        })
    }

    /// Corners of the distribution function: a time, and the share of the packets that took at most as long.
    /// Empty for older results.
    pub fn distribution(&self) -> Vec<[f64; 2]> {
        let Some(percentiles) = self.cdf_ms else {
            return Vec::new();
        };
        let share = |step: usize| step as f64 / CDF_STEPS as f64;
        let mut corners: Vec<[f64; 2]> = (0..).map(share).zip(percentiles).map(|(y, x)| [x, y]).collect();
        // The last step is the longest tail, and its 99th percentile is known.
        corners.insert(CDF_STEPS, [self.p99_ms, 0.99]);
        corners
    }
}

/// What became of a flow's datagrams. The rest was still in flight when the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Datagrams {
    /// Handed to the sender's queue.
    pub sent: u64,
    /// Received for the first time. A broadcast counts at each receiver.
    pub received: u64,
    /// Given up by a sender, or dropped at a queue.
    pub lost: u64,
}

impl Datagrams {
    /// Share of the datagrams with a known end that were lost, in percent. `None` if there are none.
    pub fn lost_percent(&self) -> Option<f64> {
        let known = self.received + self.lost;
        (known > 0).then(|| self.lost as f64 * 100.0 / known as f64)
    }
}

/// What one station did on the air.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationUse {
    /// Its name: an access point's, or WALKER@CHANNEL.
    pub name: String,
    /// Frames that it put on the air, retransmissions included.
    pub attempts: u64,
    /// Of these, those that were not acknowledged.
    pub failures: u64,
    /// Share of its attempts that were not received while another station was on the air, 0 to 1.
    pub collision_probability: f64,
    /// Share of the run in which its frames and their acknowledgements were on the air, 0 to 1.
    pub airtime_share: f64,
}

/// The time of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelUse {
    /// Its number.
    pub channel: u8,
    /// Share of the run in which no station had a frame on it, 0 to 1. It includes the pauses between frames,
    /// backoff and noise.
    pub idle_share: f64,
}

/// What one link carried of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathUse {
    /// The link's name.
    pub link: String,
    /// Payload bytes, in the direction of the flow.
    pub bytes: u64,
    /// Segments the sender retransmitted.
    pub retransmits: u64,
    /// Segments the sender sent, retransmissions included. Only in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,
    /// Packets that arrived with congestion experienced, whoever marked them. The client's own marks on
    /// arrival are divided among flows by their share of the link's bytes.
    pub ce_marks: u64,
    /// The sender's smoothed round-trip time (RFC 6298), in virtual time: one sample every 100 ms in which
    /// the link carried data of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<TimesMs>,
}

/// What one link did in all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub kind: crate::LinkKind,
    /// Transmissions over the air, or packets of a cable.
    pub frames: u64,
    /// Of these, repeats.
    pub retries: u64,
    /// Of these, attempts in which stations collided.
    pub collisions: u64,
    /// Share of the run in which it occupied its channel, 0 to 1.
    pub airtime_share: f64,
    /// Marks on packets that arrived over it, if any were ever requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<LinkMarks>,
    /// Marks on packets sent over it, if any were ever requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_marks: Option<LinkMarks>,
}

/// Packets of a link that the client itself marked as having experienced congestion: before its TCP received
/// them, or after its TCP sent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkMarks {
    /// Packets that could be marked.
    pub ect: u64,
    /// Packets that could not, and were left alone.
    pub not_ect: u64,
    /// Marks that were requested.
    pub asked: u64,
    /// Marks that were made.
    pub made: u64,
}

/// Means over the time in which each was known, summed over the connections of the run. Absent: never known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Levels {
    /// Assigned to subflows by the server and not acknowledged, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_queue_bytes: Option<u64>,
    /// The client's limit on it, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// Out-of-order bytes at the client, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

impl Levels {
    /// Whether none of them was sampled.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_exact_percentiles() {
        assert_eq!(TimesMs::of(Vec::new()), None);
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        let figures = TimesMs::of(times).unwrap();
        let [p50, p95, p99] = [figures.p50_ms, figures.p95_ms, figures.p99_ms];
        assert_eq!((p50, p95, p99), (100.0, 190.0, 198.0));
        assert_eq!((figures.mean_ms, figures.max_ms), (100.5, 200.0));
        let cdf = figures.cdf_ms.unwrap();
        assert_eq!((cdf[0], cdf[CDF_STEPS]), (1.0, 200.0));
    }
}
