//! `cc-handoff`: goodput of each controller across two WiFi hand-offs beside LTE, over that of an uncoupled
//! one.
//!
//! `cc-handoff-thin`: the same with half the LTE rate.
//!
//! # Sources
//! - cla §V, Figure 6: a walk past access points with LTE beside them, 20 Mb/s offered, a trigger of 20 dB;
//!   against uncoupled, coupled (LIA) and OLIA.
//!
//! # Where we differ, and why
//! 1. At the trigger the next access point must also be 3 dB stronger: the policy `handover+cell`, the same
//!    for every controller.
//! 2. BALIA is measured only on request: the paper does not have it.
//! 3. CLA is also measured without radio reports: its first slow start ends by delay, which is not the
//!    paper's.
//! 4. With 12 Mb/s of LTE, WiFi and LTE together carry the offered load right up to the hand-off, and no
//!    controller loses anything. With 6 they carry less than the offered load while the WiFi fades, as in the
//!    paper's figure.
//!
//! # Checked by
//! `tests`: what counts as a hand-off, who is measured, and which runs measured nothing.

mod rates;

pub use rates::run as rates;

use anyhow::Context as _;
use lab::world::Advised;
use scenario::Plan;
use serde_json::{Value, json};
use show::tell;
use trace::{BenchRow, PolicyName, RunRecord, SubflowEvent, TheirsFrom, What};
use units::{Duration, Instant};

use super::{CONTROL, OURS, read, sent_as_asked, sent_with, went_over_all};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{self, Doubts, Observed, Trial};

/// The controller whose figure is quoted, unless the user chooses another.
const QUOTED: &str = "cla";
/// The controllers measured beside it.
const OTHERS: [&str; 3] = [CONTROL, "lia", "olia"];
/// The only controller that takes radio reports.
const ADVISED: &str = "cla";
/// How long before and after its new subflow a hand-off is measured.
const AROUND: Duration = Duration::from_millis(2_500);
/// Number of hand-offs in a run.
const HANDOFFS: usize = 2;

/// Cost of one hand-off.
#[derive(Debug, Clone, Copy)]
struct Cost {
    retransmits: f64,
    bytes: f64,
}

impl Cost {
    /// Goodput over the measured time, in Mb/s.
    fn mbps(&self) -> f64 {
        self.bytes * 8e-6 / (2 * AROUND).as_secs_f64()
    }
}

/// Measures the walk with its own LTE rate.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, &[])
}

/// Measures the walk with an LTE too slow to make up for the fading WiFi.
pub fn thin(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, &["cells.lte.rate_mbps=6"])
}

/// Measures both directions. The figure is the quoted controller's goodput over the control's, each the mean
/// of all hand-offs.
fn measure(setup: &Setup, settings: &[&str]) -> anyhow::Result<Vec<BenchRow>> {
    let quoted = setup.cc.as_deref().unwrap_or(QUOTED);
    let senders = senders(quoted);
    let mut row = setup.only_row().with("cc", quoted);
    let plans = [walk(settings, Way::Down)?, walk(settings, Way::Up)?];
    let measured = WAYS.iter().zip(&plans).map(|(&way, plan)| Measured {
        plan,
        way,
        senders: &senders,
    });
    let (walks, doubts) = observe(setup, &measured.collect::<Vec<_>>())?;
    let (mut goodputs, mut void) = (Vec::new(), 0);
    for (way, walks) in WAYS.into_iter().zip(walks) {
        void += walks.iter().map(|walks| walks.void).sum::<usize>();
        let of = |cc| {
            let mut measured = senders.iter().zip(&walks);
            measured.find_map(|(sender, walks)| (sender.advised && sender.cc == cc).then_some(walks))
        };
        let control = of(CONTROL).context("the control is always measured")?;
        let control = mean(&control.costs);
        for (sender, walks) in senders.iter().zip(&walks) {
            let name = format!("{}_{}", sender.name(), way.name());
            row = row.with(&name, walks.beside(control));
        }
        goodputs.extend(
            of(quoted)
                .into_iter()
                .flat_map(|walks| ratios(&walks.costs, control)),
        );
    }
    let row = doubts.note(row.trials(&goodputs).with("void", void));
    Ok(vec![BenchRow {
        peer: Some("uncoupled reno".to_owned()),
        theirs: Some(1.0),
        theirs_from: TheirsFrom::ThisRun,
        ratio: row.ours,
        ..row
    }])
}

/// Direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Down,
    Up,
}

const WAYS: [Way; 2] = [Way::Down, Way::Up];

impl Way {
    /// Name of the way in scenarios.
    const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

fn walk(settings: &[&str], way: Way) -> anyhow::Result<Plan> {
    let way = format!("flows.ours.direction={}", way.name());
    let settings: Vec<&str> = settings.iter().copied().chain([way.as_str()]).collect();
    plans::embedded_with(
        "cc-handoff",
        include_str!("../scenarios/cc-handoff.toml"),
        &settings,
    )
}

/// The sending controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sender<'c> {
    cc: &'c str,
    /// Whether the sender gets radio reports, if its controller takes them.
    advised: bool,
}

impl Sender<'_> {
    fn name(&self) -> String {
        let unadvised = if self.advised { "" } else { "_unadvised" };
        format!("{}{unadvised}", self.cc)
    }
}

/// The quoted controller and those beside it. If the quoted one takes radio reports, it is measured without
/// them too, which shows what the reports contribute.
fn senders(quoted: &str) -> Vec<Sender<'_>> {
    let others = OTHERS.into_iter().filter(|&cc| cc != quoted);
    let advised = std::iter::once(quoted)
        .chain(others)
        .map(|cc| Sender { cc, advised: true });
    let unadvised = (quoted == ADVISED).then_some(Sender {
        cc: ADVISED,
        advised: false,
    });
    advised.chain(unadvised).collect()
}

/// A walk measured with several senders.
struct Measured<'p> {
    plan: &'p Plan,
    way: Way,
    senders: &'p [Sender<'p>],
}

impl Measured<'_> {
    /// Trials of every sender, seed by seed.
    fn trials(&self, setup: &Setup) -> Vec<(Trial, bool)> {
        let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
        let of_seed = |seed| {
            self.senders.iter().map(move |sender| {
                let trial = Trial {
                    plan: sent_with(self.plan, sender.cc),
                    policy: PolicyName::HandoverCell,
                    seed,
                };
                (trial, sender.advised)
            })
        };
        seeds.flat_map(of_seed).collect()
    }

    /// Walks of each sender.
    fn walks(&self, observed: &[Observed]) -> anyhow::Result<Vec<Walks>> {
        let of_sender = |at: usize| observed.iter().skip(at).step_by(self.senders.len());
        let walks = self.senders.iter().enumerate().map(|(at, sender)| {
            let observed: Vec<&Observed> = of_sender(at).collect();
            Walks::of(sender, self.way, &observed)
        });
        walks.collect()
    }
}

