//! Reaches a service of another mobile host, or offers one: both call the relay, which joins their
//! connections by a token. Each connection moves between the links of its own host, so both may move at once.

use super::convert::{ANSWERS, Opened, Relay, RelayError};
use crate::keys::{self, KeyError};
use crate::pipe::Pool;
use crate::pump::{Patience, Tally, pump};
use crate::socket::{self, Kind};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use wire::convert::{Token, Wanted};

pub use wire::convert::Side;

/// Connections that wait for the other side at once.
const WAITING: usize = 4;
/// How long one of them waits. The relay ends it after an hour.
const WAITS: Duration = Duration::from_secs(3700);
/// Pause after the relay could not be used.
const AGAIN: Duration = Duration::from_secs(1);

/// What to run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Address and port of the relay.
    pub relay: String,
    /// File with the key that the relay knows.
    pub key_file: PathBuf,
    /// Text that both sides know.
    pub token: String,
    /// Whether this side has the service.
    pub side: Side,
    /// Port on 127.0.0.1: of the service, or where programs connect.
    pub port: u16,
}

/// Why there is no meeting.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The port is taken.
    #[error("127.0.0.1:{port}: cannot listen ({source}); name a free port with --local")]
    Listen {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// Sockets or threads have run out.
    #[error("cannot start ({0}); see `ulimit -n`")]
    System(#[from] io::Error),
}

struct Meeting {
    relay: Relay,
    token: Token,
    local: SocketAddr,
    pool: Pool,
    /// Reports each new trouble once.
    report: fn(&str),
}

/// Runs until the process ends. `report` is called with what the user should know.
pub fn run(setup: Setup, report: fn(&str)) -> Result<(), MeetError> {
    let meeting = Arc::new(Meeting {
        relay: Relay::new(setup.relay, keys::read(&setup.key_file, None)?),
        token: Token::of(&setup.token),
        local: (Ipv4Addr::LOCALHOST, setup.port).into(),
        pool: Pool::default(),
        report,
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match setup.side {
            Side::Asks => ask(meeting).await,
            Side::Offers => {
                offer(meeting).await;
                Ok(())
            }
        }
    })
}

/// Carries each connection of a program to the other side.
async fn ask(meeting: Arc<Meeting>) -> Result<(), MeetError> {
    let port = meeting.local.port();
    let listen = socket::listen(meeting.local, Kind::Tcp);
    let listener = listen.map_err(|source| MeetError::Listen { port, source })?;
    (meeting.report)(&format!("the other side is at {}", listener.local_addr()?));
    loop {
        let Ok((program, _)) = listener.accept().await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let meeting = meeting.clone();
        tokio::spawn(async move {
            let wanted = Wanted::Meet(meeting.token, Side::Asks);
            match meeting.relay.exchange(wanted, None, ANSWERS).await {
                Ok(opened) => meeting.carry(program, opened.stream).await,
                Err(error) => {
                    (meeting.report)(&meeting.trouble(&error));
                    socket::reset(program);
                }
            }
        });
    }
}

/// Keeps connections waiting at the relay, and connects each that is taken to the service.
async fn offer(meeting: Arc<Meeting>) {
    let places = Arc::new(Semaphore::new(WAITING));
    (meeting.report)(&format!("the other side may reach {}", meeting.local));
    loop {
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let meeting = meeting.clone();
        tokio::spawn(async move {
            let wanted = Wanted::Meet(meeting.token, Side::Offers);
            let met = meeting.relay.exchange(wanted, None, WAITS).await;
            match met {
                Ok(opened) => {
                    drop(place);
                    meeting.serve(opened).await;
                }
                // Nobody came.
                Err(RelayError::Slow(_)) => {}
                Err(error) => {
                    (meeting.report)(&meeting.trouble(&error));
                    tokio::time::sleep(AGAIN).await;
                }
            }
        });
    }
}

impl Meeting {
    async fn serve(&self, opened: Opened) {
        match socket::connect(self.local, Kind::Tcp, None).await {
            Ok(service) => self.carry(opened.stream, service).await,
            Err(error) => {
                (self.report)(&format!("{}: no service answers ({error})", self.local));
                socket::reset(opened.stream);
            }
        }
    }

    async fn carry(&self, client: TcpStream, server: TcpStream) {
        socket::prepare(&client);
        socket::prepare(&server);
        let (tally, patience) = (Tally::default(), Patience::default());
        let never = std::future::pending();
        pump([&client, &server], &self.pool, &tally, &patience, never).await;
    }

    fn trouble(&self, error: &RelayError) -> String {
        use wire::convert::Code;
        match error {
            RelayError::Refused(Some(Code::Unreachable)) => {
                "nobody offers this token; run `slowhand meet TOKEN --offer` on the other side".to_owned()
            }
            error => format!("{}: {error}", self.relay.name()),
        }
    }
}
