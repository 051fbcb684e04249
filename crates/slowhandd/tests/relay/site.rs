//! A mobile host with two links, and behind them a host with the servers and the relay.

use crate::patience::Patience;
use linux::netns::{CreateError, Netns};
use linux::rtnl::{IfName, Rtnl, VethPeer};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use std::ffi::OsStr;
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

/// A mobile host with two links, its Internet, and a folder of their own.
pub struct Site {
    pub(crate) client: Netns,
    pub(crate) internet: Netns,
    pub(crate) root: PathBuf,
}

/// Names and addresses of the links of a mobile host.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    pub(crate) names: [&'static str; 2],
    /// Number of the first one's networks.
    pub(crate) first: u8,
}

const OURS: Links = Links {
    names: ["w0", "w1"],
    first: 0,
};
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
        site.attach(&site.client, OURS);
        site.furnish_internet();
        site.key(&["add", "laptop"]);
        Some(site)
    }

    /// Connects a mobile host to the Internet.
    pub(crate) fn attach(&self, mobile: &Netns, links: Links) {
        let numbered = || links.names.into_iter().zip(links.first..);
        mobile
            .run(|| {
                for (link, number) in numbered() {
                    let name: IfName = link.parse().unwrap();
                    let netns = Some(&self.internet);
                    Rtnl::open()
                        .unwrap()
                        .add_veth(name, VethPeer { name, netns })
                        .unwrap();
                    furnish(link, &format!("10.0.{number}.1/24"));
                    furnish(link, &format!("2001:db8:{number}::1/64"));
                    for hop in [format!("10.0.{number}.2"), format!("2001:db8:{number}::2")] {
                        let metric = 100 + u32::from(number);
                        ip(&format!("route add default via {hop} dev {link} metric {metric}"));
                    }
                }
                ip("link set lo up");
            })
            .unwrap();
        self.internet
            .run(|| {
                for (link, number) in numbered() {
                    furnish(link, &format!("10.0.{number}.2/24"));
                    furnish(link, &format!("2001:db8:{number}::2/64"));
                }
            })
            .unwrap();
        // The kernel notices the far ends in its own time; until then the routes are down, and say so.
        let links: [IfName; 2] = links.names.map(|link| link.parse().unwrap());
        let both_run = || {
            let mut rtnl = Rtnl::open().unwrap();
            links.map(|link| rtnl.link_named(link).unwrap().unwrap().running()) == [true; 2]
        };
        until("both links have carrier", || mobile.run(both_run).unwrap());
    }

    fn furnish_internet(&self) {
        self.internet
            .run(|| {
                for address in [
                    format!("{V4}/32"),
                    "203.0.113.1/32".to_owned(),
                    format!("{V6}/128"),
                ] {
                    furnish("lo", &address);
                }
            })
            .unwrap();
    }

    /// A configuration with the relay.
    pub fn through_relay(&self) -> String {
        self.through_relay_as("laptop")
    }

    pub(crate) fn through_relay_as(&self, key: &str) -> String {
        let key = self.root.join(format!("keys/{key}.key"));
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
        let daemon = self.start(&self.client, OURS, relay, "");
        until("connections are redirected", || {
            self.tables().contains("redirect to")
        });
        until("the daemon answers", || self.ask("status").is_some());
        daemon
    }

    /// Path of the configuration of the daemon with this suffix.
    fn config(&self, suffix: &str) -> PathBuf {
        self.root.join(format!("slowhand{suffix}.toml"))
    }

    pub(crate) fn start(&self, host: &Netns, links: Links, relay: &str, suffix: &str) -> Daemon {
        let config = self.config(suffix);
        let letter = &links.names[0][..1];
        let links = format!("[[link]]\ninterface = \"{letter}*\"\nkind = \"cable\"\n");
        std::fs::write(&config, format!("{relay}{links}")).unwrap();
        let mut command = Command::new(program("slowhandd"));
        command
            .arg("--runtime-dir")
            .arg(self.root.join(format!("run{suffix}")));
        command
            .arg("--state-dir")
            .arg(self.root.join(format!("lib{suffix}")));
        command.arg("--config").arg(config).stderr(Stdio::inherit());
        let child = host.prepare(&mut command).spawn().unwrap();
        Daemon { child }
    }

    fn ask(&self, verb: &str) -> Option<Value> {
        self.ask_at("run", verb)
    }

    pub(crate) fn ask_at(&self, folder: &str, verb: &str) -> Option<Value> {
        let mut stream = UnixStream::connect(self.root.join(folder).join("status.sock")).ok()?;
        writeln!(stream, "{{\"verb\":\"{verb}\"}}").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["error"].is_null().then_some(answer)
    }

    /// The daemon's state.
    pub fn status(&self) -> Value {
        self.ask("status").expect("the daemon answers")
    }

    /// The daemon's reasons.
    pub fn why(&self) -> Value {
        self.ask("why").expect("the daemon answers")
    }

    /// A command of the mobile host.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.client.prepare(&mut command);
        command
    }

    /// A command of the Internet's host.
    pub fn command_of_internet(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.internet.prepare(&mut command);
        command
    }

    /// Whether a host of the Internet listens there.
    pub fn reaches(&self, server: SocketAddr) -> bool {
        self.internet.run(|| TcpStream::connect(server)).unwrap().is_ok()
    }

    /// A folder for what a test makes.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// What `slowhand doctor` finds on this host with the configuration of the last daemon, by name.
    pub fn finding(&self, name: &str) -> (bool, String) {
        let mut command = self.command(program("slowhand"));
        command.args(["doctor", "--json", "--config"]);
        let printed = command.arg(self.config("")).output().unwrap();
        let document: Value = serde_json::from_slice(&printed.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name).unwrap();
        let finding = check["finding"].as_str().unwrap().to_owned();
        (check["ok"].as_bool().unwrap(), finding)
    }

    /// `slowhand meet` on this host.
    pub fn meet(&self, words: &[&str]) -> Running {
        self.run_meet(&self.client, "", words)
    }

    pub(crate) fn run_meet(&self, host: &Netns, suffix: &str, words: &[&str]) -> Running {
        let mut command = Command::new(program("slowhand"));
        command.arg("meet").args(words).stdout(Stdio::piped());
        command.arg("--config").arg(self.config(suffix));
        let mut child = host.prepare(&mut command).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("the other side "), "{line}");
        Running(child)
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
        cut(&self.client, link);
        cut(&self.internet, link);
    }

    /// Drops SYNs to the relay until the result is dropped.
    pub fn hold_syns(&self) -> HeldSyns<'_> {
        self.nft(
            "add table ip hold; add chain ip hold in { type filter hook input priority 0; \
             tcp dport 4433 tcp flags syn / syn,ack drop; }",
        );
        HeldSyns(self)
    }

    /// Changes the rules of the Internet's host.
    pub fn nft(&self, rules: &str) {
        let done = self.command_of_internet("nft").arg(rules).output().unwrap();
        assert!(done.status.success(), "{done:?}");
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
        serve(&self.internet, ip, protocol, 0, echo)
    }

    /// A program at the relay's address that does this with each connection.
    pub fn false_relay(&self, does: impl Fn(TcpStream) + Clone + Send + 'static) -> Echo {
        let address: SocketAddr = RELAY.parse().unwrap();
        serve(
            &self.internet,
            address.ip(),
            Protocol::MPTCP,
            address.port(),
            does,
        )
        .1
    }

    /// A relay that knows the mobile host.
    pub fn relay(&self) -> Relay<'_> {
        self.relay_at(&self.internet, RELAY, "relay")
    }

    /// A relay on this host.
    pub fn relay_at<'s>(&'s self, host: &'s Netns, address: &str, name: &str) -> Relay<'s> {
        let file = self.root.join(format!("{name}.toml"));
        let keys = self.root.join("keys");
        // The servers are on the relay's own host, which it would refuse.
        let allow = format!("[key.laptop]\nallow = [\"{V4}\", \"{V6}\"]\n");
        let text = format!("listen = [\"{address}\"]\nkeys = \"{}\"\n{allow}", keys.display());
        std::fs::write(&file, text).unwrap();
        let socket = self.root.join(format!("{name}.sock"));
        let mut command = Command::new(relay());
        command.arg("--config").arg(file);
        command.arg("--socket").arg(&socket).stdout(Stdio::piped());
        let mut child = host.prepare(&mut command).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, format!("listening on {address}\n"));
        Relay { socket, child, host }
    }

    fn relay_config(&self) -> PathBuf {
        self.root.join("relay.toml")
    }

    pub(crate) fn key(&self, words: &[&str]) {
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

/// A program of the workspace: a test of one package does not build the programs of another.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join(name);
    let shown = program.display();
    assert!(
        program.is_file(),
        "{shown} is missing: run `cargo build --workspace` first"
    );
    program
}

