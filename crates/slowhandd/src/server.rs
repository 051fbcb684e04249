//! The daemon's end of its control and status sockets.
//!
//! `control.sock` is for root and the user that runs the daemon. `status.sock` is for everybody, answers only
//! questions that change nothing, and has its own thread. On each, an exchange must end within [`EXCHANGE`],
//! however slowly the other end writes or reads. At most [`AT_ONCE`] exchanges take place at once, and any
//! further one gets an error. Answers on `status.sock` are up to [`YOUNG`] old, so that many questions cost
//! the daemon no more than few.

use crate::agent::Questions;
use crate::reload::Reload;
use host::config::CgroupPath;
use host::control::{Answer, Done, NetworksChange, Question, Stopped, Stopping};
use host::document::{AccessPoints, Status, Why};
use host::place::Place;
use linux::daemon::{self, FlowRule, InletSender, NoTarget, Report, Stopper, Target};
use linux::rtnl::Prefix;
use linux::wifi::Views;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use policy::flow::FlowId;
use std::fs::Permissions;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time limit of an exchange.
const EXCHANGE: Duration = Duration::from_secs(2);
/// Most exchanges at once on one socket.
const AT_ONCE: usize = 8;
/// Most bytes written at once: the kernel restarts its time-out with every piece of its own.
const PIECE: usize = 16 * 1024;
/// Greatest length of a question, in bytes.
const LONGEST_QUESTION: u64 = 4096;
/// Greatest age of a report on `status.sock`.
const YOUNG: Duration = Duration::from_millis(200);
/// Time for a client that waits for the end to read that it has come.
const GOODBYE: Duration = Duration::from_millis(200);

/// A listening socket, removed from its directory when this is dropped.
struct Bound {
    path: PathBuf,
    listener: UnixListener,
}

impl Bound {
    /// The caller holds the place's lock, so any file there is a dead daemon's.
    fn at(path: PathBuf, mode: u32) -> Result<Self, BindError> {
        let bound = bind(&path, mode);
        match bound {
            Ok(listener) => Ok(Self { path, listener }),
            Err(source) => Err(BindError { path, source }),
        }
    }
}

fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(listener)
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Why the daemon cannot be asked.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot listen ({source}); is its directory writable, and the path shorter than 108 bytes?")]
pub struct BindError {
    path: PathBuf,
    source: io::Error,
}

/// Both sockets, removed from their directory when this is dropped.
pub struct Sockets {
    control: Bound,
    status: Bound,
    waiting: Arc<Waiting>,
}

/// Clients that wait for the daemon's end.
type Waiting = Mutex<Vec<UnixStream>>;

/// Source of the answers.
#[derive(Clone)]
pub struct Answering {
    /// The running daemon.
    pub inlet: InletSender,
    /// Stops the daemon.
    pub stopper: Stopper,
    /// Notes that it is to start again.
    pub reload: Arc<Reload>,
    /// Name of the policy.
    pub policy: String,
    /// The agent, if one is configured.
    pub agent: Option<Questions>,
    /// What joins access points, if networks are configured.
    pub access_points: Option<Views>,
}

impl Sockets {
    /// Listens, but does not answer yet.
    pub fn bind(place: &Place) -> Result<Self, BindError> {
        Ok(Self {
            control: Bound::at(place.control(), 0o600)?,
            status: Bound::at(place.status(), 0o666)?,
            waiting: Arc::default(),
        })
    }

    /// Answers from now on, for as long as the process lives.
    pub fn serve(&self, answering: &Answering) -> io::Result<()> {
        let door = |bound: &Bound, waiting, young| {
            Ok::<_, io::Error>(Arc::new(Door {
                listener: bound.listener.try_clone()?,
                answering: answering.clone(),
                waiting,
                young,
                known: Mutex::new(None),
                inside: AtomicUsize::new(0),
            }))
        };
        let control = door(&self.control, Some(Arc::clone(&self.waiting)), Duration::ZERO)?;
        let status = door(&self.status, None, YOUNG)?;
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("control").spawn(move || control.serve())?;
        thread("status").spawn(move || status.serve())?;
        Ok(())
    }

