//! Carries bytes between two connections until both directions have ended.
//!
//! An end of one direction is passed on as a half-close, a reset as a reset. If this process is killed, both
//! ends get a reset. Two timers of our own end
//! connections that the kernel keeps: writing to an MPTCP peer that has gone gives no error.

#![expect(
    clippy::manual_async_fn,
    reason = "a function that is `async` keeps its arguments twice, and a relay holds thousands of them"
)]

use crate::delays::FirstByte;
use crate::pipe::{Pipe, Pool};
use crate::socket;
use nix::fcntl::{SpliceFFlags, splice};
use nix::sys::socket::{Shutdown, shutdown};
use std::future::poll_fn;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bytes to ask for at once: at first, and at most.
const FEW: usize = 16 * 1024;
const MOST: usize = crate::pipe::SIZE;

/// How long a connection may carry nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// While one end does not take the bytes of the other.
    pub stalled: Duration,
    /// While there is nothing to carry.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            stalled: Duration::from_secs(300),
            idle: Duration::from_secs(2 * 3600),
        }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Both ends closed it.
    Closed,
    /// One end reset it, and the other end got a reset.
    Reset,
    /// One end did not take the bytes of the other for too long. Both got a reset.
    Stalled,
    /// It carried nothing for too long. Both got a reset.
    Idle,
    /// It was to stop. Both got a reset: an ordinary end would say that all bytes have come.
    Stopped,
}

/// Bytes that a connection has carried.
#[derive(Debug, Default)]
pub struct Tally {
    /// From the client to the server.
    up: AtomicU64,
    /// From the server to the client.
    down: AtomicU64,
    /// Directions whose bytes wait for their receiver.
    waiting: AtomicU8,
    /// Directions whose sender has ended them.
    ended: AtomicU8,
    /// Measures when the server's first byte comes.
    first: Option<FirstByte>,
}

impl Tally {
    /// A tally that measures when the server's first byte comes.
    pub fn measuring(first: FirstByte) -> Self {
        Self {
            first: Some(first),
            ..Self::default()
        }
    }

    /// Bytes from the client to the server.
    pub fn up(&self) -> u64 {
        self.up.load(Ordering::Relaxed)
    }

    /// Bytes from the server to the client.
    pub fn down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }

    fn total(&self) -> u64 {
        self.up().wrapping_add(self.down())
    }
}

/// One direction of a connection.
struct Direction<'c> {
    from: &'c TcpStream,
    to: &'c TcpStream,
    tally: &'c Tally,
    /// Whether it is that from the client to the server.
    is_up: bool,
}

/// Carries bytes between a client and its server until the connection ends, or `stop` does. Both are to be
/// closed then.
///
/// Blocks that own what they need, here and below, are smaller than functions that are `async`.
pub fn pump(
    both: [&TcpStream; 2],
    pool: &Pool,
    tally: &Tally,
    patience: &Patience,
    stop: impl Future<Output = ()> + Unpin,
) -> impl Future<Output = Ended> {
    async move {
        for stream in both {
            socket::resets_on_close(stream, true);
        }
        tokio::select! {
            done = async { tokio::try_join!(up(both, tally).carry(pool), down(both, tally).carry(pool)) } => match done {
                Ok(_) => {
                    for stream in both {
                        socket::resets_on_close(stream, false);
                    }
                    Ended::Closed
                }
                Err(_) => Ended::Reset,
            },
            ended = overdue(both, tally, patience) => ended,
            () = stop => Ended::Stopped,
        }
    }
}

/// From the client to the server.
fn up<'c>([client, server]: [&'c TcpStream; 2], tally: &'c Tally) -> Direction<'c> {
    Direction {
        from: client,
        to: server,
        tally,
        is_up: true,
    }
}

/// From the server to the client.
fn down<'c>([client, server]: [&'c TcpStream; 2], tally: &'c Tally) -> Direction<'c> {
    Direction {
        from: server,
        to: client,
        tally,
        is_up: false,
    }
}

