//! One connection of a client, from its request to its end.

use super::ring::Client;
use super::{Shared, admit, meet};
use crate::metrics::count;
use crate::pipe::Pool;
use crate::pump::{Tally, pump};
use crate::socket::{self, Kind};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use wire::convert::{Code, HEADER, HeaderError, MOST, Reply, Request, Side, Wanted, header};

/// How long a refused client may take to read why. Closing with unread bytes would discard the reply.
const GOODBYE: Duration = Duration::from_secs(1);
/// Bytes of a refused client that are read and dropped.
const DROPPED: u64 = 64 * 1024;

/// Why there is no request.
enum NoRequest {
    /// The client has gone, or speaks another protocol: nothing to answer.
    Silent,
    /// It gets this code.
    Refused(Code),
}

/// Serves one connection. `place` is its place among those that have not sent a request.
pub async fn serve(shared: &Shared, mut stream: TcpStream, place: OwnedSemaphorePermit, pool: &Pool) {
    socket::prepare(&stream);
    let request = timeout(shared.config.request_timeout, request(shared, &mut stream)).await;
    drop(place);
    let request = match request {
        Ok(Ok(request)) => request,
        Ok(Err(NoRequest::Silent)) => return socket::reset(stream),
        Ok(Err(NoRequest::Refused(code))) => return refuse(shared, stream, code).await,
        Err(_) => {
            count(&shared.counters.request_timeouts);
            return socket::reset(stream);
        }
    };
    let client = match admit::admit(shared, &request) {
        Ok(client) => client,
        Err(code) => return refuse(shared, stream, code).await,
    };
    match request.wanted {
        Wanted::Connect(server) => carry(shared, stream, &client, server, pool).await,
        Wanted::Meet(token, Side::Asks) => meet::call(shared, stream, &client, token).await,
        Wanted::Meet(token, Side::Offers) => meet::offer(shared, stream, &client, token, pool).await,
        Wanted::Info => say(stream, Reply::Supported).await,
    }
}

async fn request(shared: &Shared, stream: &mut TcpStream) -> Result<Request, NoRequest> {
    let mut head = [0; HEADER];
    let read = stream.read_exact(&mut head).await;
    read.map_err(|_| NoRequest::Silent)?;
    let length = header(head).map_err(|error| match error {
        HeaderError::NotConvert => {
            count(&shared.counters.not_convert);
            NoRequest::Silent
        }
        HeaderError::Version => NoRequest::Refused(Code::Version),
        HeaderError::Length => NoRequest::Refused(Code::Malformed),
    })?;
    let mut tlvs = [0; MOST - HEADER];
    let tlvs = &mut tlvs[..length];
    stream.read_exact(tlvs).await.map_err(|_| NoRequest::Silent)?;
    Request::parse(tlvs).map_err(NoRequest::Refused)
}

/// Says why, and ends the connection.
pub async fn refuse(shared: &Shared, stream: TcpStream, code: Code) {
    shared.counters.error(code);
    if code == Code::NotAuthorised && !shared.courtesy.allows() {
        return socket::reset(stream);
    }
    say(stream, Reply::Refused(Some(code))).await;
}

/// Replies, and ends the connection.
async fn say(mut stream: TcpStream, reply: Reply) {
    let goodbye = async {
        socket::handshake_complete(&stream).await;
        stream.write_all(&reply.write()).await?;
        stream.shutdown().await?;
        let mut rest = (&mut stream).take(DROPPED);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    // A client that does not read it learns nothing.
    let _ = timeout(GOODBYE, goodbye).await;
}

/// Connects to the server and carries bytes until the end.
async fn carry(
    shared: &Shared,
    mut stream: TcpStream,
    client: &Arc<Client>,
    server: SocketAddr,
    pool: &Pool,
) {
    let Some(_entered) = client.enter() else {
        return refuse(shared, stream, Code::Resources).await;
    };
    let connect = socket::connect(server, Kind::Mptcp, None);
    let connected = match timeout(shared.config.connect_timeout, connect).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return refuse(shared, stream, code(&error)).await,
        Err(_) => return refuse(shared, stream, Code::Unreachable).await,
    };
    socket::prepare(&connected);
    let mptcp = socket::is_mptcp(&connected);
    if mptcp {
        count(&shared.counters.mptcp_servers);
    }
    socket::handshake_complete(&stream).await;
    let reply = Reply::Connected { mptcp }.write();
    if stream.write_all(&reply).await.is_err() {
        return socket::reset(connected);
    }
    count(&client.counters.connected);
    let tally = Tally::default();
    let removed = client.removed();
    pump(stream, connected, pool, &tally, shared.config.patience, removed).await;
    client.counters.up.fetch_add(tally.up(), Ordering::Relaxed);
    client.counters.down.fetch_add(tally.down(), Ordering::Relaxed);
}

/// The code for a server that cannot be reached.
fn code(error: &io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Code::Reset,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::TimedOut => {
            Code::Unreachable
        }
        _ => Code::Network,
    }
}
