//! The agent: takes the connections of applications that nftables redirects, and carries each one over the
//! relay or directly.
//!
//! `slowhandd` starts it and installs the redirection. On standard output the agent prints the ports at which
//! it listens, then a line for each [`ASK`] on standard input. It ends when its standard input does.
//!
//! An application sees its connection accepted before the server has accepted it. If no way reaches the
//! server, the application gets a reset.

mod convert;
mod early;
pub mod meet;
mod metrics;
mod report;
mod socks;
mod ways;

use crate::egress;
use crate::keys::{self, KeyError};
use crate::pipe::Pool;
use crate::pump::{Ended, Patience, Tally, pump};
use crate::socket::{self, Kind};
use convert::{Opened, Relay, RelayError};
use nix::sys::socket::{getsockopt, sockopt};
use report::{Entry, Live, Taken};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use trace::agent::{MARK, Ports};
use ways::{Way, Ways};
use wire::convert::{Reply, Wanted};

pub use early::Early;

#[cfg(doc)]
use trace::agent::ASK;

/// Most connections at once. Further ones wait in the kernel.
const MOST: usize = 16_384;
/// How long a relay may take before the agent also connects directly.
const HEAD_START: Duration = Duration::from_secs(3);
/// Pause after a failed accept: descriptors or memory have run out.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Which ways an agent may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// The relay, or directly to servers that speak MPTCP.
    Auto,
    /// Only the relay.
    Always,
    /// Never a relay.
    Direct,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The ways that are allowed.
    pub choice: Choice,
    /// Address and port of the relay, with its key file.
    pub relay: Option<(String, PathBuf)>,
    /// First bytes of applications that go with a request to the relay.
    pub early: Early,
    /// Address at which the agent serves SOCKS 5.
    pub socks: Option<SocketAddr>,
    /// Unix socket on which it answers Prometheus.
    pub metrics: Option<PathBuf>,
}

