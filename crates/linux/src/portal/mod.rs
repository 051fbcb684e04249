//! Checks whether a link leads to the Internet: sends one HTTP request with a known reply over it. Without
//! such a request, it asks the API of the network, if that announces one ([`Api`]).
//!
//! | reply to the request | result |
//! |---|---|
//! | the expected text, 204 if none is expected, or `X-NetworkManager-Status: online` | passed |
//! | a redirect, another text, another status | a captive portal |
//! | none, one of 5xx, or one that is not HTTP | failed |
//!
//! # Sources
//! - RFC 9112 §2–§4 (HTTP/1.1 messages), RFC 6585 §6 (status 511), RFC 8952 §2 (captive portals answer in
//!   place of others).
//! - NetworkManager.conf(5), `[connectivity]`: how a reply must begin.
//!
//! # Where we differ, and why
//! 1. Plain HTTP: a portal cannot answer for a host over TLS, so the check would show only a failure.
//! 2. The socket is bound to the link. So is the DNS query for the host's address, which goes to the link's
//!    own resolver. A portal's resolver returns the portal's address, and the reply then shows the portal. A
//!    URL with an IP address needs no resolver.
//! 3. The reply is only compared: at most [`LONGEST_REPLY`] within [`PATIENCE`].
//!
//! # Checked by
//! `tests`; `daemon::tests::portal`, in namespaces.

mod api;
mod network_manager;
#[cfg(test)]
mod tests;
mod url;

pub use api::{Api, ApiError};
pub use network_manager::from_network_manager;
pub use url::{Scheme, Url, UrlError};

use crate::rtnl::IfName;
use policy::Checked;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use wire::dns;

/// Time limit of a check.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes that are read from a reply.
const LONGEST_REPLY: usize = 64 << 10;
/// Time limit of a DNS query, which is sent twice.
const RESOLVES_WITHIN: Duration = Duration::from_secs(1);
const DNS_PORT: u16 = 53;
/// Largest DNS reply in bytes, more than a reply over UDP without EDNS.
const LONGEST_DNS: usize = 1_500;
/// The header that NetworkManager accepts instead of a text, in lower case.
const ONLINE: &[u8] = b"x-networkmanager-status: online";

/// The request, and its reply over a link that leads to the Internet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The requested URL.
    pub url: Url,
    /// Expected beginning of the reply. If empty, the reply must have status 204 or no content.
    pub response: String,
}

/// The link to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Its name.
    pub link: IfName,
    /// Its addresses.
    pub from: Vec<IpAddr>,
    /// Its DNS resolvers.
    pub resolvers: Vec<IpAddr>,
}

/// What shows whether a link leads to the Internet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    /// A host behind the network.
    Check(Check),
    /// The network itself.
    Api(Api),
}

impl Inquiry {
    /// Runs it, and says why it shows nothing. It blocks for up to [`PATIENCE`], so call it on a thread of
    /// its own.
    pub fn run(&self, over: &Over) -> (Checked, Option<ApiError>) {
        match self {
            Self::Check(check) => (check.find(over).0, None),
            Self::Api(api) => match api.find(over) {
                Ok(state) if state.is_closed => (Checked::Portal, None),
                Ok(_) => (Checked::Passed, None),
                // The API of one network is no evidence beside that of another one.
                Err(error) => (Checked::Unknown, Some(error)),
            },
        }
    }
}

impl Check {
    /// Runs the check, for up to [`PATIENCE`]. Returns the URL to which a portal redirects, too.
    pub fn find(&self, over: &Over) -> (Checked, Option<String>) {
        let until = Instant::now() + PATIENCE;
        for to in over.hosts(&self.url, until) {
            let Ok(reply) = self.ask(over, to, until) else {
                continue;
            };
            if let Some(found) = self.judge(&reply) {
                return (found, location(&reply));
            }
        }
        (Checked::Failed, None)
    }

    fn ask(&self, over: &Over, to: SocketAddr, until: Instant) -> io::Result<Vec<u8>> {
        let mut stream = over.connect(to, until)?;
        exchange(&mut stream, &self.url.request("1.1", "*/*"))
    }

    /// Classifies a reply. `None` if it is not a valid one.
    fn judge(&self, reply: &[u8]) -> Option<Checked> {
        let (head, body) = split(reply)?;
        let status = status(head)?;
        let lines = head.to_ascii_lowercase();
        if lines.windows(ONLINE.len()).any(|part| part == ONLINE) {
            return Some(Checked::Passed);
        }
        let is_expected = match (status, self.response.as_str()) {
            (204, "") => true,
            (200, "") => body.is_empty(),
            (200, expected) => body.starts_with(expected.as_bytes()),
            _ => false,
        };
        match status {
            _ if is_expected => Some(Checked::Passed),
            511 => Some(Checked::Portal),
            500.. => None,
            _ => Some(Checked::Portal),
        }
    }
}

impl Over {
    fn source(&self, to: IpAddr) -> Option<IpAddr> {
        let mut from = self.from.iter().copied();
        from.find(|from| from.is_ipv4() == to.is_ipv4())
    }

