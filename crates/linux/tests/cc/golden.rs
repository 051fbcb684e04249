//! `bpf/cc/couple.h` matches the golden vectors, and `policy::cc` on random inputs. It is compiled by the
//! host's own compiler, and runs as a BPF program in the kernel.

use crate::can_run;
use crate::vectors::{Answer, NAMES, Vector, drawn, golden};
use libbpf_rs::{Object, ObjectBuilder, ProgramInput};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program that reads one command per line:
/// - `controller own count (cwnd srtt mean since between)…`: writes `growth left`.
/// - `credit increase acked`: writes the window change.
/// - `mean cwnd happened` (1: a round trip, 2: a loss): writes the mean window so far.
/// - `anew`: resets both.
/// - `start begins rtt acked`: writes the growth in slow start and whether it is over. `begins` 2 starts
///   another path.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include "couple.h"
#include "hystart.h"

static int read_couple(struct couple *couple, unsigned *own)
{
	if (scanf("%u %u", own, &couple->count) != 2)
		return 0;
	for (unsigned i = 0; i < couple->count; i++) {
		struct couple_path *path = &couple->path[i];

		if (scanf("%u %u %llu %llu %llu", &path->cwnd, &path->srtt_us, &path->mean, &path->since_loss,
			  &path->between_losses) != 5)
			return 0;
	}
	return 1;
}

static __s64 growth(const char *name, const struct couple *couple, unsigned own)
{
	if (!strcmp(name, "lia"))
		return lia_increase(couple, own);
	if (!strcmp(name, "cla-printed"))
		return cla_printed_increase(couple, own);
	if (!strcmp(name, "olia"))
		return olia_increase(couple, own);
	if (!strcmp(name, "balia"))
		return balia_increase(couple, own);
	return reno_increase(couple, own);
}

int main(void)
{
	__s64 credit = 0, increase;
	struct couple_mean mean = {};
	struct hystart hystart = {};
	char name[16];
	unsigned own, acked, cwnd, happened, begins, rtt;

	while (scanf("%15s", name) == 1) {
		struct couple couple = {};

		if (!strcmp(name, "anew")) {
			credit = 0;
			mean = (struct couple_mean){};
			continue;
		}
		if (!strcmp(name, "credit") && scanf("%lld %u", &increase, &acked) == 2) {
			printf("%d\n", credit_add(&credit, increase, acked));
			continue;
		}
		if (!strcmp(name, "mean") && scanf("%u %u", &cwnd, &happened) == 2) {
			if (happened & 1)
				couple_mean_add(&mean, cwnd);
			if (happened & 2)
				couple_mean_lost(&mean);
			printf("%llu\n", mean.window);
			continue;
		}
		if (!strcmp(name, "start") && scanf("%u %u %u", &begins, &rtt, &acked) == 3) {
			if (begins == 2)
				hystart = (struct hystart){};
			if (begins)
				hystart_round(&hystart);
			hystart_sample(&hystart, rtt);
			acked = hystart_growth(&hystart, acked);
			printf("%u %d\n", acked, hystart_is_over(&hystart));
			continue;
		}
		if (!read_couple(&couple, &own))
			return 1;
		printf("%lld %u\n", growth(name, &couple, own),
		       strcmp(name, "balia") ? reno_after_loss(&couple, own) : balia_after_loss(&couple, own));
	}
	return 0;
}
"#;

/// Compiles [`PROGRAM`]. A compiler is present, because Rust links with it.
fn compile(test: &str) -> PathBuf {
    let name = format!("cc-{test}-{}", std::process::id());
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let headers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/cc");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror"])
        .args(["-fsanitize=undefined", "-fno-sanitize-recover"]);
    cc.args(["-xc", "-I", headers, "-o"]).arg(&out).arg("-");
    let mut child = cc.stdin(Stdio::piped()).spawn().expect("start cc");
    let mut source = child.stdin.take().expect("a pipe");
    source.write_all(PROGRAM.as_bytes()).expect("write the program");
    drop(source);
    assert!(child.wait().expect("wait for cc").success());
    out
}

/// Runs [`PROGRAM`] and returns its output lines.
pub fn ask_host(test: &str, questions: String) -> Vec<String> {
    let program = compile(test);
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the program");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()));
    let output = child.wait_with_output().expect("wait for the program");
    writer.join().expect("no panic").expect("write the questions");
    std::fs::remove_file(&program).expect("remove the program");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.lines().map(str::to_owned).collect()
}

