//! Boots the guest under QEMU with a script, and returns what the script wrote.
//!
//! - The script, its programs and the guest's own files are an archive behind the root file system. QEMU gets
//!   both as its standard input, a file without a name: nothing is left behind if this process is killed.
//! - The script's directory for results is a directory of the host, mounted at `/share` by 9p.
//! - The guest's console is read line by line. Its last line has the script's exit code.
//!
//! # Sources
//! - QEMU manual, "TCG Instruction Counting": with `-icount shift=0,sleep=off` an instruction takes 1 ns of
//!   the guest's time, and waits of an idle guest take no time on the host.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs`.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use thiserror::Error;

use crate::cpio::Archive;
use crate::image::Image;
use crate::programs::{self, ProgramError};
use crate::tool;

/// The guest's own files: path in the guest, permissions, content.
const FILES: [(&str, u32, &str); 7] = [
    ("init", 0o755, include_str!("../guest/init.sh")),
    ("lib/box.sh", 0o644, include_str!("../guest/box.sh")),
    ("lib/beside.sh", 0o644, include_str!("../guest/beside.sh")),
    ("lib/driver.sh", 0o644, include_str!("../guest/driver.sh")),
    ("lib/joining.sh", 0o644, include_str!("../guest/joining.sh")),
    ("lib/udhcpc.sh", 0o755, include_str!("../guest/udhcpc.sh")),
    // Where `make install` puts it with `PREFIX=/usr`: in Debian, `/lib` is `/usr/lib`.
    (
        "lib/systemd/system/slowhand.service",
        0o644,
        include_str!("../../../dist/slowhand.service"),
    ),
];
/// MiB of the guest's memory. The kernel unpacks the root file system into at most half of it.
const MEMORY: &str = "1024";
/// What the guest prints last, before the exit code.
const END: &str = "guest: the script ended with exit code ";
/// Lines of the console that an error shows.
const LAST_LINES: usize = 20;

/// What to run in the guest.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// A bash script.
    pub script: &'a str,
    /// Programs of the host that it needs.
    pub programs: &'a [PathBuf],
    /// The scenario at `/scenario.toml`, if it needs one.
    pub scenario: Option<&'a str>,
    /// The directory of the host that the guest mounts at `/share`.
    pub share: &'a Path,
    /// Time on the host after which the machine is ended.
    pub limit: Duration,
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code.
    pub code: u8,
    /// Everything that the guest printed.
    pub console: String,
}

/// Why a script did not end.
#[derive(Debug, Error)]
pub enum MachineError {
    /// A program could not be taken along.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The archive with the script could not be written, or QEMU could not be started.
    #[error("cannot {what}")]
    Io {
        /// What failed.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The time was over.
    #[error(
        "the guest did not end within {limit:?} on this host; raise --limit if the host is loaded. It printed last:\n{last}"
    )]
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// The console's last lines.
        last: String,
    },
    /// QEMU ended without the guest's last line.
    #[error("the guest ended ({status}) before its script did. It printed last:\n{last}")]
    Died {
        /// How QEMU ended.
        status: ExitStatus,
        /// The console's last lines.
        last: String,
    },
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> MachineError {
    move |source| MachineError::Io { what, source }
}

/// Boots the guest and runs a job. `hear` gets each line of the console.
pub fn run(image: &Image, job: &Job<'_>, hear: &mut dyn FnMut(&str)) -> Result<Outcome, MachineError> {
    let root = root(&image.root, job)?;
    let mut child = qemu(&image.kernel, root, job.share)
        .spawn()
        .map_err(failed("start QEMU; install it with `scripts/setup.sh test`"))?;
    let lines = console(&mut child);
    let heard = listen(&lines, job.limit, hear);
    if heard.timed_out {
        // It may have ended in this moment; either way it is waited for.
        let _ = child.kill();
    }
    let status = child.wait().map_err(failed("wait for QEMU"))?;
    let code = heard.text.lines().rev().find_map(exit_code);
    let last = || last_lines(&heard.text);
    match code {
        Some(code) => Ok(Outcome {
            code,
            console: heard.text,
        }),
        None if heard.timed_out => Err(MachineError::TimeLimit {
            limit: job.limit,
            last: last(),
        }),
        None => Err(MachineError::Died { status, last: last() }),
    }
}

