//! A URL for the check: `http://HOST[:PORT][/PATH]`.
//!
//! # Sources
//! - RFC 3986 §3; RFC 9110 §4.2.1 (`http`), RFC 9112 §3.2 (the `Host` field).
//!
//! # Checked by
//! `portal::tests`.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use thiserror::Error;

const HTTP_PORT: u16 = 80;
/// Longest accepted URL, in bytes.
const LONGEST: usize = 1_024;

/// A URL without user name and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// A name or an address.
    pub host: String,
    /// The port, 80 by default.
    pub port: u16,
    /// Path with its leading slash, and the query.
    pub path: String,
}

/// Why a URL cannot be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum UrlError {
    /// The URL is encrypted or not HTTP.
    #[error("only http:// can be checked: a captive portal cannot answer in place of a TLS host")]
    Scheme,
    /// The host is missing, or is neither a name nor an address.
    #[error("the host must be a name or an address, as in http://example.org/check")]
    Host,
    /// The port is invalid.
    #[error("the port must be 1 to 65535")]
    Port,
    /// It contains an invalid character or is too long.
    #[error("a URL has no spaces, no user and no fragment, and at most 1024 characters")]
    Characters,
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let rest = text.strip_prefix("http://").ok_or(UrlError::Scheme)?;
        let wrong =
            |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'#' | b'@' | b'"' | b'<' | b'>' | b'\\');
        if text.len() > LONGEST || text.bytes().any(wrong) {
            return Err(UrlError::Characters);
        }
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (place, path) = rest.split_at(at);
        let (host, port) = match place.strip_prefix('[') {
            Some(v6) => {
                let (host, port) = v6.split_once(']').ok_or(UrlError::Host)?;
                host.parse::<Ipv6Addr>().map_err(|_| UrlError::Host)?;
                let port = match port {
                    "" => None,
                    port => Some(port.strip_prefix(':').ok_or(UrlError::Host)?),
                };
                (host, port)
            }
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        let is_v6 = host.parse::<Ipv6Addr>().is_ok();
        if !is_v6 && wire::dns::question(0, host, wire::dns::Kind::A).is_none() || host.is_empty() {
            return Err(UrlError::Host);
        }
        let port = port
            .map_or(Ok(HTTP_PORT), str::parse)
            .ok()
            .filter(|port| *port > 0);
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            host: host.to_owned(),
            port: port.ok_or(UrlError::Port)?,
            path: format!("{slash}{path}"),
        })
    }
}

impl Url {
    fn place(&self) -> String {
        let host = match self.host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{}]", self.host),
            Err(_) => self.host.clone(),
        };
        match self.port {
            HTTP_PORT => host,
            port => format!("{host}:{port}"),
        }
    }

    /// The HTTP request. It reveals nothing about this host.
    pub(super) fn request(&self) -> String {
        format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: slowhand\r\nAccept: */*\r\nConnection: close\r\n\r\n",
            self.path,
            self.place()
        )
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.place(), self.path)
    }
}
