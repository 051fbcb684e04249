//! Runs the program as a user does.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

use std::ffi::CString;
use std::io::Write as _;
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

/// Restores the default for Ctrl-C. A shell that starts the tests in the background makes them ignore it, and
/// their children inherit that. An interrupt would be lost that comes before the program listens.
fn hear_interrupts() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: the default runs no code of ours.
    unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }.unwrap();
}

/// The program, to be run at the root of the repository.
pub fn program() -> Command {
    hear_interrupts();
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs a command to its end. `None`: it needs root and this user is not. The test is skipped, and says so.
pub fn ran_by_root(command: &mut Command) -> Option<Ran> {
    let ran = Ran::from(command.output().unwrap());
    if ran.code == Some(2) && ran.err.contains("run as root") {
        println!("skipped: {}", ran.err);
        return None;
    }
    Some(ran)
}

/// The daemon, beside the program: a test of one package does not build the programs of another.
pub fn daemon() -> PathBuf {
    beside("slowhandd")
}

/// The relay and agent, beside the program.
pub fn relay() -> PathBuf {
    beside("slowhand-relay")
}

fn beside(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_slowhand")).with_file_name(name);
    assert!(
        program.is_file(),
        "{} is missing: run `cargo build --workspace` first",
        program.display()
    );
    let newer = newer_source(&program);
    assert!(
        newer.is_none(),
        "{} is older than {}: run `cargo build --workspace` first",
        program.display(),
        newer.unwrap_or_default()
    );
    program
}

/// A source that has changed after this program was built, by the list of sources that `cargo build` puts
/// beside it. A test of the whole workspace builds the program without that list.
fn newer_source(program: &Path) -> Option<String> {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|found| found.modified()).ok();
    let built = changed(program);
    let list = std::fs::read_to_string(program.with_extension("d")).ok()?;
    let sources = list.split_once(": ").map_or("", |(_, sources)| sources);
    let files = sources
        .split_whitespace()
        .map(Path::new)
        .filter(|source| source.is_file());
    let newer = files.into_iter().find(|source| changed(source) > built);
    newer.map(|source| source.display().to_string())
}

/// The command that plays this many seconds of a scenario in virtual time. More arguments may follow.
pub fn virtual_play(scenario: &str, seconds: u32) -> Command {
    let mut command = program();
    command.args(["play", scenario, "--world", "sim"]);
    command.arg("--set").arg(format!("duration_s={seconds}"));
    command
}

/// Runs the program with these arguments.
pub fn slowhand(arguments: &[&str]) -> Ran {
    program().args(arguments).output().unwrap().into()
}

/// Lets the command alone see a directory in place of another: a kernel that says something else of itself.
pub fn seeing(command: &mut Command, directory: &Path, place: &str) {
    use std::os::unix::process::CommandExt as _;
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (from, onto, all) = (text(directory), text(Path::new(place)), text(Path::new("/")));
    let see = move || {
        let none = std::ptr::null();
        // SAFETY: C strings that outlive the calls; the mounts of the child only.
        let fine = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    none,
                    all.as_ptr(),
                    none,
                    libc::MS_REC | libc::MS_PRIVATE,
                    none.cast(),
                ) == 0
                && libc::mount(from.as_ptr(), onto.as_ptr(), none, libc::MS_BIND, none.cast()) == 0
        };
        match fine {
            true => Ok(()),
            false => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(see) };
}

/// Copies a program, in a process of its own: a child that another test starts at that moment would
/// inherit the file while it is open for writing, and nobody could run it.
pub fn copied(program: &Path, copy: &Path) {
    let status = Command::new("cp").arg(program).arg(copy).status();
    assert!(status.unwrap().success());
}

/// Writes a program, in a process of its own, as [`copied`] does.
pub fn written(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path);
    let mut install = install.stdin(Stdio::piped()).spawn().unwrap();
    install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success());
}

/// A directory of its own, gone at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it; `name` is unique to a test.
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
