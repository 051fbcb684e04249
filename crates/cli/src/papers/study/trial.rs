//! One run, and what is kept of it.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use scenario::Plan;
use sim::{Play, RoundTrip, play};
use trace::{Datagrams, Event, LinkState, LinkUse, Playback, PolicyName, What};

use super::gaps;

/// A part of a run, in seconds since its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

/// What the flows of a run did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trial {
    pub(super) duration_s: f64,
    flows: Vec<FlowTrial>,
    pub(super) marked_percent: f64,
    /// Times between packets that the client's radio received, in ms, from short to long. Empty if nobody
    /// wants them.
    gaps_ms: Vec<f64>,
    /// How long links took to be up again after a fault, in seconds.
    backs_s: BTreeMap<String, f64>,
    /// When acknowledgements arrived over each link, in seconds, and the round-trip time of each, in ms.
    /// Empty if nobody wants them.
    round_trips: BTreeMap<String, Vec<(f64, f64)>>,
}

/// What a run keeps only for those who want it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    /// Times between packets, which take a run of their own.
    pub(super) gaps: bool,
    pub(super) round_trips: bool,
}

/// What one flow did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FlowTrial {
    name: String,
    /// Times, in seconds, and the bytes read until then.
    read: Vec<(f64, u64)>,
    datagrams: Option<Datagrams>,
    /// From its start to its end, or to the end of the run.
    pub(super) seconds: f64,
    pub(super) stall_s: f64,
    /// What its player did.
    playback: Option<Playback>,
    /// Bytes that each link carried of it.
    paths: Vec<(String, u64)>,
    /// When its application began to wait for data, in seconds, and for how long, in ms.
    waits: Vec<(f64, f64)>,
}

impl Trial {
    /// Plays a plan in virtual time.
    pub(super) fn of(plan: &Plan, policy: &PolicyName, seed: u64, wanted: Wanted) -> anyhow::Result<Self> {
        let mut what = Play::new(plan, policy.clone());
        what.seed = seed;
        what.round_trips = wanted.round_trips;
        let played = play(&what)?;
        let stopped = played.stopped.is_some();
        ensure!(!stopped, "{}: {}", plan.name, played.run.notes.join("; "));
        let flow = |(number, flow): (usize, &trace::Flow)| FlowTrial {
            name: flow.name.clone(),
            read: read(&played.record.events, &flow.name),
            datagrams: flow.datagrams,
            seconds: flow.bytes as f64 * 8e-6 / flow.goodput_mbps.max(1e-9),
            stall_s: flow.longest_stall_ms / 1e3,
            playback: flow.playback,
            paths: flow
                .paths
                .iter()
                .map(|path| (path.link.clone(), path.bytes))
                .collect(),
            waits: played.waits.get(number).into_iter().flatten().map(wait).collect(),
        };
        Ok(Self {
            duration_s: played.run.duration_s,
            flows: played.run.flows.iter().enumerate().map(flow).collect(),
            marked_percent: marked_percent(&played.run.links),
            backs_s: backs(&played.record.events),
            round_trips: round_trips(plan, &played.round_trips),
            gaps_ms: match wanted.gaps {
                true => gaps::between(plan, seed)?,
                false => Vec::new(),
            },
        })
    }

    /// As if a plan had been played in which nothing moved.
    #[cfg(test)]
    pub(super) fn of_nothing(plan: &Plan) -> Self {
        let flow = |flow: &scenario::Flow| FlowTrial {
            name: flow.name.clone(),
            read: Vec::new(),
            datagrams: Some(Datagrams::default()),
            seconds: 0.0,
            stall_s: 0.0,
            playback: Some(Playback::default()),
            paths: Vec::new(),
            waits: Vec::new(),
        };
        let last_s = plan.duration.as_secs_f64() - 1e-3;
        Self {
            duration_s: plan.duration.as_secs_f64(),
            flows: plan.flows.iter().map(flow).collect(),
            marked_percent: 0.0,
            gaps_ms: vec![0.0],
            backs_s: plan.links.iter().map(|link| (link.name.clone(), 0.0)).collect(),
            round_trips: plan
                .links
                .iter()
                .map(|link| (link.name.clone(), vec![(last_s, 0.0)]))
                .collect(),
        }
    }

