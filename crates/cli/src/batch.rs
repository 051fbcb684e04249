//! Many runs in the lab, side by side as long as the emulator is punctual.
//!
//! Each run has namespaces and a medium of its own, so that they share nothing but the processors. If that makes packets late,
//! the measurement is not a fair one: the run is repeated alone once the others are done, and fewer go side by side for a while.
//!
//! # Checked by
//! `tests`: late runs are repeated and say so; only those that had others beside them.

mod width;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use lab::shell::Programs;
use lab::stop::Stop;
use lab::world::{self, PlanError, Play, PlayError, Played};
use linux::bpf::WindowKind;
use scenario::{LinkKind, Plan, Work};
use trace::{Event, LatenessUs, PolicyName};
use units::{Bitrate, Duration};

use crate::exit::Refused;
use width::{Begun, Width};

/// One run to be made.
#[derive(Debug, Clone)]
pub struct Job {
    /// What should happen.
    pub plan: Plan,
    /// Who decides.
    pub policy: PolicyName,
    /// The seed of everything random.
    pub seed: u64,
    /// Programs instead of the scenario's flows.
    pub programs: Option<Programs>,
    /// How windows are bounded. `None`: the best way that the kernel offers.
    pub window: Option<WindowKind>,
    /// Count what our congestion controller costs.
    pub count_cost: bool,
    /// Nobody tells the senders' `cla` of the radio.
    pub unadvised: bool,
}

/// What came of a job.
#[derive(Debug)]
pub struct Done {
    /// The run.
    pub played: Played,
    /// How late packets left the emulator.
    pub lateness: LatenessUs,
}

/// How jobs are run.
pub struct Rules<'r> {
    /// A run whose 99th percentile of lateness is above this is repeated alone.
    pub punctual: Duration,
    /// Set when everything should end.
    pub stop: &'r Stop,
    /// Told what happens in which job, on the job's thread.
    pub watch: &'r (dyn Fn(usize, &Event) + Sync),
}

/// What all links of the runs that go on side by side may carry together, for each processor. A guess, on the careful side of what one emulator
/// carries (the bench `emulator`), and no more than where to begin: whether runs really fit is measured while they go on, and a late one
/// is repeated alone.
const PER_PROCESSOR: Bitrate = Bitrate::from_mbps(200);

/// What the failure of one run means to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failures {
    /// It ends them.
    EndAll,
    /// They go on, unless no other could fare better.
    AreKept,
}

/// More than this many 802.11g stations' worth of traffic does not fit into one channel.
const WIFI_CHANNEL: Bitrate = Bitrate::from_mbps(25);

/// More side by side than this save no time worth having.
const WIDEST: usize = 8;

/// Runs all jobs; results are in their order. The first failure ends the others.
pub fn run(jobs: &[Job], rules: &Rules<'_>) -> anyhow::Result<Vec<Done>> {
    let outcomes = run_with(jobs, rules, Failures::EndAll)?;
    Ok(outcomes.into_iter().collect::<Result<_, _>>()?)
}

/// The same; a run that fails costs no other its result. Only what the user must mend ends all of them.
pub fn run_each(jobs: &[Job], rules: &Rules<'_>) -> anyhow::Result<Vec<Result<Done, PlayError>>> {
    run_with(jobs, rules, Failures::AreKept)
}

fn run_with(
    jobs: &[Job],
    rules: &Rules<'_>,
    failures: Failures,
) -> anyhow::Result<Vec<Result<Done, PlayError>>> {
    let width = jobs.iter().map(Job::width).min().unwrap_or(1).min(jobs.len());
    let board = Board::new(jobs.len(), width, failures);
    std::thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| board.work(jobs, rules));
        }
    });
    let State {
        mut done,
        late,
        failed,
        ..
    } = board.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((index, error)) = failed {
        return Err(refused_or_failed(&jobs[index].plan, error));
    }
    for (index, first) in late {
        done[index] = Some(match play(index, &jobs[index], rules) {
            Ok(again) => Ok(repeated(again, first, rules.punctual)),
            Err(error) if failures.end_all(&error) => {
                return Err(refused_or_failed(&jobs[index].plan, error));
            }
            Err(error) => Err(error),
        });
    }
    anyhow::ensure!(
        !rules.stop.is_stopped(),
        "stopped; everything that it had made is gone"
    );
    Ok(done.into_iter().flatten().collect())
}

impl Failures {
    fn end_all(self, error: &PlayError) -> bool {
        self == Self::EndAll || is_refusal(error)
    }
}

/// How many runs of this plan go side by side.
pub fn width(plan: &Plan) -> usize {
    let most = offered(plan);
    fitting(asked(plan).map_or(most, |asked| asked.min(most)))
}

