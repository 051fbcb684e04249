//! Synthetic comparison of a walk through a building: five access points on one channel, a stair well,
//! cellular, and one fault. It is not measured, and covers every part of the output formats.

use trace::{
    Event, Flow, FlowMeter, LatenessUs, LinkKind, LinkState, LinkUse, PathUse, Plan, PlanFault, PlanLink,
    PlayDocument, PlaySchema, PolicyName, Role, Run, RunRecord, RunStart, SubflowEvent, Walker, Waypoint,
    What, World, tcp_best,
};
use units::{Instant, Rng};

const SECONDS: u64 = 60;
const STEPS: u64 = SECONDS * 10;
const LTE: usize = 5;
const SEED: u64 = 7;
/// Positions of the access points, in metres east and north.
const APS: [(f64, f64); 5] = [
    (8.0, 22.0),
    (27.0, 12.0),
    (46.0, 24.0),
    (62.0, 10.0),
    (74.0, 25.0),
];
/// Index of the access point that stays up and drops everything, and the step (100 ms) at which it starts.
const BROKEN: (usize, u64) = (2, 305);

fn plan() -> Plan {
    let wifi = |index: usize| PlanLink {
        x_m: Some(APS[index].0),
        y_m: Some(APS[index].1),
        channel: Some(6),
        standard: Some("g".into()),
        rate_mbps: Some(50.0),
        delay_ms: Some(20.0),
        ..PlanLink::new(format!("ap{}", index + 1), LinkKind::Wifi)
    };
    let mut links: Vec<PlanLink> = (0..APS.len()).map(wifi).collect();
    let lte = PlanLink::new("lte", LinkKind::Cell);
    links.push(PlanLink {
        rate_mbps: Some(12.0),
        delay_ms: Some(60.0),
        role: Some(Role::Primary),
        ..lte
    });
    let points = [
        (0.0, 2.0, 17.0),
        (22.0, 34.0, 17.0),
        (28.0, 42.0, 17.0),
        (48.0, 68.0, 17.0),
        (60.0, 78.0, 21.0),
    ];
    Plan {
        name: "building-walk".into(),
        sentence: "A minute's walk past five access points of one channel, with a stair well on the way."
            .into(),
        duration_s: SECONDS as f64,
        links,
        walls: vec![
            [0.0, 4.0, 80.0, 4.0],
            [80.0, 4.0, 80.0, 30.0],
            [80.0, 30.0, 0.0, 30.0],
            [0.0, 30.0, 0.0, 4.0],
            [0.0, 14.0, 36.0, 14.0],
            [36.0, 14.0, 36.0, 4.0],
            [52.0, 4.0, 52.0, 14.0],
            [52.0, 14.0, 80.0, 14.0],
            [18.0, 20.0, 18.0, 30.0],
            [0.0, 20.0, 36.0, 20.0],
            [54.0, 20.0, 54.0, 30.0],
        ],
        walkers: vec![Walker {
            name: "client".into(),
            points: points
                .into_iter()
                .map(|(t_s, x_m, y_m)| Waypoint { t_s, x_m, y_m })
                .collect(),
        }],
        faults: vec![PlanFault {
            t_s: BROKEN.1 as f64 / 10.0,
            link: "ap3".into(),
            what: "drops everything".into(),
        }],
    }
}

fn client(step: u64) -> (f64, f64) {
    let t = step as f64 / 10.0;
    (2.0 + 76.0 * t / 60.0, 17.0)
}

/// Rate that an access point could carry alone, in Mb/s.
fn capacity(ap: usize, step: u64) -> f64 {
    let (x, y) = client(step);
    let distance = (x - APS[ap].0).hypot(y - APS[ap].1);
    let rate = 22.0 * (1.25 - (distance / 21.0).powi(2)).clamp(0.0, 1.0);
    if ap == BROKEN.0 && step >= BROKEN.1 {
        0.0
    } else {
        rate
    }
}

fn best(step: u64) -> usize {
    (0..APS.len())
        .max_by(|a, b| capacity(*a, step).total_cmp(&capacity(*b, step)))
        .unwrap()
}

