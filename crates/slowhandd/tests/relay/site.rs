//! A mobile host with two links, and behind them a host with the servers and the relay.

use crate::patience::Patience;
use linux::netns::{CreateError, Netns};
use linux::rtnl::{IfName, Rtnl, VethPeer};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// Addresses of the servers and the relay. They look like the Internet's.
pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
/// The same for IPv6.
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 1));
const RELAY: &str = "203.0.113.1:4433";

/// Both hosts, and a folder of their own.
pub struct Site {
    client: Netns,
    internet: Netns,
    root: PathBuf,
}

/// What a server speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// Plain TCP.
    Tcp,
    /// MPTCP.
    Mptcp,
}

pub fn until(what: &str, mut met: impl FnMut() -> bool) {
    let mut patience = Patience::of(PATIENCE);
    while !met() {
        assert!(patience.lasts(), "{what}: not within {PATIENCE:?}");
    }
}

impl Site {
    /// `None` where this user may not make namespaces, or nftables is missing.
    pub fn new(test: &str) -> Option<Self> {
        let client = match Netns::new() {
            Err(CreateError::NotPermitted) => {
                println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
                return None;
            }
            client => client.unwrap(),
        };
        if Command::new("nft").arg("--version").output().is_err() {
            println!("skipped: needs nft; install nftables");
            return None;
        }
        let site = Self {
            client,
            internet: Netns::new().unwrap(),
            root: std::env::temp_dir().join(format!("slowhand-agent-{}-{test}", std::process::id())),
        };
        std::fs::create_dir_all(&site.root).unwrap();
        site.wire();
        site.key(&["add", "laptop"]);
        Some(site)
    }

    fn wire(&self) {
        self.client
            .run(|| {
                for (number, link) in ["w0", "w1"].into_iter().enumerate() {
                    let name: IfName = link.parse().unwrap();
                    let netns = Some(&self.internet);
                    Rtnl::open()
                        .unwrap()
                        .add_veth(name, VethPeer { name, netns })
                        .unwrap();
                    furnish(link, &format!("10.0.{number}.1/24"));
                    furnish(link, &format!("2001:db8:{number}::1/64"));
                    for hop in [format!("10.0.{number}.2"), format!("2001:db8:{number}::2")] {
                        ip(&format!(
                            "route add default via {hop} dev {link} metric 10{number}"
                        ));
                    }
                }
                ip("link set lo up");
            })
            .unwrap();
        self.internet
            .run(|| {
                for number in 0..2 {
                    furnish(&format!("w{number}"), &format!("10.0.{number}.2/24"));
                    furnish(&format!("w{number}"), &format!("2001:db8:{number}::2/64"));
                }
                for address in [
                    format!("{V4}/32"),
                    "203.0.113.1/32".to_owned(),
                    format!("{V6}/128"),
                ] {
                    furnish("lo", &address);
                }
            })
            .unwrap();
        // The kernel notices the far ends in its own time; until then the routes are down, and say so.
        let links: [IfName; 2] = ["w0", "w1"].map(|link| link.parse().unwrap());
        let both_run = || {
            let mut rtnl = Rtnl::open().unwrap();
            links.map(|link| rtnl.link_named(link).unwrap().unwrap().running()) == [true; 2]
        };
        until("both links have carrier", || self.client.run(both_run).unwrap());
    }

    /// A configuration with the relay.
    pub fn through_relay(&self) -> String {
        let key = self.root.join("keys/laptop.key");
        format!(
            "[relay]\naddress = \"{RELAY}\"\nkey_file = \"{}\"\n",
            key.display()
        )
    }

    /// A configuration without one.
    pub fn directly(&self) -> String {
        "[relay]\nway = \"direct\"\n".to_owned()
    }

    /// Runs the daemon with these lines in its configuration, and waits for the redirection.
    pub fn up(&self, relay: &str) -> Daemon {
        let config = self.root.join("slowhand.toml");
        let links = "[[link]]\ninterface = \"w*\"\nkind = \"cable\"\n";
        std::fs::write(&config, format!("{relay}{links}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowhandd"));
        command.arg("--runtime-dir").arg(self.root.join("run"));
        command.arg("--state-dir").arg(self.root.join("lib"));
        command.arg("--config").arg(config).stderr(Stdio::inherit());
        let child = self.client.prepare(&mut command).spawn().unwrap();
        let daemon = Daemon { child };
        until("connections are redirected", || {
            self.tables().contains("redirect to")
        });
        until("the daemon answers", || self.ask().is_some());
        daemon
    }

    fn ask(&self) -> Option<Value> {
        let mut stream = UnixStream::connect(self.root.join("run/status.sock")).ok()?;
        writeln!(stream, "{{\"verb\":\"status\"}}").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["error"].is_null().then_some(answer)
    }

    /// The daemon's state.
    pub fn status(&self) -> Value {
        self.ask().expect("the daemon answers")
    }

    /// The tables of nftables on the mobile host.
    pub fn tables(&self) -> String {
        let mut command = Command::new("nft");
        let listed = self
            .client
            .prepare(command.args(["list", "ruleset"]))
            .output()
            .unwrap();
        assert!(listed.status.success(), "{listed:?}");
        String::from_utf8(listed.stdout).unwrap()
    }

