//! Netlink errors, with the kernel's extended ACK text.

use super::align4;
use super::message::{Attrs, Message, u32_at};
use std::{fmt, io};
use thiserror::Error;

const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;
const NLMSGERR_ATTR_OFFS: u16 = 2;
const NETLINK_HEADER_LEN: usize = 16;

/// A request that the kernel refused: the error number and, if the kernel sent one, its extended ACK text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Positive `errno`.
    pub errno: i32,
    /// Text of the extended ACK.
    pub text: Option<String>,
    /// Offset of the offending attribute in the request, in bytes.
    pub offset: Option<u32>,
}

impl Refusal {
    /// Whether the extended ACK's text contains `words`.
    pub fn says(&self, words: &str) -> bool {
        self.text.as_deref().is_some_and(|text| text.contains(words))
    }

    /// Parses an `NLMSG_ERROR` message. `Ok` is an acknowledgement.
    pub(super) fn from_error(message: &Message<'_>) -> Result<(), Self> {
        let code = u32_at(message.payload, 0).unwrap_or(0).cast_signed();
        if code == 0 {
            return Ok(());
        }
        Err(Self::new(code, message, Self::attrs_offset(message)))
    }

    /// Parses the code at the end of a dump (`NLMSG_DONE`).
    pub(super) fn from_done(message: &Message<'_>) -> Result<(), Self> {
        let code = u32_at(message.payload, 0).unwrap_or(0).cast_signed();
        if code >= 0 {
            return Ok(());
        }
        Err(Self::new(code, message, 4))
    }

    fn new(code: i32, message: &Message<'_>, attrs_at: usize) -> Self {
        let mut refusal = Self {
            errno: code.saturating_neg(),
            text: None,
            offset: None,
        };
        if message.flags & NLM_F_ACK_TLVS == 0 {
            return refusal;
        }
        for attr in Attrs::new(message.payload.get(attrs_at..).unwrap_or_default()) {
            match attr.kind {
                NLMSGERR_ATTR_MSG => refusal.text = attr.str().map(str::to_owned),
                NLMSGERR_ATTR_OFFS => refusal.offset = attr.u32(),
                _ => {}
            }
        }
        refusal
    }

    /// Offset of the extended ACK's attributes. They follow the code and the request's header, or the whole
    /// request.
    fn attrs_offset(message: &Message<'_>) -> usize {
        let request_len = u32_at(message.payload, 4).unwrap_or(0) as usize;
        let echoed = if message.flags & NLM_F_CAPPED == 0 {
            request_len
        } else {
            NETLINK_HEADER_LEN
        };
        4 + align4(echoed)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        match &self.text {
            Some(text) => write!(f, "{error}: {text}"),
            None => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a netlink socket could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The kernel was built without this netlink protocol.
    #[error("this kernel has no netlink protocol {protocol}; it needs {option}=y")]
    Unsupported {
        /// `NETLINK_*`.
        protocol: i32,
        /// The kernel option that enables it.
        option: &'static str,
    },
    /// No descriptor or memory is left, or a sandbox forbids the socket.
    #[error("a netlink socket cannot be opened; see `ulimit -n` and the service's RestrictAddressFamilies")]
    Socket(#[source] io::Error),
}

/// Why a request failed.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The kernel refused.
    #[error("the kernel refused: {0}")]
    Refused(#[from] Refusal),
    /// The state changed during every attempt to dump it.
    #[error("the list changed {attempts} times while it was read; try again when the host is quieter")]
    Interrupted {
        /// How often the dump was started.
        attempts: u32,
    },
    /// The kernel never answered.
    #[error("no answer from the kernel within {seconds} s; it is overloaded, try again")]
    NoAnswer {
        /// How long we waited, in seconds.
        seconds: u64,
    },
    /// The answer's format contradicts the kernel's documentation.
    #[error("the kernel's answer is malformed ({what}); please report the kernel version")]
    Malformed {
        /// The part that could not be parsed.
        what: &'static str,
    },
    /// The socket failed.
    #[error("the netlink socket failed; open it again")]
    Socket(#[source] io::Error),
}

impl RequestError {
    /// The `errno` of a refusal, or `None` for other errors.
    pub const fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused(refusal) => Some(refusal.errno),
            _ => None,
        }
    }
}

/// Why receiving events failed.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// Events arrived faster than they were read, and some are lost (`ENOBUFS`). Read the state again, then
    /// continue.
    #[error("events were lost; read the state again")]
    Overrun,
    /// The socket failed.
    #[error("the netlink socket failed; open it again")]
    Socket(#[source] io::Error),
}

/// Why a generic-netlink family was not found.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// The kernel does not have this family.
    #[error("this kernel has no generic-netlink family `{family}`")]
    Missing {
        /// The requested family.
        family: &'static str,
    },
    /// The request failed.
    #[error("generic-netlink family `{family}`")]
    Request {
        /// The requested family.
        family: &'static str,
        /// The cause.
        source: RequestError,
    },
}
