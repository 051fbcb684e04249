//! Runs the program on the host of a site as its user does.

use anyhow::Context as _;
use linux::netns::Netns;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a service manager would wait for a start.
const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// Lines of the log reported with a failure.
const LINES: usize = 5;

/// The program's own directories, and its daemon if it runs.
pub struct Program {
    netns: Netns,
    root: PathBuf,
    ear: UnixDatagram,
    daemon: Option<Child>,
}

/// How `slowhand down` ended.
#[derive(Debug)]
pub struct Down {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// All output of the program.
    pub words: String,
}

impl Program {
    /// Sets up the program; nothing runs yet.
    pub fn on(host: &Netns, config: &str) -> anyhow::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slowhand-up-down-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir(&root).with_context(|| format!("{} cannot be made", root.display()))?;
        std::fs::write(root.join("slowhand.toml"), config)?;
        let ear = UnixDatagram::bind(root.join("notify.sock"))?;
        Ok(Self {
            netns: host.try_clone()?,
            root,
            ear,
            daemon: None,
        })
    }

    fn command(&self, verb: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(verb);
        command.arg("--runtime-dir").arg(self.root.join("run"));
        command.arg("--state-dir").arg(self.root.join("lib"));
        command.stdin(Stdio::null());
        self.netns.prepare(&mut command);
        // SAFETY: the hook makes one system call.
        unsafe { command.pre_exec(end_with_us) };
        Ok(command)
    }

    /// Starts the daemon. Its process exists from then on.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.ear.set_nonblocking(true)?;
        while self.ear.recv(&mut [0; 64]).is_ok() {}
        self.ear.set_nonblocking(false)?;
        let mut command = self.command("up")?;
        command.arg("--config").arg(self.root.join("slowhand.toml"));
        command.env("NOTIFY_SOCKET", self.root.join("notify.sock"));
        command.stdout(Stdio::null());
        command.stderr(File::create(self.root.join("log"))?);
        self.daemon = Some(command.spawn()?);
        Ok(())
    }

    /// Waits until the daemon reports that it is ready.
    pub fn await_ready(&mut self) -> anyhow::Result<()> {
        let since = Instant::now();
        self.ear.set_read_timeout(Some(LOOK))?;
        let mut words = [0; 64];
        while since.elapsed() < START {
            let heard = self.ear.recv(&mut words);
            if heard.is_ok_and(|length| words[..length].starts_with(b"READY=1")) {
                return Ok(());
            }
            if let Some(status) = self.daemon()?.try_wait()? {
                anyhow::bail!("`up` ended with {status}: {}", self.last_words());
            }
        }
        anyhow::bail!(
            "`up` is not ready after {} s: {}",
            START.as_secs(),
            self.last_words()
        )
    }

    /// Process ID of the daemon.
    pub fn pid(&mut self) -> anyhow::Result<u32> {
        Ok(self.daemon()?.id())
    }

    fn daemon(&mut self) -> anyhow::Result<&mut Child> {
        self.daemon.as_mut().context("no daemon was started")
    }

    /// Kills the daemon with `kill -9`, and waits for its end.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut daemon = self.daemon.take().context("no daemon was started")?;
        daemon.kill()?;
        daemon.wait()?;
        Ok(())
    }

    /// Starts `slowhand down`.
    pub fn begin_down(&self) -> anyhow::Result<Child> {
        let mut command = self.command("down")?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// Runs `slowhand down` to its end.
    pub fn down(&self) -> anyhow::Result<Down> {
        Down::of(self.begin_down()?)
    }

    /// Waits until the daemon exits by itself, with code 0.
    pub fn await_end(&mut self) -> anyhow::Result<()> {
        let status = self.daemon()?.wait()?;
        self.daemon = None;
        anyhow::ensure!(
            status.success(),
            "`up` ended with {status}: {}",
            self.last_words()
        );
        Ok(())
    }

    /// Last lines of the log of the daemon that was started last.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.root.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("; ")
    }
}

impl Down {
    /// Waits for the end of a `down` that was started.
    pub fn of(down: Child) -> anyhow::Result<Self> {
        let output = down.wait_with_output()?;
        let words = [output.stdout, output.stderr].concat();
        Ok(Self {
            code: output.status.code(),
            words: String::from_utf8_lossy(&words).into_owned(),
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            // It may have exited already. Either way nothing of it remains after this.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        // Anything left is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Makes the daemons end with the benchmark, however it ends. The namespaces end too, since they have no
/// other users.
fn end_with_us() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
