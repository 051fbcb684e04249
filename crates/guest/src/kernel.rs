//! Takes the kernel proper out of the compressed image of a package. QEMU boots it directly, which saves the
//! guest from unpacking it at every boot.
//!
//! # Sources
//! - Linux `Documentation/arch/x86/boot.rst`: `setup_sects`, `payload_offset`, `payload_length`.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` boots what it returns.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::tool::{self, ToolError};

/// What the header of a bootable kernel has at 0x202.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
const SETUP_SECTORS: usize = 0x1f1;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const SECTOR: usize = 512;
/// After the compressed bytes, the kernel's build appends the size of the unpacked ones.
const TRAILER: usize = 4;

/// Programs that unpack a kernel, with the bytes by which what they unpack begins.
const UNPACKERS: [(&[u8], &str); 3] = [
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x1f\x8b", "gzip"),
];

/// Why no kernel came out of an image.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The file is something else.
    #[error("the file is not an x86 kernel image; delete the cache of the virtual machine and try again")]
    NotAnImage,
    /// Its compression is unknown.
    #[error(
        "the kernel image begins with {0:02x?}, a compression for which crates/guest/src/kernel.rs has no program"
    )]
    Compression(Vec<u8>),
    /// It could not be unpacked.
    #[error(transparent)]
    Unpack(#[from] ToolError),
    /// The scratch file could not be used.
    #[error("cannot write the kernel beside the image of the virtual machine")]
    Io(#[from] io::Error),
}

/// The kernel as an ELF file. `scratch` is a file that may be overwritten.
pub fn unpacked(image: &[u8], scratch: &Path) -> Result<Vec<u8>, KernelError> {
    let payload = payload(image).ok_or(KernelError::NotAnImage)?;
    let (_, program) = UNPACKERS
        .iter()
        .find(|(magic, _)| payload.starts_with(magic))
        .ok_or_else(|| KernelError::Compression(payload.iter().copied().take(6).collect()))?;
    fs::write(scratch, payload)?;
    let mut command = tool::command(program);
    Ok(tool::bytes(command.arg("-dc").stdin(File::open(scratch)?))?)
}

/// The compressed kernel inside an image.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let (at, magic) = MAGIC;
    if image.get(at..at + magic.len())? != magic {
        return None;
    }
    let word = |at: usize| {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let sectors = match image.get(SETUP_SECTORS)? {
        0 => 4,
        sectors => usize::from(*sectors),
    };
    let begin = ((sectors + 1) * SECTOR).checked_add(word(PAYLOAD_OFFSET)?)?;
    let length = word(PAYLOAD_LENGTH)?.checked_sub(TRAILER)?;
    image.get(begin..begin.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(setup_sectors: u8, payload: &[u8]) -> Vec<u8> {
        let sectors = usize::from(setup_sectors.max(1)) + if setup_sectors == 0 { 4 } else { 1 };
        let mut image = vec![0; sectors * SECTOR];
        image[SETUP_SECTORS] = setup_sectors;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&16_u32.to_le_bytes());
        let length = payload.len() as u32 + 4;
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        image.extend([0; 16]);
        image.extend(payload);
        image.extend([1, 2, 3, 4]);
        image
    }

    #[test]
    fn the_payload_follows_the_setup_code() {
        for sectors in [0, 1, 39] {
            assert_eq!(
                payload(&image(sectors, b"kernel")),
                Some(&b"kernel"[..]),
                "{sectors}"
            );
        }
    }

    #[test]
    fn no_prefix_of_an_image_makes_it_panic() {
        let whole = image(2, b"kernel");
        for end in 0..whole.len() - TRAILER {
            assert_eq!(payload(&whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn an_unknown_compression_is_named() {
        let scratch = Path::new("/nonexistent");
        let error = unpacked(&image(2, b"LZ kernel"), scratch).unwrap_err();
        assert!(error.to_string().contains("[4c, 5a, 20"), "{error}");
    }
}
