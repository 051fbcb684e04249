//! Convert messages: the request of a client to a relay, and the relay's reply (RFC 8803).
//!
//! A message begins with a header of four bytes: version, length in words of 32 bits, magic number. TLVs
//! follow, each with its type, its length in words and its value. Header and TLVs have at most
//! [`MOST`] bytes. Bytes of the application follow the message directly.
//!
//! # Sources
//! - RFC 8803 §4 (Convert protocol), and IANA's registry "TCP Convert Protocol (Convert) Parameters".
//! - Layout of the TLVs checked against `convert.h` of Tessares/libconvert.
//!
//! # Where we differ, and why
//! 1. A second TLV of one type, and a Connect TLV with TCP options, are malformed or unsupported. A relay
//!    that opens sockets cannot carry raw TCP options.
//! 2. A TLV of an unknown type in a request is refused. In a reply it is skipped.
//! 3. A Meet TLV, of a type for private use, joins two clients instead of a client and a server.
//!
//! # Checked by
//! `tests` below; `tests/convert.rs`; the fuzz target `convert`.

use crate::cookie::Cookie;
use crate::mobility::Key;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The only version of the protocol.
const VERSION: u8 = 1;
const MAGIC: [u8; 2] = [0x22, 0x63];
/// Length of the header, in bytes.
pub const HEADER: usize = 4;
/// Greatest length of a message with its header, in bytes.
pub const MOST: usize = 255 * WORD;
const WORD: usize = 4;
/// Length of a Connect TLV without options, in bytes.
pub const CONNECT: usize = 20;
/// TCP option kind of MPTCP.
const MPTCP_OPTION: u8 = 30;

/// Types of TLVs.
mod kind {
    pub const INFO: u8 = 1;
    pub const CONNECT: u8 = 10;
    pub const EXTENDED_HEADER: u8 = 20;
    pub const SUPPORTED: u8 = 21;
    pub const COOKIE: u8 = 22;
    pub const ERROR: u8 = 30;
    /// The first of the types for private use (192 to 255).
    pub const MEET: u8 = 192;
}

/// Why a relay refuses or ends a connection: the codes of RFC 8803.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Code {
    /// The version of the header is not 1.
    Version = 0,
    /// A length or a combination of TLVs is invalid.
    Malformed = 1,
    /// A TLV that the relay does not know.
    Unsupported = 2,
    /// The relay needs a cookie.
    NoCookie = 3,
    /// Wrong key, wrong clock, replay, or a destination that the key may not reach.
    NotAuthorised = 32,
    /// TCP options that the relay cannot set.
    TcpOption = 33,
    /// A limit of the relay or of the key is reached.
    Resources = 64,
    /// The relay's own network failed.
    Network = 65,
    /// The server reset the connection.
    Reset = 96,
    /// The server cannot be reached.
    Unreachable = 97,
}

impl Code {
    /// All codes, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Version,
        Self::Malformed,
        Self::Unsupported,
        Self::NoCookie,
        Self::NotAuthorised,
        Self::TcpOption,
        Self::Resources,
        Self::Network,
        Self::Reset,
        Self::Unreachable,
    ];

    /// The code with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as u8 == number)
    }

    /// Its meaning, for messages and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Version => "unsupported version",
            Self::Malformed => "malformed message",
            Self::Unsupported => "unsupported message",
            Self::NoCookie => "missing cookie",
            Self::NotAuthorised => "not authorised",
            Self::TcpOption => "unsupported TCP option",
            Self::Resources => "limit reached",
            Self::Network => "network failure",
            Self::Reset => "connection reset",
            Self::Unreachable => "destination unreachable",
        }
    }
}

/// Why the first bytes of a connection are no Convert header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderError {
    /// The magic number differs: the peer speaks another protocol.
    NotConvert,
    /// A version other than 1.
    Version,
    /// The length does not even cover the header.
    Length,
}

/// Parses a header. Returns the length of the TLVs after it, in bytes: at most [`MOST`] − [`HEADER`].
pub fn header(bytes: [u8; HEADER]) -> Result<usize, HeaderError> {
    if bytes[2..] != MAGIC {
        return Err(HeaderError::NotConvert);
    }
    if bytes[0] != VERSION {
        return Err(HeaderError::Version);
    }
    let length = usize::from(bytes[1]) * WORD;
    length.checked_sub(HEADER).ok_or(HeaderError::Length)
}

