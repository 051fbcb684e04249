//! A recording that was read back.

use crate::bytes::{Malformed, Reader};
use crate::codec::Codec;
use crate::entry::Entries;
use crate::{Digest, Header, MAGIC, VERSION};
use thiserror::Error;

/// Why bytes are not a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The file is no recording.
    #[error("no recording: it does not begin with `slowhand-record`; name a file that `--record` wrote")]
    NotOurs,
    /// The recording has another format.
    #[error(
        "format {found} of recordings; this program reads format {VERSION}: replay it with the slowhand that wrote it"
    )]
    Version {
        /// Which.
        found: u64,
    },
    /// Bytes are missing or not those that were written.
    #[error("damaged or cut off: the checksum in its last 8 bytes does not match; record it again")]
    Checksum,
    /// The file is complete, but this crate does not understand it.
    #[error("{0}; replay it with the slowhand that wrote it")]
    Malformed(#[from] Malformed),
}

/// See the module. Entries are read one by one from the bytes.
#[derive(Debug, Clone)]
pub struct File<'a> {
    header: Header,
    entries: Reader<'a>,
}

/// The checksum at the end.
pub(crate) const CHECKSUM: usize = size_of::<u64>();

impl<'a> File<'a> {
    /// Reads the header, and checks that the file is complete.
    ///
    /// # Errors
    /// When the bytes are not a whole recording of this format.
    pub fn read(all: &'a [u8]) -> Result<Self, ReadError> {
        let (whole, sum) = all.split_at(all.len().saturating_sub(CHECKSUM));
        let read = Self::read_unchecked(whole);
        if matches!(read, Err(ReadError::NotOurs | ReadError::Version { .. })) {
            return read;
        }
        let mut digest = Digest::default();
        digest.add(whole);
        if sum != digest.get().to_le_bytes() {
            return Err(ReadError::Checksum);
        }
        read
    }

    /// The same for bytes without a checksum, which may differ from what was written.
    ///
    /// # Errors
    /// When the header cannot be read.
    pub fn read_unchecked(all: &'a [u8]) -> Result<Self, ReadError> {
        let mut entries = Reader::new(all);
        if entries.bytes(MAGIC.len(), "recording").ok() != Some(MAGIC) {
            return Err(ReadError::NotOurs);
        }
        let found = u64::decode(&mut entries)?;
        if found != VERSION {
            return Err(ReadError::Version { found });
        }
        Ok(Self {
            header: Header::decode(&mut entries)?,
            entries,
        })
    }

    /// What it says of itself.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Entries of the file, in order.
    pub fn entries(&self) -> Entries<'a> {
        Entries::new(self.entries.clone(), self.header.start, self.header.texts)
    }
}
