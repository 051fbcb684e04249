//! Bounds how far ahead the peer of a connection that fell back to plain TCP may send: by a clamp on the one socket that it has.
//!
//! Such a connection has no MPTCP options that a window could be written beside, and perhaps no token, so its socket is named by its cookie
//! (as [`crate::diag`] shows it). The kernel lifts clamps: [`FallbackLever::apply`] must be called every [`FallbackLever::apply_every`] while it
//! finds something to set again, and now and then while it does not.
//!
//! # Where we differ, and why
//! 1. A clamp that is smaller already is left: on such a socket the program itself may set one.
//! 2. What is taken off is any clamp of the very size that was set, whosever the socket: whoever died cannot say which sockets had it.
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

/// As `struct fallback_record` in `bpf/clamp.bpf.c`.
const RECORD_BYTES: usize = 24;
/// No socket has this cookie.
const NOBODY: u64 = 0;

/// One socket's clamp, before and after a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClampedSocket {
    /// Which.
    pub cookie: u64,
    /// The clamp that the walk found.
    pub before: Bytes,
    /// The clamp that it left.
    pub after: Bytes,
    /// The kernel's error number if it refused the new clamp, else 0.
    pub errno: i32,
}

/// Bounds connections that fell back. See the module.
#[derive(Debug)]
pub struct FallbackLever {
    walker: Walker,
    clamps: Map<u64, u32>,
}

impl FallbackLever {
    /// Loads the iterator, or says what the kernel lacks.
    pub fn load() -> Result<Self, LoadError> {
        let loaded = OBJECT.load(&["fallback"])?;
        let clamps = loaded.map("fallbacks").map_err(LoadError::Exhausted)?;
        let walker = Walker::new(&loaded, "fallback")?;
        Ok(Self { walker, clamps })
    }

    /// At the next [`apply`](Self::apply), the peer of the socket with this cookie may have this much in flight.
    pub fn set(&mut self, cookie: u64, window: Bytes) -> Result<(), MapError> {
        Ok(self.clamps.set(cookie, to_bytes(window))?)
    }

    /// The socket with this cookie is closed; nothing is taken off.
    pub fn forget(&mut self, cookie: u64) -> Result<(), MapError> {
        self.clamps.remove(cookie)?;
        Ok(())
    }

    /// Walks the sockets of the calling thread's namespace; returns those that are to be bounded.
    pub fn apply(&mut self) -> Result<Vec<ClampedSocket>, PassError> {
        let records = self.walker.records()?;
        Ok(records.chunks_exact(RECORD_BYTES).map(parse).collect())
    }

    /// How often [`apply`](Self::apply) has to be called although nothing was set, as long as it changes something.
    pub const fn apply_every(&self) -> Duration {
        CLAMP_AGAIN
    }

    /// What the program took so far, if somebody counts ([`CountRunTime`](super::CountRunTime)).
    pub fn run_time(&self) -> io::Result<RunTime> {
        self.walker.run_time()
    }
}

/// Takes this clamp off every socket of the calling thread's namespace that a program opened for MPTCP.
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
    fn a_record_is_read_in_the_order_of_the_c_struct() {
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
