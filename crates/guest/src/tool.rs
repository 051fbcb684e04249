//! External programs: which are needed, and how a failed one is reported.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use thiserror::Error;

/// Programs that the machine needs on its host, each with the Debian package that has it.
const NEEDED: [(&str, &str); 8] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("depmod", "kmod"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
    ("ldd", "libc-bin"),
    ("strip", "binutils"),
];

/// The keys that sign Debian's packages.
pub const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Directories with programs that an ordinary user's `PATH` may lack.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Why an external program did not do its work.
#[derive(Debug, Error)]
pub enum ToolError {
    /// It could not be started.
    #[error("cannot run {program}; install it with `scripts/setup.sh test`")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It failed.
    #[error("{command} failed:\n{output}")]
    Failed {
        /// What was run.
        command: String,
        /// The end of what it printed.
        output: String,
    },
    /// It printed something that is not text.
    #[error("{command} printed bytes that are not UTF-8")]
    NotText {
        /// What was run.
        command: String,
    },
}

/// What this host lacks to run the machine, with the remedy. `None` if nothing is missing.
pub fn missing() -> Option<String> {
    if std::env::consts::ARCH != "x86_64" {
        return Some(format!(
            "the virtual machine runs x86-64 programs of this host, which is {}",
            std::env::consts::ARCH
        ));
    }
    let mut packages: Vec<&str> = NEEDED
        .iter()
        .filter(|(program, _)| path_of(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    if !Path::new(KEYRING).exists() {
        packages.push("debian-archive-keyring");
    }
    (!packages.is_empty()).then(|| {
        format!(
            "packages are missing: run `sudo apt-get install --no-install-recommends {}`",
            packages.join(" ")
        )
    })
}

/// Where a program is.
fn path_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM.map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

/// A command for a needed program, with messages in English.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(path_of(program).unwrap_or_else(|| program.into()));
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs a command to its end and returns what it printed on standard output.
pub(crate) fn run(command: &mut Command) -> Result<String, ToolError> {
    let output = finish(command)?;
    String::from_utf8(output.stdout).map_err(|_| ToolError::NotText {
        command: shown(command),
    })
}

/// The same for output that is not text.
pub(crate) fn bytes(command: &mut Command) -> Result<Vec<u8>, ToolError> {
    Ok(finish(command)?.stdout)
}

fn finish(command: &mut Command) -> Result<Output, ToolError> {
    let output = command.output().map_err(|source| ToolError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.lines().collect();
    Err(ToolError::Failed {
        command: shown(command),
        output: lines[lines.len().saturating_sub(8)..].join("\n"),
    })
}

/// The program and its last arguments, which say what was asked.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
    let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let last = &arguments[arguments.len().saturating_sub(4)..];
    format!("{program} … {}", last.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_program_shows_what_it_printed_last() {
        let error = run(command("sh").args(["-c", "seq 20; echo no space left >&2; exit 3"])).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("sh … -c "), "{text}");
        assert!(text.contains("\n20\nno space left"), "{text}");
        assert!(!text.contains("\n12\n"), "{text}");
    }

    #[test]
    fn a_missing_program_names_the_remedy() {
        let error = run(&mut command("no-such-program-here")).unwrap_err();
        assert!(error.to_string().contains("scripts/setup.sh test"), "{error}");
    }
}