fn question(vector: &Vector) -> String {
    let mut line = format!("{} {} {}", vector.controller, vector.own, vector.flows.len());
    for flow in &vector.flows {
        let interval = flow.interval;
        line += &format!(" {} {} {}", flow.cwnd, flow.srtt_us, flow.mean.parts());
        line += &format!(" {} {}", interval.since_loss, interval.between_losses);
    }
    line + "\n"
}

fn assert_host_answers(test: &str, vectors: &[Vector]) {
    let answers = ask_host(test, vectors.iter().map(question).collect());
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(answers) {
        let expected = format!("{} {}", vector.growth, vector.left);
        assert_eq!(answer, expected, "{}", vector.describe());
    }
}

#[test]
fn the_host_matches_the_golden_vectors() {
    let vectors = golden();
    assert!(vectors.len() >= 30);
    assert_host_answers("golden", &vectors);
}

#[test]
fn the_host_matches_policy() {
    assert_host_answers("drawn", &drawn(2_000));
}

/// Size of `struct golden` in `bpf/cc/golden.bpf.c`: 8 + 8 · 32 bytes of paths, own path, window left,
/// growth.
const CONTEXT_BYTES: usize = 280;

fn context(vector: &Vector) -> [u8; CONTEXT_BYTES] {
    let mut context = [0; CONTEXT_BYTES];
    let mut put = |at: usize, bytes: &[u8]| context[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &(vector.flows.len() as u32).to_ne_bytes());
    for (index, flow) in vector.flows.iter().enumerate() {
        let at = 8 + 32 * index;
        put(at, &flow.cwnd.to_ne_bytes());
        put(at + 4, &flow.srtt_us.to_ne_bytes());
        put(at + 8, &flow.mean.parts().to_ne_bytes());
        put(at + 16, &flow.interval.since_loss.to_ne_bytes());
        put(at + 24, &flow.interval.between_losses.to_ne_bytes());
    }
    put(264, &(vector.own as u32).to_ne_bytes());
    context
}

fn answer(context: &[u8; CONTEXT_BYTES]) -> Answer {
    Answer {
        left: u32::from_ne_bytes(context[268..272].try_into().expect("four bytes")),
        growth: i64::from_ne_bytes(context[272..].try_into().expect("eight bytes")),
    }
}

/// Aligned for ELF sections, which are read in place.
#[repr(C, align(16))]
struct Aligned<B: ?Sized>(B);

const OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/cc/golden.bpf.o")));

pub fn load() -> Object {
    let open = ObjectBuilder::default().open_memory(&OBJECT.0);
    open.expect("the object is one")
        .load()
        .expect("the kernel takes the arithmetic")
}

/// Runs one of the programs in the kernel on `context`, where it also writes its results. Returns its return
/// value.
pub fn run_in_kernel(object: &mut Object, name: &str, context: &mut [u8]) -> u32 {
    let program = object.progs_mut().find(|program| *program.name() == *name);
    let input = ProgramInput {
        context_in: Some(context),
        ..ProgramInput::default()
    };
    let output = program.expect("a program of this name").test_run(input);
    output.expect("run the program").return_value
}

fn ask_kernel(object: &mut Object, vector: &Vector) -> Answer {
    let name = vector.controller.replace('-', "_");
    let mut context = context(vector);
    assert_eq!(run_in_kernel(object, &name, &mut context), 1);
    answer(&context)
}

#[test]
fn the_kernel_matches_the_golden_vectors() {
    if !can_run() {
        return;
    }
    let (mut object, vectors) = (load(), golden());
    let asked = |(name, _): &(&str, _)| vectors.iter().any(|vector| vector.controller == *name);
    assert!(NAMES.iter().all(asked), "a controller has no vector");
    for vector in &vectors {
        assert_eq!(
            ask_kernel(&mut object, vector),
            vector.answer(),
            "{}",
            vector.describe()
        );
    }
}

#[test]
fn the_kernel_matches_policy() {
    if !can_run() {
        return;
    }
    let mut object = load();
    for vector in drawn(400) {
        assert_eq!(
            ask_kernel(&mut object, &vector),
            vector.answer(),
            "{}",
            vector.describe()
        );
    }
}
