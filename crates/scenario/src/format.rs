//! Detects which format a file really has when it is not the expected one.
//!
//! # Sources
//! - Magic numbers: RFC 1952 (gzip), RFC 8878 (zstd), the XZ, ZIP and bzip2 formats, pcap and pcapng
//!   (draft-ietf-opsawg-pcapng).

use std::fmt;

/// A format that neither a scenario nor a rate trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Compressed, or an archive, with the program that unpacks it.
    Packed(&'static str, &'static str),
    /// A packet capture.
    Capture(&'static str),
    /// UTF-16 text, by its byte order mark.
    Utf16,
    /// JSON.
    Json,
    /// HTML or XML.
    Markup,
}

const MAGIC: [(&[u8], Format); 13] = [
    (b"\x1f\x8b", Format::Packed("gzip", "gunzip")),
    (b"\x28\xb5\x2f\xfd", Format::Packed("zstd", "unzstd")),
    (b"\xfd7zXZ\0", Format::Packed("xz", "unxz")),
    (b"BZh", Format::Packed("bzip2", "bunzip2")),
    (b"PK\x03\x04", Format::Packed("zip", "unzip")),
    (b"\x0a\x0d\x0d\x0a", Format::Capture("pcapng")),
    (b"\xd4\xc3\xb2\xa1", Format::Capture("pcap")),
    (b"\xa1\xb2\xc3\xd4", Format::Capture("pcap")),
    (b"\x4d\x3c\xb2\xa1", Format::Capture("pcap")),
    (b"\xa1\xb2\x3c\x4d", Format::Capture("pcap")),
    (b"\xff\xfe", Format::Utf16),
    (b"\xfe\xff", Format::Utf16),
    // Neither TOML nor a rate trace begins with it.
    (b"{", Format::Json),
];

impl Format {
    /// Recognises the format by the first bytes.
    pub fn of(content: &[u8]) -> Option<Self> {
        let start = content.trim_ascii_start();
        let magic = |(magic, _): &&(&[u8], Self)| content.starts_with(magic) || start.starts_with(magic);
        let found = MAGIC.iter().find(magic).map(|&(_, format)| format);
        found.or_else(|| start.starts_with(b"<").then_some(Self::Markup))
    }

    /// How to get what it should be.
    pub fn remedy(self, wanted: &str) -> String {
        match self {
            Self::Packed(_, program) => format!("unpack it first, with {program}"),
            Self::Utf16 => "save the file as UTF-8".to_owned(),
            Self::Capture(_) | Self::Json | Self::Markup => format!("name {wanted}"),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packed(name, _) => write!(f, "packed with {name}"),
            Self::Capture(name) => write!(f, "a packet capture ({name})"),
            Self::Utf16 => f.write_str("UTF-16 text"),
            Self::Json => f.write_str("JSON"),
            Self::Markup => f.write_str("HTML or XML"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_identify_the_format() {
        let table: [(&[u8], Option<&str>); 8] = [
            (b"\x1f\x8b\x08\0", Some("packed with gzip")),
            (b"\x0a\x0d\x0d\x0a\x1c\0", Some("a packet capture (pcapng)")),
            (b"\xff\xfe1\0", Some("UTF-16 text")),
            (b"\n {\"schema\":1}", Some("JSON")),
            (b"<!DOCTYPE html>", Some("HTML or XML")),
            (b"1\n2\n", None),
            (b"[place]\n", None),
            (b"", None),
        ];
        for (content, expected) in table {
            let found = Format::of(content).map(|format| format.to_string());
            assert_eq!(found.as_deref(), expected);
        }
    }
}
