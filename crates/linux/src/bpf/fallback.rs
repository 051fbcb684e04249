//! Limits how far ahead the peer of a plain-TCP fallback connection may send, with a clamp on its single
//! socket.
//!
//! Such a connection has no MPTCP options to adjust a window, and perhaps no token, so its socket cookie
//! identifies it (as [`crate::diag`] shows it). The kernel lifts clamps. Call [`FallbackLever::apply`] every
//! [`FallbackLever::apply_every`] while it has something to set again, and occasionally otherwise.
//!
//! # Where we differ, and why
//! 1. A smaller clamp is kept, because the program itself may set one on such a socket.
//! 2. Restoring removes any clamp of exactly the set size, on any socket. A dead process cannot tell which
//!    sockets had it.
//!
//! # Checked by
//! `daemon::tests::fallback`; `tests` below.

use super::cost::RunTime;
use super::limits::to_bytes;
use super::map::Map;
use super::pass::{OBJECT, Pass, RestoreError, Walker};
use super::window::CLAMP_AGAIN;
use super::{LoadError, MapError, PassError};
use std::io;
use std::time::Duration;
use units::Bytes;

/// Size of `struct fallback_record` in `bpf/clamp.bpf.c`.
const RECORD_BYTES: usize = 24;
/// A cookie that no socket has.
const NOBODY: u64 = 0;

/// One socket's clamp before and after a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClampedSocket {
    /// The socket's cookie.
    pub cookie: u64,
    /// Clamp found by the walk.
    pub before: Bytes,
    /// Clamp left by the walk.
    pub after: Bytes,
    /// The kernel's error number if it refused the new clamp, else 0.
    pub errno: i32,
}

/// Limits connections that fell back. See the module.
#[derive(Debug)]
pub struct FallbackLever {
    walker: Walker,
    clamps: Map<u64, u32>,
}

impl FallbackLever {
    /// Loads the iterator, or returns what the kernel lacks.
    pub fn load() -> Result<Self, LoadError> {
        let loaded = OBJECT.load(&["fallback"])?;
        let clamps = loaded.map("fallbacks").map_err(LoadError::Exhausted)?;
        let walker = Walker::new(&loaded, "fallback")?;
        Ok(Self { walker, clamps })
    }

    /// Limits the data in flight from the peer of this socket, from the next [`apply`](Self::apply) on.
    pub fn set(&mut self, cookie: u64, window: Bytes) -> Result<(), MapError> {
        Ok(self.clamps.set(cookie, to_bytes(window))?)
    }

    /// Forgets a closed socket without changing it.
    pub fn forget(&mut self, cookie: u64) -> Result<(), MapError> {
        self.clamps.remove(cookie)?;
        Ok(())
    }

    /// Walks the sockets of the calling thread's namespace and returns those with a limit.
    pub fn apply(&mut self) -> Result<Vec<ClampedSocket>, PassError> {
        let records = self.walker.records()?;
        Ok(records.chunks_exact(RECORD_BYTES).map(parse).collect())
    }

    /// Interval for calling [`apply`](Self::apply) while it still changes something, even if nothing was set.
    pub const fn apply_every(&self) -> Duration {
        CLAMP_AGAIN
    }

    /// The program's run time, counted while [`CountRunTime`](super::CountRunTime) is active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.walker.run_time()
    }
}

/// Removes clamps of this size from every socket of the calling thread's namespace that a program opened for
/// MPTCP.
pub fn restore_fallbacks(window: Bytes) -> Result<Pass, RestoreError> {
    let loaded = OBJECT.load(&["restore_fallback"])?;
    let clamps: Map<u64, u32> = loaded.map("fallbacks").map_err(LoadError::Exhausted)?;
    clamps.set(NOBODY, to_bytes(window)).map_err(MapError::from)?;
    Ok(Walker::new(&loaded, "restore_fallback")?.walk()?)
}

fn parse(record: &[u8]) -> ClampedSocket {
    let word = |at: usize| u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    let mut cookie = [0; 8];
    cookie.copy_from_slice(&record[..8]);
    ClampedSocket {
        cookie: u64::from_ne_bytes(cookie),
        before: Bytes::new(word(8).into()),
        after: Bytes::new(word(12).into()),
        errno: word(16).cast_signed().saturating_neg(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_parsed_in_the_order_of_the_c_struct() {
        let words: [i32; 4] = [100, 200, -22, 0];
        let cookie = 0x1234_5678_9abc_u64.to_ne_bytes();
        let words = words.iter().flat_map(|word| word.to_ne_bytes());
        let record = Vec::from_iter(cookie.into_iter().chain(words));
        assert_eq!(record.len(), RECORD_BYTES);
        let expected = ClampedSocket {
            cookie: 0x1234_5678_9abc,
            before: Bytes::new(100),
            after: Bytes::new(200),
            errno: 22,
        };
        assert_eq!(parse(&record), expected);
    }
}
