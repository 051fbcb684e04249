//! Runs `bpf/mark.h`, compiled by the host's own compiler, on the golden vectors.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const GOLDEN: &str = include_str!("../../../../golden/mark.csv");

/// Reads `before,rate,weight,…` and writes `before,rate,weight,due,after`.
const PROGRAM: &str = r#"
#include <stdio.h>
#include "mark.h"

int main(void)
{
	unsigned long long before, rate;
	unsigned weight;

	while (scanf("%llu,%llu,%u,%*u,%*u", &before, &rate, &weight) == 3) {
		__u64 step = mark_step(rate, weight);

		printf("%llu,%llu,%u,%u,%llu\n", before, rate, weight, mark_due(before, step), before + step);
	}
	return 0;
}
"#;

/// Compiles [`PROGRAM`]. A compiler is present, because Rust links with it.
fn compile() -> PathBuf {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mark-{}", std::process::id()));
    let headers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf");
    let mut cc = Command::new("cc");
    cc.args([
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=undefined",
        "-xc",
        "-I",
        headers,
        "-o",
    ]);
    cc.arg(&out).arg("-").stdin(Stdio::piped());
    let mut child = cc.spawn().expect("start cc");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(PROGRAM.as_bytes())
        .expect("write the program");
    assert!(child.wait().expect("wait for cc").success());
    out
}

#[test]
fn the_header_matches_the_golden_vectors_on_the_host() {
    let program = compile();
    let rows: Vec<&str> = GOLDEN
        .lines()
        .filter(|line| !line.starts_with(['#', 'b']))
        .collect();
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the program");
    let vectors = rows.join("\n") + "\n";
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(vectors.as_bytes())
        .expect("write the vectors");
    let output = child.wait_with_output().expect("wait for the program");
    std::fs::remove_file(&program).expect("remove the program");
    assert!(rows.len() > 40);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .collect::<Vec<_>>(),
        rows
    );
}
