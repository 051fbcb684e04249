//! Runs ns-3 beside ours if its development package is installed. Otherwise the stored figure is used.

use show::tell;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Source of the peer's program, which is built against ns-3 and is no part of this one.
const SOURCE: &str = "crates/bench/peers/ns3_dcf.cc";
const PACKAGES: [&str; 4] = ["ns3-wifi", "ns3-applications", "ns3-internet", "ns3-mobility"];

/// The peer's program, built; removed when this is dropped.
#[derive(Debug)]
pub struct Ns3 {
    program: PathBuf,
}

impl Ns3 {
    /// Builds the program. If that fails, says why on standard error and returns `None`.
    pub fn build() -> Option<Self> {
        if !Path::new(SOURCE).exists() {
            tell!(
                "bench: {SOURCE} is not here (run in slowhand's source tree): ns-3's stored figure is used"
            );
            return None;
        }
        let program = std::env::temp_dir().join(format!("slowhand-ns3-{}", std::process::id()));
        let flags = output(
            Command::new("pkg-config")
                .args(["--cflags", "--libs"])
                .args(PACKAGES),
        )?;
        let mut compiler = Command::new("c++");
        compiler.args(["-O2", SOURCE, "-o"]).arg(&program);
        output(compiler.args(flags.split_whitespace()))?;
        Some(Self { program })
    }

    /// Packets received per second of wall time, and goodput in Mb/s.
    pub fn packets_per_second(&self, stations: u32, seconds: u64) -> Option<(f64, f64)> {
        let mut run = Command::new(&self.program);
        let line = output(run.arg(stations.to_string()).arg(seconds.to_string()))?;
        let numbers: Vec<f64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        match numbers[..] {
            [packets, wall, goodput] if wall > 0.0 => Some((packets / wall, goodput)),
            _ => None,
        }
    }
}

impl Drop for Ns3 {
    fn drop(&mut self) {
        // Anything left is a file in the directory for temporary files.
        let _ = std::fs::remove_file(&self.program);
    }
}

fn output(command: &mut Command) -> Option<String> {
    let done = command.output().ok().filter(|done| done.status.success());
    if done.is_none() {
        tell!(
            "bench: `{}` did not work (Debian: libns3-dev, libgsl-dev, g++, pkg-config): ns-3's stored figure is used",
            command.get_program().display()
        );
    }
    String::from_utf8(done?.stdout).ok()
}
