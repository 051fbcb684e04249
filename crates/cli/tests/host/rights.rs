//! What other users of the host may do: look, and nothing that keeps root from its commands.

use crate::rig::{Host, PATIENCE, output, until, words};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const NOBODY: u32 = 65_534;
const PAUSE: Duration = Duration::from_millis(50);

impl Host {
    pub(crate) fn run_path(&self, name: &str) -> PathBuf {
        self.root.join("run").join(name)
    }

    fn mode(&self, name: &str) -> u32 {
        let found = std::fs::metadata(self.run_path(name)).unwrap();
        found.permissions().mode() & 0o777
    }

    /// Where everybody may run the program from.
    fn program_for_all(&self) -> PathBuf {
        let copy = self.root.join("slowhand");
        if !copy.exists() {
            // Another process must write it. A child that another test starts inherits what this process has
            // open, and the kernel runs no file that is open for writing.
            let mut cp = Command::new("cp");
            let copied = cp.arg(env!("CARGO_BIN_EXE_slowhand")).arg(&copy).status();
            assert!(copied.unwrap().success());
        }
        copy
    }

    fn ask_as_nobody(&self, verb: &str) -> Output {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(self.program_for_all());
        command.arg(verb).arg("--runtime-dir").arg(self.root.join("run"));
        if verb == "down" {
            command.arg("--state-dir").arg(self.root.join("lib"));
        }
        command.uid(NOBODY).gid(NOBODY).output().unwrap()
    }

    /// Whether it answers as if nothing were.
    fn is_up(&self) -> bool {
        self.ask("status", &[]).status.success()
    }
}

/// Does something as an ordinary user, in a thread of its own.
fn as_nobody<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    std::thread::spawn(|| {
        let id = libc::c_long::from(NOBODY);
        // SAFETY: no pointers. The bare system calls change this thread only.
        let became = unsafe {
            libc::syscall(libc::SYS_setgroups, 0, 0) == 0
                && libc::syscall(libc::SYS_setresgid, id, id, id) == 0
                && libc::syscall(libc::SYS_setresuid, id, id, id) == 0
        };
        assert!(became, "root becomes nobody");
        work()
    })
}

/// One answer to one line.
fn exchange(path: &PathBuf, line: &str) -> Option<Value> {
    let mut stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let _ = writeln!(stream, "{line}");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

#[test]
fn everybody_may_query_and_only_root_may_stop() {
    let Some(host) = Host::new("look") else { return };
    let mut up = host.up();
    let modes = ["control.sock", "status.sock", "lock"].map(|name| host.mode(name));
    assert_eq!(modes, [0o600, 0o666, 0o600]);
    for verb in ["status", "why"] {
        let (code, text) = words(&host.ask_as_nobody(verb));
        assert!(code == Some(0) && text.contains("desk"), "{verb}: {text}");
    }
    let refused = "only root may stop, reload or change the daemon: run as root";
    for verb in ["down", "reload"] {
        assert_eq!(
            words(&host.ask_as_nobody(verb)),
            (Some(2), format!("{refused}\n"))
        );
    }
    let status = host.run_path("status.sock");
    for question in [r#"{"verb":"stop"}"#, r#"{"verb":"reload"}"#] {
        let answer = exchange(&status, question).unwrap();
        assert_eq!(answer["error"], refused);
    }
    let denied = as_nobody({
        let control = host.run_path("control.sock");
        move || UnixStream::connect(control).map(drop)
    });
    let denied = denied.join().unwrap().unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    assert!(host.is_up());
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
}

/// Other users who do what they can, until this is dropped.
struct Hostile {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hostile {
    fn against(host: &Host) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let sockets = ["status.sock", "control.sock"].map(|name| host.run_path(name));
        let mut threads = Vec::new();
        let mut begin = |act: Box<dyn Fn() + Send>| {
            let over = Arc::clone(&over);
            threads.push(as_nobody(move || {
                while !over.load(Ordering::Relaxed) {
                    act();
                }
            }));
        };
        for socket in sockets {
            let silent = socket.clone();
            begin(Box::new(move || crowd(&silent)));
            let slow = socket.clone();
            begin(Box::new(move || write_slowly(&slow)));
            begin(Box::new(move || never_read(&socket)));
        }
        let files = ["lock", "control.sock"].map(|name| host.run_path(name));
        let journal = host.root.join("lib/journal");
        begin(Box::new(move || {
            let opened = files.iter().chain([&journal]).flat_map(File::open);
            // Held until the next turn.
            let locked = Vec::from_iter(opened.inspect(|file| drop(file.try_lock())));
            assert!(locked.is_empty(), "nobody opens what can be locked");
            std::thread::sleep(PAUSE);
        }));
        Self { over, threads }
    }
}

/// Hundreds of connections on which nothing is said.
fn crowd(socket: &PathBuf) {
    let held = Vec::from_iter((0..300).flat_map(|_| UnixStream::connect(socket)));
    std::thread::sleep(PAUSE * 4);
    drop(held);
}

/// A byte now and then, as long as it is taken.
fn write_slowly(socket: &PathBuf) {
    let mut streams = Vec::from_iter((0..8).flat_map(|_| UnixStream::connect(socket)));
    for _ in 0..80 {
        streams.retain_mut(|stream| stream.write_all(b" ").is_ok());
        std::thread::sleep(PAUSE);
    }
}

/// Questions whose answers are never read.
fn never_read(socket: &PathBuf) {
    let mut held = Vec::from_iter((0..30).flat_map(|_| UnixStream::connect(socket)));
    for stream in &mut held {
        let _ = stream.write_all(b"{\"verb\":\"status\"}\n");
    }
    std::thread::sleep(PAUSE * 4);
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "a hostile user did more than it may"
            );
        });
    }
}

