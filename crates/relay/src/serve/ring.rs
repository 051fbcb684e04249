//! The keys of a running relay, with the connections that use them.

use crate::config::Config;
use crate::keys::{Named, Rights};
use crate::metrics::{KeyCounters, KeyState};
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use wire::cookie::KeyId;
use wire::mobility::Key;

/// All keys by id.
#[derive(Debug)]
pub struct Ring(HashMap<KeyId, Arc<Client>>);

/// One key, and whoever uses it.
#[derive(Debug)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// The secret.
    pub key: Key,
    /// What the configuration says of it.
    pub rights: Rights,
    /// Its counters.
    pub counters: KeyCounters,
    most: usize,
    open: AtomicUsize,
    /// True once the key has been removed. `told` wakes all who wait for that.
    removed: AtomicBool,
    told: Notify,
}

impl Ring {
    /// A ring of these keys.
    pub fn of(named: Vec<Named>, config: &Config) -> Self {
        let client = |named: Named| (KeyId::of(&named.key), Arc::new(Client::new(named, config)));
        Self(named.into_iter().map(client).collect())
    }

    /// The client with this key.
    pub fn client(&self, id: KeyId) -> Option<&Arc<Client>> {
        self.0.get(&id)
    }

    /// The ring of these keys, if they differ from its own. Clients whose key stays keep their counters. The
    /// connections of the others end.
    pub fn changed(&self, named: Vec<Named>, config: &Config) -> Option<Self> {
        let mut left = self.0.clone();
        let mut next = HashMap::new();
        let mut added = false;
        for named in named {
            let id = KeyId::of(&named.key);
            let client = match left.remove(&id) {
                Some(client) if client.name == named.name => client,
                _ => {
                    added = true;
                    Arc::new(Client::new(named, config))
                }
            };
            next.insert(id, client);
        }
        for client in left.values() {
            client.removed.store(true, Ordering::Release);
            client.told.notify_waiters();
        }
        (added || !left.is_empty()).then_some(Self(next))
    }

    /// State of each key.
    pub fn states(&self) -> BTreeMap<String, KeyState> {
        let state = |client: &Arc<Client>| (client.name.clone(), client.state());
        self.0.values().map(state).collect()
    }
}

impl Client {
    fn new(named: Named, config: &Config) -> Self {
        let rights = config.rights.get(&named.name).cloned().unwrap_or_default();
        Self {
            most: rights.connections.unwrap_or(config.connections_per_key),
            name: named.name,
            key: named.key,
            rights,
            counters: KeyCounters::default(),
            open: AtomicUsize::new(0),
            removed: AtomicBool::new(false),
            told: Notify::new(),
        }
    }

    /// Takes one of its places for connections. `None` if all are taken.
    pub fn enter(self: &Arc<Self>) -> Option<Entered> {
        let fits = |open: usize| (open < self.most).then_some(open + 1);
        let entered = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        entered.is_ok().then(|| Entered(self.clone()))
    }

    /// Notices from here on that the key is removed.
    pub fn removal(&self) -> Notified<'_> {
        self.told.notified()
    }

    /// Returns once the key has been removed, which `removal` notices.
    pub fn removed<'c>(&'c self, mut removal: Pin<&'c mut Notified<'_>>) -> impl Future<Output = ()> + Unpin {
        poll_fn(move |context| match self.removed.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => removal.as_mut().poll(context),
        })
    }

    fn state(&self) -> KeyState {
        KeyState {
            open: self.open.load(Ordering::Relaxed) as u64,
            connected: self.counters.connected.load(Ordering::Relaxed),
            up_bytes: self.counters.up.load(Ordering::Relaxed),
            down_bytes: self.counters.down.load(Ordering::Relaxed),
        }
    }
}

/// A place for a connection, free again when this is dropped.
#[derive(Debug)]
pub struct Entered(Arc<Client>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