fn relay() -> PathBuf {
    program("slowhand-relay")
}

/// Drops what this host receives over a link.
pub(crate) fn cut(host: &Netns, link: &str) {
    let drop = format!(
        "add table netdev cut-{link}; add chain netdev cut-{link} in {{ type filter hook ingress device {link} priority 0; policy drop; }}"
    );
    let mut command = Command::new("nft");
    let done = host.prepare(command.arg(&drop)).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A program that ends with this.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A server of this host that gives each connection to `answer`.
pub(crate) fn serve(
    host: &Netns,
    ip: IpAddr,
    protocol: Protocol,
    port: u16,
    answer: impl Fn(TcpStream) + Clone + Send + 'static,
) -> (SocketAddr, Echo) {
    let address = SocketAddr::new(ip, port);
    let listener = host
        .run(|| Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol)))
        .unwrap()
        .unwrap();
    listener.set_reuse_address(true).unwrap();
    listener.bind(&address.into()).unwrap();
    listener.listen(16).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let accepts = listener.try_clone().unwrap();
    let thread = std::thread::spawn(move || {
        while let Ok((socket, _)) = accepts.accept() {
            let answer = answer.clone();
            std::thread::spawn(move || answer(socket.into()));
        }
    });
    let thread = Some(thread);
    (address, Echo { listener, thread })
}

pub(crate) fn echo(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return drop(stream.shutdown(Shutdown::Write)),
            Ok(count) if stream.write_all(&buffer[..count]).is_ok() => {}
            _ => return,
        }
    }
}

pub(crate) fn furnish(link: &str, address: &str) {
    ip(&format!("link set {link} up"));
    ip(&format!("addr add {address} dev {link} nodad"));
}

pub(crate) fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {done:?}");
}

/// SYNs to the relay are dropped until this is.
pub struct HeldSyns<'s>(&'s Site);

impl Drop for HeldSyns<'_> {
    fn drop(&mut self) {
        self.0.nft("delete table ip hold");
    }
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
    host: &'s Netns,
    socket: PathBuf,
    child: Child,
}

impl Relay<'_> {
    /// Its state.
    pub fn status(&self) -> Value {
        let mut command = Command::new(relay());
        command.args(["status", "--json", "--socket"]).arg(&self.socket);
        let asked = self.host.prepare(&mut command).output().unwrap();
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
