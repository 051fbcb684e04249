//! Content on its way into a connection.
//!
//! # Checked by
//! `traffic::tests`: every transfer.

use super::content::fill;
use super::socket::{Moved, write};
use std::io;
use std::net::TcpStream;
use std::ops::Range;

/// The content of a seed, written piece by piece by way of a buffer of any length.
pub(super) struct Sending<'b> {
    seed: u64,
    offset: u64,
    /// The part of the buffer that is not written yet.
    filled: Range<usize>,
    buffer: &'b mut [u8],
}

impl<'b> Sending<'b> {
    /// Begins at this offset of the content.
    pub(super) const fn new(seed: u64, offset: u64, buffer: &'b mut [u8]) -> Self {
        Self {
            seed,
            offset,
            filled: 0..0,
            buffer,
        }
    }

    /// Everything before this offset is written.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Writes what the connection takes now. Once the buffer is empty, it is filled with `most()` bytes, or
    /// as many as have room.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) fn write(&mut self, stream: &mut TcpStream, most: impl FnOnce() -> u64) -> io::Result<()> {
        if self.filled.is_empty() {
            let take = usize::try_from(most()).unwrap_or(usize::MAX);
            self.filled = 0..take.min(self.buffer.len());
            fill(self.seed, self.offset, &mut self.buffer[self.filled.clone()]);
        }
        match write(stream, &self.buffer[self.filled.clone()]) {
            Moved::Bytes(bytes) => {
                self.filled.start += bytes;
                self.offset += bytes as u64;
                Ok(())
            }
            Moved::Nothing => Ok(()),
            Moved::End => Err(io::ErrorKind::BrokenPipe.into()),
            Moved::Broken(error) => Err(error),
        }
    }
}
