//! The relay: one thread for each core, each with its own listeners on the same addresses.

mod admit;
mod control;
mod meet;
mod ring;
mod talk;

use crate::config::Config;
use crate::keys::{self, KeyError};
use crate::metrics::{self, Counters};
use crate::pipe::Pool;
use crate::replay::Used;
use crate::socket::{self, Kind};
use admit::Courtesy;
use meet::Meetings;
use ring::Ring;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

pub use control::{AskError, Asked, ask, status};

/// How often the keys, and the addresses of this host, are read again.
const REREAD: Duration = Duration::from_secs(1);
/// Pause after a failed accept: descriptors or memory have run out.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Why a relay could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// It cannot listen.
    #[error("{address}: cannot listen ({source}); is the address this host's, and the port free?")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Its socket for `status` cannot be made.
    #[error("{path}: cannot listen ({source}); is its folder writable?")]
    Control {
        /// The socket.
        path: std::path::PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Threads or descriptors have run out.
    #[error("cannot start ({0}); see `ulimit -n` and `ulimit -u`")]
    System(#[from] io::Error),
}

/// What all threads of a relay share.
struct Shared {
    config: Config,
    ring: Mutex<Arc<Ring>>,
    own: Mutex<Arc<[IpAddr]>>,
    used: Used,
    counters: Counters,
    courtesy: Courtesy,
    meetings: Meetings,
    /// Places for connections.
    places: Arc<Semaphore>,
    /// Places for connections that have not sent their request yet.
    requests: Arc<Semaphore>,
}

impl Shared {
    fn ring(&self) -> Arc<Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn own(&self) -> Arc<[IpAddr]> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn document(&self) -> metrics::Document {
        self.counters.document(self.ring().states())
    }

    /// Reads the keys again. If they have become unusable, the last ones stay.
    fn reread(&self) -> Result<(), KeyError> {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = own_addresses();
        let named = keys::load(&self.config.keys)?;
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = ring.changed(named, &self.config) {
            *ring = Arc::new(next);
        }
        Ok(())
    }
}

/// Runs a relay until SIGTERM or SIGINT. `ready` is called once it listens, with its addresses.
pub fn run(config: Config, control: &Path, ready: impl FnOnce(&[SocketAddr])) -> Result<(), StartError> {
    linux::limits::raise_descriptors();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = Arc::new(Shared {
        ring: Mutex::new(Arc::new(Ring::of(keys::load(&config.keys)?, &config))),
        own: Mutex::new(own_addresses()),
        used: Used::default(),
        counters: Counters::default(),
        courtesy: Courtesy::default(),
        meetings: Meetings::default(),
        places: Arc::new(Semaphore::new(config.connections.min(Semaphore::MAX_PERMITS))),
        requests: Arc::new(Semaphore::new(config.requests.min(Semaphore::MAX_PERMITS))),
        config,
    });
    let main = Builder::new_current_thread().enable_all().build()?;
    main.block_on(async {
        let first = listeners(&shared.config.listen)?;
        let bound = first.iter().map(TcpListener::local_addr);
        let bound = bound.collect::<io::Result<Vec<_>>>()?;
        let _socket = control::serve(control, shared.clone()).map_err(|source| StartError::Control {
            path: control.to_owned(),
            source,
        })?;
        for core in 1..cores {
            let (shared, bound) = (shared.clone(), bound.clone());
            let thread = std::thread::Builder::new().name(format!("core {core}"));
            thread.spawn(move || worker(&shared, &bound))?;
        }
        accept_all(&shared, first);
        ready(&bound);
        tokio::spawn(upkeep(shared.clone()));
        ended().await?;
        Ok(())
    })
}

/// Returns at SIGTERM or SIGINT.
async fn ended() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Ok(())
}

/// One thread beside the first. It ends with the process.
fn worker(shared: &Arc<Shared>, bound: &[SocketAddr]) {
    let started = Builder::new_current_thread().enable_all().build().map(|runtime| {
        runtime.block_on(async {
            match listeners(bound) {
                Ok(listeners) => {
                    accept_all(shared, listeners);
                    std::future::pending::<()>().await;
                }
                Err(error) => eprintln!("slowhand-relay: one thread less: {error}"),
            }
        });
    });
    if let Err(error) = started {
        eprintln!("slowhand-relay: one thread less: {error}; see `ulimit -n`");
    }
}

fn listeners(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, StartError> {
    let listen = |&address: &SocketAddr| {
        socket::listen(address, Kind::Mptcp).map_err(|source| StartError::Listen { address, source })
    };
    addresses.iter().map(listen).collect()
}

/// Starts accepting on this thread's listeners.
fn accept_all(shared: &Arc<Shared>, listeners: Vec<TcpListener>) {
    let pool = Arc::new(Pool::default());
    for listener in listeners {
        tokio::spawn(accept(shared.clone(), listener, pool.clone()));
    }
}

/// Serves while there are places. Beyond that, connections wait in the kernel, and one at each listener.
///
/// A listener takes a place only for a connection that it has. Listeners without one leave all places to the
/// others.
async fn accept(shared: Arc<Shared>, listener: TcpListener, pool: Arc<Pool>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        // Neither semaphore is ever closed.
        let Ok(place) = shared.places.clone().acquire_owned().await else {
            return;
        };
        let Ok(request) = shared.requests.clone().acquire_owned().await else {
            return;
        };
        metrics::count(&shared.counters.accepted);
        tokio::spawn(talk::serve(shared.clone(), stream, request, place, pool.clone()));
    }
}

/// Notices changed keys and addresses.
async fn upkeep(shared: Arc<Shared>) {
    let mut last = String::new();
    loop {
        tokio::time::sleep(REREAD).await;
        let problem = shared
            .reread()
            .map_or_else(|error| error.to_string(), |()| String::new());
        if !problem.is_empty() && problem != last {
            eprintln!("slowhand-relay: the keys stay as they were: {problem}");
        }
        last = problem;
    }
}

/// The addresses of this host.
fn own_addresses() -> Arc<[IpAddr]> {
    let all = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let of = |address: nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    };
    all.filter_map(|interface| interface.address.and_then(of))
        .collect()
}
