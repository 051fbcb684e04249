//! The agent's end of the Convert protocol.

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
const ANSWERS: Duration = Duration::from_secs(12);
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
    /// It accepted a connection and did not answer in time.
    #[error("the relay did not answer within {} s", ANSWERS.as_secs())]
    Slow,
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
    addresses: Mutex<Option<(Instant, Vec<SocketAddr>)>>,
    avoided: Mutex<Option<(Instant, RelayError)>>,
}

impl Relay {
    /// The relay at `name`, an address or a name with a port.
    pub fn new(name: String, key: Key) -> Self {
        Self {
            name,
            key,
            addresses: Mutex::default(),
            avoided: Mutex::default(),
        }
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

    /// Connects to `server` over the relay. The flag is true if the server accepted MPTCP.
    pub async fn connect(&self, server: SocketAddr) -> Result<(TcpStream, bool), RelayError> {
        if let Some(trouble) = self.trouble() {
            return Err(trouble);
        }
        let outcome = self.exchange(server).await;
        let trouble = match &outcome {
            Err(error @ (RelayError::Unreachable(_) | RelayError::Slow | RelayError::NoReply)) => {
                Some((Instant::now(), error.clone()))
            }
            _ => None,
        };
        *self.avoided.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        outcome
    }

    async fn exchange(&self, server: SocketAddr) -> Result<(TcpStream, bool), RelayError> {
        let unreachable = |error: io::Error| RelayError::Unreachable(error.to_string());
        let accepted = timeout(ACCEPTS, self.open()).await;
        let late = |_| RelayError::Unreachable(format!("no answer within {} s", ACCEPTS.as_secs()));
        let mut stream = accepted.map_err(late)?.map_err(unreachable)?;
        let request = self.request(server).map_err(unreachable)?;
        let exchange = async {
            stream.write_all(&request).await?;
            reply(&mut stream).await
        };
        match timeout(ANSWERS, exchange).await {
            Err(_) => Err(RelayError::Slow),
            Ok(Ok(Some(Reply::Connected { mptcp }))) => Ok((stream, mptcp)),
            Ok(Ok(Some(Reply::Refused(code)))) => Err(RelayError::Refused(code)),
            Ok(Ok(None) | Err(_)) => Err(RelayError::NoReply),
        }
    }

    fn request(&self, server: SocketAddr) -> io::Result<Vec<u8>> {
        let mut nonce = [0; 8];
        keys::random(&mut nonce)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = since.map_or(0, |since| since.as_secs());
        let seal = |wanted: &[u8]| Cookie::seal(&self.key, now_s, u64::from_ne_bytes(nonce), wanted);
        Ok(Request::write(Wanted::Connect(server), seal))
    }

    /// Tries the relay's addresses in their order.
    async fn open(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("its name has no address");
        for address in self.addresses().await? {
            match socket::connect(address, Kind::Mptcp, Some(MARK)).await {
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
