//! The first bytes of an application, sent with the request to the relay instead of after its reply. This
//! saves a round trip to the relay.
//!
//! The bytes stay in the application's socket until the relay has confirmed. If it does not, they go another
//! way. The server may then get them twice, once from the relay. A ClientHello of TLS allows that.

use nix::sys::socket::{MsgFlags, recv};
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Most bytes that are sent early.
const MOST: usize = 16 * 1024;
/// How long an application may take to send its first bytes, once its connection is accepted.
const SPEAKS: Duration = Duration::from_millis(3);
/// Length of the header of a TLS record.
const RECORD: usize = 5;

/// Which first bytes are sent early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Early {
    /// A ClientHello of TLS.
    Tls,
    /// None.
    Never,
    /// Any.
    Always,
}

impl Early {
    /// The same as [`Early::peek`], after the application has had the time to send something.
    pub async fn wait(self, application: &TcpStream) -> Vec<u8> {
        if self != Self::Never {
            // If its server speaks first, it sends nothing.
            let _ = tokio::time::timeout(SPEAKS, application.readable()).await;
        }
        self.peek(application)
    }

    /// What the application has sent so far and may be sent early. It stays in the socket.
    pub fn peek(self, application: &TcpStream) -> Vec<u8> {
        if self == Self::Never {
            return Vec::new();
        }
        let mut bytes = vec![0; MOST];
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        let peek = || Ok(recv(application.as_raw_fd(), &mut bytes, flags)?);
        // A server that speaks first: the application has sent nothing.
        let count = application.try_io(Interest::READABLE, peek).unwrap_or(0);
        let allowed = match self {
            Self::Tls => client_hello(&bytes[..count]),
            Self::Always => count,
            Self::Never => 0,
        };
        bytes.truncate(allowed);
        bytes
    }
}

/// Removes bytes from the application's socket that have been sent early.
pub async fn remove(application: &TcpStream, count: usize) -> io::Result<()> {
    let mut left = vec![0; count];
    let mut done = 0;
    while done < count {
        application.readable().await?;
        match application.try_read(&mut left[done..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How many of these bytes belong to a record with a ClientHello. Early data of TLS follows in other records.
fn client_hello(bytes: &[u8]) -> usize {
    match bytes {
        [0x16, 3, _, high, low, 1, ..] => {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            bytes.len().min(RECORD + length)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_record_of_a_client_hello_is_sent_early() {
        let hello = [0x16, 3, 1, 0, 4, 1, 0, 0, 0];
        assert_eq!(client_hello(&hello), 9);
        assert_eq!(client_hello(&hello[..7]), 7);
        let with_early_data = [&hello[..], &[0x17, 3, 3, 0, 1, 9]].concat();
        assert_eq!(client_hello(&with_early_data), 9);
        for other in [
            &b"GET / HTTP/1.1"[..],
            &[],
            &hello[..5],
            &[0x16, 3, 1, 0, 4, 2, 0],
        ] {
            assert_eq!(client_hello(other), 0, "{other:?}");
        }
    }
}
