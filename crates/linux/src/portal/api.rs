//! Asks a network whether its captive portal is open, over the API that its DHCP server announces.
//!
//! | reply | result |
//! |---|---|
//! | `captive` is false | passed |
//! | `captive` is true | a captive portal; `user-portal-url` is its page |
//! | none, from a host without a valid certificate, or not such an object | nothing |
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
use policy::Checked;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Deserialize;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// The type of content that it accepts.
const CONTENT: &str = "application/captive+json";

/// The API of a network with a captive portal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    url: Url,
}

/// What it replies. Other keys are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct State {
    captive: bool,
    user_portal_url: Option<String>,
}

impl Api {
    /// The API with this URL. `None` if it is no URL of HTTPS, which others must not be used for.
    pub fn new(url: &str) -> Option<Self> {
        let url = Url::parse(url, Scheme::Https).ok()?;
        Some(Self { url })
    }

    /// Asks over a link, for up to [`PATIENCE`]. Returns the URL of the portal's page, too, if it is closed.
    pub fn find(&self, over: &Over) -> (Checked, Option<String>) {
        self.find_trusting(over, roots())
    }

    fn find_trusting(&self, over: &Over, roots: RootCertStore) -> (Checked, Option<String>) {
        let until = Instant::now() + PATIENCE;
        let Some(config) = client(roots) else {
            return (Checked::Failed, None);
        };
        let replies = over.hosts(&self.url, until).into_iter().filter_map(|to| {
            let reply = self.ask(over, to, (until, &config));
            reply
                .inspect_err(|error| tracing::debug!("{}: no reply from {to}: {error}", self.url))
                .ok()
        });
        match replies.into_iter().find_map(|reply| judge(&reply)) {
            Some(State { captive: false, .. }) => (Checked::Passed, None),
            Some(state) => (Checked::Portal, state.user_portal_url.filter(|url| is_page(url))),
            None => (Checked::Failed, None),
        }
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

/// `None`: the reply is not that of such an API.
fn judge(reply: &[u8]) -> Option<State> {
    let (head, body) = split(reply)?;
    let is_found = status(head)? == 200;
    serde_json::from_slice(body).ok().filter(|_| is_found)
}

/// The certificates that this host trusts. One that cannot be read is left out.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// `None`: the cryptography of this program has no protocol version in common with `rustls`.
fn client(roots: RootCertStore) -> Option<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    Some(Arc::new(
        builder.with_root_certificates(roots).with_no_client_auth(),
    ))
}

#[cfg(test)]
mod tests;
