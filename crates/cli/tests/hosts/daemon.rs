//! slowhand on a site's host, as its user runs it.

use crate::common::{self, Scratch};
use crate::site::Site;
use crate::wait;
use linux::netns::Netns;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a service manager waits for a start.
const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);

/// The program in the namespace of a host, with directories of its own.
pub struct Slowhand {
    netns: Netns,
    scratch: Scratch,
    running: Option<Child>,
}

impl Slowhand {
    /// Prepares it; nothing runs yet.
    pub fn on(site: &Site) -> Self {
        Self::configured(site, "")
    }

    /// Prepares it with more in its configuration.
    pub fn configured(site: &Site, more: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let scratch = Scratch::new(&format!("hosts-{number}"));
        let config = format!("{}\n{more}", site.config);
        std::fs::write(scratch.path("slowhand.toml"), config).unwrap();
        Self {
            netns: site.host().try_clone().unwrap(),
            scratch,
            running: None,
        }
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
        if verb == "up" {
            common::daemon();
        }
        command.arg(verb);
        command.arg("--runtime-dir").arg(self.scratch.path("run"));
        command.arg("--state-dir").arg(self.scratch.path("lib"));
        command
    }

    /// Starts a program on the host.
    fn spawn(&self, command: &mut Command) -> Child {
        self.netns.run(|| command.spawn()).unwrap().unwrap()
    }

    /// What a question such as `status` or `why` is answered with, and how the program ended.
    pub fn ask(&self, verb: &str, more: &[&str]) -> Output {
        let mut command = self.command(verb);
        command
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.spawn(&mut command).wait_with_output().unwrap()
    }

    /// Starts the daemon and waits until it says that it is ready.
    pub fn start(&mut self) {
        let path = self.scratch.path("notify.sock");
        drop(std::fs::remove_file(&path));
        let ear = UnixDatagram::bind(&path).unwrap();
        ear.set_read_timeout(Some(LOOK)).unwrap();
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.scratch.path("log"));
        let mut command = self.command("up");
        command.arg("--config").arg(self.scratch.path("slowhand.toml"));
        command
            .env("NOTIFY_SOCKET", &path)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut child = self.spawn(command.stderr(log.unwrap()));
        let ready = || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "`up` ended with {ended:?}: {}", self.log());
            let mut words = [0; 64];
            ear.recv(&mut words)
                .is_ok_and(|length| words[..length].starts_with(b"READY=1"))
        };
        assert!(wait::within(START, ready), "`up` is not ready: {}", self.log());
        self.running = Some(child);
    }

    /// `slowhand down`: its exit code and its words.
    pub fn down(&mut self) -> (Option<i32>, String) {
        let output = self.ask("down", &[]);
        if let Some(mut child) = self.running.take() {
            child.wait().unwrap();
        }
        let words = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.code(), String::from_utf8_lossy(&words).into_owned())
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let mut child = self.running.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Does something while the daemon is stopped: it sees all of it at once.
    pub fn unseen(&self, work: impl FnOnce()) {
        let pid = Pid::from_raw(self.running.as_ref().unwrap().id().cast_signed());
        kill(pid, Signal::SIGSTOP).unwrap();
        let is_stopped = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            stat.rsplit(") ").next().unwrap().starts_with('T')
        };
        assert!(wait::within(START, is_stopped), "the daemon is not stopped");
        work();
        kill(pid, Signal::SIGCONT).unwrap();
    }

    /// Whether the daemon was started and not ended.
    pub const fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// The answer as a document.
    pub fn json(&self, verb: &str) -> Value {
        let output = self.ask(verb, &["--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// The interfaces with a star in `status`.
    pub fn stars(&self) -> Vec<String> {
        let status = self.json("status");
        let links = status["links"].as_array().unwrap().iter();
        let starred = links.filter(|link| link["default_route"] == true);
        starred
            .map(|link| link["interface"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The interfaces of which `status` has an address that can be used.
    pub fn usable(&self) -> Vec<String> {
        let status = self.json("status");
        let links = status["links"].as_array().unwrap().iter();
        let usable = links.filter(|link| !link["addresses"].as_array().unwrap().is_empty());
        usable
            .filter_map(|link| Some(link["interface"].as_str()?.to_owned()))
            .collect()
    }

    /// The peer of each connection in `status`, and how many subflows it has.
    pub fn connections(&self) -> Vec<(IpAddr, usize)> {
        let status = self.json("status");
        let connections = status["connections"].as_array().unwrap().iter();
        let peer = |remote: &Value| remote.as_str().unwrap().parse::<SocketAddr>().unwrap().ip();
        connections
            .map(|one| (peer(&one["remote"]), one["subflows"].as_array().unwrap().len()))
            .collect()
    }

    /// The servers of the connections that the agent carries, and how many it has carried so far.
    pub fn carried(&self) -> (Vec<IpAddr>, u64) {
        let agent = &self.json("status")["agent"];
        let rows = agent["connections"].as_array().into_iter().flatten();
        let server = |row: &Value| {
            row["server"]
                .as_str()
                .unwrap()
                .parse::<SocketAddr>()
                .unwrap()
                .ip()
        };
        let totals = agent["totals"].as_object().into_iter().flatten();
        (
            rows.map(server).collect(),
            totals.filter_map(|(_, total)| total.as_u64()).sum(),
        )
    }

    /// Everything that was logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.path("log")).unwrap_or_default()
    }
}

impl Drop for Slowhand {
    fn drop(&mut self) {
        if let Some(mut child) = self.running.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