impl Direction<'_> {
    /// Carries bytes until the sender ends this direction.
    fn carry(self, pool: &Pool) -> impl Future<Output = io::Result<()>> {
        async move {
            let mut doublings = 0;
            loop {
                // Only one task waits for each end of a connection, so the place in the socket's own state is
                // enough. `TcpStream::readable` takes 130 bytes more.
                poll_fn(|context| self.from.poll_read_ready(context)).await?;
                let pipe = pool.take()?;
                let asked = FEW << doublings;
                let read = || moved(self.from, &pipe.into, asked);
                match self.from.try_io(Interest::READABLE, read) {
                    Ok(0) => {
                        pool.put(pipe);
                        break;
                    }
                    Ok(mut left) => {
                        doublings = next(doublings, left);
                        while !self.deliver(&pipe, &mut left)? {
                            poll_fn(|context| self.to.poll_write_ready(context)).await?;
                        }
                        pool.put(pipe);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => pool.put(pipe),
                    Err(error) => return Err(error),
                }
            }
            if self.tally.ended.fetch_or(self.bit(), Ordering::Relaxed) != 0 {
                // The other direction has ended, too: both sockets are now closed, which says the same.
                return Ok(());
            }
            match shutdown(self.to.as_raw_fd(), Shutdown::Write) {
                // It has gone in the meantime. Its own direction tells how.
                Ok(()) | Err(nix::Error::ENOTCONN) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }

    /// Its bit in the tally.
    const fn bit(&self) -> u8 {
        1 << self.is_up as u8
    }

    /// Counts bytes that have been delivered.
    fn comes(&self, count: u64) {
        if self.is_up {
            self.tally.up.fetch_add(count, Ordering::Relaxed);
        } else {
            self.tally.down.fetch_add(count, Ordering::Relaxed);
            self.tally.first.iter().for_each(FirstByte::comes);
        }
    }

    /// Passes on as many of the bytes in the pipe as the receiver takes. Whether none are left.
    fn deliver(&self, pipe: &Pipe, left: &mut usize) -> io::Result<bool> {
        while *left > 0 {
            let write = || moved(&pipe.out, self.to, *left);
            match self.to.try_io(Interest::WRITABLE, write) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    *left -= count;
                    self.comes(count as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.tally.waiting.fetch_or(self.bit(), Ordering::Relaxed);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.tally.waiting.fetch_and(!self.bit(), Ordering::Relaxed);
        Ok(true)
    }
}

/// How often [`FEW`] bytes are doubled for the next request, after `count` came.
///
/// Linux 6.18 cannot splice from an MPTCP socket: it allocates pages for all bytes that are requested, copies
/// what is there, and frees the others (`copy_splice_read`).
const fn next(doublings: u8, count: usize) -> u8 {
    match FEW << doublings {
        asked if count == asked && asked < MOST => doublings + 1,
        asked if count < asked / 2 && asked > FEW => doublings - 1,
        _ => doublings,
    }
}

fn moved(from: impl std::os::fd::AsFd, to: impl std::os::fd::AsFd, most: usize) -> io::Result<usize> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    Ok(splice(from, None, to, None, most, flags)?)
}

/// Returns once the connection has carried nothing for too long.
fn overdue(both: [&TcpStream; 2], tally: &Tally, patience: &Patience) -> impl Future<Output = Ended> {
    async move {
        let (mut total, mut since) = (tally.total(), Instant::now());
        let mut is_first = true;
        loop {
            tokio::time::sleep(patience.stalled.min(patience.idle) / 4).await;
            if std::mem::take(&mut is_first) {
                both.into_iter().for_each(socket::keep_alive);
            }
            if tally.total() != total {
                (total, since) = (tally.total(), Instant::now());
            }
            let waits = tally.waiting.load(Ordering::Relaxed) != 0;
            match since.elapsed() {
                silence if waits && silence >= patience.stalled => return Ended::Stalled,
                silence if !waits && silence >= patience.idle => return Ended::Idle,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_what_comes() {
        let mut doublings = 0;
        for _ in 0..10 {
            doublings = next(doublings, FEW << doublings);
        }
        assert_eq!(FEW << doublings, MOST);
        assert_eq!(next(doublings, MOST / 2), doublings);
        for _ in 0..10 {
            doublings = next(doublings, 1_000);
        }
        assert_eq!(doublings, 0);
    }
}
