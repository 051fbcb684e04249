//! Whether a request is served.

use super::Shared;
use super::ring::Client;
use crate::egress;
use crate::metrics::count;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wire::convert::{Code, Request, Wanted};

/// Replies of "not authorised" in one second. Beyond that, connections end without a reply.
const COURTESIES: u64 = 20;

/// Limits the replies to those who guess keys.
#[derive(Debug, Default)]
pub struct Courtesy {
    since: Mutex<Option<Instant>>,
    said: AtomicU64,
}

impl Courtesy {
    /// Whether one more reply may be sent.
    pub fn allows(&self) -> bool {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none_or(|since| since.elapsed() >= Duration::from_secs(1)) {
            *since = Some(Instant::now());
            self.said.store(0, Ordering::Relaxed);
        }
        self.said.fetch_add(1, Ordering::Relaxed) < COURTESIES
    }
}

/// The client that may make this request.
pub fn admit(shared: &Shared, request: &Request) -> Result<Arc<Client>, Code> {
    let cookie = request.cookie.ok_or(Code::NoCookie)?;
    let ring = shared.ring();
    let client = ring.client(cookie.key).ok_or(Code::NotAuthorised)?;
    let now_s = now_s();
    if !cookie.is_signed(&client.key, &request.signed) || !cookie.is_timely(now_s) {
        return Err(Code::NotAuthorised);
    }
    shared
        .used
        .take(now_s, cookie.nonce)
        .map_err(|refused| match refused {
            crate::replay::Refused::Replayed => Code::NotAuthorised,
            crate::replay::Refused::Full => Code::Resources,
        })?;
    if let Wanted::Connect(server) = request.wanted
        && egress::is_refused(server, &shared.own(), &client.rights.allow)
    {
        count(&shared.counters.refused_egress);
        return Err(Code::NotAuthorised);
    }
    Ok(client.clone())
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
