//! A relay on loopback, with clients that speak Convert themselves.

use relay::keys;
use serde_json::Value;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wire::convert::{HEADER, Reply, Request, Wanted, header};
use wire::cookie::Cookie;
use wire::mobility::Key;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A running relay. The key `car` may reach loopback, the key `bus` only the Internet.
pub(crate) struct Rig {
    pub(crate) folder: PathBuf,
    pub(crate) relay: Child,
    pub(crate) address: SocketAddr,
    pub(crate) car: Key,
    pub(crate) bus: Key,
}

/// The program.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_slowhand-relay"))
}

impl Rig {
    /// Starts a relay with these lines in its configuration.
    pub(crate) fn new(test: &str, lines: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("slowhand-relay-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let keys = folder.join("keys");
        let add = |name| keys::read(&keys::add(&keys, name).unwrap(), None).unwrap();
        let (car, bus) = (add("car"), add("bus"));
        let fixed = format!(
            "listen = [\"127.0.0.1:0\"]\nkeys = \"{}\"\n{lines}\n[key.car]\nallow = [\"127.0.0.0/8\", \"::1\"]\n",
            keys.display()
        );
        fs::write(folder.join("relay.toml"), fixed).unwrap();
        let mut relay = command(&folder, &[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut out = BufReader::new(relay.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        let address = first
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .parse()
            .unwrap();
        Self {
            folder,
            relay,
            address,
            car,
            bus,
        }
    }

    /// Runs the program beside the relay.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        command(&self.folder, arguments).output().unwrap()
    }

    /// What `status --json` prints.
    pub(crate) fn status(&self) -> Value {
        let output = self.run(&["status", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// A connection to the relay on which nothing has been sent.
    pub(crate) fn connect(&self) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
        socket.connect(&self.address.into()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket.into()
    }

    /// Sends these bytes, and reads the reply.
    pub(crate) fn say(&self, bytes: &[u8]) -> (TcpStream, io::Result<Reply>) {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let reply = reply(&mut stream);
        (stream, reply)
    }

    /// Asks for a connection to `server` with this key.
    pub(crate) fn ask(&self, key: &Key, server: SocketAddr) -> (TcpStream, io::Result<Reply>) {
        self.say(&request(key, now_s(), nonce(), server))
    }

    /// A connection to `server` that the relay has confirmed.
    pub(crate) fn open(&self, server: SocketAddr) -> (TcpStream, bool) {
        match self.ask(&self.car, server) {
            (stream, Ok(Reply::Connected { mptcp })) => (stream, mptcp),
            (_, other) => panic!("{other:?}"),
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.relay.kill();
        let _ = self.relay.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn command(folder: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = program();
    command.arg("--config").arg(folder.join("relay.toml"));
    command.arg("--socket").arg(folder.join("relay.sock"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A request with a cookie.
pub(crate) fn request(key: &Key, now_s: u64, nonce: u64, server: SocketAddr) -> Vec<u8> {
    Request::write(Wanted::Connect(server), |wanted| {
        Cookie::seal(key, now_s, nonce, wanted)
    })
}

pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn nonce() -> u64 {
    let mut nonce = [0; 8];
    keys::random(&mut nonce).unwrap();
    u64::from_ne_bytes(nonce)
}

/// Reads a reply, and no byte beyond it.
pub(crate) fn reply(stream: &mut TcpStream) -> io::Result<Reply> {
    let mut head = [0; HEADER];
    stream.read_exact(&mut head)?;
    let mut tlvs = vec![0; header(head).unwrap()];
    stream.read_exact(&mut tlvs)?;
    Ok(Reply::parse(&tlvs).unwrap())
}

/// A listener on loopback.
pub(crate) fn listener(protocol: Protocol) -> (TcpListener, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol)).unwrap();
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    socket.bind(&SockAddr::from(any)).unwrap();
    socket.listen(64).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A socket that has an address and never listens. A listener that is closed may still listen: a child that
/// another test has just started holds a copy of it until its `exec`.
pub(crate) fn deaf() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    socket.bind(&SockAddr::from(any)).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// Waits until `done` returns true.
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let mut left = crate::patience::Patience::of(PATIENCE);
    while !done() {
        assert!(left.lasts(), "waited and not seen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
