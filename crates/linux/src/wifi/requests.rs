//! Requests to `wpa_supplicant`, and their replies.
//!
//! Replies have no numbers. One that comes too late would be mistaken for the reply to the next request, and
//! all later ones would be one behind. So after a missing reply, the next request goes over a new socket.
//!
//! # Checked by
//! `tests`, with a stand-in for the control interface; the trial `joins-faults` of `guest`, with the real
//! one.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time after a missing reply in which there must be another. A driver may keep the program busy for some
/// seconds.
const HANGS: Duration = Duration::from_secs(8);
/// Longest time without a reply before it must reply to a PING.
const CHECKS: Duration = Duration::from_secs(5);
/// Pause between two attempts after a missing reply.
const RETRIES: Duration = Duration::from_secs(1);
/// Greatest length of a reply, in bytes: its own limit.
pub(super) const LONGEST: usize = 8_192;

/// The socket for requests.
#[derive(Debug)]
pub(super) struct Requests {
    directory: PathBuf,
    control: PathBuf,
    /// Time in which it must reply.
    patience: Duration,
    socket: RefCell<UnixDatagram>,
    /// Number of sockets so far.
    count: Cell<u32>,
    /// Since when a reply is missing.
    owes: Cell<Option<Instant>>,
    /// When the last attempt ended.
    last: Cell<Instant>,
}

impl Requests {
    /// Connects to the control interface.
    pub(super) fn connect(directory: &Path, control: &Path, patience: Duration) -> io::Result<Self> {
        let socket = socket(&path(directory, 0), control, patience)?;
        Ok(Self {
            directory: directory.to_owned(),
            control: control.to_owned(),
            patience,
            socket: RefCell::new(socket),
            count: Cell::new(1),
            owes: Cell::new(None),
            last: Cell::new(Instant::now()),
        })
    }

    /// Sends a request and returns the reply.
    pub(super) fn ask(&self, request: &str) -> io::Result<String> {
        if self.hangs() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if self.owes.get().is_some() {
            self.begin_anew()?;
        }
        let reply = exchange(&self.socket.borrow(), request);
        self.last.set(Instant::now());
        if reply.is_err() {
            self.owes.set(Some(Instant::now()));
        }
        reply
    }

    /// Finds out whether it still replies, if that is not known.
    pub(super) fn check(&self) {
        if Instant::now() >= self.check_at() && !self.hangs() {
            // Without a reply, it owes one from now on.
            let _ = self.ask("PING");
        }
    }

    /// When [`Requests::check`] next has work.
    pub(super) fn check_at(&self) -> Instant {
        let pause = if self.owes.get().is_some() {
            RETRIES
        } else {
            CHECKS
        };
        self.last.get() + pause
    }

    /// Whether a reply has been missing for longer than a driver keeps the program busy.
    pub(super) fn hangs(&self) -> bool {
        self.owes.get().is_some_and(|since| since.elapsed() >= HANGS)
    }

    /// Opens a new socket. Late replies go to the old one.
    fn begin_anew(&self) -> io::Result<()> {
        let number = self.count.get();
        self.count.set(number.wrapping_add(1));
        let path = path(&self.directory, number);
        let fresh = socket(&path, &self.control, self.patience)
            .and_then(|fresh| exchange(&fresh, "PING").map(|_| fresh));
        self.last.set(Instant::now());
        if fresh.is_err() {
            let _ = fs::remove_file(&path);
        }
        let old = self.socket.replace(fresh?);
        if let Ok(address) = old.local_addr()
            && let Some(path) = address.as_pathname()
        {
            let _ = fs::remove_file(path);
        }
        self.owes.set(None);
        Ok(())
    }
}

fn path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("requests-{number}"))
}

/// A socket with this name, connected to the control interface.
pub(super) fn socket(path: &Path, control: &Path, patience: Duration) -> io::Result<UnixDatagram> {
    // An attempt before may have left its name.
    let _ = fs::remove_file(path);
    let socket = UnixDatagram::bind(path)?;
    socket.set_read_timeout(Some(patience))?;
    socket.connect(control)?;
    Ok(socket)
}

pub(super) fn exchange(socket: &UnixDatagram, request: &str) -> io::Result<String> {
    socket.send(request.as_bytes())?;
    let mut buffer = [0; LONGEST];
    let length = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reply_is_not_taken_for_another_and_one_that_never_comes_is_noticed() {
        let directory = std::env::temp_dir().join(format!("slowhand-requests-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        let control = directory.join("control");
        let program = UnixDatagram::bind(&control).unwrap();
        program.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let hear = || {
            let mut buffer = [0; LONGEST];
            let (length, from) = program.recv_from(&mut buffer).unwrap();
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            (text, from.as_pathname().unwrap().to_owned())
        };
        let requests = Requests::connect(&directory, &control, Duration::from_secs(1)).unwrap();
        std::thread::scope(|scope| {
            let stand_in = scope.spawn(|| {
                let (_, late) = hear();
                let (ping, to) = hear();
                assert_eq!(ping, "PING");
                assert_ne!(late, to);
                // The late reply looks like the one that is awaited.
                program.send_to(b"PONG\n", &late).unwrap();
                program.send_to(b"PONG\n", &to).unwrap();
                let (text, to) = hear();
                assert_eq!(text, "request");
                program.send_to(b"its own\n", to).unwrap();
            });
            assert!(requests.ask("PING").is_err());
            assert!(!requests.hangs(), "it may be busy");
            assert_eq!(requests.ask("request").unwrap(), "its own\n");
            stand_in.join().unwrap();
        });
        assert_eq!(requests.owes.get(), None);
        requests.owes.set(Instant::now().checked_sub(HANGS));
        assert!(requests.hangs() && requests.ask("third").is_err());
        drop(requests);
        fs::remove_dir_all(&directory).unwrap();
    }
}