/// What a client wants from the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to do for the client.
    pub wanted: Wanted,
    /// Proof that the client knows a key. It covers `signed`.
    pub cookie: Option<Cookie>,
    /// The TLV that the cookie authenticates.
    pub signed: Vec<u8>,
}

/// The actions that a client can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Connect to this server.
    Connect(SocketAddr),
    /// Join with a connection of the other side that presents this token.
    Meet(Token, Side),
    /// Tell whether the relay would serve this client.
    Info,
}

/// The two sides of a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    /// It connects to a service of the other side.
    Asks = 1,
    /// It has a service, and waits for the other side.
    Offers = 2,
}

/// Names a meeting of two clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub [u8; 16]);

impl Token {
    /// The token that two users name with this text.
    pub fn of(text: &str) -> Self {
        Self(Key::new([0; 32]).tag(&[b"slowhand meet", text.as_bytes()]))
    }
}

/// One TLV: its type and its value. The value's length is a multiple of four, plus two.
struct Tlv<'b> {
    kind: u8,
    value: &'b [u8],
    whole: &'b [u8],
}

/// Splits the first TLV off. `None` if its length is zero or exceeds what is left.
fn split(bytes: &[u8]) -> Option<(Tlv<'_>, &[u8])> {
    let (kind, words) = (*bytes.first()?, *bytes.get(1)?);
    let length = usize::from(words) * WORD;
    if length == 0 || length > bytes.len() {
        return None;
    }
    let (whole, rest) = bytes.split_at(length);
    let tlv = Tlv {
        kind,
        value: &whole[2..],
        whole,
    };
    Some((tlv, rest))
}

impl Request {
    /// Parses the TLVs of a request.
    pub fn parse(tlvs: &[u8]) -> Result<Self, Code> {
        let (mut wanted, mut cookie) = (None, None);
        let mut rest = tlvs;
        while !rest.is_empty() {
            let (tlv, after) = split(rest).ok_or(Code::Malformed)?;
            rest = after;
            let again = match tlv.kind {
                kind::CONNECT => {
                    let to = Wanted::Connect(connect(tlv.value)?);
                    wanted.replace((to, tlv.whole.to_vec())).is_some()
                }
                kind::MEET => {
                    let meeting = meet(tlv.value).ok_or(Code::Malformed)?;
                    wanted.replace((meeting, tlv.whole.to_vec())).is_some()
                }
                kind::INFO if tlv.value.len() == 2 => {
                    wanted.replace((Wanted::Info, tlv.whole.to_vec())).is_some()
                }
                kind::INFO => return Err(Code::Malformed),
                kind::COOKIE => {
                    let value = Cookie::parse(&tlv.value[2..]).ok_or(Code::NotAuthorised)?;
                    cookie.replace(value).is_some()
                }
                _ => return Err(Code::Unsupported),
            };
            if again {
                return Err(Code::Malformed);
            }
        }
        let (wanted, signed) = wanted.ok_or(Code::Malformed)?;
        Ok(Self {
            wanted,
            cookie,
            signed,
        })
    }

    /// A request with its header. `seal` makes the cookie over the TLV that it is given.
    pub fn write(wanted: Wanted, seal: impl FnOnce(&[u8]) -> [u8; Cookie::LENGTH]) -> Vec<u8> {
        let mut message = begin();
        match wanted {
            Wanted::Connect(server) => {
                message.extend([kind::CONNECT, (CONNECT / WORD) as u8]);
                message.extend(server.port().to_be_bytes());
                message.extend(mapped(server.ip()).octets());
            }
            Wanted::Meet(Token(token), side) => {
                message.extend([kind::MEET, 5, side as u8, 0]);
                message.extend(token);
            }
            Wanted::Info => message.extend([kind::INFO, 1, 0, 0]),
        }
        let cookie = seal(&message[HEADER..]);
        message.extend([kind::COOKIE, ((WORD + Cookie::LENGTH) / WORD) as u8, 0, 0]);
        message.extend(cookie);
        finish(message)
    }
}

