//! Runs the program as a user does.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run of the program printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// The program, to be run at the root of the repository.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs the program with these arguments.
pub fn slowhand(arguments: &[&str]) -> Ran {
    program().args(arguments).output().unwrap().into()
}

/// A directory of its own, gone at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it; `name` tells tests apart.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowhand-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
