//! SOCKS 5 on loopback, for programs that nftables does not redirect: those in containers, and browsers that
//! let the proxy resolve names.
//!
//! The agent resolves names as this host does. A relay never gets a name.

use super::Agent;
use super::convert::RelayError;
use crate::socket;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use wire::convert::Code as Refusal;
use wire::socks::{
    Code, GREETING_HEAD, MOST, REQUEST_HEAD, RequestError, Wanted, choose, greeting, reply, request,
};

/// How long a program may take to say what it wants.
const ASKS: Duration = Duration::from_secs(5);
/// Addresses of a name that are tried.
const TRIED: usize = 4;

/// Serves one connection of a program to the SOCKS address `own`.
pub async fn serve(agent: &Agent, mut stream: TcpStream, client: SocketAddr, own: SocketAddr) {
    let Ok(Ok(asked)) = timeout(ASKS, ask(&mut stream)).await else {
        return socket::reset(stream);
    };
    let servers = match asked {
        Ok(wanted) => resolve(wanted).await,
        Err(code) => Err(code),
    };
    let servers = match servers {
        Ok(servers) => servers,
        Err(code) => return refuse(stream, code).await,
    };
    let mut code = Code::HostUnreachable;
    for server in servers {
        let entry = agent.live.enter(client, server, Some(own));
        match agent.open(server, &stream).await {
            Ok((onward, taken)) => {
                if stream.write_all(&reply(Ok(()))).await.is_err() {
                    return socket::reset(onward);
                }
                return agent.carry(&entry, taken, [&stream, &onward]).await;
            }
            Err(error) => {
                entry.fails();
                code = why(&error);
            }
        }
    }
    refuse(stream, code).await;
}

/// Reads what the program wants, or why it cannot get it. Takes no byte beyond the request.
async fn ask(stream: &mut TcpStream) -> io::Result<Result<Wanted, Code>> {
    let other = || io::Error::from(io::ErrorKind::InvalidData);
    let mut bytes = [0; MOST];
    stream.read_exact(&mut bytes[..GREETING_HEAD]).await?;
    let length = greeting([bytes[0], bytes[1]]).map_err(|_| other())?;
    stream.read_exact(&mut bytes[GREETING_HEAD..length]).await?;
    let (method, accepted) = choose(&bytes[..length]);
    stream.write_all(&method).await?;
    if !accepted {
        return Err(other());
    }
    let mut head = [0; REQUEST_HEAD];
    stream.read_exact(&mut head).await?;
    let length = match request(head) {
        Ok(length) => length,
        Err(RequestError::Refused(code)) => return Ok(Err(code)),
        Err(RequestError::NotSocks) => return Err(other()),
    };
    bytes[..REQUEST_HEAD].copy_from_slice(&head);
    stream.read_exact(&mut bytes[REQUEST_HEAD..length]).await?;
    match Wanted::parse(&bytes[..length]) {
        Ok(wanted) => Ok(Ok(wanted)),
        Err(RequestError::Refused(code)) => Ok(Err(code)),
        Err(RequestError::NotSocks) => Err(other()),
    }
}

async fn resolve(wanted: Wanted) -> Result<Vec<SocketAddr>, Code> {
    match wanted {
        Wanted::Address(server) => Ok(vec![server]),
        Wanted::Name(name, port) => {
            let found = tokio::net::lookup_host((name, port)).await;
            let found = found.map_err(|_| Code::HostUnreachable)?;
            Ok(found.take(TRIED).collect())
        }
    }
}

async fn refuse(mut stream: TcpStream, code: Code) {
    // A program that has gone does not need it.
    let told = async {
        stream.write_all(&reply(Err(code))).await?;
        stream.shutdown().await
    };
    let _ = told.await;
}

/// The code for a server that cannot be reached.
fn why(error: &io::Error) -> Code {
    let relay = error
        .get_ref()
        .and_then(|error| error.downcast_ref::<RelayError>());
    match (relay, error.kind()) {
        (Some(RelayError::Refused(Some(Refusal::NotAuthorised))), _) => Code::NotAllowed,
        (Some(RelayError::Refused(Some(Refusal::Reset))), _) => Code::Refused,
        (Some(RelayError::Refused(Some(Refusal::Unreachable))), _) => Code::HostUnreachable,
        (_, io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset) => Code::Refused,
        (_, io::ErrorKind::NetworkUnreachable) => Code::NetworkUnreachable,
        (_, io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut) => Code::HostUnreachable,
        _ => Code::Failure,
    }
}
