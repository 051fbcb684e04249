//! Whole segments of growth: `credit_add` in `bpf/cc/couple.h`, which computes every window, matches the
//! golden vectors and `policy::cc` on random inputs. It is compiled by the host's own compiler, and runs as a
//! BPF program in the kernel.

use crate::can_run;
use crate::golden::{ask_host, load, run_in_kernel};
use crate::vectors::Draw;
use libbpf_rs::Object;
use policy::cc::{Credit, Increase};

const GOLDEN: &str = include_str!("../../../../golden/credit.csv");

/// One acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// There is no remainder from earlier steps.
    first: bool,
    growth: i64,
    acked: u32,
}

/// All steps of the golden rows, and the window change after each.
fn golden() -> (Vec<Step>, Vec<i32>) {
    let rows = GOLDEN.lines().filter(|line| !line.starts_with(['#', 's']));
    let (mut steps, mut changes) = (Vec::new(), Vec::new());
    for row in rows {
        let (asked, expected) = row.split_once(';').expect("steps and changes");
        let numbers = expected
            .split_whitespace()
            .map(|number| number.parse::<i32>().expect("segments"));
        changes.extend(numbers);
        for (number, step) in asked.split_whitespace().enumerate() {
            let (growth, acked) = step.split_once('x').expect("growth and segments");
            steps.push(Step {
                first: number == 0,
                growth: growth.parse().expect("parts"),
                acked: acked.parse().expect("segments"),
            });
        }
    }
    (steps, changes)
}

/// Random growth up to what any controller gives, and acknowledgements of any size.
fn drawn(count: usize) -> Vec<Step> {
    let mut draw = Draw(7);
    let step = |index: usize| {
        let bits = if draw.below(4) == 0 { 32 } else { 8 };
        Step {
            first: index == 0,
            growth: (draw.next() as i64) >> 30,
            acked: draw.of_any_size(bits) as u32,
        }
    };
    (0..count).map(step).collect()
}

fn ask_policy(steps: &[Step]) -> Vec<i32> {
    let mut credit = Credit::default();
    let change = |step: &Step| {
        if step.first {
            credit = Credit::default();
        }
        credit.add(Increase(step.growth), step.acked)
    };
    steps.iter().map(change).collect()
}

fn ask_c(test: &str, steps: &[Step]) -> Vec<i32> {
    let question = |step: &Step| {
        let anew = if step.first { "anew\n" } else { "" };
        format!("{anew}credit {} {}\n", step.growth, step.acked)
    };
    let answers = ask_host(test, steps.iter().map(question).collect());
    answers
        .iter()
        .map(|line| line.parse().expect("segments"))
        .collect()
}

/// Size of `struct golden_credit` in `bpf/cc/golden.bpf.c`: remainder, growth, acknowledged segments, window
/// change.
const CONTEXT_BYTES: usize = 24;

fn ask_kernel(object: &mut Object, steps: &[Step]) -> Vec<i32> {
    let mut context = [0; CONTEXT_BYTES];
    let change = |step: &Step| {
        if step.first {
            context = [0; CONTEXT_BYTES];
        }
        context[8..16].copy_from_slice(&step.growth.to_ne_bytes());
        context[16..20].copy_from_slice(&step.acked.to_ne_bytes());
        assert_eq!(run_in_kernel(object, "credit", &mut context), 1);
        i32::from_ne_bytes(context[20..].try_into().expect("four bytes"))
    };
    steps.iter().map(change).collect()
}

#[test]
fn the_host_matches_the_golden_vectors() {
    let (steps, expected) = golden();
    assert!(expected.len() >= 50);
    assert_eq!(ask_c("credit-golden", &steps), expected);
}

#[test]
fn the_host_counts_whole_segments_as_policy_does() {
    let steps = drawn(5_000);
    assert_eq!(ask_c("credit-drawn", &steps), ask_policy(&steps));
}

#[test]
fn the_kernel_matches_the_golden_vectors() {
    if !can_run() {
        return;
    }
    let (steps, expected) = golden();
    assert_eq!(ask_kernel(&mut load(), &steps), expected);
}

#[test]
fn the_kernel_counts_whole_segments_as_policy_does() {
    if !can_run() {
        return;
    }
    let steps = drawn(2_000);
    assert_eq!(ask_kernel(&mut load(), &steps), ask_policy(&steps));
}
