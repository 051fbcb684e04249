//! Runs many jobs in the lab, side by side as long as the emulator is punctual.
//!
//! Each run has its own namespaces and medium, so that runs share only the processors. If that makes packets
//! late, the measurement is not fair. The run is then repeated alone once the others are done, and fewer run
//! side by side for a while. Runs begin in their order, each as soon as there is room for its load. A run
//! that does not fit yet does not hold up a smaller one. Starting costs more than running, so no two start at
//! once.
//!
//! # Checked by
//! `tests`: late runs are repeated and say so; only those that had others beside them.

mod load;
mod room;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as Wall, Instant};

use lab::shell::Programs;
use lab::stop::Stop;
use lab::world::{self, PlanError, Play, PlayError, Played};
use linux::bpf::WindowKind;
use record::Buffer;
use scenario::Plan;
use show::exit::{self, Refused};
use trace::{Event, LatenessUs, PolicyName};
use units::{Bitrate, Duration};

use room::{Begun, Room};

/// One run to do.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scenario.
    pub plan: Plan,
    /// The policy under test.
    pub policy: PolicyName,
    /// Seed of everything random.
    pub seed: u64,
    /// Programs to run instead of the scenario's flows.
    pub programs: Option<Programs>,
    /// How windows are bounded. `None`: the best way that the kernel offers.
    pub window: Option<WindowKind>,
    /// Whether to count what our congestion controller costs.
    pub count_cost: bool,
    /// Whether the senders' `cla` gets no radio reports.
    pub unadvised: bool,
    /// Whether to record the engine's inputs and actions.
    pub record: bool,
}

/// Outcome of a job.
#[derive(Debug)]
pub struct Done {
    /// The run.
    pub played: Played,
    /// How late packets left the emulator.
    pub lateness: LatenessUs,
    /// The recording of its engine, if requested.
    pub recording: Option<Vec<u8>>,
}

/// How to run jobs.
pub struct Rules<'r> {
    /// A run whose 99th percentile of lateness is above this is repeated alone.
    pub punctual: Duration,
    /// Set when all runs must end.
    pub stop: &'r Stop,
    /// Called for each event of each job, on the job's thread.
    pub watch: &'r (dyn Fn(usize, &Event) + Sync),
}

/// What the failure of one run means for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failures {
    /// The others end.
    EndAll,
    /// The others continue, unless they would fail the same way.
    AreKept,
}

/// Least time between two starts. Beside seven runs that began at the same moment, the programs of one were
/// loaded 0.7 s late, in the middle of its first seconds.
const APART: Wall = Wall::from_secs(1);

/// Runs all jobs. Results are in their order. The first failure ends the others.
pub fn run(jobs: &[Job], rules: &Rules<'_>) -> anyhow::Result<Vec<Done>> {
    let outcomes = run_with(jobs, rules, Failures::EndAll)?;
    Ok(outcomes.into_iter().collect::<Result<_, _>>()?)
}

/// Runs all jobs as [`run`] does, but a failed run costs no other its result. Only an error that the user
/// must fix ends all of them.
pub fn run_each(jobs: &[Job], rules: &Rules<'_>) -> anyhow::Result<Vec<Result<Done, PlayError>>> {
    run_with(jobs, rules, Failures::AreKept)
}