    /// Tells the waiting clients that the daemon has ended.
    pub fn say_stopped(&self, stopped: &Stopped) {
        let Ok(line) = serde_json::to_string(stopped) else {
            return;
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for mut stream in waiting.drain(..) {
            // A client that has gone does not need it.
            let _ = stream.set_write_timeout(Some(GOODBYE));
            let _ = writeln!(stream, "{line}");
        }
    }
}

/// One socket, and what it allows.
struct Door {
    listener: UnixListener,
    answering: Answering,
    /// `None`: nobody may stop the daemon here.
    waiting: Option<Arc<Waiting>>,
    /// Greatest age of a report.
    young: Duration,
    /// The last report, and when it was made.
    known: Mutex<Option<(Instant, Arc<Report>)>>,
    /// Exchanges in progress.
    inside: AtomicUsize,
}

impl Door {
    fn serve(self: &Arc<Self>) {
        for stream in self.listener.incoming() {
            match stream {
                Ok(stream) => self.admit(stream),
                // No descriptor is free at the moment.
                Err(_) => std::thread::sleep(GOODBYE),
            }
        }
    }

    /// Only one thread admits, while exchanges may end.
    fn admit(self: &Arc<Self>, stream: UnixStream) {
        if self.inside.load(Ordering::Acquire) >= AT_ONCE {
            let error = format!("{AT_ONCE} others are asking at this moment; ask again in a second");
            // What does not fit into the socket's buffer is dropped.
            let told = stream.set_nonblocking(true);
            drop(told.and_then(|()| writeln!(&stream, "{}", refusal(error))));
            return;
        }
        self.inside.fetch_add(1, Ordering::AcqRel);
        let door = Arc::clone(self);
        let exchange = move || {
            // A client that hangs up before the answer does not want it.
            let _ = door.answer(&stream);
            door.inside.fetch_sub(1, Ordering::AcqRel);
        };
        let spawned = std::thread::Builder::new()
            .name("answer".to_owned())
            .spawn(exchange);
        if spawned.is_err() {
            self.inside.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn answer(&self, stream: &UnixStream) -> io::Result<()> {
        let mut exchange = Exchange {
            stream,
            until: Instant::now() + EXCHANGE,
        };
        let mut line = String::new();
        BufReader::new(Read::by_ref(&mut exchange).take(LONGEST_QUESTION)).read_line(&mut line)?;
        let answer = match serde_json::from_str(&line) {
            _ if self.waiting.is_some() && !is_ours(stream) => Err("only root is answered here".to_owned()),
            Ok(Question::Stop) => return self.stop(exchange, Reload::cancel),
            Ok(Question::Reload) => match self.answering.reload.check() {
                Ok(()) => return self.reload(exchange),
                Err(why) => Err(format!("not reloaded: {why}; the daemon continues as before")),
            },
            Ok(Question::Status) => self.status(&exchange),
            Ok(Question::Why) => self.why(&exchange),
            Ok(Question::Networks { change }) => self.change_networks(&exchange, change),
            Err(error) => Err(format!("not a question of ours: {error}")),
        };
        writeln!(exchange, "{}", answer.unwrap_or_else(refusal))
    }

    /// Takes over the configuration: in the running daemon if that is possible, by a new start otherwise.
    fn reload(&self, mut exchange: Exchange<'_>) -> io::Result<()> {
        let Some(waiting) = self.acknowledged(&mut exchange)? else {
            return Ok(());
        };
        if self.answering.reload.change() {
            return writeln!(exchange, "{}", serde_json::to_string(&Stopped::default())?);
        }
        self.end(&exchange, waiting, Reload::request)
    }

    /// Ends the daemon for good, or lets it start again: `mark` says which.
    fn stop(&self, mut exchange: Exchange<'_>, mark: fn(&Reload)) -> io::Result<()> {
        match self.acknowledged(&mut exchange)? {
            Some(waiting) => self.end(&exchange, waiting, mark),
            None => Ok(()),
        }
    }

    /// Answers, and waits until the client has acknowledged the answer. `None`: this client may not end the
    /// daemon.
    fn acknowledged(&self, exchange: &mut Exchange<'_>) -> io::Result<Option<&Waiting>> {
        let Some(waiting) = &self.waiting else {
            let error = "only root may stop, reload or change the daemon: run as root".to_owned();
            writeln!(exchange, "{}", refusal(error))?;
            return Ok(None);
        };
        let stopping = Stopping {
            pid: std::process::id(),
        };
        writeln!(exchange, "{}", serde_json::to_string(&stopping)?)?;
        let mut heard = String::new();
        BufReader::new(Read::by_ref(exchange).take(LONGEST_QUESTION)).read_line(&mut heard)?;
        if !heard.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(waiting))
    }

    fn end(&self, exchange: &Exchange<'_>, waiting: &Waiting, mark: fn(&Reload)) -> io::Result<()> {
        let stream = exchange.stream.try_clone()?;
        waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(stream);
        mark(&self.answering.reload);
        self.answering.stopper.stop();
        Ok(())
    }

    fn status(&self, exchange: &Exchange<'_>) -> Result<String, String> {
        let policy = self.answering.policy.clone();
        let mut status = Status::new(&*self.report(exchange)?, std::process::id(), policy);
        status.wifi = self.access_points();
        status.agent = self.answering.agent.as_ref().and_then(Questions::ask);
        serde_json::to_string(&status).map_err(|error| error.to_string())
    }

    fn why(&self, exchange: &Exchange<'_>) -> Result<String, String> {
        let mut why = Why::new(&*self.report(exchange)?);
        why.agent = self.answering.agent.as_ref().and_then(Questions::ask);
        why.wifi = self.access_points();
        serde_json::to_string(&why).map_err(|error| error.to_string())
    }

    fn change_networks(&self, exchange: &Exchange<'_>, change: NetworksChange) -> Result<String, String> {
        if self.waiting.is_none() {
            return Err("only root may change networks of flows: run as root".to_owned());
        }
        let change = asked_change(change)?;
        let changed = self.answering.inlet.change_networks(change, exchange.left());
        changed.map_err(|error| error.to_string())?;
        serde_json::to_string(&Done { done: true }).map_err(|error| error.to_string())
    }

    /// The access points of named networks.
    fn access_points(&self) -> Option<AccessPoints> {
        let views = self.answering.access_points.as_ref()?;
        Some(AccessPoints::from(&views.latest()))
    }

    /// Only one exchange at a time asks the daemon.
    fn report(&self, exchange: &Exchange<'_>) -> Result<Arc<Report>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, report)) = &*known
            && at.elapsed() < self.young
        {
            return Ok(Arc::clone(report));
        }
        let report = self.answering.inlet.report(exchange.left());
        let report = Arc::new(report.map_err(|error| error.to_string())?);
        *known = Some((Instant::now(), Arc::clone(&report)));
        Ok(report)
    }
}

/// The change as the daemon takes it.
fn asked_change(change: NetworksChange) -> Result<daemon::NetworksChange, String> {
    Ok(match change {
        NetworksChange::Add {
            user,
            to,
            port,
            mark,
            cgroup,
            network,
            holds,
        } => {
            if mark.is_some_and(daemon::is_ours) {
                return Err("marks with 4e or 4f in front are slowhand's own; choose another one".to_owned());
            }
            let cgroup = cgroup.map(|path| path.parse::<CgroupPath>()).transpose();
            let to = to.map(|to| to.parse::<Prefix>()).transpose();
            let network: Target = network.parse().map_err(|error: NoTarget| error.to_string())?;
            if holds && network.link().is_none() {
                return Err(
                    "only flows of one link can wait for it; name a link, or remove --hold".to_owned(),
                );
            }
            daemon::NetworksChange::Add(FlowRule {
                user,
                to: to.map_err(|error| error.to_string())?,
                port,
                mark,
                cgroup: cgroup.map_err(|error| error.to_string())?.map(|path| path.0),
                network,
                holds,
            })
        }
        NetworksChange::Wish { network } => daemon::NetworksChange::Wish(network),
        NetworksChange::Remove { rule } => daemon::NetworksChange::Remove(rule),
        NetworksChange::Weight { weights } => daemon::NetworksChange::Weights(Vec::from_iter(weights)),
        NetworksChange::Move {
            flow: Some(flow),
            from: None,
            to,
        } => daemon::NetworksChange::Move {
            flow: FlowId(flow),
            to,
        },
        NetworksChange::Move {
            flow: None,
            from: Some(from),
            to,
        } => daemon::NetworksChange::MoveAll { from, to },
        NetworksChange::Move { .. } => return Err("name either a flow or a link to move from".to_owned()),
    })
}

fn refusal(error: String) -> String {
    serde_json::to_string(&Answer::<()>::Error { error }).unwrap_or_default()
}

/// The socket's permissions say so too, but are set only after it exists.
fn is_ours(stream: &UnixStream) -> bool {
    let ours = nix::unistd::geteuid().as_raw();
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| [0, ours].contains(&peer.uid()))
}

/// The reads and writes of one exchange, all before one deadline.
struct Exchange<'s> {
    stream: &'s UnixStream,
    until: Instant,
}

