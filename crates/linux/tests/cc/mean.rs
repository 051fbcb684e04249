//! Mean windows, from which LIA's α is computed: `couple_mean_*` in `bpf/cc/couple.h` match the golden
//! vectors, and `policy::cc` on random inputs. They are compiled by the host's own compiler, and run as a BPF
//! program in the kernel.

use crate::can_run;
use crate::golden::{ask_host, load, run_in_kernel};
use crate::vectors::Draw;
use libbpf_rs::Object;
use policy::cc::MeanWindow;

const GOLDEN: &str = include_str!("../../../../golden/mean.csv");

/// One event of a path.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    /// There is no earlier mean.
    first: bool,
    /// A round trip with this window.
    round: Option<u32>,
    lost: bool,
}

impl Step {
    /// The value of `happened` in `struct golden_mean`.
    fn happened(&self) -> u32 {
        u32::from(self.round.is_some()) + 2 * u32::from(self.lost)
    }
}

/// All steps of the golden rows, and the steps after which the rows give the mean.
fn golden() -> (Vec<Step>, Vec<(usize, u64)>) {
    let rows = GOLDEN.lines().filter(|line| !line.starts_with(['#', 'p']));
    let (mut steps, mut means) = (Vec::new(), Vec::new());
    for row in rows {
        let (parts, expected) = row.split_once(';').expect("parts and means");
        let begins = steps.len();
        let numbers = expected
            .split_whitespace()
            .map(|mean| mean.parse().expect("parts"));
        for (part, mean) in parts.split_whitespace().zip(numbers) {
            steps.extend(part_of(part));
            means.push((steps.len() - 1, mean));
        }
        steps[begins].first = true;
    }
    (steps, means)
}

/// Parses `COUNTxWINDOW`, with an exclamation mark if a loss follows.
fn part_of(part: &str) -> Vec<Step> {
    let (count, cwnd) = part
        .trim_end_matches('!')
        .split_once('x')
        .expect("a count and a window");
    let round = Step {
        round: Some(cwnd.parse().expect("segments")),
        ..Step::default()
    };
    let mut steps = vec![round; count.parse().expect("a count")];
    if part.ends_with('!') || steps.is_empty() {
        steps.push(Step {
            lost: part.ends_with('!'),
            ..Step::default()
        });
    }
    steps
}

fn drawn(count: usize) -> Vec<Step> {
    let mut draw = Draw(11);
    let step = |index: usize| Step {
        first: index == 0 || draw.below(500) == 0,
        round: (draw.below(20) != 0).then(|| draw.of_any_size(32) as u32),
        lost: draw.below(9) == 0,
    };
    (0..count).map(step).collect()
}

fn ask_policy(steps: &[Step]) -> Vec<u64> {
    let mut mean = MeanWindow::default();
    let answer = |step: &Step| {
        if step.first {
            mean = MeanWindow::default();
        }
        if let Some(cwnd) = step.round {
            mean.round(cwnd);
        }
        if step.lost {
            mean.lost();
        }
        mean.parts()
    };
    steps.iter().map(answer).collect()
}

fn ask_c(test: &str, steps: &[Step]) -> Vec<u64> {
    let question = |step: &Step| {
        let anew = if step.first { "anew\n" } else { "" };
        format!("{anew}mean {} {}\n", step.round.unwrap_or(0), step.happened())
    };
    let answers = ask_host(test, steps.iter().map(question).collect());
    answers.iter().map(|line| line.parse().expect("parts")).collect()
}

/// Size of `struct golden_mean` in `bpf/cc/golden.bpf.c`: 16 bytes of memory, the window, the event.
const CONTEXT_BYTES: usize = 24;

fn ask_kernel(object: &mut Object, steps: &[Step]) -> Vec<u64> {
    let mut context = [0; CONTEXT_BYTES];
    let answer = |step: &Step| {
        if step.first {
            context = [0; CONTEXT_BYTES];
        }
        context[16..20].copy_from_slice(&step.round.unwrap_or(0).to_ne_bytes());
        context[20..].copy_from_slice(&step.happened().to_ne_bytes());
        assert_eq!(run_in_kernel(object, "mean", &mut context), 1);
        u64::from_ne_bytes(context[..8].try_into().expect("eight bytes"))
    };
    steps.iter().map(answer).collect()
}

/// The results after the steps for which the golden rows give one.
fn written(means: &[(usize, u64)], answers: &[u64]) -> Vec<(usize, u64)> {
    means.iter().map(|&(at, _)| (at, answers[at])).collect()
}

#[test]
fn the_host_matches_the_golden_vectors() {
    let (steps, means) = golden();
    assert!(means.len() >= 40);
    assert_eq!(written(&means, &ask_c("mean-golden", &steps)), means);
}

#[test]
fn the_host_averages_windows_as_policy_does() {
    let steps = drawn(5_000);
    assert_eq!(ask_c("mean-drawn", &steps), ask_policy(&steps));
}

#[test]
fn the_kernel_matches_the_golden_vectors() {
    if !can_run() {
        return;
    }
    let (steps, means) = golden();
    assert_eq!(written(&means, &ask_kernel(&mut load(), &steps)), means);
}

#[test]
fn the_kernel_averages_windows_as_policy_does() {
    if !can_run() {
        return;
    }
    let steps = drawn(2_000);
    assert_eq!(ask_kernel(&mut load(), &steps), ask_policy(&steps));
}