/// Rate of each link in this step, in Mb/s. `since` is the number of steps since the policy changed to its
/// current access point.
fn rates(policy: &PolicyName, step: u64, since: u64) -> [f64; 6] {
    let mut out = [0.0; 6];
    let here = best(step);
    let lte = 11.4;
    match policy {
        PolicyName::Tcp(link) if link == "lte" => out[LTE] = lte,
        PolicyName::Tcp(link) => {
            let ap: usize = link.trim_start_matches("ap").parse().unwrap();
            out[ap - 1] = capacity(ap - 1, step) * 0.96;
        }
        PolicyName::Handover => {
            out[here] = if since < 26 {
                0.0
            } else {
                capacity(here, step) * 0.95
            }
        }
        PolicyName::HandoverWarm => {
            out[here] = if since < 5 {
                0.0
            } else {
                capacity(here, step) * 0.95
            }
        }
        PolicyName::HandoverCell => {
            out[here] = if since < 5 {
                0.0
            } else {
                capacity(here, step) * 0.9
            };
            out[LTE] = if since < 5 { 0.0 } else { lte * 0.7 };
        }
        PolicyName::WifiFirst if capacity(here, step) > 3.0 => {
            out[here] = if since < 5 {
                0.0
            } else {
                capacity(here, step) * 0.95
            };
        }
        PolicyName::WifiFirst => out[LTE] = lte,
        PolicyName::Mptcp => {
            let heard = (0..5).filter(|ap| capacity(*ap, step) > 1.0).count().max(1) as f64;
            (0..5).for_each(|ap| out[ap] = capacity(ap, step) / heard * 0.9);
            out[LTE] = lte * 0.55;
            if since < 8 {
                out = [0.0; 6];
            }
        }
        ours => {
            let whole = if *ours == PolicyName::Slowhand { 0.95 } else { 0.85 };
            out[here] = capacity(here, step) * whole;
            out[LTE] = if since < 4 && whole < 0.9 {
                0.0
            } else {
                lte * whole
            };
        }
    }
    out
}

struct Writer {
    events: Vec<Event>,
    flow: FlowMeter,
    carried: [u64; 6],
    read: u64,
    rng: Rng,
}

fn name(link: usize) -> String {
    if link == LTE {
        "lte".into()
    } else {
        format!("ap{}", link + 1)
    }
}

impl Writer {
    fn push(&mut self, now: Instant, what: What) {
        self.events.push(Event::new(now, what));
    }

    fn step(&mut self, step: u64, rates: [f64; 6]) {
        let now = Instant::from_millis((step + 1) * 100);
        for (link, rate) in rates.into_iter().enumerate() {
            let noise = 1.0 + 0.09 * self.rng.normal();
            let bytes = (rate * 1e6 / 80.0 * noise.max(0.2)) as u64;
            self.carried[link] += bytes;
            self.read += bytes;
            let (flow, link, bytes) = ("download".to_owned(), name(link), self.carried[link]);
            self.push(now, What::PathBytes { flow, link, bytes });
            self.reads(step, bytes_of(rate, noise));
        }
        let (flow, bytes) = ("download".to_owned(), self.read);
        self.push(now, What::AppBytes { flow, bytes });
    }

    fn reads(&mut self, step: u64, bytes: u64) {
        if step == 0 || bytes == 0 {
            return;
        }
        // Splits each step into two reads, so that normal steps have no gap near the stall limit.
        for part in [10, 55] {
            let at = Instant::from_millis(step * 100 + part);
            if let Some(stall) = self.flow.read(at, bytes / 2) {
                let (from_ns, to_ns) = (stall.from.as_nanos(), stall.to.as_nanos());
                self.push(
                    at,
                    What::Stall {
                        flow: "download".into(),
                        from_ns,
                        to_ns,
                    },
                );
            }
        }
    }

    fn changed(&mut self, step: u64, from: Option<usize>, to: usize, policy: &PolicyName) {
        let now = Instant::from_millis(step * 100);
        let link = name(to);
        self.push(
            now,
            What::LinkState {
                link: link.clone(),
                state: LinkState::Up,
            },
        );
        if let Some(from) = from {
            let (link, event) = (name(from), SubflowEvent::Closed);
            self.push(
                now,
                What::Subflow {
                    conn: 9,
                    link,
                    event,
                    backup: false,
                },
            );
        }
        let (event, backup) = (SubflowEvent::Established, false);
        self.push(
            now,
            What::Subflow {
                conn: 9,
                link: link.clone(),
                event,
                backup,
            },
        );
        let (x, y) = client(step);
        let why = format!(
            "{link} could carry {:.1} Mb/s at {x:.0} m, {y:.0} m: more than any other",
            capacity(to, step)
        );
        if !matches!(policy, PolicyName::Mptcp | PolicyName::Tcp(_)) {
            self.push(
                now,
                What::Decision {
                    link: Some(link),
                    conn: Some(9),
                    verb: "use".into(),
                    reason: String::new(),
                    why,
                },
            );
        }
    }

    fn faulty(&mut self, policy: &PolicyName) {
        let now = Instant::from_millis(BROKEN.1 * 100);
        let link = name(BROKEN.0);
        self.push(
            now,
            What::Fault {
                link: link.clone(),
                fault: "drops everything".into(),
                applied: true,
            },
        );
        if policy.is_ours() {
            let why = "nothing for 74 ms on ap3 <while> lte delivers & a probe stays unanswered".to_owned();
            self.push(
                now,
                What::Decision {
                    link: Some(link),
                    conn: Some(9),
                    verb: "remove".into(),
                    reason: String::new(),
                    why,
                },
            );
        }
    }