fn run_with(
    jobs: &[Job],
    rules: &Rules<'_>,
    failures: Failures,
) -> anyhow::Result<Vec<Result<Done, PlayError>>> {
    let board = Board::new(jobs, load::room(), APART, failures);
    std::thread::scope(|scope| {
        for _ in 0..jobs.len().min(load::WIDEST as usize) {
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

fn play(index: usize, job: &Job, rules: &Rules<'_>) -> Result<Done, PlayError> {
    let buffer = job.record.then(Buffer::default);
    let what = Play {
        seed: job.seed,
        programs: job.programs.clone(),
        window: job.window,
        count_cost: job.count_cost,
        unadvised: job.unadvised,
        record: buffer.clone(),
        ..Play::new(&job.plan, job.policy.clone())
    };
    let played = world::play(&what, rules.stop, &mut |event| (rules.watch)(index, event))?;
    let lateness = played.emulator.lateness.summary();
    Ok(Done {
        played,
        lateness,
        recording: buffer.map(|buffer| buffer.take()),
    })
}

/// Notes in the result that it is the repetition, and whether the repetition was punctual.
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

/// Refuses what the user can fix, with its place in the plan. Any other error is a failure.
fn refused_or_failed(plan: &Plan, error: PlayError) -> anyhow::Error {
    if let PlayError::Plan(error @ PlanError::Controller(_)) = &error {
        // This is a property of the kernel, whatever the plan says.
        Refused::because(error)
    } else if let PlayError::Plan(error) = &error {
        Refused::because(plan.spots.say(error.about(), error))
    } else if is_refusal(&error) {
        Refused::because(exit::sentence(&anyhow::Error::from(error)))
    } else {
        error.into()
    }
}

/// Whether the user must fix it: any other run of the same kind would fail too.
const fn is_refusal(error: &PlayError) -> bool {
    matches!(
        error,
        PlayError::Plan(_) | PlayError::Policy(_) | PlayError::Controller { .. } | PlayError::Coupled { .. }
    )
}

/// State shared by the workers.
struct Board {
    state: Mutex<State>,
    /// Notified when a run has ended.
    ended: Condvar,
}

struct State {
    /// Index and load of each waiting job.
    waiting: VecDeque<(usize, Bitrate)>,
    room: Room,
    /// Least time between two starts.
    apart: Wall,
    began: Option<Instant>,
    running: BTreeMap<usize, Begun>,
    done: Vec<Option<Result<Done, PlayError>>>,
    late: Vec<(usize, LatenessUs)>,
    failures: Failures,
    /// The failure that ended all of them, and its job.
    failed: Option<(usize, PlayError)>,
}

/// Longest time until a waiting worker notices a stop.
const GLANCE: Wall = Wall::from_millis(100);

impl Board {
    fn new(jobs: &[Job], room: Bitrate, apart: Wall, failures: Failures) -> Self {
        let carries = jobs.iter().map(|job| job.carries(room));
        let state = State {
            waiting: carries.enumerate().collect(),
            room: Room::new(room),
            apart,
            began: None,
            running: BTreeMap::new(),
            done: jobs.iter().map(|_| None).collect(),
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

    /// Waits until there is room for a job and returns its index; `None` when no job is left.
    fn next(&self, stop: &Stop) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.waiting.is_empty() || state.failed.is_some() || stop.is_stopped() {
                return None;
            }
            if let Some(index) = state.begin() {
                return Some(index);
            }
            let waited = self.ended.wait_timeout(state, GLANCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// Starts the first job for which there is room, unless one started just now.
    fn begin(&mut self) -> Option<usize> {
        let now = Instant::now();
        if self.began.is_some_and(|began| now - began < self.apart) {
            return None;
        }
        let others = self.carried();
        let fits = |&(_, carries): &(usize, Bitrate)| self.room.fits(carries, others);
        let (index, carries) = self.waiting.remove(self.waiting.iter().position(fits)?)?;
        self.began = Some(now);
        self.running.insert(index, self.room.begin(carries));
        let together = self.carried();
        self.running.values_mut().for_each(|begun| begun.meets(together));
        Some(index)
    }

    fn carried(&self) -> Bitrate {
        self.running.values().map(|begun| begun.carries()).sum()
    }

    fn note(&mut self, index: usize, outcome: Result<Done, PlayError>, rules: &Rules<'_>) {
        let begun = self.running.remove(&index).filter(|begun| begun.had_company());
        match (outcome, begun) {
            (Ok(done), Some(begun)) if is_late(done.lateness, rules.punctual) => {
                self.late.push((index, done.lateness));
                self.room.late(begun);
            }
            (Ok(done), _) => {
                if !is_late(done.lateness, rules.punctual) {
                    self.room.punctual();
                }
                self.done[index] = Some(Ok(done));
            }
            (Err(error), _) if !self.failures.end_all(&error) => self.done[index] = Some(Err(error)),
            (Err(error), _) => {
                self.failed.get_or_insert((index, error));
                rules.stop.stop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn plan(name: &str, text: &str) -> Plan {
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse(name, text.as_bytes(), &[], &no_files).unwrap()
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
            said.starts_with("hall.toml:3:10: `medium = \"wfq\"` needs virtual time"),
            "{said}"
        );
        assert!(
            said.ends_with("\n3 | medium = \"wfq\"\n  |          ^^^^^"),
            "{said}"
        );
    }

    pub fn job(plan: &Plan, policy: PolicyName) -> Job {
        Job {
            seed: 1,
            plan: plan.clone(),
            policy,
            programs: None,
            window: None,
            count_cost: false,
            unadvised: false,
            record: false,
        }
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
        let begun = Mutex::new([0; 2]);
        let watch = |run: usize, event: &Event| {
            if matches!(event.what, trace::What::RunStart(_)) {
                begun.lock().unwrap()[run] += 1;
            }
        };
        // Every packet is later than zero, so both runs are repeated, and are late even alone.
        let rules = Rules {
            punctual: Duration::ZERO,
            stop: &Stop::new(),
            watch: &watch,
        };
        let jobs = [PolicyName::Mptcp, PolicyName::Slowhand].map(|policy| job(&two_cables(), policy));
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
            let (board, stop) = (board([15; 2], 20, failures), Stop::new());
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
        let (board, stop) = (board([15; 2], 20, Failures::AreKept), Stop::new());
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
    fn one_for_which_there_is_no_room_holds_up_no_smaller_one_and_goes_before_those_behind_it() {
        let (board, stop) = (board([30, 80, 20, 30, 20], 100, Failures::EndAll), Stop::new());
        let begin = || board.next(&stop);
        assert_eq!((begin(), begin(), begin()), (Some(0), Some(2), Some(3)));
        let mut state = board.state();
        for ended in [0, 3] {
            state.running.remove(&ended);
        }
        assert_eq!((state.begin(), state.begin()), (Some(1), None));
        assert!(state.running.values().all(|begun| begun.had_company()));
    }

    #[test]
    fn none_begins_in_the_moment_in_which_another_has() {
        let board = board([10; 2], 100, Failures::EndAll);
        let mut state = board.state();
        state.apart = Wall::from_secs(3_600);
        assert_eq!((state.begin(), state.begin()), (Some(0), None));
        state.apart = Wall::ZERO;
        assert_eq!(state.begin(), Some(1));
    }

    #[test]
    fn no_more_go_on_than_there_is_room_for_and_whoever_waits_sees_a_stop() {
        let (board, stop) = (board([15; 3], 20, Failures::EndAll), Stop::new());
        assert_eq!(board.next(&stop), Some(0));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| board.next(&stop));
            // It waits for the first.
            assert_eq!(board.state().waiting.len(), 2);
            board.state().running.clear();
            board.ended.notify_all();
            assert_eq!(second.join().unwrap(), Some(1));
            let third = scope.spawn(|| board.next(&stop));
            stop.stop();
            assert_eq!(third.join().unwrap(), None);
        });
        let left: Vec<usize> = board.state().waiting.iter().map(|(index, _)| *index).collect();
        assert_eq!(left, [2]);
    }

    /// A board of runs with these loads in Mb/s, where there is room for `room` Mb/s.
    fn board<const N: usize>(mbps: [u64; N], room: u64, failures: Failures) -> Board {
        let jobs = mbps.map(|mbps| {
            let link = format!("[cables.a]\nrate_mbps = {mbps}\nrtt_ms = 10\n");
            let text = format!("sentence = \"x\"\nduration_s = 2\n{link}[flows.f]\ndirection = \"down\"\n");
            job(&plan("sized.toml", &text), PolicyName::Mptcp)
        });
        Board::new(&jobs, Bitrate::from_mbps(room), Wall::ZERO, failures)
    }
}