    /// How long a link took to be up again.
    pub(super) fn back_s(&self, link: &str) -> anyhow::Result<f64> {
        let found = self.backs_s.get(link).copied();
        found.with_context(|| format!("`{link}` did not come up after a fault"))
    }

    /// A percentile of the times between packets.
    pub(super) fn gap_ms(&self, percent: u8) -> anyhow::Result<f64> {
        percentile(&self.gaps_ms, percent).context("the client received no packets")
    }

    /// A percentile of the round-trip times over a link.
    pub(super) fn round_trip_ms(&self, percent: u8, link: &str, span: Span) -> anyhow::Result<f64> {
        let samples = self.round_trips.get(link);
        let within = samples.into_iter().flatten().filter(|(at_s, _)| span.has(*at_s));
        let mut times: Vec<f64> = within.map(|(_, ms)| *ms).collect();
        times.sort_by(f64::total_cmp);
        percentile(&times, percent).with_context(|| format!("nothing was acknowledged over `{link}`"))
    }

    pub(super) fn flow(&self, name: &str) -> anyhow::Result<&FlowTrial> {
        let found = self.flows.iter().find(|flow| flow.name == name);
        found.with_context(|| format!("the scenario has no flow `{name}`"))
    }

    /// What a link carried of this flow, or of all of them, in percent.
    pub(super) fn share_percent(&self, link: &str, flow: Option<&str>) -> anyhow::Result<f64> {
        let over = match flow {
            Some(flow) => carried(std::slice::from_ref(self.flow(flow)?)),
            None => carried(&self.flows),
        };
        let all: u64 = over.values().sum();
        let bytes = over.get(link).copied().unwrap_or(0);
        Ok(100.0 * bytes as f64 / all.max(1) as f64)
    }

    /// What the busiest link carried of all flows, in percent.
    pub(super) fn dominant_percent(&self) -> f64 {
        let over = carried(&self.flows);
        let (all, most) = (over.values().sum::<u64>(), over.values().max());
        100.0 * most.copied().unwrap_or(0) as f64 / all.max(1) as f64
    }

    /// Of each flow, in Mb/s.
    pub(super) fn goodputs(&self, span: Span) -> impl Iterator<Item = f64> {
        self.flows.iter().map(move |flow| flow.goodput_mbps(span))
    }
}

impl FlowTrial {
    pub(super) fn goodput_mbps(&self, span: Span) -> f64 {
        let bytes = self.read_until(span.to_s) - self.read_until(span.from_s);
        bytes as f64 * 8e-6 / (span.to_s - span.from_s)
    }

    pub(super) fn datagrams(&self) -> anyhow::Result<Datagrams> {
        self.datagrams
            .with_context(|| format!("`{}` has no datagrams that are counted", self.name))
    }

    pub(super) fn playback(&self) -> anyhow::Result<Playback> {
        self.playback
            .with_context(|| format!("`{}` has no `video`", self.name))
    }

    /// Goodput in each whole window of a part of the run.
    pub(super) fn windows(&self, span: Span, length_s: f64) -> Vec<f64> {
        let count = ((span.to_s - span.from_s) / length_s).floor() as u32;
        let window = |number| {
            let from_s = span.from_s + f64::from(number) * length_s;
            let to_s = from_s + length_s;
            self.goodput_mbps(Span { from_s, to_s })
        };
        (0..count).map(window).collect()
    }

