//! The last row: an unmodified `curl` on the walk fetches from an unmodified `nginx`. Neither speaks MPTCP,
//! and the server's kernel does not either. An agent and a relay are between them.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wall, Instant as Moment};

use anyhow::Context as _;
use lab::shell::{Programs, SERVER_VARIABLE};
use nix::sys::stat::Mode;
use scenario::{Plan, Relay, Server};
use trace::{FlowMeter, PolicyName};
use units::{Bitrate, Duration, Instant};

use runs::batch::{self, Job, Rules};
use runs::interrupt;

/// How far the relay is from the server: half of what is behind an access point.
const RTT: Duration = Duration::from_millis(10);
const RATE: Bitrate = Bitrate::from_mbps(1_000);
/// More than all links of the walk carry.
const FILE: u64 = 2 << 30;
/// Repetitions of a run that was late are not worth a minute here.
const PUNCTUAL: Duration = Duration::from_secs(1);
/// Pause between two looks into an empty pipe.
const STEP: Wall = Wall::from_millis(1);

/// Plays the walk with both programs, and describes the result in a line. Without the programs, the line says
/// what is missing.
pub(super) fn play(walk: &Plan) -> anyhow::Result<String> {
    if let Some(missing) = ["curl", "nginx"]
        .into_iter()
        .find(|program| !is_installed(program))
    {
        return Ok(format!(
            "curl through a relay: skipped, as `{missing}` is not installed; `apt-get install curl nginx-light`\n"
        ));
    }
    let folder = Folder::new()?;
    let pipe = folder.prepare()?;
    let (zero, over) = (OnceLock::<Moment>::new(), AtomicBool::new(false));
    let job = Job {
        plan: Plan {
            server: Server::Legacy,
            relay: Some(Relay { rtt: RTT, rate: RATE }),
            ..walk.clone()
        },
        policy: PolicyName::Slowhand,
        seed: walk.seed,
        programs: Some(folder.programs()),
        window: None,
        count_cost: false,
        unadvised: false,
        record: false,
    };
    let rules = Rules {
        punctual: PUNCTUAL,
        stop: interrupt::stop()?,
        // The first event is at time zero.
        watch: &|_, _| {
            let _ = zero.get_or_init(Moment::now);
        },
    };
    let (done, meter) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(pipe, &zero, &over));
        let done = batch::run(&[job], &rules);
        over.store(true, Ordering::Relaxed);
        (done, reader.join())
    });
    let played = done?.pop().context("the walk was not played")?.played;
    let meter =
        meter.map_err(|_| anyhow::anyhow!("the reader of curl's bytes panicked; please report this"))?;
    let flow = meter.result(Instant::ZERO + walk.duration, None, Vec::new());
    let links = walk.links.iter().zip(&played.emulator.links);
    let used = links.filter(|(_, carried)| carried.down.get() > 0);
    let used = Vec::from_iter(used.map(|(link, carried)| format!("{} {}", link.name, carried.down)));
    Ok(format!(
        "curl through a relay: {:.1} Mb/s, longest stall {:.0} ms ({})\n  Neither curl nor nginx nor the server's kernel speaks MPTCP.\n",
        flow.goodput_mbps,
        flow.longest_stall_ms,
        used.join(", "),
    ))
}

/// Whether a program is in one of the folders of PATH, or where Debian has those of the administrator.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders
        .map(|folder| folder.join(program))
        .any(|file| file.is_file())
}

/// Measures what curl writes into the pipe until the run is over.
fn read(mut pipe: File, zero: &OnceLock<Moment>, over: &AtomicBool) -> FlowMeter {
    let mut meter = FlowMeter::new("curl", Instant::ZERO);
    let mut buffer = vec![0; 256 * 1024];
    let now = || {
        zero.get()
            .map_or(Instant::ZERO, |zero| Instant::ZERO + zero.elapsed())
    };
    while !over.load(Ordering::Relaxed) {
        match pipe.read(&mut buffer) {
            Ok(count) => drop(meter.read(now(), count as u64)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(STEP),
            Err(_) => break,
        }
    }
    meter.end(now());
    meter
}

/// The programs' files, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("slowhand-demo-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    /// Writes the configuration and the file to fetch. Returns the pipe into which curl writes.
    fn prepare(&self) -> anyhow::Result<File> {
        let at = self.0.display();
        let config = format!(
            "daemon off; master_process off; user root; pid {at}/pid; error_log {at}/error.log;\nevents {{}}\n\
             http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c;\n\
             uwsgi_temp_path {at}/d; scgi_temp_path {at}/e; server {{ listen 80; root {at}/files; }} }}\n"
        );
        let written = || -> std::io::Result<File> {
            fs::write(self.0.join("nginx.conf"), config)?;
            fs::create_dir_all(self.0.join("files"))?;
            File::create(self.0.join("files/walk"))?.set_len(FILE)?;
            nix::unistd::mkfifo(&self.pipe(), Mode::S_IRUSR | Mode::S_IWUSR)?;
            // With a writer of our own the pipe has no end before the run is over.
            OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(nix::libc::O_NONBLOCK)
                .open(self.pipe())
        };
        written().with_context(|| format!("cannot prepare {at}"))
    }

    fn pipe(&self) -> PathBuf {
        self.0.join("pipe")
    }

    fn programs(&self) -> Programs {
        let at = self.0.display();
        let url = format!("http://${SERVER_VARIABLE}/walk");
        let pipe = self.pipe();
        let fetch = format!(
            "exec curl --silent --fail --retry 9 --retry-connrefused {url} -o {}",
            pipe.display()
        );
        Programs {
            client: fetch.into(),
            servers: vec![format!("PATH=$PATH:/usr/sbin exec nginx -c {at}/nginx.conf").into()],
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the folder for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}
