//! Generic netlink, as far as `MAC80211_HWSIM` needs it: messages with flat attributes, and a socket.
//!
//! # Sources
//! - `include/uapi/linux/netlink.h`, `include/uapi/linux/genetlink.h` (Linux 6.12).
//!
//! # Where we differ, and why
//! 1. `linux::netlink` is for one request at a time. Here, a datagram has many requests without replies, and
//!    the guest's programs must not link BPF.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` in the guest.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket, sockopt,
};

/// Message types below this one are netlink's own.
const ERROR: u16 = 2;
const REQUEST: u16 = 0x01;
const ACKNOWLEDGE: u16 = 0x04;
/// `nlmsghdr` and `genlmsghdr`.
const HEADER: usize = 16;
const COMMAND: usize = 4;
const ATTRIBUTE: usize = 4;
/// The controller's number and its question for a family.
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// A kernel that cannot queue a frame here loses it. 200 frames of each radio may wait.
const BUFFER: usize = 8 << 20;

/// Requests of one datagram under construction.
#[derive(Debug, Default)]
pub struct Requests {
    bytes: Vec<u8>,
    /// Where the last one begins.
    last: usize,
}

impl Requests {
    /// Begins a request to a family. With `number`, the kernel acknowledges it by that number.
    pub fn begin(&mut self, family: u16, command: u8, number: Option<u32>) -> &mut Self {
        self.last = self.bytes.len();
        let flags = REQUEST | number.map_or(0, |_| ACKNOWLEDGE);
        self.bytes.extend([0; 4]);
        self.bytes.extend(family.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(number.unwrap_or(0).to_ne_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([command, 1, 0, 0]);
        self.end()
    }

    /// Adds an attribute to the last request.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = (ATTRIBUTE + value.len()) as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.end()
    }

    /// Writes the length of the last request into its header.
    fn end(&mut self) -> &mut Self {
        let length = (self.bytes.len() - self.last) as u32;
        self.bytes[self.last..self.last + 4].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// The datagram.
    #[cfg(test)]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A message from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// The reply to the request of this number: 0, or an error number.
    Reply {
        /// The request's number.
        number: u32,
        /// Why it was refused. 0: it was not.
        error: i32,
    },
    /// A command of a family.
    Command {
        /// The command.
        command: u8,
        /// Its attributes.
        attributes: Attributes<'a>,
    },
}

/// The messages of a datagram. It ends at the first truncated one.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0)? as usize;
        let payload = rest.get(HEADER..length)?;
        let (kind, number) = (u16_at(rest, 4)?, u32_at(rest, 8)?);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        if kind == ERROR {
            let error = -(u32_at(payload, 0)?.cast_signed());
            return Some(Message::Reply { number, error });
        }
        Some(Message::Command {
            command: *payload.first()?,
            attributes: Attributes(payload.get(COMMAND..)?),
        })
    })
}

/// Attributes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// All of them, each with its type.
    pub fn all(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let length = usize::from(u16_at(rest, 0)?);
            let value = rest.get(ATTRIBUTE..length)?;
            // The two top bits are flags.
            let kind = u16_at(rest, 2)? & 0x3fff;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some((kind, value))
        })
    }

    /// The value of this type.
    pub fn find(self, wanted: u16) -> Option<&'a [u8]> {
        self.all()
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, value)| value)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A generic-netlink socket that never blocks.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Opens one.
    pub fn open() -> io::Result<Self> {
        let descriptor = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkGeneric,
        )?;
        // Without the right to exceed the system's limit, as in tests, the limit is enough.
        setsockopt(&descriptor, sockopt::RcvBufForce, &BUFFER)
            .or_else(|_| setsockopt(&descriptor, sockopt::RcvBuf, &BUFFER))?;
        setsockopt(&descriptor, sockopt::SndBuf, &BUFFER)?;
        bind(descriptor.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self(descriptor))
    }

    /// Sends the requests, and empties them.
    pub fn send(&self, requests: &mut Requests) -> io::Result<()> {
        if !requests.bytes.is_empty() {
            send(self.0.as_raw_fd(), &requests.bytes, MsgFlags::empty())?;
            requests.bytes.clear();
        }
        Ok(())
    }

    /// Reads one datagram into the buffer. `None` if there is none.
    pub fn receive<'b>(&self, buffer: &'b mut [u8]) -> io::Result<Option<&'b [u8]>> {
        match recv(self.0.as_raw_fd(), buffer, MsgFlags::empty()) {
            Ok(length) => Ok(Some(&buffer[..length])),
            Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The number of a family. `None` if the kernel has no such family.
    pub fn family(&self, name: &str) -> io::Result<Option<u16>> {
        let mut requests = Requests::default();
        let name = [name.as_bytes(), &[0]].concat();
        requests
            .begin(CONTROLLER, GET_FAMILY, None)
            .attribute(FAMILY_NAME, &name);
        self.send(&mut requests)?;
        // The kernel handles a request within `send`.
        let mut buffer = [0; 4096];
        let Some(datagram) = self.receive(&mut buffer)? else {
            return Ok(None);
        };
        let number = messages(datagram).find_map(|message| match message {
            Message::Command { attributes, .. } => u16_at(attributes.find(FAMILY_ID)?, 0),
            Message::Reply { .. } => None,
        });
        Ok(number)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_decode_to_what_was_encoded() {
        let mut requests = Requests::default();
        requests
            .begin(30, 2, None)
            .attribute(3, b"frame")
            .attribute(19, &[7; 4]);
        requests.begin(30, 3, Some(9)).attribute(8, &[1; 8]);
        let decoded: Vec<_> = messages(&requests.bytes)
            .map(|message| match message {
                Message::Command { command, attributes } => (command, attributes.all().collect::<Vec<_>>()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(decoded[0], (2, vec![(3, &b"frame"[..]), (19, &[7; 4][..])]));
        assert_eq!(decoded[1], (3, vec![(8, &[1; 8][..])]));
        assert_eq!(u32_at(&requests.bytes, requests.last + 8), Some(9));
    }

    #[test]
    fn truncated_datagrams_end_early() {
        let mut requests = Requests::default();
        requests.begin(30, 2, None).attribute(3, b"frame");
        let whole = requests.bytes.len();
        for length in 0..whole {
            assert_eq!(messages(&requests.bytes[..length]).count(), 0, "{length}");
        }
        // An attribute that claims more than there is.
        requests.bytes[20] = 200;
        let Some(Message::Command { attributes, .. }) = messages(&requests.bytes).next() else {
            panic!("no command")
        };
        assert_eq!(attributes.all().count(), 0);
    }

    #[test]
    fn the_controller_knows_itself_and_no_unknown_family() {
        let socket = Socket::open().unwrap();
        assert_eq!(socket.family("nlctrl").unwrap(), Some(CONTROLLER));
        assert_eq!(Socket::open().unwrap().family("no such family").unwrap(), None);
    }
}
