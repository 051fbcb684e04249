//! SOCKS 5 at an agent whose only way is the relay.

use crate::rig::{PATIENCE, Rig, deaf, listener, program, until};
use socket2::Protocol;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use wire::socks::{Code, Wanted};

/// A running agent.
pub(crate) struct Agent {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    socks: SocketAddr,
}

impl Agent {
    /// `None` where this user may not mark connections.
    pub(crate) fn new(rig: &Rig, key: &str) -> Option<Self> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        if socket.set_mark(1).is_err() {
            println!("skipped: needs root (CAP_NET_ADMIN) to mark connections");
            return None;
        }
        // Free again at once: nothing has connected to it.
        let socks = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut child = program()
            .args(["agent", "--way", "always", "--relay", &rig.address.to_string()])
            .arg("--key-file")
            .arg(rig.folder.join(format!("keys/{key}.key")))
            .args(["--socks", &socks.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut agent = Self {
            asks: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
            socks,
        };
        assert!(agent.line().contains("\"v4\":"));
        Some(agent)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line
    }

    fn status(&mut self) -> serde_json::Value {
        writeln!(self.asks, "status").unwrap();
        serde_json::from_str(&self.line()).unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.socks).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a greeting and this request at once, and returns the code of the reply.
    pub(crate) fn ask(&self, request: &[u8]) -> (TcpStream, u8) {
        let mut stream = self.connect();
        stream.write_all(&[&[5, 1, 0], request].concat()).unwrap();
        let mut replies = [0; 2 + 10];
        stream.read_exact(&mut replies).unwrap();
        assert_eq!(replies[..3], [5, 0, 5]);
        (stream, replies[3])
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_program_reaches_servers_by_address_and_by_name() {
    let rig = Rig::new("socks", "");
    let Some(mut agent) = Agent::new(&rig, "car") else {
        return;
    };
    let (server, address) = listener(Protocol::TCP);
    for wanted in [
        Wanted::Address(address),
        Wanted::Name("localhost".to_owned(), address.port()),
    ] {
        let mut request = wanted.write().unwrap();
        // A program may write before it has read the reply. These bytes are the server's.
        request.extend(b"early");
        let (mut stream, code) = agent.ask(&request);
        assert_eq!(code, 0, "{wanted:?}");
        let (mut accepted, _) = server.accept().unwrap();
        stream.write_all(b" and late").unwrap();
        let mut got = [0; 14];
        accepted.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"early and late");
        accepted.write_all(b"back").unwrap();
        let mut back = [0; 4];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"back");
        let row = &agent.status()["connections"][0];
        assert_eq!(
            (&row["way"], &row["socks"]),
            (&"relay".into(), &agent.socks.to_string().into())
        );
        drop((stream, accepted));
        until("it has ended", || {
            agent.status()["connections"] == serde_json::json!([])
        });
    }
    let totals = &agent.status()["totals"];
    assert_eq!(
        (&totals["relay"], &totals["failed"]),
        (&2.into(), &totals["plain"])
    );
    assert_eq!(
        (&totals["up_bytes"], &totals["down_bytes"]),
        (&28.into(), &8.into())
    );
}

#[test]
fn what_cannot_be_done_gets_the_code_of_the_rfc() {
    let rig = Rig::new("socks-no", "");
    let Some(agent) = Agent::new(&rig, "car") else {
        return;
    };
    let (_socket, closed) = deaf();
    let closed = Wanted::Address(closed).write().unwrap();
    let name = Wanted::Name("no-such-host.invalid".to_owned(), 80)
        .write()
        .unwrap();
    for (what, request, code) in [
        ("BIND", &[5, 2, 0, 1, 127, 0, 0, 1, 0, 9][..], Code::Command),
        ("UDP", &[5, 3, 0, 1, 127, 0, 0, 1, 0, 9], Code::Command),
        ("a type", &[5, 1, 0, 9, 1], Code::AddressType),
        ("no name", &[5, 1, 0, 3, 0, 0, 80], Code::Failure),
        ("a closed port", &closed, Code::Refused),
        ("an unknown name", &name, Code::HostUnreachable),
    ] {
        let (mut stream, got) = agent.ask(request);
        assert_eq!(got, code as u8, "{what}");
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "{what}");
    }
    // Another protocol, and a program that wants to authenticate.
    for (words, reply) in [
        (&[4, 1, 0, 80, 127, 0, 0, 1, 0][..], &[][..]),
        (&[5, 1, 2], &[5, 0xff]),
    ] {
        let mut stream = agent.connect();
        stream.write_all(words).unwrap();
        let mut got = Vec::new();
        let error = stream.read_to_end(&mut got).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!(got, reply);
    }
}

#[test]
fn a_destination_that_the_relay_refuses_is_not_allowed() {
    let rig = Rig::new("socks-key", "");
    let Some(agent) = Agent::new(&rig, "bus") else {
        return;
    };
    let (_server, address) = listener(Protocol::TCP);
    let (_, code) = agent.ask(&Wanted::Address(address).write().unwrap());
    assert_eq!(code, Code::NotAllowed as u8);
}

#[test]
fn socks_is_served_on_loopback_only() {
    let refused = program()
        .args(["agent", "--way", "direct", "--socks", "0.0.0.0:0"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("name a free port of a loopback address"), "{said}");
}
