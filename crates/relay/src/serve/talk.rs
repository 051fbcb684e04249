//! One connection of a client, from its request to its end.

use super::ring::{Client, Entered};
use super::{Shared, admit, meet};
use crate::delays::FirstByte;
use crate::metrics::count;
use crate::pipe::Pool;
use crate::pump::{Tally, pump};
use crate::socket::{self, Kind};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
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

/// A client's connection, and the one to its server.
struct Opened {
    stream: TcpStream,
    connected: TcpStream,
    client: Arc<Client>,
    /// Its place among those of its client.
    _entered: Entered,
    tally: Tally,
}

/// Serves one connection. `request` is its place among those that have not sent a request, `place` the one
/// among all.
///
/// An idle connection keeps the memory of its last phase only. All before is in a box, which has gone then.
pub fn serve(
    shared: Arc<Shared>,
    stream: TcpStream,
    request: OwnedSemaphorePermit,
    place: OwnedSemaphorePermit,
    pool: Arc<Pool>,
) -> impl Future<Output = ()> {
    let opened = Box::pin(open(shared.clone(), stream, request, pool.clone()));
    async move {
        let opened = opened.await;
        if let Some(opened) = &opened {
            let (both, counters) = ([&opened.stream, &opened.connected], &opened.client.counters);
            count(&counters.connected);
            let removal = pin!(opened.client.removal());
            let removed = opened.client.removed(removal);
            pump(both, &pool, &opened.tally, &shared.config.patience, removed).await;
            counters.up.fetch_add(opened.tally.up(), Ordering::Relaxed);
            counters.down.fetch_add(opened.tally.down(), Ordering::Relaxed);
        }
        drop(place);
    }
}

/// Reads the request and does what it asks for. Returns what is to be carried.
async fn open(
    shared: Arc<Shared>,
    mut stream: TcpStream,
    place: OwnedSemaphorePermit,
    pool: Arc<Pool>,
) -> Option<Opened> {
    let request = timeout(shared.config.request_timeout, request(&shared, &mut stream)).await;
    drop(place);
    let answer = match request {
        Ok(Ok(request)) => return act(&shared, stream, request, &pool).await,
        Ok(Err(NoRequest::Refused(code))) => Some(code),
        Ok(Err(NoRequest::Silent)) => None,
        Err(_) => {
            count(&shared.counters.request_timeouts);
            None
        }
    };
    match answer {
        Some(code) => refuse(&shared, stream, code).await,
        None => socket::reset(stream),
    }
    None
}

/// Does what the request says, if the client may.
async fn act(shared: &Shared, stream: TcpStream, request: Request, pool: &Pool) -> Option<Opened> {
    let client = match admit::admit(shared, &request) {
        Ok(client) => client,
        Err(code) => {
            refuse(shared, stream, code).await;
            return None;
        }
    };
    match request.wanted {
        Wanted::Connect(server) => return connect(shared, stream, client, server).await,
        // These may last for hours, or need more memory than the others.
        Wanted::Meet(token, Side::Asks) => Box::pin(meet::call(shared, stream, &client, token)).await,
        Wanted::Meet(token, Side::Offers) => {
            Box::pin(meet::offer(shared, stream, &client, token, pool)).await;
        }
        Wanted::Info => say(stream, Reply::Supported).await,
    }
    None
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

/// Connects to the server.
async fn connect(
    shared: &Shared,
    mut stream: TcpStream,
    client: Arc<Client>,
    server: SocketAddr,
) -> Option<Opened> {
    let Some(entered) = client.enter() else {
        refuse(shared, stream, Code::Resources).await;
        return None;
    };
    let tally = Tally::measuring(FirstByte::from_now(&shared.counters.first_byte));
    match connected(shared, &mut stream, server).await {
        Ok(connected) => Some(Opened {
            stream,
            connected,
            client,
            _entered: entered,
            tally,
        }),
        Err(Some(code)) => {
            refuse(shared, stream, code).await;
            None
        }
        Err(None) => None,
    }
}

/// Connects to the server, and tells the client. `Err(None)`: the client has gone meanwhile.
async fn connected(
    shared: &Shared,
    client: &mut TcpStream,
    server: SocketAddr,
) -> Result<TcpStream, Option<Code>> {
    let connect = socket::connect(server, Kind::Mptcp, None);
    let connected = timeout(shared.config.connect_timeout, connect).await;
    let connected = connected
        .map_err(|_| Code::Unreachable)?
        .map_err(|error| code(&error))?;
    socket::prepare(&connected);
    let mptcp = socket::is_mptcp(&connected);
    if mptcp {
        count(&shared.counters.mptcp_servers);
    }
    socket::handshake_complete(client).await;
    let reply = Reply::Connected { mptcp }.write();
    if client.write_all(&reply).await.is_err() {
        socket::reset(connected);
        return Err(None);
    }
    Ok(connected)
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
