//! A host that is looked after, its server, and the program as its users run it.

use crate::common::daemon;
use crate::patience::Patience;
use linux::netns::{CreateError, Netns};
use linux::rtnl::{Address, AddressFlags, IfName, Rtnl, VethPeer};
use serde_json::Value;
use std::fs::Permissions;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const SERVER: &str = "10.255.0.1:5001";

/// A client with two links to a server, and directories of its own.
pub(crate) struct Host {
    pub(crate) client: Netns,
    pub(crate) server: Netns,
    pub(crate) root: PathBuf,
}

impl Host {
    /// `None` where this user may not make namespaces.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let client = match Netns::new() {
            Err(CreateError::NotPermitted) => {
                println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
                return None;
            }
            client => client.unwrap(),
        };
        let server = Netns::new().unwrap();
        let root = std::env::temp_dir().join(format!("slowhand-host-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let host = Self { client, server, root };
        host.wire();
        Some(host)
    }

    fn wire(&self) {
        self.client
            .run(|| {
                for link in ["w0", "w1"] {
                    let name: IfName = link.parse().unwrap();
                    let peer = VethPeer {
                        name,
                        netns: Some(&self.server),
                    };
                    Rtnl::open().unwrap().add_veth(name, peer).unwrap();
                }
                furnish("w0", "10.0.0.1/24");
                furnish("w1", "10.0.1.1/24");
                // As a DHCP client leaves it: the daemon learns the next hops from here.
                output("ip route add default via 10.0.0.2 dev w0 metric 100");
                output("ip route add default via 10.0.1.2 dev w1 metric 200");
            })
            .unwrap();
        self.server
            .run(|| {
                furnish("w0", "10.0.0.2/24");
                furnish("w1", "10.0.1.2/24");
                furnish("lo", "10.255.0.1/32");
            })
            .unwrap();
        // The kernel notices the far ends in its own time; until then the routes are down, and say so.
        let links = ["w0", "w1"].map(|link| link.parse().unwrap());
        let both_run = || {
            let mut rtnl = Rtnl::open().unwrap();
            links.map(|link| rtnl.link_named(link).unwrap().unwrap().running()) == [true; 2]
        };
        until("both links have carrier", || self.client.run(both_run).unwrap());
    }

    pub(crate) fn config(&self, text: &str) -> PathBuf {
        let path = self.root.join("slowhand.toml");
        write(&path, text, 0o644);
        path
    }

    pub(crate) fn two_links(&self) -> PathBuf {
        self.config(
            "[[link]]\ninterface = \"w0\"\nname = \"desk\"\nkind = \"cable\"\n\n\
             [[link]]\ninterface = \"w*\"\nkind = \"wifi\"\n",
        )
    }

    pub(crate) fn command(&self, verb: &str) -> Command {
        self.command_at(verb, "run", "lib")
    }

    /// A command with other directories than the host's own.
    pub(crate) fn command_at(&self, verb: &str, run: &str, lib: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
        command.arg(verb);
        if verb == "up" {
            daemon();
        }
        if verb != "doctor" {
            self.place(&mut command, run, lib);
        }
        self.client.prepare(&mut command);
        command
    }

    /// The daemon itself, as the unit starts it.
    pub(crate) fn daemon(&self) -> Command {
        let mut command = Command::new(daemon());
        self.place(&mut command, "run", "lib");
        self.client.prepare(&mut command);
        command
    }

    fn place(&self, command: &mut Command, run: &str, lib: &str) {
        command.arg("--runtime-dir").arg(self.root.join(run));
        command.arg("--state-dir").arg(self.root.join(lib));
    }

    pub(crate) fn ask(&self, verb: &str, more: &[&str]) -> Output {
        self.command(verb).args(more).output().unwrap()
    }

    pub(crate) fn json(&self, verb: &str) -> Value {
        let output = self.ask(verb, &["--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Starts the daemon and waits for it to say that it is ready, as a service manager would.
    pub(crate) fn up(&self) -> Up {
        self.up_with(&[])
    }

    pub(crate) fn up_with(&self, arguments: &[&str]) -> Up {
        self.up_where(arguments, |_| {})
    }

    /// Starts the daemon with a command that `change` has modified.
    pub(crate) fn up_where(&self, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Up {
        self.up_at(self.command("up"), arguments, change)
    }

    /// Starts the daemon with this command.
    pub(crate) fn up_at(
        &self,
        command: Command,
        arguments: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Up {
        self.up_with_config(command, &self.two_links(), arguments, change)
    }

    /// Starts the daemon with this command and configuration.
    pub(crate) fn up_with_config(
        &self,
        mut command: Command,
        config: &Path,
        arguments: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Up {
        let path = self.root.join("notify.sock");
        let _ = std::fs::remove_file(&path);
        let ear = UnixDatagram::bind(&path).unwrap();
        command
            .arg("--config")
            .arg(config)
            .args(arguments)
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "200000")
            .stderr(Stdio::piped());
        change(&mut command);
        let up = Up {
            child: command.spawn().unwrap(),
            heard: listen(ear),
        };
        assert_eq!(up.hears(), "READY=1");
        assert_eq!(up.hears(), "WATCHDOG=1");
        up
    }

    pub(crate) fn state(&self) -> String {
        let commands = [
            "ip rule",
            "ip route show table all",
            "ip mptcp limits",
            "ip mptcp endpoint",
            "sysctl net.mptcp",
        ];
        self.client.run(|| commands.map(output).concat()).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// A running daemon; killed if a test forgets it.
pub(crate) struct Up {
    pub(crate) child: Child,
    heard: Receiver<String>,
}

/// Receives the daemon's notifications at once, as service managers do: the kernel queues only a few unread
/// ones.
pub(crate) fn listen(ear: UnixDatagram) -> Receiver<String> {
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        let mut words = [0; 64];
        while let Ok(length) = ear.recv(&mut words) {
            let said = String::from_utf8_lossy(&words[..length]);
            // Each state is a line.
            if tell.send(said.trim_end().to_owned()).is_err() {
                return;
            }
        }
    });
    heard
}

impl Up {
    pub(crate) fn hears(&self) -> String {
        let words = self.heard.recv_timeout(PATIENCE);
        words.expect("the service manager hears something")
    }

    /// What it has written on standard error, once it has ended.
    pub(crate) fn log(&mut self) -> String {
        let mut log = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        log
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn furnish(link: &str, address: &str) {
    let mut rtnl = Rtnl::open().unwrap();
    let ifindex = rtnl.link_named(link.parse().unwrap()).unwrap().unwrap().ifindex;
    let address = Address {
        flags: AddressFlags::NO_DAD,
        ..Address::new(ifindex, address.parse().unwrap())
    };
    rtnl.add_address(&address).unwrap();
    rtnl.set_up(ifindex, true).unwrap();
}

pub(crate) fn output(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.contains("fe80"))
        .fold(String::new(), |all, line| all + line + "\n")
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let mut until = Patience::of(PATIENCE);
    while !done() {
        assert!(until.lasts(), "waited and not seen: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn words(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Writes a file with these permissions, whatever the umask is.
pub(crate) fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
