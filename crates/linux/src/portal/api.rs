//! Asks a network whether its captive portal is open, over the API that its DHCP server announces.
//!
//! | reply | result |
//! |---|---|
//! | `captive` is false | the portal is open |
//! | `captive` is true | it is closed; `user-portal-url` is its page |
//! | none, from a host without a valid certificate, or not such an object | an error: nothing is known |
//!
//! # Sources
//! - RFC 8910 §2 (the announcement), RFC 8908 §4 (HTTPS, a certificate that is checked), §5 (the keys).
//!
//! # Where we differ, and why
//! 1. HTTP/1.0: the reply then comes in one piece.
//! 2. It does not find out whether a certificate was revoked: a closed portal may let nobody ask.
//!
//! # Checked by
//! `tests`; the trial `joins-portal` of `guest`, with `openssl` as the server.

use super::url::{Scheme, Url};
use super::{Over, PATIENCE, exchange, is_page, split, status};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Deserialize;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// The type of content that it accepts.
const CONTENT: &str = "application/captive+json";

/// The API of a network with a captive portal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    url: Url,
}

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct State {
    /// Whether this host has to log in.
    #[serde(rename = "captive")]
    pub is_closed: bool,
    /// The page of the portal.
    #[serde(rename = "user-portal-url")]
    pub page: Option<String>,
}

/// Why an API says nothing.
#[derive(Debug, Error)]
pub enum ApiError {
    /// This host trusts no certificate.
    #[error("no certificates to check it with; install the package ca-certificates, or set portal_url")]
    NoCertificates,
    /// The link's resolvers do not know its host.
    #[error("{0}: no address of its host; set portal_url in the configuration for another check")]
    NoAddress(Api),
    /// It cannot be reached, or has no valid certificate.
    #[error("{0}: no reply; set portal_url in the configuration for another check")]
    NoReply(Api, #[source] io::Error),
    /// Something else replies.
    #[error(
        "{0}: not the API of a captive portal (RFC 8908); set portal_url in the configuration for another check"
    )]
    Other(Api),
}

impl Api {
    /// The API with this URL. `None` if it is no URL of HTTPS, which others must not be used for.
    pub fn new(url: &str) -> Option<Self> {
        let url = Url::parse(url, Scheme::Https).ok()?;
        Some(Self { url })
    }

    /// Asks over a link, for up to [`PATIENCE`].
    ///
    /// # Errors
    /// If it gives no valid reply.
    pub fn find(&self, over: &Over) -> Result<State, ApiError> {
        self.find_trusting(over, roots())
    }

    fn find_trusting(&self, over: &Over, roots: RootCertStore) -> Result<State, ApiError> {
        if roots.is_empty() {
            return Err(ApiError::NoCertificates);
        }
        let until = Instant::now() + PATIENCE;
        let no_reply = |error| ApiError::NoReply(self.clone(), error);
        let config = client(roots).map_err(|error| no_reply(io::Error::other(error)))?;
        let mut failure = ApiError::NoAddress(self.clone());
        for to in over.hosts(&self.url, until) {
            match self.ask(over, to, (until, &config)).map(|reply| judge(&reply)) {
                Ok(Some(state)) => return Ok(state),
                Ok(None) => failure = ApiError::Other(self.clone()),
                Err(error) => failure = no_reply(error),
            }
        }
        Err(failure)
    }

    fn ask(
        &self,
        over: &Over,
        to: SocketAddr,
        (until, config): (Instant, &Arc<ClientConfig>),
    ) -> io::Result<Vec<u8>> {
        let name = ServerName::try_from(self.url.host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, over.connect(to, until)?);
        exchange(&mut stream, &self.url.request("1.0", CONTENT))
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// `None`: the reply is not that of such an API. A page must be one of HTTPS (RFC 8908 §5).
fn judge(reply: &[u8]) -> Option<State> {
    let (head, body) = split(reply)?;
    let is_found = status(head)? == 200;
    let mut state: State = serde_json::from_slice(body).ok().filter(|_| is_found)?;
    state.page = state
        .page
        .filter(|page| is_page(page) && page.starts_with("https://"));
    Some(state)
}

/// The certificates that this host trusts. One that cannot be read is left out.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn client(roots: RootCertStore) -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(
        builder.with_root_certificates(roots).with_no_client_auth(),
    ))
}

#[cfg(test)]
mod tests;