/// Why an agent could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A way needs a relay, and none is named.
    #[error("way \"always\" needs a relay; name one with --relay and --key-file")]
    NoRelay,
    /// The address for SOCKS cannot be used.
    #[error("{address}: cannot listen for SOCKS ({source}); name a free port of a loopback address")]
    Socks {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Sockets or threads have run out.
    #[error("cannot start ({0}); see `ulimit -n`")]
    System(#[from] io::Error),
}

/// What all connections of an agent share.
struct Agent {
    choice: Choice,
    relay: Option<Relay>,
    ways: Mutex<Ways>,
    live: Live,
    pool: Pool,
}

/// Runs an agent until its standard input ends.
pub fn run(setup: Setup) -> Result<(), StartError> {
    linux::limits::raise_descriptors();
    let relay = match (setup.choice, setup.relay) {
        (Choice::Direct, _) => None,
        (_, Some((name, file))) => Some(Relay::new(name, keys::read(&file, None)?).for_agent(setup.early)),
        (Choice::Always, None) => return Err(StartError::NoRelay),
        (Choice::Auto, None) => None,
    };
    let agent = Arc::new(Agent {
        choice: setup.choice,
        relay,
        ways: Mutex::default(),
        live: Live::default(),
        pool: Pool::default(),
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let v4 = socket::listen((Ipv4Addr::LOCALHOST, 0).into(), Kind::Tcp)?;
        // A host may have no IPv6 at all.
        let v6 = socket::listen((Ipv6Addr::LOCALHOST, 0).into(), Kind::Tcp).ok();
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        let socks = setup.socks.map(listen_for_socks).transpose()?;
        let ports = Ports {
            v4: port(&v4)?,
            v6: v6.as_ref().map(port).transpose()?,
        };
        let metrics = setup.metrics.as_deref();
        let socket = metrics.and_then(|path| metrics::serve(path, agent.clone()));
        report::print(&ports);
        report::answer_questions(agent.clone(), socket)?;
        let places = Arc::new(Semaphore::new(MOST));
        if let Some(v6) = v6 {
            tokio::spawn(accept(agent.clone(), v6, None, places.clone()));
        }
        if let Some((listener, own)) = socks {
            tokio::spawn(accept(agent.clone(), listener, Some(own), places.clone()));
        }
        accept(agent, v4, None, places).await;
        Ok(())
    })
}

/// A listener for SOCKS, with its address. Anyone who reaches it uses the key, so it is on loopback.
fn listen_for_socks(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let listen = || match address.ip().is_loopback() {
        true => socket::listen(address, Kind::Tcp),
        false => Err(io::Error::from(io::ErrorKind::AddrNotAvailable)),
    };
    let listener = listen().map_err(|source| StartError::Socks { address, source })?;
    Ok((listener, address))
}

/// Accepts redirected connections, or those to the SOCKS address `socks`.
async fn accept(agent: Arc<Agent>, listener: TcpListener, socks: Option<SocketAddr>, places: Arc<Semaphore>) {
    loop {
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, client)) => {
                let agent = agent.clone();
                tokio::spawn(async move {
                    match socks {
                        Some(own) => socks::serve(&agent, stream, client, own).await,
                        None => serve(&agent, stream, client).await,
                    }
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(EXHAUSTED).await,
        }
    }
}

/// Carries one connection of an application.
async fn serve(agent: &Agent, stream: TcpStream, client: SocketAddr) {
    let Some(server) = wanted(&stream) else {
        return socket::reset(stream);
    };
    let entry = agent.live.enter(client, server, None);
    match agent.open(server, &stream).await {
        Ok((onward, taken)) => {
            agent.carry(&entry, taken, [&stream, &onward]).await;
        }
        Err(_) => {
            entry.fails();
            socket::reset(stream);
        }
    }
}

/// The server that the application wanted. `None` if the connection was not redirected.
fn wanted(stream: &TcpStream) -> Option<SocketAddr> {
    let own = stream.local_addr().ok()?;
    let server = match own.ip() {
        IpAddr::V4(_) => {
            let found = getsockopt(stream, sockopt::OriginalDst).ok()?;
            let address = Ipv4Addr::from(u32::from_be(found.sin_addr.s_addr));
            SocketAddrV4::new(address, u16::from_be(found.sin_port)).into()
        }
        IpAddr::V6(_) => {
            let found = getsockopt(stream, sockopt::Ip6tOriginalDst).ok()?;
            let address = Ipv6Addr::from(found.sin6_addr.s6_addr);
            SocketAddrV6::new(address, u16::from_be(found.sin6_port), 0, found.sin6_scope_id).into()
        }
    };
    (server != own).then_some(server)
}

/// The address that a redirected application has or was given. None on loopback: it uses SOCKS.
fn own_address(application: &TcpStream) -> Option<IpAddr> {
    let own = application.peer_addr().ok()?.ip();
    (!own.is_loopback()).then_some(own)
}

impl Agent {
    /// Opens a connection to `server` for this application, over the way that is chosen for it.
    async fn open(&self, server: SocketAddr, application: &TcpStream) -> io::Result<(TcpStream, Taken)> {
        let way = self.ways().way(server, Instant::now());
        let why = match (&self.relay, way) {
            (None, _) => "no relay is configured",
            (Some(relay), _) if self.choice == Choice::Always => {
                let opened = relay.connect(server, application).await?;
                return self.relayed(opened, server, way, application).await;
            }
            _ if egress::is_special(server.ip()) => "the address is local",
            (Some(_), Way::Direct) => "the relay saw that the server speaks MPTCP",
            (Some(_), Way::Around) => "the last connection over the relay was reset before a byte came",
            (Some(relay), Way::Unknown | Way::Replies | Way::Legacy) => {
                return self.over(relay, server, way, application).await;
            }
        };
        self.direct(server, own_address(application), why.into()).await
    }

    /// Connects over the relay. If it fails, connects directly. If it is slow, does so beside it, and takes
    /// what succeeds first.
    async fn over(
        &self,
        relay: &Relay,
        server: SocketAddr,
        way: Way,
        application: &TcpStream,
    ) -> io::Result<(TcpStream, Taken)> {
        let slow = RelayError::Slow(HEAD_START);
        let beside = async {
            tokio::time::sleep(HEAD_START).await;
            self.direct(server, own_address(application), slow.to_string())
                .await
        };
        let relayed = relay.connect(server, application);
        tokio::pin!(relayed, beside);
        let outcome = tokio::select! {
            biased;
            outcome = &mut relayed => outcome,
            direct = &mut beside => match direct {
                Ok(direct) => {
                    relay.avoid(slow.clone());
                    return Ok(direct);
                }
                // The server is slow, not the relay.
                Err(_) => relayed.await,
            },
        };
        match outcome {
            Ok(opened) => self.relayed(opened, server, way, application).await,
            Err(error) => {
                self.direct(server, own_address(application), error.to_string())
                    .await
            }
        }
    }

    /// Notes what the relay has seen of the server.
    async fn relayed(
        &self,
        opened: Opened,
        server: SocketAddr,
        way: Way,
        application: &TcpStream,
    ) -> io::Result<(TcpStream, Taken)> {
        early::remove(application, opened.early).await?;
        let mptcp = opened.reply == Reply::Connected { mptcp: true };
        // A path that strips MPTCP does so for every server.
        if mptcp && way != Way::Legacy {
            self.ways().learn(server, Way::Direct, Instant::now());
        }
        let why = match (way, mptcp) {
            (Way::Legacy, _) => "the direct path strips MPTCP",
            (_, true) => "first connection to this server; the next goes directly",
            (_, false) => "the server speaks plain TCP",
        };
        let stripped = match socket::is_mptcp(&opened.stream) {
            true => "",
            false => ", but the path to the relay strips MPTCP: one link only",
        };
        Ok((opened.stream, Taken::new("relay", format!("{why}{stripped}"))))
    }

    /// Connects from the application's own address, as it would without an agent.
    async fn direct(
        &self,
        server: SocketAddr,
        from: Option<IpAddr>,
        why: String,
    ) -> io::Result<(TcpStream, Taken)> {
        let stream = socket::connect_from(from, server, MARK).await?;
        if socket::is_mptcp(&stream) {
            return Ok((stream, Taken::new("direct", why)));
        }
        let mut ways = self.ways();
        let now = Instant::now();
        let stripped = ways.way(server, now) == Way::Direct;
        if stripped {
            ways.learn(server, Way::Legacy, now);
        }
        let told = if stripped {
            format!("{why}, but the path strips MPTCP; next time the relay")
        } else {
            format!("{why}; the server or the path speaks plain TCP")
        };
        Ok((stream, Taken::new("plain", told)))
    }

    /// Carries the bytes of an application and its server to their end, and notes whether the server replied.
    async fn carry(&self, entry: &Entry<'_>, taken: Taken, [application, onward]: [&TcpStream; 2]) {
        let over_relay = taken.is_relay();
        entry.takes(taken, onward.local_addr().ok());
        socket::prepare(onward);
        let (patience, never) = (Patience::default(), std::future::pending());
        let ended = pump([application, onward], &self.pool, entry.tally(), &patience, never).await;
        if !over_relay {
            return;
        }
        let (server, now) = (entry.server(), Instant::now());
        let reset = ended == Ended::Reset;
        if entry.tally().down() > 0 || reset && self.live.replied(server) {
            self.ways().replies(server, now);
        } else if reset {
            self.ways().unanswered(server, now);
        }
    }

    fn ways(&self) -> std::sync::MutexGuard<'_, Ways> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the relay whether it would serve this key, and describes what was found.
pub fn check(name: &str, key_file: &Path) -> Result<String, CheckError> {
    let relay = Relay::new(name.to_owned(), keys::read(key_file, None)?);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    let asked = relay.exchange(Wanted::Info, None, HEAD_START);
    let opened = runtime.block_on(asked).map_err(CheckError::Relay)?;
    let took = began.elapsed().as_millis();
    if socket::is_mptcp(&opened.stream) {
        return Ok(format!("{name} accepts this key over MPTCP, {took} ms"));
    }
    Err(CheckError::Stripped)
}

/// Why connections cannot go over a relay, or not over several links.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The relay cannot be used.
    #[error(transparent)]
    Relay(RelayError),
    /// The path strips MPTCP.
    #[error(
        "the path to the relay strips MPTCP, or the relay does not speak it: its connections use one link only"
    )]
    Stripped,
    /// Sockets have run out.
    #[error("cannot be asked ({0}); see `ulimit -n`")]
    System(#[from] io::Error),
}

/// Counters that one connection shares with the report.
type Shared = Arc<Tally>;