/// The root file system, followed by an archive with the script and its programs. The file has no name.
fn root(base: &Path, job: &Job<'_>) -> Result<File, MachineError> {
    const WRITE: &str =
        "write the guest's root file system; free some space in the directory for temporary files";
    let scratch = Scratch::new().map_err(failed(WRITE))?;
    let path = scratch.0.join("root.cpio");
    let mut out = BufWriter::new(File::create(&path).map_err(failed(WRITE))?);
    let mut base = File::open(base).map_err(failed("open the image of the virtual machine"))?;
    io::copy(&mut base, &mut out).map_err(failed(WRITE))?;
    let mut archive = Archive::new(out);
    for (path, permissions, content) in FILES {
        let added = archive.file(path, permissions, content.as_bytes());
        added.map_err(failed(WRITE))?;
    }
    archive
        .file("script.sh", 0o755, job.script.as_bytes())
        .map_err(failed(WRITE))?;
    if let Some(scenario) = job.scenario {
        let added = archive.file("scenario.toml", 0o644, scenario.as_bytes());
        added.map_err(failed(WRITE))?;
    }
    programs::add(&mut archive, job.programs, &scratch.0.join("program"))?;
    archive.finish().map_err(failed(WRITE))?;
    File::open(&path).map_err(failed(WRITE))
}

fn qemu(kernel: &Path, root: File, share: &Path) -> Command {
    let mut qemu = tool::command("qemu-system-x86_64");
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    qemu.args(["-machine", "q35", "-cpu", "max", "-smp", "1", "-m", MEMORY]);
    qemu.args(["-accel", "tcg,thread=single,tb-size=512"]);
    qemu.args(["-icount", "shift=0,align=off,sleep=off", "-rtc", "clock=vm"]);
    qemu.args([
        "-chardev",
        "file,id=console,path=/dev/stdout",
        "-serial",
        "chardev:console",
    ]);
    qemu.arg("-kernel").arg(kernel);
    qemu.args(["-initrd", "/dev/stdin"]).stdin(root);
    qemu.args([
        "-append",
        "console=ttyS0 quiet loglevel=3 panic=-1 random.trust_cpu=on",
    ]);
    // A comma in a value is written twice.
    let path = share.display().to_string().replace(',', ",,");
    qemu.arg("-virtfs").arg(format!(
        "local,path={path},mount_tag=share,security_model=none,multidevs=remap"
    ));
    qemu.stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec this makes one system call, which allocates nothing and takes no lock.
    unsafe {
        qemu.pre_exec(|| set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from));
    }
    qemu
}

/// The lines that the guest prints, and those of QEMU itself. It ends when both have closed their output.
fn console(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let outputs: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|output| Box::new(output) as _),
        child.stderr.take().map(|output| Box::new(output) as _),
    ];
    for output in outputs.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}

struct Heard {
    text: String,
    timed_out: bool,
}

/// Collects lines until there are no more, or the time is over.
fn listen(lines: &Receiver<String>, limit: Duration, hear: &mut dyn FnMut(&str)) -> Heard {
    let until = Instant::now() + limit;
    let mut text = String::new();
    loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                hear(&line);
                text.push_str(&line);
                text.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Heard {
                    text,
                    timed_out: false,
                };
            }
            Err(RecvTimeoutError::Timeout) => {
                return Heard {
                    text,
                    timed_out: true,
                };
            }
        }
    }
}

fn exit_code(line: &str) -> Option<u8> {
    line.strip_prefix(END)?.parse().ok()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// A directory that is removed with its value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "wifi-box-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_exit_code_in_the_last_line() {
        assert_eq!(exit_code("guest: the script ended with exit code 3"), Some(3));
        assert_eq!(exit_code("guest: the script ended with exit code 300"), None);
        assert_eq!(exit_code("guest: booted"), None);
    }

    #[test]
    fn silence_ends_at_the_limit_and_closed_output_at_once() {
        let (sender, lines) = channel();
        sender.send("booted".to_owned()).unwrap();
        let mut heard_live = Vec::new();
        let heard = listen(&lines, Duration::from_millis(5), &mut |line| {
            heard_live.push(line.to_owned())
        });
        assert!(heard.timed_out);
        assert_eq!((heard.text.as_str(), heard_live.len()), ("booted\n", 1));
        drop(sender);
        assert!(!listen(&lines, Duration::from_secs(3600), &mut |_| {}).timed_out);
    }
}
