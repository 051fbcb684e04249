//! The agent's end of the Convert protocol.

use super::early::Early;
use crate::keys;
use crate::socket::{self, Handshake, Kind};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use trace::agent::MARK;
use wire::convert::{Code, HEADER, MOST, Reply, Request, Wanted, header};
use wire::cookie::Cookie;
use wire::mobility::Key;

/// How long a relay may take to accept.
const ACCEPTS: Duration = Duration::from_secs(3);
/// How long a relay may take to reach the server. It gives up after 10 s itself.
pub const ANSWERS: Duration = Duration::from_secs(12);
/// How long a relay that does not answer is not tried again.
const AVOIDED: Duration = Duration::from_secs(10);
/// How long the addresses of a relay's name are kept.
const RESOLVED: Duration = Duration::from_secs(60);

/// Why the relay did not connect.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RelayError {
    /// It does not accept connections, or its name has no address.
    #[error("the relay cannot be reached ({0})")]
    Unreachable(String),
    /// It accepted a connection and did not answer in this time.
    #[error("the relay did not answer within {} s", .0.as_secs())]
    Slow(Duration),
    /// It closed the connection, or sent something else than a reply.
    #[error("the relay gave no valid reply")]
    NoReply,
    /// It refused.
    #[error("the relay refused: {}{}", code(*.0), hint(*.0))]
    Refused(Option<Code>),
}

/// Words for each [`RelayError`] in counters.
pub const FAILURES: [&str; 4] = ["unreachable", "slow", "no valid reply", "refused"];

impl RelayError {
    /// Its place in [`FAILURES`].
    const fn place(&self) -> usize {
        match self {
            Self::Unreachable(_) => 0,
            Self::Slow(_) => 1,
            Self::NoReply => 2,
            Self::Refused(_) => 3,
        }
    }
}

fn code(code: Option<Code>) -> &'static str {
    code.map_or("for a reason that this version does not know", Code::as_str)
}

fn hint(code: Option<Code>) -> &'static str {
    match code {
        Some(Code::NotAuthorised) => " (is the key valid there, and do both clocks agree?)",
        _ => "",
    }
}

impl From<RelayError> for io::Error {
    fn from(error: RelayError) -> Self {
        Self::other(error)
    }
}

/// A relay, and what is known of it.
pub struct Relay {
    name: String,
    key: Key,
    early: Early,
    /// Mark of its connections: the kernel must not redirect them to the agent.
    mark: Option<u32>,
    addresses: Mutex<Option<(Instant, Vec<SocketAddr>)>>,
    avoided: Mutex<Option<(Instant, RelayError)>>,
    failures: [AtomicU64; FAILURES.len()],
}

/// A connection over the relay.
#[derive(Debug)]
pub struct Opened {
    /// The connection, from the first byte of the server on.
    pub stream: TcpStream,
    /// What the relay has replied.
    pub reply: Reply,
    /// Bytes of the application that the relay already has.
    pub early: usize,
}

impl Relay {
    /// The relay at `name`, an address or a name with a port.
    pub fn new(name: String, key: Key) -> Self {
        Self {
            name,
            key,
            early: Early::Never,
            mark: None,
            addresses: Mutex::default(),
            avoided: Mutex::default(),
            failures: Default::default(),
        }
    }

    /// The same for an agent: its connections are marked, and these bytes go with a request.
    pub fn for_agent(self, early: Early) -> Self {
        let mark = Some(MARK);
        Self { early, mark, ..self }
    }

    /// Address or name, and port.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why it is not tried at present.
    pub fn trouble(&self) -> Option<RelayError> {
        let avoided = self.avoided.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = avoided.as_ref().filter(|(since, _)| since.elapsed() < AVOIDED);
        recent.map(|(_, error)| error.clone())
    }

    /// How many requests failed, in the order of [`FAILURES`].
    pub fn failures(&self) -> [u64; FAILURES.len()] {
        self.failures
            .each_ref()
            .map(|count| count.load(Ordering::Relaxed))
    }

    fn count(&self, failure: &RelayError) {
        self.failures[failure.place()].fetch_add(1, Ordering::Relaxed);
    }

    /// Avoids it for a while.
    pub fn avoid(&self, why: RelayError) {
        self.count(&why);
        let since = Instant::now();
        *self.avoided.lock().unwrap_or_else(PoisonError::into_inner) = Some((since, why));
    }

    /// Connects to `server` over the relay, for this application.
    pub async fn connect(&self, server: SocketAddr, application: &TcpStream) -> Result<Opened, RelayError> {
        if let Some(trouble) = self.trouble() {
            return Err(trouble);
        }
        let outcome = self
            .exchange(Wanted::Connect(server), Some(application), ANSWERS)
            .await;
        match &outcome {
            Err(error @ (RelayError::Unreachable(_) | RelayError::Slow(_) | RelayError::NoReply)) => {
                self.avoid(error.clone());
            }
            Err(error @ RelayError::Refused(_)) => {
                self.count(error);
                self.trust();
            }
            Ok(_) => self.trust(),
        }
        outcome
    }

