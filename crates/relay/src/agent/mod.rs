//! The agent: takes the connections of applications that nftables redirects, and carries each one over the
//! relay or directly.
//!
//! `slowhandd` starts it and installs the redirection. On standard output the agent prints the ports at which
//! it listens, then a line for each [`ASK`] on standard input. It ends when its standard input does.
//!
//! An application sees its connection accepted before the server has accepted it. If no way reaches the
//! server, the application gets a reset.

mod convert;
mod report;
mod ways;

use crate::keys::{self, KeyError};
use crate::pipe::Pool;
use crate::pump::{Patience, Tally, pump};
use crate::socket::{self, Kind};
use convert::Relay;
use nix::sys::socket::{getsockopt, sockopt};
use report::{Live, Taken};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use trace::agent::{MARK, Ports};
use ways::{Way, Ways};

#[cfg(doc)]
use trace::agent::ASK;

/// Most connections at once. Further ones wait in the kernel.
const MOST: usize = 16_384;
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
        (_, Some((name, file))) => Some(Relay::new(name, keys::read(&file, None)?)),
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
        let ports = Ports {
            v4: port(&v4)?,
            v6: v6.as_ref().map(port).transpose()?,
        };
        report::print(&ports);
        report::answer_questions(agent.clone())?;
        let places = Arc::new(Semaphore::new(MOST));
        if let Some(v6) = v6 {
            tokio::spawn(accept(agent.clone(), v6, places.clone()));
        }
        accept(agent, v4, places).await;
        Ok(())
    })
}

async fn accept(agent: Arc<Agent>, listener: TcpListener, places: Arc<Semaphore>) {
    loop {
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, client)) => {
                let agent = agent.clone();
                tokio::spawn(async move {
                    serve(&agent, stream, client).await;
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
    socket::prepare(&stream);
    let entry = agent.live.enter(client, server);
    match agent.open(server).await {
        Ok((onward, taken)) => {
            entry.takes(taken, onward.local_addr().ok());
            socket::prepare(&onward);
            let (patience, never) = (Patience::default(), std::future::pending());
            pump(stream, onward, &agent.pool, entry.tally(), patience, never).await;
        }
        Err(_) => socket::reset(stream),
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

impl Agent {
    /// Opens a connection to `server`, over the way that is chosen for it.
    async fn open(&self, server: SocketAddr) -> io::Result<(TcpStream, Taken)> {
        let way = self.ways().way(server, Instant::now());
        match (&self.relay, way) {
            (None, _) => self.direct(server, "no relay is configured".into()).await,
            (Some(_), Way::Direct) if self.choice == Choice::Auto => {
                self.direct(server, "the relay saw that the server speaks MPTCP".into())
                    .await
            }
            (Some(relay), way) => self.over(relay, server, way).await,
        }
    }

    async fn over(&self, relay: &Relay, server: SocketAddr, way: Way) -> io::Result<(TcpStream, Taken)> {
        match relay.connect(server).await {
            Ok((stream, mptcp)) => {
                // A path that strips MPTCP does so for every server.
                if mptcp && way == Way::Unknown {
                    self.ways().learn(server, Way::Direct, Instant::now());
                }
                let why = match (way, mptcp) {
                    (Way::Legacy, _) => "the direct path strips MPTCP",
                    (_, true) => "first connection to this server; the next goes directly",
                    (_, false) => "the server speaks plain TCP",
                };
                Ok((stream, Taken::new("relay", why.into())))
            }
            Err(error) if self.choice == Choice::Always => Err(error.into()),
            Err(error) => self.direct(server, error.to_string()).await,
        }
    }

    async fn direct(&self, server: SocketAddr, why: String) -> io::Result<(TcpStream, Taken)> {
        let stream = socket::connect(server, Kind::Mptcp, Some(MARK)).await?;
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

    fn ways(&self) -> std::sync::MutexGuard<'_, Ways> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counters that one connection shares with the report.
type Shared = Arc<Tally>;
