//! `bpf/cc/hystart.h` matches the golden vectors, and `policy::cc` on random inputs. It is compiled by the
//! host's own compiler, and runs as a BPF program in the kernel.

use crate::can_run;
use crate::golden::{ask_host, load, run_in_kernel};
use crate::vectors::Draw;
use libbpf_rs::Object;
use policy::cc::HyStart;

const GOLDEN: &str = include_str!("../../../../golden/hystart.csv");

/// One acknowledgement in slow start.
#[derive(Debug, Clone, Copy)]
struct Ack {
    /// The first of this path.
    first: bool,
    /// Begins a round.
    begins: bool,
    rtt_us: u32,
    acked: u32,
}

/// Window growth, and whether slow start is over.
type Answer = (u32, bool);

/// All acknowledgements of the golden rows, and the result of each row's rounds.
fn golden() -> (Vec<Ack>, Vec<String>) {
    let rows = GOLDEN.lines().filter(|line| !line.starts_with(['#', 'r']));
    let (mut acks, mut totals) = (Vec::new(), Vec::new());
    for row in rows {
        let (rounds, expected) = row.split_once(';').expect("rounds and growth");
        totals.extend(expected.split_whitespace().map(str::to_owned));
        for (number, round) in rounds.split('|').enumerate() {
            let begins = acks.len();
            for part in round.split_whitespace() {
                let (count, rtt) = part.split_once('x').expect("a count and a round trip");
                let ack = Ack {
                    first: false,
                    begins: false,
                    rtt_us: rtt.parse().expect("microseconds"),
                    acked: 1,
                };
                acks.extend(std::iter::repeat_n(ack, count.parse().expect("a count")));
            }
            (acks[begins].begins, acks[begins].first) = (true, number == 0);
        }
    }
    (acks, totals)
}

/// The result of each round of the golden rows, in their format.
fn totals(acks: &[Ack], answers: &[Answer]) -> Vec<String> {
    let mut totals: Vec<Answer> = Vec::new();
    for (ack, &(grown, over)) in acks.iter().zip(answers) {
        match totals.last_mut().filter(|_| !ack.begins) {
            Some(total) => *total = (total.0 + grown, over),
            None => totals.push((grown, over)),
        }
    }
    let words = |(grown, over): &Answer| format!("{grown}{}", if *over { "!" } else { "" });
    totals.iter().map(words).collect()
}

/// Random round trips that jitter above an occasionally growing one, in rounds of any length.
fn drawn(count: usize) -> Vec<Ack> {
    let mut draw = Draw(17);
    let mut base = 20_000;
    let ack = |index: usize| {
        let first = index == 0 || draw.below(300) == 0;
        match draw.below(400) {
            0 => base = (draw.of_any_size(32) as u32).max(1),
            1..=6 => base = base.saturating_add(draw.below(20_000) as u32),
            _ => {}
        }
        let bits = if draw.below(20) == 0 { 32 } else { 3 };
        Ack {
            first,
            begins: first || draw.below(15) == 0,
            rtt_us: base.saturating_add(draw.below(1 << (index % 14)) as u32),
            acked: draw.of_any_size(bits) as u32,
        }
    };
    (0..count).map(ack).collect()
}

fn ask_policy(acks: &[Ack]) -> Vec<Answer> {
    let mut hystart = HyStart::default();
    let answer = |ack: &Ack| {
        if ack.first {
            hystart = HyStart::default();
        }
        if ack.begins {
            hystart.round();
        }
        hystart.sample(ack.rtt_us);
        (hystart.growth(ack.acked), hystart.is_over())
    };
    acks.iter().map(answer).collect()
}

fn ask_c(test: &str, acks: &[Ack]) -> Vec<Answer> {
    let question = |ack: &Ack| {
        let begins = u8::from(ack.begins) + u8::from(ack.first);
        format!("start {begins} {} {}\n", ack.rtt_us, ack.acked)
    };
    let answers = ask_host(test, acks.iter().map(question).collect());
    let answer = |line: &String| {
        let (grown, over) = line.split_once(' ').expect("two numbers");
        (grown.parse().expect("segments"), over == "1")
    };
    answers.iter().map(answer).collect()
}

/// Size of `struct golden_ack` in `bpf/cc/golden.bpf.c`: 16 bytes of memory, begins, round trip,
/// acknowledged, grown.
const CONTEXT_BYTES: usize = 32;

fn ask_kernel(object: &mut Object, acks: &[Ack]) -> Vec<Answer> {
    let mut context = [0; CONTEXT_BYTES];
    let answer = |ack: &Ack| {
        if ack.first {
            context = [0; CONTEXT_BYTES];
        }
        let words = [u32::from(ack.begins), ack.rtt_us, ack.acked];
        for (at, word) in words.iter().enumerate() {
            context[16 + 4 * at..][..4].copy_from_slice(&word.to_ne_bytes());
        }
        let over = run_in_kernel(object, "slow_start", &mut context);
        let grown = u32::from_ne_bytes(context[28..].try_into().expect("four bytes"));
        (grown, over == 1)
    };
    acks.iter().map(answer).collect()
}

#[test]
fn the_host_matches_the_golden_vectors() {
    let (acks, expected) = golden();
    assert!(expected.len() >= 30);
    assert_eq!(totals(&acks, &ask_c("start-golden", &acks)), expected);
}

#[test]
fn the_host_matches_policy() {
    let acks = drawn(20_000);
    let expected = ask_policy(&acks);
    assert!(
        expected.iter().filter(|(_, over)| *over).count() > 100,
        "slow start ends often"
    );
    assert_eq!(ask_c("start-drawn", &acks), expected);
}

#[test]
fn the_kernel_matches_the_golden_vectors() {
    if !can_run() {
        return;
    }
    let (acks, expected) = golden();
    assert_eq!(totals(&acks, &ask_kernel(&mut load(), &acks)), expected);
}

#[test]
fn the_kernel_matches_policy() {
    if !can_run() {
        return;
    }
    let acks = drawn(2_000);
    assert_eq!(ask_kernel(&mut load(), &acks), ask_policy(&acks));
}