#[test]
fn other_users_cannot_starve_root_of_replies() {
    let Some(host) = Host::new("hostile") else { return };
    let before = host.state();
    let mut up = host.up();
    let hostile = Hostile::against(&host);
    for _ in 0..5 {
        for verb in ["status", "why"] {
            let (code, text) = words(&host.ask(verb, &[]));
            assert!(code == Some(0) && text.contains("desk"), "{verb}: {text}");
        }
    }
    let (code, text) = words(&host.ask("down", &[]));
    assert!(
        code == Some(0) && text.contains("everything is as it was"),
        "{text}"
    );
    assert!(up.child.wait().unwrap().success());
    // What they hold does not keep the next one from starting.
    let mut up = host.up();
    drop(hostile);
    until("the others are answered again", || {
        host.ask_as_nobody("status").status.success()
    });
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

#[test]
fn too_many_clients_get_an_error_and_slow_ones_are_dropped() {
    let Some(host) = Host::new("many") else { return };
    let _up = host.up();
    let status = host.run_path("status.sock");
    let mut held = Vec::new();
    until("one is too many", || {
        let mut stream = UnixStream::connect(&status).unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut told = [0; 256];
        let length = stream.read(&mut told).unwrap_or(0);
        held.push(stream);
        let said = "{\"error\":\"8 others are asking at this moment; ask again in a second\"}\n";
        String::from_utf8_lossy(&told[..length]) == said
    });
    // Those that have been admitted are left whether they say something or not.
    let mut slow = UnixStream::connect(&status).unwrap();
    until("a slow one is left", || slow.write_all(b" ").is_err());
    for stream in &mut held {
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    until("there is room again", || {
        host.ask_as_nobody("why").status.success()
    });
}

/// Root's question, written by the test itself.
fn ask_to_stop(host: &Host) -> UnixStream {
    let mut stream = UnixStream::connect(host.run_path("control.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"{\"verb\":\"stop\"}\n").unwrap();
    stream
}

#[test]
fn a_stop_request_of_a_gone_client_is_ignored() {
    let Some(host) = Host::new("gone") else { return };
    let mut up = host.up();
    let pid = Pid::from_raw(up.child.id().try_into().unwrap());
    // It asks a paused daemon, and gives up.
    kill(pid, Signal::SIGSTOP).unwrap();
    drop(ask_to_stop(&host));
    kill(pid, Signal::SIGCONT).unwrap();
    assert!(host.is_up());
    // It got its answer, and did not say that it had.
    let stream = ask_to_stop(&host);
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    assert_eq!(answer, format!("{{\"pid\":{pid}}}\n"));
    drop(stream);
    until("the exchange has ended", || host.is_up());
    assert_eq!(up.child.try_wait().unwrap(), None);
    let (code, text) = words(&host.ask("down", &[]));
    let ended = format!("slowhand (process {pid}) has ended; everything is as it was\n");
    assert_eq!((code, text), (Some(0), ended));
    assert!(up.child.wait().unwrap().success());
}

/// Somebody changes a setting of ours while the daemon runs; what `down` says then, and the daemon.
fn changed_meanwhile(test: &str, change: &'static str, left: &str) {
    let Some(host) = Host::new(test) else { return };
    let mut up = host.up();
    let pid = up.child.id();
    host.client.run(|| output(change)).unwrap();
    let said =
        format!("slowhand (process {pid}) has ended; not everything is as it was\nleft as it is: {left}\n");
    assert_eq!(words(&host.ask("down", &[])), (Some(1), said));
    assert!(up.child.wait().unwrap().success());
    let log = up.log();
    assert!(
        log.contains(&format!("warning: left as it is: {left}\n")),
        "{log}"
    );
    let nothing = "slowhand is not running, and nothing of it is left\n".to_owned();
    assert_eq!(words(&host.ask("down", &[])), (Some(0), nothing));
}

#[test]
fn a_stop_lists_what_somebody_else_has_changed() {
    changed_meanwhile(
        "changed-subflows",
        "ip mptcp limits set subflows 5",
        "limits 2 0 8 8: somebody has set them to subflows 5 add_addr_accepted 8 since",
    );
    changed_meanwhile(
        "changed-accepted",
        "ip mptcp limits set add_addr_accepted 3",
        "limits 2 0 8 8: somebody has set them to subflows 8 add_addr_accepted 3 since",
    );
}

/// A process that answers on the control socket in place of a daemon, and hangs up.
type Answering = fn(UnixStream);

fn read_line(stream: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

/// How far a daemon that dies may have come with its answer.
const DYING: [(&str, Answering); 5] = [
    ("before it has read the question", drop),
    ("before it answers", |stream| {
        assert_eq!(read_line(&stream), "{\"verb\":\"stop\"}\n");
    }),
    ("while it answers", |mut stream| {
        read_line(&stream);
        stream.write_all(b"{\"pid\":").unwrap();
    }),
    ("before it hears that it was heard", |mut stream| {
        // The question is not read: the socket is reset, and the asker's next word refused.
        stream.write_all(b"{\"pid\":1}\n").unwrap();
    }),
    ("before it has put everything back", |mut stream| {
        read_line(&stream);
        stream.write_all(b"{\"pid\":1}\n").unwrap();
        assert_eq!(read_line(&stream), "heard\n");
    }),
];

#[test]
fn down_restores_after_a_daemon_that_dies_while_stopping() {
    let Some(host) = Host::new("dies") else { return };
    let before = host.state();
    let control = host.run_path("control.sock");
    for (when, answer) in DYING {
        host.up().kill();
        std::fs::remove_file(&control).unwrap();
        let listener = UnixListener::bind(&control).unwrap();
        let mut down = host.command("down");
        let down = down
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        answer(listener.accept().unwrap().0);
        let (code, text) = words(&down.wait_with_output().unwrap());
        assert!(
            code == Some(0) && text.contains("changes that a crash had left were put back"),
            "{when}: {text}"
        );
        assert_eq!(host.state(), before, "{when}");
    }
}

#[test]
fn a_closed_control_connection_is_reported() {
    let Some(host) = Host::new("hangs") else { return };
    std::fs::create_dir(host.root.join("run")).unwrap();
    let listener = UnixListener::bind(host.run_path("control.sock")).unwrap();
    for verb in ["status", "why"] {
        let mut ask = host.command(verb);
        let asked = ask.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(listener.accept().unwrap());
        let (code, text) = words(&asked.wait_with_output().unwrap());
        let told = "slowhand: the daemon hung up before it had answered; see its log, or end it with `slowhand down`\n";
        assert_eq!((code, text), (Some(1), told.to_owned()));
    }
}