    /// A percentile of the times that its application waited, in ms. Zero without any.
    pub(super) fn wait_ms(&self, percent: u8, span: Span) -> f64 {
        let within = self.waits.iter().filter(|(from_s, _)| span.has(*from_s));
        let mut waits: Vec<f64> = within.map(|(_, ms)| *ms).collect();
        waits.sort_by(f64::total_cmp);
        percentile(&waits, percent).unwrap_or(0.0)
    }

    fn read_until(&self, time_s: f64) -> u64 {
        let later = self.read.partition_point(|(at, _)| *at <= time_s);
        later.checked_sub(1).map_or(0, |last| self.read[last].1)
    }
}

impl Span {
    fn has(self, time_s: f64) -> bool {
        (self.from_s..self.to_s).contains(&time_s)
    }
}

/// The smallest value that at least this share of them does not exceed. They are in ascending order.
fn percentile(sorted: &[f64], percent: u8) -> Option<f64> {
    let place = (sorted.len() * usize::from(percent)).div_ceil(100);
    sorted.get(place.saturating_sub(1)).copied()
}

fn wait(wait: &trace::Stall) -> (f64, f64) {
    (
        wait.from.as_nanos() as f64 / 1e9,
        wait.length().as_secs_f64() * 1e3,
    )
}

/// The client's marks on packets that arrived over all links.
fn marked_percent(links: &[LinkUse]) -> f64 {
    let marks = || links.iter().filter_map(|link| link.marks);
    let made: u64 = marks().map(|marks| marks.made).sum();
    let could: u64 = marks().map(|marks| marks.ect).sum();
    100.0 * made as f64 / could.max(1) as f64
}

/// Bytes that each link carried. A link without any may be absent.
fn carried(flows: &[FlowTrial]) -> BTreeMap<&str, u64> {
    let mut carried = BTreeMap::new();
    for (link, bytes) in flows.iter().flat_map(|flow| &flow.paths) {
        *carried.entry(link.as_str()).or_insert(0) += bytes;
    }
    carried
}

/// How long links took to be up with an address after the end of a fault, in seconds: each the last time.
fn backs(events: &[Event]) -> BTreeMap<String, f64> {
    let (mut ended, mut backs) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        let now_s = event.t_ns as f64 / 1e9;
        match &event.what {
            What::Fault { link, fault, .. } if fault.starts_with("is up again") => {
                ended.insert(link, now_s);
            }
            What::LinkState {
                link,
                state: LinkState::Up,
            } => {
                let took = ended.remove(link).map(|ended_s| now_s - ended_s);
                backs.extend(took.map(|took| (link.clone(), took)));
            }
            _ => {}
        }
    }
    backs
}

/// Round-trip times of all flows over each link.
fn round_trips(plan: &Plan, flows: &[Vec<RoundTrip>]) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut over = BTreeMap::new();
    for sample in flows.iter().flatten() {
        let times: &mut Vec<_> = over.entry(plan.links[sample.link].name.clone()).or_default();
        times.push((sample.at.as_nanos() as f64 / 1e9, sample.took.as_secs_f64() * 1e3));
    }
    over
}

