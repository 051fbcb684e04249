//! Runs ns-3 beside ours if its development package is installed. Otherwise the stored figure is used.

use show::tell;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the peer's programs are. They are built against ns-3 and are no part of this one.
const SOURCES: &str = "crates/bench/peers";
const PACKAGES: [&str; 6] = [
    "ns3-wifi",
    "ns3-applications",
    "ns3-internet",
    "ns3-mobility",
    "ns3-point-to-point",
    "ns3-traffic-control",
];

/// The peer's program, built; removed when this is dropped.
#[derive(Debug)]
pub struct Ns3 {
    program: PathBuf,
}

impl Ns3 {
    /// Builds the program of this name. If that fails, says why on standard error and returns `None`.
    pub fn build(name: &str) -> Option<Self> {
        let source = Path::new(SOURCES).join(name).with_extension("cc");
        if !source.exists() {
            tell!(
                "bench: {} is not here (run in slowhand's source tree): ns-3's stored figure is used",
                source.display()
            );
            return None;
        }
        let program = std::env::temp_dir().join(format!("slowhand-{name}-{}", std::process::id()));
        let flags = output(
            Command::new("pkg-config")
                .args(["--cflags", "--libs"])
                .args(PACKAGES),
        )?;
        let mut compiler = Command::new("c++");
        compiler.arg("-O2").arg(&source).arg("-o").arg(&program);
        output(compiler.args(flags.split_whitespace()))?;
        Some(Self { program })
    }

    /// Runs it. Returns packets received per second of wall time, and goodput in Mb/s.
    pub fn packets_per_second(&self, arguments: &[String]) -> Option<(f64, f64)> {
        let line = output(Command::new(&self.program).args(arguments))?;
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
