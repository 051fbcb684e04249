//! `slowhand exec`: unmodified programs use MPTCP, and behave as they do without it.

mod common;

use common::{Scratch, program};
use linux::netns::{CreateError, Netns};
use linux::sockopt::is_fallback;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = "127.0.0.1:5001";

/// A namespace with a loopback device; `None` where this user may not make one.
fn loopback() -> Option<Netns> {
    match Netns::new() {
        Err(CreateError::NotPermitted) => {
            println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
            None
        }
        netns => {
            let netns = netns.unwrap();
            let up = || {
                Command::new("ip")
                    .args(["link", "set", "lo", "up"])
                    .status()
                    .unwrap()
            };
            assert!(netns.run(up).unwrap().success());
            Some(netns)
        }
    }
}

/// A listener at [`SERVER`] in this namespace.
fn listener(netns: &Netns) -> Socket {
    let listen = || {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
        let address: SocketAddr = SERVER.parse().unwrap();
        listener.bind(&SockAddr::from(address)).unwrap();
        listener.listen(8).unwrap();
        listener
    };
    netns.run(listen).unwrap()
}

/// Runs a command that connects to `listener` from this namespace, and returns whether it came over plain
/// TCP. A test has one listener for all its commands: a closed one may still hold the port. A child that
/// another test's thread has just forked has a copy of it until its `exec`.
fn comes_over_tcp(netns: &Netns, listener: &Socket, mut command: Command) -> bool {
    netns.prepare(&mut command);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut heard = String::new();
    server.write_all(b"world\n").unwrap();
    server.read_to_string(&mut heard).unwrap();
    let is_plain = is_fallback(&server).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        (heard.as_str(), output.stdout.as_slice()),
        ("hello\n", &b"world\n"[..])
    );
    is_plain
}

const CLIENT: &str = "exec 3<>/dev/tcp/127.0.0.1/5001; echo hello >&3; head -1 <&3";

#[test]
fn an_unmodified_program_connects_by_mptcp() {
    let Some(netns) = loopback() else { return };
    let mut plain = Command::new("bash");
    plain.args(["-c", CLIENT]);
    let listener = listener(&netns);
    assert!(comes_over_tcp(&netns, &listener, plain));
    let mut command = program();
    command.args(["exec", "--", "bash", "-c", CLIENT]);
    assert!(!comes_over_tcp(&netns, &listener, command));
    until("no supervisor is left", || processes_in(&netns) == 0);
}

#[test]
fn a_program_in_another_network_keeps_plain_tcp() {
    let Some(netns) = loopback() else { return };
    let inner = format!("ip link set lo up; {CLIENT}");
    let server = "exec 4< <(:); :";
    let mut command = program();
    // In a network of its own nobody listens: the refusal shows that the socket is one of that network.
    command.args([
        "exec",
        "--",
        "unshare",
        "-n",
        "bash",
        "-c",
        &format!("{server}; {inner}"),
    ]);
    netns.prepare(&mut command);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("Connection refused"),
        "{error}"
    );
}

#[test]
fn the_command_is_the_program() {
    let ran = |script: &str| {
        let mut command = program();
        command
            .args(["exec", "--", "bash", "-c", script])
            .output()
            .unwrap()
    };
    let output = ran("echo out; echo err >&2; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        (&output.stdout[..], &output.stderr[..]),
        (&b"out\n"[..], &b"err\n"[..])
    );
    let output = ran("kill -TERM $$");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&output.status),
        Some(libc::SIGTERM)
    );
    // It has no child but its own: `wait` for any child returns at once.
    let output = ran("wait -n; echo $?");
    assert_eq!(output.stdout, b"127\n");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let scratch = Scratch::new("exec-missing");
    let missing = scratch.path("missing");
    let mut command = program();
    let output = command.args(["exec", "--"]).arg(&missing).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    let begins = format!("{}: cannot be run (No such file or directory", missing.display());
    assert!(error.contains(&begins), "{error}");
}

/// How many processes are in this namespace.
fn processes_in(netns: &Netns) -> usize {
    let own = netns.run(|| std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino());
    let own = own.unwrap();
    let is_in = |process: &Path| std::fs::metadata(process.join("ns/net")).is_ok_and(|net| net.ino() == own);
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter(|entry| is_in(&entry.as_ref().unwrap().path()))
        .count()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not in 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