/// How many runs go side by side that carry so much.
fn fitting(carried: Bitrate) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let fitting = PER_PROCESSOR.as_bps() * processors / carried.as_bps().max(1);
    (fitting as usize).clamp(1, WIDEST)
}

impl Job {
    fn width(&self) -> usize {
        // Nobody knows what programs ask for.
        match self.programs {
            Some(_) => fitting(offered(&self.plan)),
            None => width(&self.plan),
        }
    }
}

/// What the applications of a plan ask for, if each of them asks for so much and no more.
fn asked(plan: &Plan) -> Option<Bitrate> {
    let limits = plan.flows.iter().map(|flow| match flow.work {
        Work::Download { limit, .. } | Work::Upload { limit, .. } => limit,
        Work::Requests { .. } | Work::Datagrams { .. } => None,
    });
    limits.sum()
}

/// What the links of a plan carry to the client at most, all together.
fn offered(plan: &Plan) -> Bitrate {
    let mut channels: Vec<u8> = plan.access_points().map(|(_, ap)| ap.channel).collect();
    channels.sort_unstable();
    channels.dedup();
    let wifi = WIFI_CHANNEL.as_bps() * channels.len() as u64;
    let mut behind = vec![0; plan.bottlenecks.len()];
    let mut direct = 0;
    for link in &plan.links {
        match &link.kind {
            LinkKind::Wifi(_) => {}
            LinkKind::Cell(cell) => direct += cell.down.mean().as_bps(),
            LinkKind::Cable(cable) => {
                let sum = cable.behind.map_or(&mut direct, |index| &mut behind[index]);
                *sum += cable.down.rate.as_bps();
            }
        }
    }
    let shared = std::iter::zip(&plan.bottlenecks, behind).map(|(shared, sum)| shared.down.as_bps().min(sum));
    Bitrate::from_bps(wifi + direct + shared.sum::<u64>())
}

fn play(index: usize, job: &Job, rules: &Rules<'_>) -> Result<Done, PlayError> {
    let what = Play {
        seed: job.seed,
        programs: job.programs.clone(),
        window: job.window,
        count_cost: job.count_cost,
        unadvised: job.unadvised,
        ..Play::new(&job.plan, job.policy.clone())
    };
    let played = world::play(&what, rules.stop, &mut |event| (rules.watch)(index, event))?;
    let lateness = played.emulator.lateness.summary();
    Ok(Done { played, lateness })
}

/// Says in the result that it is the second one, and whether that one was punctual.
fn repeated(mut again: Done, first: LatenessUs, punctual: Duration) -> Done {
    let ms = |us: u64| us as f64 / 1e3;
    let (first, second) = (ms(first.p99_us), ms(again.lateness.p99_us));
    let note = if is_late(again.lateness, punctual) {
        format!(
            "repeated alone, because 1 % of the packets were {first:.1} ms late; alone it was {second:.1} ms: this machine is too busy"
        )
    } else {
        format!("repeated alone, because 1 % of the packets were {first:.1} ms late beside the other runs")
    };
    again.played.note(note);
    again
}

fn is_late(lateness: LatenessUs, punctual: Duration) -> bool {
    Duration::from_micros(lateness.p99_us) > punctual
}

/// What the user can mend is refused, where it stands in the plan; everything else went wrong.
fn refused_or_failed(plan: &Plan, error: PlayError) -> anyhow::Error {
    if let PlayError::Plan(error @ PlanError::Controller(_)) = &error {
        // It is this kernel's, whoever asked for it.
        Refused::because(error)
    } else if let PlayError::Plan(error) = &error {
        Refused::because(plan.spots.say(error.about(), error))
    } else if is_refusal(&error) {
        Refused::because(format!("{:#}", anyhow::Error::from(error)))
    } else {
        error.into()
    }
}

/// Whether it is the user's to mend: no other run of the same kind would fare better.
const fn is_refusal(error: &PlayError) -> bool {
    matches!(
        error,
        PlayError::Plan(_) | PlayError::Policy(_) | PlayError::Controller { .. } | PlayError::Coupled { .. }
    )
}

/// What the workers share.
struct Board {
    state: Mutex<State>,
    /// A run has ended.
    ended: Condvar,
}

struct State {
    waiting: VecDeque<usize>,
    width: Width,
    running: BTreeMap<usize, Begun>,
    /// Which have had others beside them.
    shared: BTreeSet<usize>,
    done: Vec<Option<Result<Done, PlayError>>>,
    late: Vec<(usize, LatenessUs)>,
    failures: Failures,
    /// What ended all of them, and in which job.
    failed: Option<(usize, PlayError)>,
}

/// How long a stop may go unseen by those who wait for their turn.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(100);