impl Exchange<'_> {
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The socket refuses a time-out of zero.
    fn patience(&self) -> io::Result<Option<Duration>> {
        match self.left() {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Exchange<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.patience()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Exchange<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.patience()?)?;
        self.stream.write(&buffer[..buffer.len().min(PIECE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(300);
    const LONG_TEXT: usize = 8 << 20;

    /// How an exchange with a short limit ends, if `other` runs on the other end until it is closed.
    fn ends(
        other: impl FnOnce(UnixStream) + Send,
        work: impl FnOnce(&mut Exchange<'_>) -> io::Result<()>,
    ) -> io::ErrorKind {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| other(theirs));
            let until = Instant::now() + SHORT;
            let ended = work(&mut Exchange { stream: &ours, until });
            drop(ours);
            ended.unwrap_err().kind()
        })
    }

    fn is_late(kind: io::ErrorKind) -> bool {
        matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
    }

    #[test]
    fn who_writes_a_byte_now_and_then_is_left() {
        let slow = |mut stream: UnixStream| {
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(SHORT / 10);
            }
        };
        let ended = ends(slow, |exchange| {
            BufReader::new(exchange).read_line(&mut String::new()).map(drop)
        });
        assert!(is_late(ended), "{ended}");
    }

    #[test]
    fn who_reads_a_little_now_and_then_is_left() {
        let slow = |mut stream: UnixStream| {
            while stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {
                std::thread::sleep(SHORT / 10);
            }
        };
        let ended = ends(slow, |exchange| exchange.write_all(&vec![b' '; LONG_TEXT]));
        assert!(is_late(ended), "{ended}");
    }

    #[test]
    fn who_never_reads_is_left() {
        let (finish, wait) = std::sync::mpsc::channel::<()>();
        let deaf = move |stream: UnixStream| {
            let _ = wait.recv();
            drop(stream);
        };
        let ended = ends(deaf, |exchange| {
            let ended = exchange.write_all(&vec![b' '; LONG_TEXT]);
            drop(finish);
            ended
        });
        assert!(is_late(ended), "{ended}");
    }
}