    /// Takes a link's packets away without a word to either end.
    pub fn cut(&self, link: &str) {
        let drop = format!(
            "add table netdev cut; add chain netdev cut in {{ type filter hook ingress device {link} priority 0; policy drop; }}"
        );
        for host in [&self.client, &self.internet] {
            let mut command = Command::new("nft");
            let done = host.prepare(command.arg(&drop)).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    }

    /// A program of the mobile host connects as any program does.
    pub fn connect(&self, server: SocketAddr) -> TcpStream {
        let stream = self.client.run(|| TcpStream::connect(server)).unwrap().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A server that returns what it gets.
    pub fn echo(&self, ip: IpAddr, speaks: Speaks) -> (SocketAddr, Echo) {
        let protocol = match speaks {
            Speaks::Tcp => Protocol::TCP,
            Speaks::Mptcp => Protocol::MPTCP,
        };
        let address = SocketAddr::new(ip, 0);
        let listener = self
            .internet
            .run(|| Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol)))
            .unwrap()
            .unwrap();
        listener.bind(&address.into()).unwrap();
        listener.listen(16).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let accepts = listener.try_clone().unwrap();
        let thread = std::thread::spawn(move || {
            while let Ok((socket, _)) = accepts.accept() {
                std::thread::spawn(move || echo(socket.into()));
            }
        });
        let thread = Some(thread);
        (address, Echo { listener, thread })
    }

    /// A relay that knows the mobile host.
    pub fn relay(&self) -> Relay<'_> {
        let file = self.relay_config();
        let keys = self.root.join("keys");
        // The servers are on the relay's own host, which it would refuse.
        let allow = format!("[key.laptop]\nallow = [\"{V4}\", \"{V6}\"]\n");
        let text = format!("listen = [\"{RELAY}\"]\nkeys = \"{}\"\n{allow}", keys.display());
        std::fs::write(&file, text).unwrap();
        let socket = self.root.join("relay.sock");
        let mut command = Command::new(relay());
        command.arg("--config").arg(file);
        command.arg("--socket").arg(&socket).stdout(Stdio::piped());
        let mut child = self.internet.prepare(&mut command).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, format!("listening on {RELAY}\n"));
        Relay {
            socket,
            child,
            site: self,
        }
    }

    fn relay_config(&self) -> PathBuf {
        self.root.join("relay.toml")
    }

    fn key(&self, words: &[&str]) {
        let file = self.relay_config();
        if !file.exists() {
            let keys = self.root.join("keys");
            std::fs::write(&file, format!("keys = \"{}\"\n", keys.display())).unwrap();
        }
        let mut command = Command::new(relay());
        let done = command
            .arg("key")
            .args(words)
            .arg("--config")
            .arg(file)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// The relay no longer knows the mobile host. That host keeps its own copy of the key in memory.
    pub fn forget_the_key(&self) {
        self.key(&["remove", "laptop"]);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.root));
    }
}

/// The relay's program, beside the daemon: a test of one package does not build the programs of another.
fn relay() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_slowhandd")).with_file_name("slowhand-relay");
    let shown = program.display();
    assert!(
        program.is_file(),
        "{shown} is missing: run `cargo build --package relay` first"
    );
    program
}

fn echo(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return drop(stream.shutdown(Shutdown::Write)),
            Ok(count) if stream.write_all(&buffer[..count]).is_ok() => {}
            _ => return,
        }
    }
}

fn furnish(link: &str, address: &str) {
    ip(&format!("link set {link} up"));
    ip(&format!("addr add {address} dev {link} nodad"));
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {done:?}");
}

/// A server that ends with this.
pub struct Echo {
    listener: Socket,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Echo {
    fn drop(&mut self) {
        drop(self.listener.shutdown(Shutdown::Both));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// A relay that ends with this.
pub struct Relay<'s> {
    site: &'s Site,
    socket: PathBuf,
    child: Child,
}

impl Relay<'_> {
    /// Its state.
    pub fn status(&self) -> Value {
        let mut command = Command::new(relay());
        command.args(["status", "--json", "--socket"]).arg(&self.socket);
        let asked = self.site.internet.prepare(&mut command).output().unwrap();
        assert!(asked.status.success(), "{asked:?}");
        serde_json::from_slice(&asked.stdout).unwrap()
    }
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A daemon that ends with this.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its agents. One that ends may still be listed beside the next one.
    pub fn agents(&self) -> Vec<u32> {
        let list = format!("/proc/{0}/task", self.id());
        let tasks = std::fs::read_dir(list).unwrap().map_while(Result::ok);
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let children = children.collect::<String>();
        let ids = children.split_whitespace().map(|id| id.parse::<u32>().unwrap());
        let is_agent = |id: &u32| {
            let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
            command.contains("slowhand-relay\0agent")
        };
        ids.filter(is_agent).collect()
    }

    /// Its only agent.
    pub fn agent(&self) -> u32 {
        let agents = self.agents();
        assert_eq!(agents.len(), 1);
        agents[0]
    }

    /// Kills this process of ours.
    pub fn kill(&mut self, id: u32) {
        let id = nix::unistd::Pid::from_raw(id.cast_signed());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
        if id.as_raw().cast_unsigned() == self.child.id() {
            self.child.wait().unwrap();
        }
    }

    /// Stops it in order.
    pub fn stop(mut self) {
        self.terminate();
        assert!(self.child.wait().unwrap().success());
    }

    fn terminate(&self) {
        let id = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.terminate();
            drop(self.child.wait());
        }
    }
}
