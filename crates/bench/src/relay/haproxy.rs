//! HAProxy in TCP mode, whose sockets `mptcpize` makes MPTCP ones: the control.

use anyhow::Context as _;
use linux::netns::Netns;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::rig::{self, PATIENCE};

/// Name of the control in results.
pub const NAME: &str = "HAProxy";
const LISTENS: ([u8; 4], u16) = ([127, 0, 0, 1], 4_434);
/// Connections that it may have at most, and pipes. It refuses to start with more than it has descriptors
/// for.
const MOST: usize = 100_000;
const PIPES: usize = 256;
const LOOK: Duration = Duration::from_millis(10);

/// A running HAProxy.
pub struct Haproxy {
    child: Child,
    config: PathBuf,
}

/// Why there is no control.
pub const MISSING: &str = "HAProxy is skipped: install haproxy and mptcpize";

impl Haproxy {
    /// Starts it in front of `server`. `None`: it is not installed.
    pub fn start(netns: &Netns, server: SocketAddr) -> anyhow::Result<Option<Self>> {
        if !["haproxy", "mptcpize"].into_iter().all(is_installed) {
            return Ok(None);
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slowhand-haproxy-{}-{number}.cfg", std::process::id());
        let config = std::env::temp_dir().join(name);
        let address = SocketAddr::from(LISTENS);
        let text = format!(
            "global\n  maxconn {most}\n  maxpipes {PIPES}\n  nbthread {threads}\n\ndefaults\n  mode tcp\n  option splice-auto\n  \
             timeout connect 10s\n  timeout client 300s\n  timeout server 300s\n  maxconn {most}\n\n\
             listen relay\n  bind {address} backlog 4096\n  server only {server}\n",
            most = rig::most_connections().min(MOST),
            threads = std::thread::available_parallelism().map_or(1, usize::from)
        );
        std::fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
        let mut command = Command::new("mptcpize");
        command.args(["run", "haproxy", "-db", "-f"]).arg(&config);
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = netns.prepare(&mut command).spawn().context("mptcpize")?;
        let running = Self { child, config };
        running.await_listener(netns)?;
        Ok(Some(running))
    }

    fn await_listener(&self, netns: &Netns) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        let connects = || rig::connect(LISTENS.into(), socket2::Protocol::MPTCP).is_ok();
        while !netns.run(connects)? {
            anyhow::ensure!(
                Instant::now() < until,
                "HAProxy does not listen; see `haproxy -c -f FILE`"
            );
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Connections through it.
    pub fn through(&self) -> rig::Through {
        rig::Through::Fixed(LISTENS.into())
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

fn is_installed(program: &str) -> bool {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    folders
        .map(|folder| PathBuf::from(folder).join(program))
        .iter()
        .any(|file| file.is_file())
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        // It may have ended already. In either case nothing of it is left after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.config);
    }
}