/// What an application read, from the samples of the record.
fn read(events: &[Event], name: &str) -> Vec<(f64, u64)> {
    let of = |event: &Event| match &event.what {
        What::AppBytes { flow, bytes } if flow == name => Some((event.t_ns as f64 / 1e9, *bytes)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str, paths: &[(&str, u64)]) -> FlowTrial {
        let path = |&(link, bytes): &(&str, u64)| (link.to_owned(), bytes);
        FlowTrial {
            name: name.to_owned(),
            read: vec![(1.0, 500_000), (2.0, 1_000_000), (4.0, 3_000_000)],
            datagrams: None,
            seconds: 4.0,
            stall_s: 0.0,
            playback: None,
            paths: paths.iter().map(path).collect(),
            waits: vec![(0.5, 900.0), (1.5, 30.0), (2.5, 20.0), (3.5, 40.0)],
        }
    }

    #[test]
    fn goodput_counts_the_bytes_of_its_span() {
        let flow = flow("a", &[]);
        let mbps = |from_s, to_s| flow.goodput_mbps(Span { from_s, to_s });
        assert_eq!(mbps(0.0, 4.0), 6.0);
        assert_eq!(mbps(2.0, 4.0), 8.0);
        assert_eq!(mbps(0.0, 0.5), 0.0);
        let span = Span {
            from_s: 0.0,
            to_s: 4.5,
        };
        assert_eq!(flow.windows(span, 2.0), [4.0, 8.0]);
        assert_eq!(mbps(1.0, 3.0), 2.0, "a sample counts from its own time on");
    }

    #[test]
    fn a_link_is_back_from_the_end_of_its_fault_until_it_is_up() {
        let event = |t_ns, what| Event { t_ns, what };
        let state = |state| What::LinkState {
            link: "a".to_owned(),
            state,
        };
        let fault = |fault: &str| What::Fault {
            link: "a".to_owned(),
            fault: fault.to_owned(),
            applied: true,
        };
        let events = [
            event(0, state(LinkState::Up)),
            event(1_000_000_000, fault("is down")),
            event(2_000_000_000, fault("is up again")),
            event(2_500_000_000, state(LinkState::Carrier)),
            event(3_250_000_000, state(LinkState::Up)),
            event(9_000_000_000, state(LinkState::Up)),
        ];
        assert_eq!(backs(&events), BTreeMap::from([("a".to_owned(), 1.25)]));
    }

    #[test]
    fn waits_count_in_the_span_in_which_they_begin() {
        let (flow, span) = (flow("a", &[]), |from_s, to_s| Span { from_s, to_s });
        assert_eq!(flow.wait_ms(50, span(1.0, 4.0)), 30.0);
        assert_eq!(flow.wait_ms(99, span(1.0, 4.0)), 40.0);
        assert_eq!(flow.wait_ms(99, span(0.0, 4.0)), 900.0);
        assert_eq!(flow.wait_ms(99, span(4.0, 5.0)), 0.0);
    }

    #[test]
    fn values_are_those_of_a_flow_of_a_link_or_of_all() {
        let trial = Trial {
            duration_s: 4.0,
            flows: vec![
                flow("a", &[("ap1", 100), ("ap2", 300)]),
                flow("b", &[("ap1", 400)]),
            ],
            marked_percent: 0.0,
            gaps_ms: vec![1.0, 2.0, 3.0, 10.0],
            backs_s: BTreeMap::new(),
            round_trips: BTreeMap::from([(
                "ap1".to_owned(),
                vec![(0.5, 90.0), (1.5, 80.0), (2.5, 11.0), (2.6, 10.0)],
            )]),
        };
        assert_eq!(trial.share_percent("ap2", Some("a")).unwrap(), 75.0);
        assert_eq!(trial.share_percent("ap1", None).unwrap(), 62.5);
        assert_eq!(trial.share_percent("ap3", None).unwrap(), 0.0);
        assert_eq!(trial.dominant_percent(), 62.5);
        assert!(trial.share_percent("ap1", Some("c")).is_err());
        assert_eq!(
            (trial.gap_ms(50).unwrap(), trial.gap_ms(99).unwrap()),
            (2.0, 10.0)
        );
        let rtt = |percent, from_s| {
            trial
                .round_trip_ms(percent, "ap1", Span { from_s, to_s: 4.0 })
                .unwrap()
        };
        assert_eq!([rtt(50, 1.0), rtt(99, 1.0), rtt(99, 0.0)], [11.0, 80.0, 90.0]);
        let none = trial.round_trip_ms(
            50,
            "ap2",
            Span {
                from_s: 0.0,
                to_s: 4.0,
            },
        );
        assert!(none.unwrap_err().to_string().contains("over `ap2`"));
    }
}
