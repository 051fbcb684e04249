//! Writes cpio archives in the "newc" format, from which the kernel unpacks its first root file system.
//!
//! # Sources
//! - Linux `Documentation/driver-api/early-userspace/buffer-format.rst`: the format. Several archives may
//!   follow each other. A later file replaces an earlier one of the same name.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` boots from what it writes.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;
/// The name that ends an archive.
const END: &[u8] = b"TRAILER!!!";

/// An archive that is being written. All its files belong to root.
pub struct Archive<W: Write> {
    out: W,
    files: u32,
}

/// One entry's header.
struct Header<'a> {
    name: &'a [u8],
    mode: u32,
    size: usize,
    /// Major and minor number of a device.
    device: (u32, u32),
}

impl<W: Write> Archive<W> {
    /// An empty archive.
    pub const fn new(out: W) -> Self {
        Self { out, files: 0 }
    }

    /// Adds a directory. Its parents must have been added.
    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name.as_bytes(), DIRECTORY | 0o755, &[])
    }

    /// Adds a file with these permissions.
    pub fn file(&mut self, name: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.entry(name.as_bytes(), FILE | (permissions & 0o7777), content)
    }

    /// Adds a character device.
    pub fn device(&mut self, name: &str, major: u32, minor: u32) -> io::Result<()> {
        self.header(&Header {
            name: name.as_bytes(),
            mode: CHARACTER | 0o600,
            size: 0,
            device: (major, minor),
        })
    }

    /// Adds everything below a directory, in the order of the names. Sockets and devices are left out.
    pub fn tree(&mut self, root: &Path) -> io::Result<()> {
        self.below(root, &[])
    }

    fn below(&mut self, directory: &Path, name: &[u8]) -> io::Result<()> {
        let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, metadata) = (entry.path(), entry.metadata()?);
            let mut name = name.to_vec();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(entry.file_name().as_bytes());
            let kind = metadata.file_type();
            if kind.is_dir() {
                self.entry(&name, DIRECTORY | 0o755, &[])?;
                self.below(&path, &name)?;
            } else if kind.is_symlink() {
                self.entry(&name, LINK | 0o777, fs::read_link(&path)?.as_os_str().as_bytes())?;
            } else if !kind.is_socket() && metadata.rdev() == 0 {
                let mode = FILE | (metadata.permissions().mode() & 0o7777);
                self.entry(&name, mode, &fs::read(&path)?)?;
            }
        }
        Ok(())
    }

    /// Ends the archive and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry(END, 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, name: &[u8], mode: u32, content: &[u8]) -> io::Result<()> {
        self.header(&Header {
            name,
            mode,
            size: content.len(),
            device: (0, 0),
        })?;
        self.out.write_all(content)?;
        self.pad(content.len())
    }

    fn header(&mut self, header: &Header<'_>) -> io::Result<()> {
        let size = u32::try_from(header.size).map_err(|_| {
            let name = String::from_utf8_lossy(header.name);
            io::Error::other(format!("{name} has more than 4 GiB; cpio cannot hold it"))
        })?;
        let links = if header.mode & DIRECTORY == DIRECTORY {
            2
        } else {
            1
        };
        self.files += 1;
        let (major, minor) = header.device;
        let with_nul = header.name.len() as u32 + 1;
        let fields = [
            self.files,
            header.mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            major,
            minor,
            with_nul,
            0,
        ];
        let mut text = String::from("070701");
        for field in fields {
            text.push_str(&format!("{field:08x}"));
        }
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(header.name)?;
        self.out.write_all(&[0])?;
        self.pad(text.len() + header.name.len() + 1)
    }

    /// Fills up to a multiple of four bytes.
    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.out.write_all(&[0; 3][..written.wrapping_neg() % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of an archive: name, mode and content.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |index: usize| {
                let text = std::str::from_utf8(&bytes[6 + 8 * index..14 + 8 * index]).unwrap();
                u32::from_str_radix(text, 16).unwrap() as usize
            };
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = String::from_utf8(bytes[110..110 + name_size - 1].to_vec()).unwrap();
            let start = (110 + name_size).next_multiple_of(4);
            let content = bytes[start..start + size].to_vec();
            if name == "TRAILER!!!" {
                return entries;
            }
            entries.push((name, mode as u32, content));
            bytes = &bytes[(start + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn files_come_back_with_their_modes_and_every_length() {
        let mut archive = Archive::new(Vec::new());
        archive.directory("etc").unwrap();
        for length in 0..9 {
            let name = format!("etc/{}", "n".repeat(length + 1));
            archive.file(&name, 0o640, &vec![7; length]).unwrap();
        }
        archive.device("dev/console", 5, 1).unwrap();
        let entries = read(&archive.finish().unwrap());
        assert_eq!(entries.len(), 11);
        assert_eq!(entries[0], ("etc".into(), 0o040_755, Vec::new()));
        assert_eq!(entries[9], ("etc/nnnnnnnnn".into(), 0o100_640, vec![7; 8]));
        assert_eq!(entries[10].1, 0o020_600);
    }

    #[test]
    fn a_tree_keeps_links_and_the_order_of_names() {
        let root = std::env::temp_dir().join(format!("guest-cpio-{}", std::process::id()));
        fs::create_dir_all(root.join("b/c")).unwrap();
        fs::write(root.join("b/c/file"), "text").unwrap();
        fs::write(root.join("a"), "").unwrap();
        std::os::unix::fs::symlink("b/c", root.join("link")).unwrap();
        let mut archive = Archive::new(Vec::new());
        archive.tree(&root).unwrap();
        let entries = read(&archive.finish().unwrap());
        fs::remove_dir_all(&root).unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.0.as_str()).collect();
        assert_eq!(names, ["a", "b", "b/c", "b/c/file", "link"]);
        assert_eq!(entries[4].1, 0o120_777);
        assert_eq!(entries[4].2, b"b/c");
    }
}
