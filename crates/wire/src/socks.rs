//! Messages of SOCKS 5: how a program asks for a connection to a server.
//!
//! Each message begins with a part of fixed length, from which the length of the whole follows. A reader
//! therefore never takes bytes that belong to the connection itself.
//!
//! # Sources
//! - RFC 1928 §3 to §6.
//!
//! # Where we differ, and why
//! 1. Only `CONNECT` is read. Datagrams and listening sockets do not pass a relay.
//! 2. Only "no authentication" is offered: the socket is for programs of this host.
//!
//! # Checked by
//! `tests` below; `tests/socks.rs`; the fuzz target `socks`.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const V4: u8 = 1;
const NAME: u8 = 3;
const V6: u8 = 4;

/// Length of the part of a greeting that gives the length of the whole, in bytes.
pub const GREETING_HEAD: usize = 2;
/// The same for a request.
pub const REQUEST_HEAD: usize = 5;
/// Greatest length of a greeting or request, in bytes.
pub const MOST: usize = REQUEST_HEAD + 255 + 2;

/// How a connection ends that asked for nothing valid, or whose server cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Something failed.
    Failure = 1,
    /// A rule forbids the connection.
    NotAllowed = 2,
    /// The network cannot be reached.
    NetworkUnreachable = 3,
    /// The host cannot be reached, or its name has no address.
    HostUnreachable = 4,
    /// The server refused.
    Refused = 5,
    /// A command other than `CONNECT`.
    Command = 7,
    /// An address of an unknown type.
    AddressType = 8,
}

/// The other end speaks another protocol, or another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSocks;

/// Length of a greeting that begins with these bytes.
pub const fn greeting(head: [u8; GREETING_HEAD]) -> Result<usize, NotSocks> {
    match head {
        [VERSION, methods] => Ok(GREETING_HEAD + methods as usize),
        _ => Err(NotSocks),
    }
}

/// The reply to a whole greeting, and whether a request follows.
pub fn choose(greeting: &[u8]) -> ([u8; 2], bool) {
    let offered = greeting.get(GREETING_HEAD..).unwrap_or(&[]);
    let accepted = offered.contains(&NO_AUTHENTICATION);
    let method = if accepted { NO_AUTHENTICATION } else { NO_METHOD };
    ([VERSION, method], accepted)
}

/// Where a program wants to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This address.
    Address(SocketAddr),
    /// This name, with a port. It is not empty.
    Name(String, u16),
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// It gets no reply.
    NotSocks,
    /// It gets this code.
    Refused(Code),
}

/// Length of a request that begins with these bytes.
pub fn request(head: [u8; REQUEST_HEAD]) -> Result<usize, RequestError> {
    let [version, _, _, kind, first] = head;
    if version != VERSION {
        return Err(RequestError::NotSocks);
    }
    let address = match kind {
        V4 => 4,
        V6 => 16,
        NAME => 1 + usize::from(first),
        _ => return Err(RequestError::Refused(Code::AddressType)),
    };
    Ok(4 + address + 2)
}

impl Wanted {
    /// Parses a whole request, of the length that [`request`] gives.
    pub fn parse(bytes: &[u8]) -> Result<Self, RequestError> {
        let failure = RequestError::Refused(Code::Failure);
        let head = bytes.first_chunk().ok_or(failure)?;
        let length = request(*head)?;
        if bytes.len() != length {
            return Err(failure);
        }
        if head[1] != CONNECT {
            return Err(RequestError::Refused(Code::Command));
        }
        let (address, port) = bytes[4..].split_last_chunk::<2>().ok_or(failure)?;
        let port = u16::from_be_bytes(*port);
        let ip = match head[3] {
            V4 => IpAddr::from(*address.first_chunk::<4>().ok_or(failure)?),
            V6 => IpAddr::from(*address.first_chunk::<16>().ok_or(failure)?),
            _ => {
                let name = core::str::from_utf8(&address[1..]).map_err(|_| failure)?;
                let plain = |c: char| c.is_ascii_graphic();
                if name.is_empty() || !name.chars().all(plain) {
                    return Err(failure);
                }
                return Ok(Self::Name(name.into(), port));
            }
        };
        Ok(Self::Address(SocketAddr::new(ip, port)))
    }

