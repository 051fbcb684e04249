//! The mobile's side: sends one small datagram over every path. The server uses the first that arrives.

use super::Advice;
use policy::ConnId;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::SystemTime;
use thiserror::Error;
use wire::mobility::{Key, Message};

use crate::diag::{Diag, DiagError, States};
use crate::netlink;

/// Why advice could not be sent.
#[derive(Debug, Error)]
pub enum TellError {
    /// The netlink socket could not be opened.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// The peer's token of the connection could not be looked up.
    #[error(transparent)]
    Diag(#[from] DiagError),
    /// No path accepted the datagram.
    #[error("sending advice to {peer} over {paths} paths; does each have a route there?")]
    Send {
        /// The recipient.
        peer: SocketAddr,
        /// Number of paths tried.
        paths: usize,
        /// Error of the last path.
        source: io::Error,
    },
}

/// Sends advice about this host's signals to the senders of its downloads.
#[derive(Debug)]
pub struct Teller {
    key: Key,
    port: u16,
    sender: u64,
    stamp_ns: u64,
}

impl Teller {
    /// Creates a teller for servers that listen on `port` and have the same key.
    ///
    /// # Errors
    /// If the system provides no random number.
    pub fn new(key: Key, port: u16) -> io::Result<Self> {
        let mut sender = [0; 8];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut sender)?;
        Ok(Self {
            key,
            port,
            sender: u64::from_ne_bytes(sender),
            stamp_ns: 0,
        })
    }

    /// Sends advice to the peer of a connection of the calling thread's network namespace, from each of
    /// `locals`. Returns whether the peer's token is known. It is unknown until a second subflow joins, and
    /// until then there is no traffic to shift.
    pub fn tell(
        &mut self,
        conn: ConnId,
        peer: IpAddr,
        locals: &[IpAddr],
        advice: Advice,
    ) -> Result<bool, TellError> {
        let Some(token) = peers_token(conn)? else {
            return Ok(false);
        };
        let message = Message {
            sender: self.sender,
            stamp_ns: self.next_stamp(),
            token,
            address_id: advice.address.0,
            handed_off: advice.handed_off,
            mobility_ppm: advice.mobility_ppm,
            quality_ppm: advice.quality_ppm,
        };
        let peer = SocketAddr::new(peer, self.port);
        send(&message.seal(&self.key), peer, locals).map(|()| true)
    }

    /// Returns a strictly increasing stamp, even if the clock steps back.
    fn next_stamp(&mut self) -> u64 {
        self.stamp_ns = unix_ns().max(self.stamp_ns + 1);
        self.stamp_ns
    }
}

/// Time in nanoseconds since 1970.
pub(super) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Sends over every path, because the fading one may not deliver.
fn send(bytes: &[u8], peer: SocketAddr, locals: &[IpAddr]) -> Result<(), TellError> {
    let from = |local: &IpAddr| {
        let socket = UdpSocket::bind((*local, 0))?;
        // A path with a full buffer must not delay the others.
        socket.set_nonblocking(true)?;
        socket.send_to(bytes, peer)
    };
    let sent: Vec<io::Result<usize>> = locals.iter().map(from).collect();
    if sent.iter().any(Result::is_ok) {
        return Ok(());
    }
    let last = sent.into_iter().filter_map(Result::err).next_back();
    Err(TellError::Send {
        peer,
        paths: locals.len(),
        source: last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()),
    })
}

/// Looks up the peer's token. Only joined subflows know it.
fn peers_token(conn: ConnId) -> Result<Option<u32>, TellError> {
    let mut token = None;
    Diag::open()?.each_tcp(States::CONNECTED, |socket| {
        if let Some(subflow) = socket.subflow
            && subflow.token.0 == conn.0
            && subflow.remote_token.0 != 0
        {
            token = Some(subflow.remote_token.0);
        }
    })?;
    Ok(token)
}