/// The address of a Connect TLV. IPv4 is written as IPv4-mapped IPv6.
fn connect(value: &[u8]) -> Result<SocketAddr, Code> {
    let (port, rest) = value.split_first_chunk::<2>().ok_or(Code::Malformed)?;
    let (address, options) = rest.split_first_chunk::<16>().ok_or(Code::Malformed)?;
    if !options.is_empty() {
        return Err(Code::TcpOption);
    }
    let address = Ipv6Addr::from(*address);
    let address = address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
    Ok(SocketAddr::new(address, u16::from_be_bytes(*port)))
}

fn meet(value: &[u8]) -> Option<Wanted> {
    let (side, token) = value.split_first_chunk::<2>()?;
    let side = match side {
        [1, 0] => Side::Asks,
        [2, 0] => Side::Offers,
        _ => return None,
    };
    Some(Wanted::Meet(Token(token.try_into().ok()?), side))
}

const fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn begin() -> Vec<u8> {
    let mut message = Vec::with_capacity(72);
    message.extend([VERSION, 0, MAGIC[0], MAGIC[1]]);
    message
}

/// Writes the length into the header.
fn finish(mut message: Vec<u8>) -> Vec<u8> {
    debug_assert!(message.len() <= MOST && message.len().is_multiple_of(WORD));
    message[1] = (message.len() / WORD) as u8;
    message
}

/// What the relay answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The relay has connected to the server, or both clients have met.
    Connected {
        /// Whether the server accepted MPTCP.
        mptcp: bool,
    },
    /// The relay would serve this client: the answer to [`Wanted::Info`].
    Supported,
    /// The relay refuses. `None`: with a code that we do not know.
    Refused(Option<Code>),
}

impl Reply {
    /// Parses the TLVs of a reply. `None` if they are malformed.
    pub fn parse(tlvs: &[u8]) -> Option<Self> {
        let mut reply = Self::Connected { mptcp: false };
        let mut rest = tlvs;
        while !rest.is_empty() {
            let (tlv, after) = split(rest)?;
            rest = after;
            match tlv.kind {
                kind::ERROR => return Some(Self::Refused(Code::from_number(tlv.value[0]))),
                kind::EXTENDED_HEADER => {
                    let mptcp = has_mptcp(&tlv.value[2..]);
                    reply = Self::Connected { mptcp };
                }
                kind::SUPPORTED => reply = Self::Supported,
                _ => {}
            }
        }
        Some(reply)
    }

    /// The reply with its header.
    pub fn write(self) -> Vec<u8> {
        let mut message = begin();
        match self {
            Self::Connected { mptcp: false } => {}
            // MP_CAPABLE of the server's SYN+ACK, version 1. Sockets do not show its key: it is zero.
            Self::Connected { mptcp: true } => {
                message.extend([kind::EXTENDED_HEADER, 4, 0, 0]);
                message.extend([MPTCP_OPTION, 12, 1, 1]);
                message.extend([0; 8]);
            }
            // The relay knows the MPTCP option. Zeros fill the word.
            Self::Supported => {
                message.extend([kind::SUPPORTED, 2, 0, 0]);
                message.extend([MPTCP_OPTION, 0, 0, 0]);
            }
            Self::Refused(code) => {
                let code = code.unwrap_or(Code::Network) as u8;
                message.extend([kind::ERROR, 1, code, 0]);
            }
        }
        finish(message)
    }
}