    /// The request for this. `None` if the name is longer than 255 bytes.
    pub fn write(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::from([VERSION, CONNECT, 0]);
        let port = match self {
            Self::Address(server) => {
                match server.ip() {
                    IpAddr::V4(address) => {
                        bytes.push(V4);
                        bytes.extend(address.octets());
                    }
                    IpAddr::V6(address) => {
                        bytes.push(V6);
                        bytes.extend(address.octets());
                    }
                }
                server.port()
            }
            Self::Name(name, port) => {
                bytes.push(NAME);
                bytes.push(u8::try_from(name.len()).ok()?);
                bytes.extend(name.as_bytes());
                *port
            }
        };
        bytes.extend(port.to_be_bytes());
        Some(bytes)
    }
}

/// The reply to a request. The address of the connection's far end is not told: it would be a relay's.
pub const fn reply(outcome: Result<(), Code>) -> [u8; 10] {
    let code = match outcome {
        Ok(()) => 0,
        Err(code) => code as u8,
    };
    [VERSION, code, 0, V4, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_as_long_as_its_methods_and_needs_one_without_authentication() {
        assert_eq!(greeting([5, 2]), Ok(4));
        assert_eq!(greeting([4, 1]), Err(NotSocks));
        assert_eq!(choose(&[5, 2, 2, 0]), ([5, 0], true));
        assert_eq!(choose(&[5, 1, 2]), ([5, 0xff], false));
        assert_eq!(choose(&[5, 0]), ([5, 0xff], false));
    }

    #[test]
    fn requests_have_the_layout_of_the_rfc() {
        let v4 = [5, 1, 0, 1, 192, 0, 2, 1, 1, 0xbb];
        let server = Wanted::Address("192.0.2.1:443".parse().unwrap());
        assert_eq!(Wanted::parse(&v4).as_ref(), Ok(&server));
        assert_eq!(server.write().unwrap(), v4);
        let name = [5, 1, 0, 3, 3, b'a', b'.', b'b', 0, 80];
        let server = Wanted::Name("a.b".into(), 80);
        assert_eq!(Wanted::parse(&name).as_ref(), Ok(&server));
        assert_eq!(server.write().unwrap(), name);
        let server = Wanted::Address("[2001:db8::1]:80".parse().unwrap());
        assert_eq!(Wanted::parse(&server.write().unwrap()), Ok(server));
    }

    #[test]
    fn other_requests_are_refused_with_the_code_of_the_rfc() {
        let refused = |code| Err(RequestError::Refused(code));
        for (what, bytes, error) in [
            (
                "BIND",
                &[5, 2, 0, 1, 1, 1, 1, 1, 0, 1][..],
                refused(Code::Command),
            ),
            ("UDP", &[5, 3, 0, 1, 1, 1, 1, 1, 0, 1], refused(Code::Command)),
            (
                "a type",
                &[5, 1, 0, 2, 1, 1, 1, 1, 0, 1],
                refused(Code::AddressType),
            ),
            ("no name", &[5, 1, 0, 3, 0, 0, 1], refused(Code::Failure)),
            ("a space", &[5, 1, 0, 3, 1, b' ', 0, 1], refused(Code::Failure)),
            (
                "a short one",
                &[5, 1, 0, 1, 1, 1, 1, 1, 0],
                refused(Code::Failure),
            ),
            (
                "a long one",
                &[5, 1, 0, 1, 1, 1, 1, 1, 0, 1, 2],
                refused(Code::Failure),
            ),
            (
                "SOCKS 4",
                &[4, 1, 0, 80, 1, 1, 1, 1, 0],
                Err(RequestError::NotSocks),
            ),
        ] {
            assert_eq!(Wanted::parse(bytes), error, "{what}");
        }
    }

    #[test]
    fn a_reply_says_how_it_went() {
        assert_eq!(reply(Ok(())), [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(reply(Err(Code::Refused))[1], 5);
    }
}