    /// Addresses of the URL's host, for the address families of the link.
    fn hosts(&self, url: &Url, until: Instant) -> Vec<SocketAddr> {
        let addresses = match url.host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self
                .resolvers
                .iter()
                .map(|&resolver| resolve(self, resolver, &url.host, until).unwrap_or_default())
                .find(|found| !found.is_empty())
                .unwrap_or_default(),
        };
        let fits = |address: &IpAddr| self.source(*address).is_some();
        let hosts = addresses.into_iter().filter(fits).take(2);
        hosts.map(|address| SocketAddr::new(address, url.port)).collect()
    }

    fn connect(&self, to: SocketAddr, until: Instant) -> io::Result<Bounded> {
        let socket = bound(self, to.ip(), Type::STREAM, Protocol::TCP)?;
        socket.connect_timeout(&to.into(), left(until)?)?;
        Ok(Bounded {
            stream: socket.into(),
            until,
        })
    }
}

/// A connection whose reads and writes fail after a time.
#[derive(Debug)]
struct Bounded {
    stream: TcpStream,
    until: Instant,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        self.stream.read(into)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Sends a request and returns the reply.
fn exchange(stream: &mut (impl Read + Write), request: &str) -> io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    let mut reply = Vec::new();
    let mut part = [0; 4_096];
    while reply.len() < LONGEST_REPLY && !is_whole(&reply) {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(length) => reply.extend(&part[..length]),
            // A server that closes TLS without saying so.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(reply)
}

/// Whether a text from the network is the URL of a page that a browser may be given.
pub(crate) fn is_page(text: &str) -> bool {
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    is_web && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

fn bound(over: &Over, to: IpAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let from = over.source(to).ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = Socket::new(Domain::for_address(SocketAddr::new(to, 0)), kind, Some(protocol))?;
    socket.bind_device(Some(over.link.as_str().as_bytes()))?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    Ok(socket)
}

/// Queries a resolver for the addresses of a host. The resolver's own address family comes first.
fn resolve(over: &Over, resolver: IpAddr, host: &str, until: Instant) -> io::Result<Vec<IpAddr>> {
    let socket = bound(over, resolver, Type::DGRAM, Protocol::UDP)?;
    socket.connect(&SocketAddr::new(resolver, DNS_PORT).into())?;
    let has = |v4: bool| over.from.iter().any(|from| from.is_ipv4() == v4);
    let kinds = [(true, dns::Kind::A), (false, dns::Kind::Aaaa)];
    let mut found = Vec::new();
    for (number, (_, kind)) in kinds.into_iter().filter(|(v4, _)| has(*v4)).enumerate() {
        let id = random_id().wrapping_add(number as u16);
        let question = dns::question(id, host, kind).ok_or(io::ErrorKind::InvalidInput)?;
        found.extend(asked_twice(&socket, &question, id, until)?);
    }
    Ok(found)
}

fn asked_twice(socket: &Socket, question: &[u8], id: u16, until: Instant) -> io::Result<Vec<IpAddr>> {
    for _ in 0..2 {
        socket.send(question)?;
        let asked = Instant::now();
        while let Ok(patience) = left(until.min(asked + RESOLVES_WITHIN)) {
            socket.set_read_timeout(Some(patience))?;
            let mut buffer = [MaybeUninit::new(0u8); LONGEST_DNS];
            let Ok(length) = socket.recv(&mut buffer) else {
                break;
            };
            let bytes: [u8; LONGEST_DNS] = buffer.map(|byte| {
                // SAFETY: the array was initialised with zeros above.
                unsafe { byte.assume_init() }
            });
            let message = &bytes[..length.min(LONGEST_DNS)];
            if dns::replied(message) == Some(id) {
                return Ok(dns::addresses(message, id));
            }
        }
    }
    Ok(Vec::new())
}

fn random_id() -> u16 {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The standard library seeds its hashers with system randomness.
    std::hash::RandomState::new().build_hasher().finish() as u16
}

/// The header lines before the empty line, and the body.
fn split(reply: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = reply.windows(4).position(|part| part == b"\r\n\r\n")?;
    Some((&reply[..at], &reply[at + 4..]))
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    std::str::from_utf8(line)
        .ok()?
        .parse()
        .ok()
        .filter(|status| *status >= 200)
}

/// Where a reply sends the client, if that is another page of the web.
fn location(reply: &[u8]) -> Option<String> {
    let (head, _) = split(reply)?;
    let mut lines = head
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok());
    lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.eq_ignore_ascii_case("location") && is_page(value)).then(|| value.to_owned())
    })
}

/// Whether the reply is complete by its own header. Many servers keep a connection open although the request
/// says to close it.
fn is_whole(reply: &[u8]) -> bool {
    let Some((head, body)) = split(reply) else {
        return false;
    };
    let has_none = matches!(status(head), Some(204 | 304));
    let lines = head.split(|byte| *byte == b'\n');
    let mut lengths = lines.filter_map(|line| {
        let line = std::str::from_utf8(line).ok()?.trim().to_ascii_lowercase();
        line.strip_prefix("content-length:")?.trim().parse::<usize>().ok()
    });
    has_none || lengths.next().is_some_and(|length| body.len() >= length)
}
