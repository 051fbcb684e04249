//! The agent's end of the Convert protocol.

use super::early::Early;
use crate::keys;
use crate::socket::{self, Kind};
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
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

    /// Avoids it for a while.
    pub fn avoid(&self, why: RelayError) {
        let since = Instant::now();
        *self.avoided.lock().unwrap_or_else(PoisonError::into_inner) = Some((since, why));
    }

    /// Connects to `server` over the relay, for this application.
    pub async fn connect(&self, server: SocketAddr, application: &TcpStream) -> Result<Opened, RelayError> {
        if let Some(trouble) = self.trouble() {
            return Err(trouble);
        }
        let early = || self.early.peek(application);
        let outcome = self.exchange(Wanted::Connect(server), early, ANSWERS).await;
        match &outcome {
            Err(error @ (RelayError::Unreachable(_) | RelayError::Slow(_) | RelayError::NoReply)) => {
                self.avoid(error.clone());
            }
            _ => *self.avoided.lock().unwrap_or_else(PoisonError::into_inner) = None,
        }
        outcome
    }

    /// Sends a request with the bytes of `early`, and reads the reply.
    pub async fn exchange(
        &self,
        wanted: Wanted,
        early: impl FnOnce() -> Vec<u8>,
        patience: Duration,
    ) -> Result<Opened, RelayError> {
        let unreachable = |error: io::Error| RelayError::Unreachable(error.to_string());
        let accepted = timeout(ACCEPTS, self.open()).await;
        let late = |_| RelayError::Unreachable(format!("no answer within {} s", ACCEPTS.as_secs()));
        let mut stream = accepted.map_err(late)?.map_err(unreachable)?;
        let mut request = self.request(wanted).map_err(unreachable)?;
        let early = early();
        request.extend(&early);
        let exchange = async {
            stream.write_all(&request).await?;
            reply(&mut stream).await
        };
        match timeout(patience, exchange).await {
            Err(_) => Err(RelayError::Slow(patience)),
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

    /// Tries the relay's addresses in their order.
    async fn open(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("its name has no address");
        for address in self.addresses().await? {
            match socket::connect(address, Kind::Mptcp, self.mark).await {
                Ok(stream) => {
                    socket::prepare(&stream);
                    return Ok(stream);
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

/// Reads a reply, and no byte beyond it.
async fn reply(stream: &mut TcpStream) -> io::Result<Option<Reply>> {
    let mut head = [0; HEADER];
    stream.read_exact(&mut head).await?;
    let Ok(length) = header(head) else { return Ok(None) };
    let mut tlvs = [0; MOST - HEADER];
    stream.read_exact(&mut tlvs[..length]).await?;
    Ok(Reply::parse(&tlvs[..length]))
}