/// Runs each of these walks with each of its senders, all side by side. Returns the walks and any doubts
/// about the figures.
fn observe(setup: &Setup, all: &[Measured<'_>]) -> anyhow::Result<(Vec<Vec<Walks>>, Doubts)> {
    let trials: Vec<Vec<_>> = all.iter().map(|measured| measured.trials(setup)).collect();
    let counts: Vec<usize> = trials.iter().map(Vec::len).collect();
    let observed = trial::side_by_side_advised(trials.into_iter().flatten().collect())?;
    for observed in &observed {
        sent_as_asked(observed)?;
    }
    let mut rest = observed.as_slice();
    let of_each = all.iter().zip(counts).map(|(measured, count)| {
        let (own, others) = rest.split_at(count);
        rest = others;
        measured.walks(own)
    });
    let walks = of_each.collect::<anyhow::Result<Vec<Vec<Walks>>>>()?;
    Ok((walks, Doubts::of(&observed)))
}

/// Refuses a run in which an advised sender got no radio reports, or an unadvised one got some: it measured
/// something else.
fn was_advised(sender: &Sender<'_>, way: Way, observed: &Observed) -> anyhow::Result<()> {
    anyhow::ensure!(
        is_as_meant(sender, way, observed.advised),
        "seed {}, {}: the sender `{}` got other radio reports than the trial asks for ({:?}); this run has no result, please report this",
        observed.run.seed,
        way.name(),
        sender.name(),
        observed.advised
    );
    Ok(())
}

/// Whether the sender got radio reports as planned.
///
/// The lab's two hosts share one controller, and so one count of windows. The server's are those it set from
/// reports, the rest are the client's own. An advised sender must have set some. In an unadvised run there
/// must be none.
fn is_as_meant(sender: &Sender<'_>, way: Way, advised: Option<Advised>) -> bool {
    let Some(advised) = advised else {
        return sender.cc != ADVISED;
    };
    let at_server = advised.heard.map_or(0, |heard| heard.orders);
    let at_client = u64::from(advised.orders).saturating_sub(at_server);
    match (sender.advised, way) {
        (true, Way::Down) => at_server > 0,
        (true, Way::Up) => at_client > 0,
        (false, _) => advised.orders == 0,
    }
}

/// Runs of one controller.
#[derive(Debug)]
struct Walks {
    /// Cost of each hand-off.
    costs: Vec<Cost>,
    /// Runs with another number of hand-offs, or that used fewer links than there are: a different walk, left
    /// out.
    void: usize,
}

impl Walks {
    fn of(sender: &Sender<'_>, way: Way, observed: &[&Observed]) -> anyhow::Result<Self> {
        let mut walks = Self {
            costs: Vec::new(),
            void: 0,
        };
        for observed in observed {
            match handoffs_over_all(observed) {
                Ok(handoffs) => {
                    was_advised(sender, way, observed)?;
                    let costs = handoffs.into_iter().map(|at| cost(&observed.record, at));
                    walks.costs.extend(costs);
                }
                Err(why) => {
                    tell!("{} is void: {why}", sender.name());
                    walks.void += 1;
                }
            }
        }
        anyhow::ensure!(
            !walks.costs.is_empty(),
            "{}: no run had {HANDOFFS} hand-offs and went over all links; this machine is too busy: stop other programs",
            sender.name()
        );
        Ok(walks)
    }

    /// Costs of the hand-offs relative to the mean of the uncoupled controller's.
    fn beside(&self, control: Cost) -> Value {
        let (each, all) = (&self.costs, mean(&self.costs));
        json!({
            "handoffs": each.len(),
            "void": self.void,
            "retransmits": all.retransmits,
            "retransmits_spread": super::spread(&figures(each, |cost| cost.retransmits)),
            "retransmits_ratio": (control.retransmits > 0.0).then(|| all.retransmits / control.retransmits),
            "goodput_mbps": all.mbps(),
            "goodput_mbps_spread": super::spread(&figures(each, Cost::mbps)),
            "goodput_ratio": all.bytes / control.bytes.max(1e-9),
            "goodput_ratio_spread": super::spread(&ratios(each, control)),
        })
    }
}

/// Times of the hand-offs of a valid run: both took place, and LTE and every access point carried data.
fn handoffs_over_all(observed: &Observed) -> anyhow::Result<Vec<Instant>> {
    let handoffs = handoffs(&observed.record);
    anyhow::ensure!(
        handoffs.len() == HANDOFFS,
        "seed {}: {} hand-offs, not {HANDOFFS}",
        observed.run.seed,
        handoffs.len()
    );
    went_over_all(&observed.run)?;
    Ok(handoffs)
}

/// Times at which a subflow over another access point than the last one came up.
fn handoffs(record: &RunRecord) -> Vec<Instant> {
    let mut last: Option<&str> = None;
    let mut handoffs = Vec::new();
    for event in &record.events {
        let What::Subflow {
            link,
            event: SubflowEvent::Established,
            ..
        } = &event.what
        else {
            continue;
        };
        if link == "lte" {
            continue;
        }
        if last.is_some_and(|last| last != link) {
            handoffs.push(event.at());
        }
        last = Some(link);
    }
    handoffs
}

fn cost(record: &RunRecord, at: Instant) -> Cost {
    let from = Instant::ZERO + at.since(Instant::ZERO).saturating_sub(AROUND);
    let to = at + AROUND;
    Cost {
        retransmits: read::retransmits_between(record, OURS, from, to) as f64,
        bytes: read::read_between(record, OURS, from, to) as f64,
    }
}

fn mean(costs: &[Cost]) -> Cost {
    let count = costs.len().max(1) as f64;
    let sum = |part: fn(&Cost) -> f64| costs.iter().map(part).sum::<f64>();
    Cost {
        retransmits: sum(|cost| cost.retransmits) / count,
        bytes: sum(|cost| cost.bytes) / count,
    }
}

fn figures(costs: &[Cost], figure: fn(&Cost) -> f64) -> Vec<f64> {
    costs.iter().map(figure).collect()
}

fn ratios(costs: &[Cost], control: Cost) -> Vec<f64> {
    let ratio = |cost: &Cost| cost.bytes / control.bytes.max(1e-9);
    costs.iter().map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::cla::Heard;
    use scenario::{LinkKind, Work};
    use trace::Event;

    #[test]
    fn the_thin_walk_has_half_the_lte_and_goes_both_ways() {
        let lte = |settings: &[&str], way| {
            let plan = walk(settings, way).unwrap();
            let cell = plan.links.iter().find_map(|link| match &link.kind {
                LinkKind::Cell(cell) => Some(cell.down.mean().as_mbps_f64()),
                _ => None,
            });
            (cell.unwrap(), matches!(plan.flows[0].work, Work::Upload { .. }))
        };
        assert_eq!(lte(&[], Way::Down), (12.0, false));
        assert_eq!(lte(&["cells.lte.rate_mbps=6"], Way::Up), (6.0, true));
    }

    #[test]
    fn who_is_told_of_the_radio_is_measured_without_that_too() {
        let names = |quoted| {
            let senders = senders(quoted);
            senders.iter().map(Sender::name).collect::<Vec<_>>()
        };
        assert_eq!(names("cla"), ["cla", "reno", "lia", "olia", "cla_unadvised"]);
        assert_eq!(names("olia"), ["olia", "reno", "lia"]);
    }

    #[test]
    fn a_sender_that_was_told_nothing_measured_nothing() {
        let advised = |orders, of_server| {
            let heard = Heard {
                orders: of_server,
                ..Heard::default()
            };
            Some(Advised {
                orders,
                heard: Some(heard),
            })
        };
        let (cla, untold) = (senders("cla")[0], senders("cla")[4]);
        // The client's own windows do not count for a server that got no reports, nor the other way round.
        assert!(!is_as_meant(&cla, Way::Down, advised(3, 0)));
        assert!(is_as_meant(&cla, Way::Down, advised(3, 2)));
        assert!(is_as_meant(&cla, Way::Up, advised(3, 0)));
        assert!(!is_as_meant(&cla, Way::Up, advised(2, 2)));
        assert!(!is_as_meant(&cla, Way::Up, advised(0, 0)));
        // An unadvised run has no windows. A sender that takes reports must state how many it has.
        assert!(is_as_meant(&untold, Way::Down, advised(0, 0)));
        assert!(!is_as_meant(&untold, Way::Down, advised(1, 0)));
        assert!(!is_as_meant(&cla, Way::Up, None));
        assert!(is_as_meant(&senders("cla")[1], Way::Up, None));
    }

    #[test]
    fn a_hand_off_is_the_next_access_points_subflow() {
        let established = |s: u64, link: &str| {
            let what = What::Subflow {
                conn: 1,
                link: link.to_owned(),
                event: SubflowEvent::Established,
                backup: false,
            };
            Event::new(Instant::from_secs(s), what)
        };
        let events = vec![
            established(1, "west"),
            established(1, "lte"),
            established(20, "middle"),
            established(21, "middle"),
            established(40, "east"),
        ];
        let found = handoffs(&RunRecord { events });
        assert_eq!(found, [Instant::from_secs(20), Instant::from_secs(40)]);
    }
}