/// Whether the options of a TCP header include MPTCP.
fn has_mptcp(mut options: &[u8]) -> bool {
    while let Some((&kind, rest)) = options.split_first() {
        options = match kind {
            MPTCP_OPTION => return true,
            // End of the options, and padding.
            0 => return false,
            1 => rest,
            _ => match rest.first() {
                Some(&length) if length >= 2 => options.get(usize::from(length)..).unwrap_or(&[]),
                _ => return false,
            },
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::Key;

    const KEY: Key = Key::new([7; 32]);

    fn request(server: &str) -> Vec<u8> {
        let server = server.parse().unwrap();
        Request::write(Wanted::Connect(server), |signed| {
            Cookie::seal(&KEY, 1_000, 42, signed)
        })
    }

    #[test]
    fn a_request_has_the_layout_of_the_rfc() {
        let message = request("192.0.2.1:443");
        assert_eq!(message.len(), 68);
        assert_eq!(message[..8], [1, 17, 0x22, 0x63, 10, 5, 1, 0xbb]);
        assert_eq!(
            message[8..24],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]
        );
        assert_eq!(message[24..28], [22, 11, 0, 0]);
    }

    #[test]
    fn a_request_is_read_as_written() {
        for server in ["192.0.2.1:443", "[2001:db8::1]:80"] {
            let message = request(server);
            let length = header(*message.first_chunk().unwrap()).unwrap();
            assert_eq!(length, message.len() - HEADER);
            let read = Request::parse(&message[HEADER..]).unwrap();
            assert_eq!(read.wanted, Wanted::Connect(server.parse().unwrap()));
            assert!(read.cookie.unwrap().is_signed(&KEY, &read.signed));
        }
    }

    #[test]
    fn a_meeting_and_a_question_are_read_as_written() {
        let token = Token::of("two peers");
        assert_ne!(token, Token::of("two others"));
        let meetings = [Side::Asks, Side::Offers].map(|side| Wanted::Meet(token, side));
        for wanted in meetings.into_iter().chain([Wanted::Info]) {
            let message = Request::write(wanted, |signed| Cookie::seal(&KEY, 1, 2, signed));
            assert_eq!(Request::parse(&message[HEADER..]).unwrap().wanted, wanted);
        }
    }

    #[test]
    fn replies_are_read_as_written() {
        let refused = Code::ALL.map(|code| Reply::Refused(Some(code)));
        let connected = [false, true].map(|mptcp| Reply::Connected { mptcp });
        for reply in refused.into_iter().chain(connected).chain([Reply::Supported]) {
            let message = reply.write();
            assert_eq!(
                header(*message.first_chunk().unwrap()),
                Ok(message.len() - HEADER)
            );
            assert_eq!(Reply::parse(&message[HEADER..]), Some(reply));
        }
    }

    #[test]
    fn wrong_headers_are_told_apart() {
        assert_eq!(header(*b"GET "), Err(HeaderError::NotConvert));
        assert_eq!(header([2, 1, 0x22, 0x63]), Err(HeaderError::Version));
        assert_eq!(header([1, 0, 0x22, 0x63]), Err(HeaderError::Length));
        assert_eq!(header([1, 255, 0x22, 0x63]), Ok(MOST - HEADER));
    }

    #[test]
    fn malformed_requests_are_refused_with_the_code_of_the_rfc() {
        let whole = request("192.0.2.1:443");
        let (connect, cookie) = whole[HEADER..].split_at(CONNECT);
        let mut options = connect.to_vec();
        options[1] = 6;
        options.extend([1; 4]);
        let no_side = [&[192, 5, 3, 0][..], &[1; 16]].concat();
        let cases: [(&str, Vec<u8>, Code); 12] = [
            ("an unknown side", no_side, Code::Malformed),
            ("a short token", [192, 1, 1, 0].to_vec(), Code::Malformed),
            ("a long Info", [1, 2, 0, 0, 0, 0, 0, 0].to_vec(), Code::Malformed),
            ("nothing", Vec::new(), Code::Malformed),
            ("a length of zero", [10, 0, 0, 0].to_vec(), Code::Malformed),
            ("a length beyond the end", [10, 9, 0, 0].to_vec(), Code::Malformed),
            ("a short Connect", [10, 1, 0, 80].to_vec(), Code::Malformed),
            ("two Connects", [connect, connect].concat(), Code::Malformed),
            ("a cookie alone", cookie.to_vec(), Code::Malformed),
            ("a trailing byte", [connect, &[1]].concat(), Code::Malformed),
            (
                "an unknown TLV",
                [connect, &[99, 1, 0, 0]].concat(),
                Code::Unsupported,
            ),
            ("TCP options", options, Code::TcpOption),
        ];
        for (what, tlvs, code) in cases {
            assert_eq!(Request::parse(&tlvs), Err(code), "{what}");
        }
    }

    #[test]
    fn mptcp_is_found_behind_other_options() {
        assert!(has_mptcp(&[1, 1, 2, 4, 5, 0xb4, 30, 12]));
        for options in [&[][..], &[0, 30], &[2, 0, 30], &[2, 1, 30], &[3, 30, 30], &[8]] {
            assert!(!has_mptcp(options), "{options:?}");
        }
    }
}