    fn levels(&mut self, step: u64, policy: &PolicyName) {
        let now = Instant::from_millis(step * 100 + 50);
        let wave = 1.0 + 0.2 * self.rng.normal();
        let queue = if *policy == PolicyName::Slowhand {
            420_000.0
        } else {
            2_900_000.0
        };
        self.push(
            now,
            What::ServerQueue {
                conn: 9,
                bytes: (queue * wave.max(0.1)) as u64,
            },
        );
        self.push(
            now,
            What::OutOfOrder {
                conn: 9,
                bytes: (queue * 0.2 * wave.max(0.0)) as u64,
            },
        );
        if *policy == PolicyName::Slowhand && step.is_multiple_of(25) {
            let bytes = Some(600_000 - step * 200);
            self.push(
                now,
                What::Window {
                    conn: 9,
                    bytes,
                    why: "2 × 34 Mb/s × 60 ms".into(),
                },
            );
        }
    }
}

fn bytes_of(rate: f64, noise: f64) -> u64 {
    (rate * 1e6 / 80.0 * noise.max(0.2)) as u64
}

fn started(policy: &PolicyName) -> Event {
    let start = RunStart {
        scenario: "building-walk".into(),
        world: World::Lab,
        policy: policy.clone(),
        cc: Some("reno".into()),
        server: "stock".into(),
        seed: SEED,
        plan: plan(),
    };
    Event::new(Instant::ZERO, What::RunStart(Box::new(start)))
}

fn record(policy: &PolicyName) -> (RunRecord, Run) {
    let mut writer = Writer {
        events: vec![started(policy)],
        flow: FlowMeter::new("download", Instant::ZERO),
        carried: [0; 6],
        read: 0,
        rng: Rng::named(SEED, &policy.to_string()),
    };
    let (mut at, mut since) = (None, 100);
    for step in 0..STEPS {
        if at != Some(best(step)) {
            writer.changed(step, at, best(step), policy);
            since = if at.is_none() { 100 } else { 0 };
            at = Some(best(step));
        }
        if step == BROKEN.1 {
            writer.faulty(policy);
        }
        writer.levels(step, policy);
        writer.step(step, rates(policy, step, since));
        since += 1;
    }
    finish(writer, policy)
}

fn finish(mut writer: Writer, policy: &PolicyName) -> (RunRecord, Run) {
    let end = Instant::from_secs(SECONDS);
    if let Some(stall) = writer.flow.end(end) {
        let (from_ns, to_ns) = (stall.from.as_nanos(), stall.to.as_nanos());
        writer.push(
            end,
            What::Stall {
                flow: "download".into(),
                from_ns,
                to_ns,
            },
        );
    }
    writer.push(
        end,
        What::Lateness(LatenessUs {
            p50_us: 40,
            p99_us: 310,
            max_us: 900,
        }),
    );
    let carried = writer.carried;
    let path = |link: usize| PathUse {
        link: name(link),
        bytes: carried[link],
        retransmits: 3,
        segments: None,
        ce_marks: 0,
        rtt: None,
    };
    let flow: Flow = writer.flow.result(end, true, (0..6).map(path).collect());
    let run = Run {
        policy: policy.clone(),
        case: trace::Case::default(),
        cc: Some("reno".into()),
        server: "stock".into(),
        seed: SEED,
        duration_s: SECONDS as f64,
        flows: vec![flow],
        links: (0..6).map(used).collect(),
        stations: Vec::new(),
        channels: Vec::new(),
        warmup_s: 0.0,
        energy_j: 0.0,
        optimal_mbps: 31.0,
        goodput_series: writer.flow.series().to_vec(),
        levels: trace::Levels::default(),
        notes: Vec::new(),
    };
    writer.push(
        end,
        What::RunEnd {
            summary: Box::new(run.clone()),
        },
    );
    (
        RunRecord {
            events: writer.events,
        },
        run,
    )
}

fn used(link: usize) -> LinkUse {
    let kind = if link == LTE {
        LinkKind::Cell
    } else {
        LinkKind::Wifi
    };
    LinkUse {
        name: name(link),
        kind,
        frames: 1_000,
        retries: 40,
        collisions: 2,
        airtime_share: 0.3,
        marks: None,
        sent_marks: None,
    }
}

/// Records and document of a comparison of all policies.
pub fn comparison() -> (Vec<RunRecord>, PlayDocument) {
    let singles = (0..6).map(|link| PolicyName::Tcp(name(link)));
    let others = [
        PolicyName::Handover,
        PolicyName::HandoverWarm,
        PolicyName::HandoverCell,
        PolicyName::WifiFirst,
        PolicyName::Mptcp,
        PolicyName::Slowhand,
        PolicyName::SlowhandNoWindow,
    ];
    let (records, mut runs): (Vec<_>, Vec<_>) = singles.chain(others).map(|policy| record(&policy)).unzip();
    runs.push(tcp_best(&runs).expect("there are single networks"));
    let document = PlayDocument {
        schema: PlaySchema,
        scenario: "building-walk".into(),
        world: World::Lab,
        seed: SEED,
        runs,
        wall_s: 126.4,
    };
    (records, document)
}
