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
use crate::pipe::{Pipe, Pool, SIZE};
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
    carried: &'c AtomicU64,
    waiting: &'c AtomicU8,
    /// Its bit in `waiting`.
    bit: u8,
    /// Notified when bytes have been delivered.
    first: Option<&'c FirstByte>,
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
        carried: &tally.up,
        waiting: &tally.waiting,
        bit: 1,
        first: None,
    }
}

/// From the server to the client.
fn down<'c>([client, server]: [&'c TcpStream; 2], tally: &'c Tally) -> Direction<'c> {
    Direction {
        from: server,
        to: client,
        carried: &tally.down,
        waiting: &tally.waiting,
        bit: 2,
        first: tally.first.as_ref(),
    }
}

impl Direction<'_> {
    /// Carries bytes until the sender ends this direction.
    fn carry(self, pool: &Pool) -> impl Future<Output = io::Result<()>> {
        async move {
            loop {
                // Only one task waits for each end of a connection, so the place in the socket's own state is
                // enough. `TcpStream::readable` takes 130 bytes more.
                poll_fn(|context| self.from.poll_read_ready(context)).await?;
                let pipe = pool.take()?;
                let read = || moved(self.from, &pipe.into, SIZE);
                match self.from.try_io(Interest::READABLE, read) {
                    Ok(0) => {
                        pool.put(pipe);
                        break;
                    }
                    Ok(mut left) => {
                        while !self.deliver(&pipe, &mut left)? {
                            poll_fn(|context| self.to.poll_write_ready(context)).await?;
                        }
                        pool.put(pipe);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => pool.put(pipe),
                    Err(error) => return Err(error),
                }
            }
            match shutdown(self.to.as_raw_fd(), Shutdown::Write) {
                // It has gone in the meantime. Its own direction tells how.
                Ok(()) | Err(nix::Error::ENOTCONN) => Ok(()),
                Err(error) => Err(error.into()),
            }
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
                    self.carried.fetch_add(count as u64, Ordering::Relaxed);
                    self.first.into_iter().for_each(FirstByte::comes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.waiting.fetch_or(self.bit, Ordering::Relaxed);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.waiting.fetch_and(!self.bit, Ordering::Relaxed);
        Ok(true)
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
