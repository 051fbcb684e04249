//! A URL for a check: `http://HOST[:PORT][/PATH]`, or the same with `https`.
//!
//! # Sources
//! - RFC 3986 §3; RFC 9110 §4.2.1 and §4.2.2 (`http`, `https`), RFC 9112 §3.2 (the `Host` field).
//!
//! # Checked by
//! `portal::tests`.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use thiserror::Error;

/// Longest accepted URL, in bytes.
const LONGEST: usize = 1_024;

/// The scheme of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A URL without user name and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// How the host is reached.
    pub scheme: Scheme,
    /// A name or an address.
    pub host: String,
    /// The port; by default that of the scheme.
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
        Self::parse(text, Scheme::Http)
    }
}

impl Url {
    /// Reads a URL of this scheme.
    pub(super) fn parse(text: &str, scheme: Scheme) -> Result<Self, UrlError> {
        let rest = text.strip_prefix(scheme.prefix()).ok_or(UrlError::Scheme)?;
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
            .map_or(Ok(scheme.port()), str::parse)
            .ok()
            .filter(|port| *port > 0);
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port: port.ok_or(UrlError::Port)?,
            path: format!("{slash}{path}"),
        })
    }

    fn place(&self) -> String {
        let host = match self.host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{}]", self.host),
            Err(_) => self.host.clone(),
        };
        match self.port == self.scheme.port() {
            true => host,
            false => format!("{host}:{}", self.port),
        }
    }

    /// The HTTP request for this type of content. It reveals nothing about this host. `version`: 1.1, or 1.0
    /// for a reply that no server divides into chunks.
    pub(super) fn request(&self, version: &str, content: &str) -> String {
        format!(
            "GET {} HTTP/{version}\r\nHost: {}\r\nUser-Agent: slowhand\r\nAccept: {content}\r\nConnection: \
             close\r\n\r\n",
            self.path,
            self.place()
        )
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.scheme.prefix(), self.place(), self.path)
    }
}