    /// Avoids it no longer.
    fn trust(&self) {
        *self.avoided.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sends a request with the first bytes of `application`, and reads the reply.
    ///
    /// If this host has connected to the relay before, both leave with the SYN. If that fails, it tries again
    /// with a handshake first, as a path may drop a SYN with data.
    pub async fn exchange(
        &self,
        wanted: Wanted,
        application: Option<&TcpStream>,
        patience: Duration,
    ) -> Result<Opened, RelayError> {
        let (stream, waits) = self.open(Handshake::WithData).await?;
        let outcome = self.ask(stream, waits, wanted, application, patience).await;
        if !waits || !matches!(outcome, Err(RelayError::Unreachable(_))) {
            return outcome;
        }
        let (stream, _) = self.open(Handshake::First).await?;
        self.ask(stream, false, wanted, application, patience).await
    }

    /// Asks over this connection. If it `waits`, the request opens it.
    async fn ask(
        &self,
        mut stream: TcpStream,
        waits: bool,
        wanted: Wanted,
        application: Option<&TcpStream>,
        patience: Duration,
    ) -> Result<Opened, RelayError> {
        let mut request = self.request(wanted).map_err(unreachable)?;
        let early = match application {
            Some(application) if waits => self.early.wait(application).await,
            Some(application) => self.early.peek(application),
            None => Vec::new(),
        };
        request.extend(&early);
        let (mut reader, mut writer) = stream.split();
        let exchange = async {
            writer.write_all(&request).await?;
            let exchanged = reply(&mut reader);
            tokio::select! {
                reply = exchanged => reply,
                () = unanswered(writer.as_ref(), waits) => Err(io::ErrorKind::TimedOut.into()),
            }
        };
        let outcome = timeout(patience, exchange).await;
        let never_open = waits && !socket::state(&stream).connected();
        match outcome {
            Err(_) => Err(RelayError::Slow(patience)),
            Ok(Err(error)) if never_open => Err(unreachable(error)),
            Ok(Ok(Some(Reply::Refused(code)))) => Err(RelayError::Refused(code)),
            Ok(Ok(Some(Reply::Supported))) if wanted != Wanted::Info => Err(RelayError::NoReply),
            Ok(Ok(Some(reply))) => Ok(Opened {
                stream,
                reply,
                early: early.len(),
            }),
            Ok(Ok(None) | Err(_)) => Err(RelayError::NoReply),
        }
    }

    fn request(&self, wanted: Wanted) -> io::Result<Vec<u8>> {
        let mut nonce = [0; 8];
        keys::random(&mut nonce)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = since.map_or(0, |since| since.as_secs());
        let seal = |signed: &[u8]| Cookie::seal(&self.key, now_s, u64::from_ne_bytes(nonce), signed);
        Ok(Request::write(wanted, seal))
    }

    /// Opens a connection, and says whether its handshake still waits for the first bytes.
    async fn open(&self, handshake: Handshake) -> Result<(TcpStream, bool), RelayError> {
        let opened = timeout(ACCEPTS, self.open_any(handshake)).await;
        let late = |_| RelayError::Unreachable(format!("no answer within {} s", ACCEPTS.as_secs()));
        opened.map_err(late)?.map_err(unreachable)
    }

    /// Tries the relay's addresses in their order.
    async fn open_any(&self, handshake: Handshake) -> io::Result<(TcpStream, bool)> {
        let mut last = io::Error::other("its name has no address");
        for address in self.addresses().await? {
            match socket::open(address, Kind::Mptcp, self.mark, handshake).await {
                Ok((stream, waits)) => {
                    socket::prepare(&stream);
                    // A reply may take hours: until somebody asks for what this side offers.
                    socket::keep_alive(&stream);
                    return Ok((stream, waits));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let kept = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((since, addresses)) = kept
            && since.elapsed() < RESOLVED
        {
            return Ok(addresses);
        }
        let found = Vec::from_iter(tokio::net::lookup_host(&self.name).await?);
        let kept = Some((Instant::now(), found.clone()));
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(found)
    }
}

fn unreachable(error: io::Error) -> RelayError {
    RelayError::Unreachable(error.to_string())
}

/// Returns if the handshake of a connection that opened with data has had no answer for too long.
async fn unanswered(stream: &TcpStream, opened_with_data: bool) {
    tokio::time::sleep(ACCEPTS).await;
    if !opened_with_data || socket::state(stream).connected() {
        std::future::pending::<()>().await;
    }
}

/// Reads a reply, and no byte beyond it.
async fn reply(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Reply>> {
    let mut head = [0; HEADER];
    stream.read_exact(&mut head).await?;
    let Ok(length) = header(head) else { return Ok(None) };
    let mut tlvs = [0; MOST - HEADER];
    stream.read_exact(&mut tlvs[..length]).await?;
    Ok(Reply::parse(&tlvs[..length]))
}
