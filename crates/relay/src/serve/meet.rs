//! Joins two clients that both call the relay, as neither can be called.
//!
//! One side offers a service and waits. The other side asks, and gets the newest connection that waits with
//! its token. The relay keeps no more of a meeting than the two connections.

use super::Shared;
use super::ring::Client;
use super::talk::refuse;
use crate::metrics::count;
use crate::pipe::Pool;
use crate::pump::{Tally, pump};
use crate::socket;
use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use wire::convert::{Code, Reply, Token};

/// Most connections that wait with one token.
const MOST: usize = 16;
/// How long a connection may wait for the other side.
const WAITS: Duration = Duration::from_secs(3600);

/// Connections that wait for the other side.
#[derive(Debug, Default)]
pub struct Meetings {
    waiting: Mutex<HashMap<Token, Vec<Waiting>>>,
    next: AtomicU64,
    /// Notified when another connection waits.
    more: Notify,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    give: oneshot::Sender<Guest>,
}

/// A connection of the side that asks.
#[derive(Debug)]
struct Guest {
    /// Each thread has a runtime of its own, so the stream belongs to none here.
    stream: std::net::TcpStream,
    client: Arc<Client>,
    /// Dropped when the connection has ended.
    _done: oneshot::Sender<()>,
}

/// A place among those that wait, free again when this is dropped.
struct Place<'m> {
    meetings: &'m Meetings,
    token: Token,
    id: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.meetings.waiting();
        if let Some(those) = waiting.get_mut(&self.token) {
            those.retain(|other| other.id != self.id);
            if those.is_empty() {
                waiting.remove(&self.token);
            }
        }
    }
}

impl Meetings {
    fn waiting(&self) -> MutexGuard<'_, HashMap<Token, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits with this token. `None` if too many do.
    fn wait(&self, token: Token) -> Option<(Place<'_>, oneshot::Receiver<Guest>)> {
        let (give, guest) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut waiting = self.waiting();
            let those = waiting.entry(token).or_default();
            if those.len() >= MOST {
                return None;
            }
            those.push(Waiting { id, give });
        }
        self.more.notify_waiters();
        let meetings = self;
        Some((Place { meetings, token, id }, guest))
    }

    /// Gives the guest to the newest connection that waits: older ones may have lost their host. Returns the
    /// guest if none waits.
    fn give(&self, token: Token, mut guest: Guest) -> Result<(), Guest> {
        loop {
            let newest = self.waiting().get_mut(&token).and_then(Vec::pop);
            let Some(newest) = newest else { return Err(guest) };
            match newest.give.send(guest) {
                Ok(()) => return Ok(()),
                // It has just ended.
                Err(back) => guest = back,
            }
        }
    }
}

/// Waits for a client that asks, and carries its connection.
pub async fn offer(shared: &Shared, stream: TcpStream, client: &Arc<Client>, token: Token, pool: &Pool) {
    let Some(_entered) = client.enter() else {
        return refuse(shared, stream, Code::Resources).await;
    };
    let Some((place, guest)) = shared.meetings.wait(token) else {
        return refuse(shared, stream, Code::Resources).await;
    };
    // It may wait for hours.
    socket::keep_alive(&stream);
    let mut early = [0];
    let removal = pin!(client.removal());
    let guest = tokio::select! {
        guest = guest => guest,
        // It has gone, or speaks before it has been asked.
        _ = stream.peek(&mut early) => return socket::reset(stream),
        () = client.removed(removal) => return socket::reset(stream),
        () = sleep(WAITS) => return refuse(shared, stream, Code::Unreachable).await,
    };
    drop(place);
    // The sender lives as long as the place.
    let Ok(guest) = guest else {
        return socket::reset(stream);
    };
    join(shared, stream, client, guest, pool).await;
}

/// Carries bytes between the guest and the client that has waited.
async fn join(shared: &Shared, mut stream: TcpStream, client: &Client, guest: Guest, pool: &Pool) {
    let Guest {
        stream: asking,
        client: asker,
        _done,
    } = guest;
    let Ok(mut asking) = TcpStream::from_std(asking) else {
        return socket::reset(stream);
    };
    let reply = Reply::Connected { mptcp: false }.write();
    let told = async {
        for client in [&stream, &asking] {
            socket::handshake_complete(client).await;
        }
        stream.write_all(&reply).await?;
        asking.write_all(&reply).await?;
        io::Result::Ok(())
    };
    if told.await.is_err() {
        socket::reset(asking);
        return socket::reset(stream);
    }
    count(&shared.counters.meetings);
    count(&asker.counters.connected);
    let tally = Tally::default();
    let (of_client, of_asker) = (pin!(client.removal()), pin!(asker.removal()));
    let removed = pin!(async {
        tokio::select! {
            () = client.removed(of_client) => {}
            () = asker.removed(of_asker) => {}
        }
    });
    pump([&asking, &stream], pool, &tally, &shared.config.patience, removed).await;
    asker.counters.up.fetch_add(tally.up(), Ordering::Relaxed);
    asker.counters.down.fetch_add(tally.down(), Ordering::Relaxed);
}

/// Finds a client that offers, and returns when the connection with it has ended.
pub async fn call(shared: &Shared, stream: TcpStream, client: &Arc<Client>, token: Token) {
    let Some(_entered) = client.enter() else {
        return refuse(shared, stream, Code::Resources).await;
    };
    let Ok(stream) = stream.into_std() else { return };
    let (done, ended) = oneshot::channel();
    let mut guest = Some(Guest {
        stream,
        client: client.clone(),
        _done: done,
    });
    let given = async {
        while let Some(waits) = guest.take() {
            let mut more = std::pin::pin!(shared.meetings.more.notified());
            more.as_mut().enable();
            if let Err(back) = shared.meetings.give(token, waits) {
                guest = Some(back);
                more.await;
            }
        }
    };
    let _ = timeout(shared.config.connect_timeout, given).await;
    match guest {
        // Only the drop of the sender ends this.
        None => drop(ended.await),
        Some(guest) => {
            if let Ok(stream) = TcpStream::from_std(guest.stream) {
                refuse(shared, stream, Code::Unreachable).await;
            }
        }
    }
}