impl Board {
    fn new(jobs: usize, width: usize, failures: Failures) -> Self {
        let state = State {
            waiting: (0..jobs).collect(),
            width: Width::new(width),
            running: BTreeMap::new(),
            shared: BTreeSet::new(),
            done: (0..jobs).map(|_| None).collect(),
            late: Vec::new(),
            failures,
            failed: None,
        };
        Self {
            state: Mutex::new(state),
            ended: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, jobs: &[Job], rules: &Rules<'_>) {
        while let Some(index) = self.next(rules.stop) {
            let outcome = play(index, &jobs[index], rules);
            self.state().note(index, outcome, rules);
            self.ended.notify_all();
        }
    }

    /// The next job, once there is room for it; `None` when there is nothing more to do.
    fn next(&self, stop: &Stop) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.waiting.is_empty() || state.failed.is_some() || stop.is_stopped() {
                return None;
            }
            if state.running.len() < state.width.get() {
                return state.begin();
            }
            let waited = self.ended.wait_timeout(state, GLANCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn begin(&mut self) -> Option<usize> {
        let index = self.waiting.pop_front()?;
        self.running.insert(index, self.width.begin());
        if self.running.len() > 1 {
            self.shared.extend(self.running.keys());
        }
        Some(index)
    }

    fn note(&mut self, index: usize, outcome: Result<Done, PlayError>, rules: &Rules<'_>) {
        let begun = self.running.remove(&index);
        let shared = self.shared.contains(&index);
        match outcome {
            Ok(done) if shared && is_late(done.lateness, rules.punctual) => {
                self.late.push((index, done.lateness));
                begun.into_iter().for_each(|begun| self.width.late(begun));
            }
            Ok(done) => {
                self.done[index] = Some(Ok(done));
                self.width.punctual();
            }
            Err(error) if !self.failures.end_all(&error) => self.done[index] = Some(Err(error)),
            Err(error) => {
                self.failed.get_or_insert((index, error));
                rules.stop.stop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str, text: &str) -> Plan {
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse(name, text.as_bytes(), &[], &no_files).unwrap()
    }

    #[test]
    fn cables_carry_no_more_than_the_bottleneck_that_they_share() {
        let plan = plan("cc-share-4.toml", include_str!("bench/scenarios/cc-share-4.toml"));
        assert_eq!(offered(&plan), Bitrate::from_mbps(40));
    }

    #[test]
    fn one_channel_counts_once_however_many_access_points_share_it() {
        let plan = plan(
            "building-walk.toml",
            include_str!("../../../scenarios/building-walk.toml"),
        );
        assert_eq!(offered(&plan), Bitrate::from_mbps(25 + 12));
    }

    #[test]
    fn more_go_side_by_side_where_applications_ask_for_little() {
        let flows = |flows: &str| {
            let links = "[cables.a]\nrate_mbps = 90\nrtt_ms = 10\n";
            plan(
                "asked.toml",
                &format!("sentence = \"x\"\nduration_s = 2\n{links}{flows}"),
            )
        };
        let limited = "[flows.f]\ndirection = \"down\"\nlimit_mbps = 5\n";
        assert_eq!(asked(&flows(limited)), Some(Bitrate::from_mbps(5)));
        assert_eq!(width(&flows(limited)), WIDEST);
        let both = format!("{limited}[flows.g]\ndirection = \"up\"\n");
        assert_eq!(asked(&flows(&both)), None, "the other takes what it gets");
    }

    #[test]
    fn only_the_slowest_hundredth_makes_a_run_late() {
        let lateness = |p99_us| LatenessUs {
            p50_us: 5,
            p99_us,
            max_us: 9_000,
        };
        let punctual = Duration::from_millis(1);
        assert!(!is_late(lateness(1_000), punctual));
        assert!(is_late(lateness(1_001), punctual));
    }

    #[test]
    fn what_the_lab_refuses_is_told_with_file_and_line() {
        let text = "sentence = \"x\"\nduration_s = 2\nmedium = \"wfq\"\n[aps.hall]\nat_m = [0, 0]\nchannel = 6\nwfq = { packet_ms = 1 }\n\
                    backhaul = { rate_mbps = 9, rtt_ms = 9 }\n[walkers.client]\nat_m = [1, 0]\n[flows.f]\ndirection = \"down\"\n";
        let plan = plan("hall.toml", text);
        let error = world::network_config(&plan, 1).unwrap_err();
        let refused = refused_or_failed(&plan, error.into());
        assert!(refused.is::<Refused>());
        let said = refused.to_string();
        assert!(
            said.starts_with("hall.toml:3:10: `medium = \"wfq\"` is for virtual time"),
            "{said}"
        );
        assert!(
            said.ends_with("\n3 | medium = \"wfq\"\n  |          ^^^^^"),
            "{said}"
        );
    }

    fn two_cables() -> Plan {
        let links = "[cables.a]\nrate_mbps = 10\nrtt_ms = 10\n[cables.b]\nrate_mbps = 5\nrtt_ms = 20\n";
        let text = format!("sentence = \"x\"\nduration_s = 2\n{links}[flows.f]\ndirection = \"down\"\n");
        plan("two.toml", &text)
    }

    #[test]
    fn late_runs_are_repeated_alone_and_say_so() {
        if !nix::unistd::geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let job = |policy| Job {
            seed: 1,
            plan: two_cables(),
            policy,
            programs: None,
            window: None,
            count_cost: false,
            unadvised: false,
        };
        let begun = Mutex::new([0; 2]);
        let watch = |run: usize, event: &Event| {
            if matches!(event.what, trace::What::RunStart(_)) {
                begun.lock().unwrap()[run] += 1;
            }
        };
        // Every packet is later than nothing at all: both are repeated, and even alone they are late.
        let rules = Rules {
            punctual: Duration::ZERO,
            stop: &Stop::new(),
            watch: &watch,
        };
        let jobs = [PolicyName::Mptcp, PolicyName::Slowhand].map(job);
        let done = run(&jobs, &rules).unwrap();
        assert_eq!(*begun.lock().unwrap(), [2, 2]);
        for (done, job) in done.iter().zip(&jobs) {
            let run = &done.played.run;
            assert_eq!(run.policy, job.policy);
            assert!(
                run.intact()
                    && run
                        .notes
                        .iter()
                        .any(|note| note.starts_with("repeated alone, because 1 % of the packets were ")),
                "{run:#?}"
            );
            assert_eq!(done.played.record.summary(), Some(run));
        }
    }

    fn nobody(_: usize, _: &Event) {}

    fn void() -> PlayError {
        PlayError::FaultHadNoEffect {
            link: "a".to_owned(),
            at: units::Instant::ZERO,
            passed: 1,
        }
    }

    #[test]
    fn a_failed_run_ends_the_others_only_where_that_is_the_rule() {
        for (failures, ended) in [(Failures::EndAll, true), (Failures::AreKept, false)] {
            let (board, stop) = (Board::new(2, 1, failures), Stop::new());
            let rules = Rules {
                punctual: Duration::ZERO,
                stop: &stop,
                watch: &nobody,
            };
            assert_eq!(board.next(&stop), Some(0));
            board.state().note(0, Err(void()), &rules);
            assert_eq!(stop.is_stopped(), ended);
            assert_eq!(board.next(&stop), (!ended).then_some(1));
            let state = board.state();
            assert_eq!(state.failed.is_some(), ended);
            assert_eq!(matches!(state.done[0], Some(Err(_))), !ended);
        }
    }

    #[test]
    fn what_the_user_must_mend_ends_all_whatever_the_rule() {
        let (board, stop) = (Board::new(2, 1, Failures::AreKept), Stop::new());
        let rules = Rules {
            punctual: Duration::ZERO,
            stop: &stop,
            watch: &nobody,
        };
        assert_eq!(board.next(&stop), Some(0));
        let refusal = PlayError::Policy(trace::PolicyError::Computed);
        board.state().note(0, Err(refusal), &rules);
        assert_eq!(board.next(&stop), None);
        assert!(board.state().failed.is_some());
    }

    #[test]
    fn a_run_counts_as_alone_only_if_nobody_was_beside_it_at_any_time() {
        let board = Board::new(3, 2, Failures::EndAll);
        let mut state = board.state();
        let first = state.begin().unwrap();
        assert!(!state.shared.contains(&first));
        let second = state.begin().unwrap();
        assert!([first, second].iter().all(|run| state.shared.contains(run)));
        // Narrowed to one, the third begins while the second still runs.
        state.running.remove(&first);
        let third = state.begin().unwrap();
        assert!(state.shared.contains(&third));
        let alone = Board::new(1, 1, Failures::EndAll);
        let only = alone.state().begin().unwrap();
        assert!(!alone.state().shared.contains(&only));
    }

    #[test]
    fn no_more_than_the_width_go_on_and_whoever_waits_sees_a_stop() {
        let (board, stop) = (Board::new(3, 1, Failures::EndAll), Stop::new());
        assert_eq!(board.next(&stop), Some(0));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| board.next(&stop));
            // It waits for the first.
            assert_eq!(board.state().waiting, [1, 2]);
            board.state().running.clear();
            board.ended.notify_all();
            assert_eq!(second.join().unwrap(), Some(1));
            let third = scope.spawn(|| board.next(&stop));
            stop.stop();
            assert_eq!(third.join().unwrap(), None);
        });
        assert_eq!(board.state().waiting, [2]);
    }
}
