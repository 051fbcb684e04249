//! The server's side: a thread that hears what mobiles say.

use super::teller::unix_ns;
use super::{Advice, Advisor};
use crate::mptcp_pm::AddressId;
use crate::netns::{EnterError, Netns};
use policy::ConnId;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use wire::mobility::{Guard, Key, LENGTH, Message, NotHeard};

/// How long a stop may go unseen.
const GLANCE: Duration = Duration::from_millis(50);

/// Why nobody listens.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The namespace.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// The address.
    #[error("nothing can listen on {0}/udp; is the port taken, or the address not of this host?")]
    Bind(SocketAddr, #[source] io::Error),
    /// No thread.
    #[error("no thread could be started; see `ulimit -u`")]
    Thread(#[source] io::Error),
}

/// What was heard so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heard {
    /// Messages that were followed, whether or not a window had to change.
    pub followed: u64,
    /// Of these, those that told of a path that follows one that was given up.
    pub handed_off: u64,
    /// Of another kind, or of somebody with another key.
    pub forged: u64,
    /// Too old or too new by this host's clock, or from before it began to listen.
    pub stale: u64,
    /// Said before; every copy of a message over another path counts here.
    pub replayed: u64,
    /// Windows that were ordered.
    pub orders: u64,
    /// Messages that could not be followed.
    pub failed: u64,
}

#[derive(Debug, Default)]
struct Counters {
    followed: AtomicU64,
    handed_off: AtomicU64,
    forged: AtomicU64,
    stale: AtomicU64,
    replayed: AtomicU64,
    orders: AtomicU64,
    failed: AtomicU64,
}

/// Listens until dropped.
#[derive(Debug)]
pub struct Listener {
    stop: Arc<AtomicBool>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Hears mobiles with this key on `address` inside `netns`, and follows them.
    pub fn start(
        netns: &Netns,
        address: SocketAddr,
        key: Key,
        advisor: Advisor,
    ) -> Result<Self, ListenError> {
        let bind = || {
            let socket = UdpSocket::bind(address)?;
            socket.set_read_timeout(Some(GLANCE))?;
            Ok(socket)
        };
        let socket = netns
            .run(bind)?
            .map_err(|error| ListenError::Bind(address, error))?;
        let netns = netns.try_clone().map_err(ListenError::Thread)?;
        let (stop, counters) = (Arc::new(AtomicBool::new(false)), Arc::new(Counters::default()));
        let mut ear = Ear {
            socket,
            key,
            advisor,
            guard: Guard::since(unix_ns()),
            counters: Arc::clone(&counters),
        };
        let stopped = Arc::clone(&stop);
        let work = move || {
            // The socket is in the namespace already; looking at connections needs the thread there too.
            if netns.enter().is_ok() {
                while !stopped.load(Ordering::Relaxed) {
                    ear.listen();
                }
            }
        };
        let thread = std::thread::Builder::new().name("cla-listener".into());
        let thread = thread.spawn(work).map_err(ListenError::Thread)?;
        Ok(Self {
            stop,
            counters,
            thread: Some(thread),
        })
    }

    /// What was heard so far.
    pub fn heard(&self) -> Heard {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Heard {
            followed: read(&self.counters.followed),
            handed_off: read(&self.counters.handed_off),
            forged: read(&self.counters.forged),
            stale: read(&self.counters.stale),
            replayed: read(&self.counters.replayed),
            orders: read(&self.counters.orders),
            failed: read(&self.counters.failed),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic has been printed; there is nothing to add to it here.
            let _ = thread.join();
        }
    }
}

struct Ear {
    socket: UdpSocket,
    key: Key,
    advisor: Advisor,
    guard: Guard,
    counters: Arc<Counters>,
}

impl Ear {
    fn listen(&mut self) {
        // One byte more than a message, so that a longer datagram is not taken for one.
        let mut bytes = [0; LENGTH + 1];
        let Ok((length, _)) = self.socket.recv_from(&mut bytes) else {
            return;
        };
        let counters = Arc::clone(&self.counters);
        let count = |counter: &AtomicU64, by: usize| {
            counter.fetch_add(by as u64, Ordering::Relaxed);
        };
        let Ok(message) = Message::open(&bytes[..length], &self.key) else {
            return count(&counters.forged, 1);
        };
        match self.guard.admit(unix_ns(), &message) {
            Ok(()) => {}
            Err(NotHeard::Stale) => return count(&counters.stale, 1),
            Err(NotHeard::Replayed) => return count(&counters.replayed, 1),
        }
        let advice = Advice {
            address: AddressId(message.address_id),
            mobility_ppm: message.mobility_ppm,
            quality_ppm: message.quality_ppm,
            handed_off: message.handed_off,
        };
        match self.advisor.hear(ConnId(message.token), advice) {
            Ok(orders) => {
                count(&counters.orders, orders);
                count(&counters.handed_off, message.handed_off.into());
                count(&counters.followed, 1);
            }
            Err(_) => count(&counters.failed, 1),
        }
    }
}
