//! The server's side: a thread that receives the messages of mobiles.

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

/// Longest delay before a stop is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// Why a listener could not be started.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The namespace could not be entered.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// The address could not be bound.
    #[error("cannot listen on {0}/udp; is the port in use, or the address not on this host?")]
    Bind(SocketAddr, #[source] io::Error),
    /// No thread could be started.
    #[error("no thread could be started; see `ulimit -u`")]
    Thread(#[source] io::Error),
}

/// Counters of received messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heard {
    /// Messages that were followed, whether or not a window had to change.
    pub followed: u64,
    /// Of these, messages about a path that replaces an abandoned one.
    pub handed_off: u64,
    /// Messages of another format or with another key.
    pub forged: u64,
    /// Messages too old or too new by this host's clock, or older than the listener.
    pub stale: u64,
    /// Repeated messages. Every copy over another path counts here.
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

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    stop: Arc<AtomicBool>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Receives messages from mobiles with this key on `address` inside `netns`, and follows them.
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
            // The socket is in the namespace already. Reading connections requires the thread to be there
            // too.
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

    /// The counters so far.
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
            // The panic was printed already, so nothing is added here.
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
        // One byte more than a message, so that a longer datagram is not mistaken for one.
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
