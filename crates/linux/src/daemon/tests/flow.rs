//! An MPTCP transfer with a known byte pattern, so that a lost or duplicated byte is noticed.

use super::net::{Net, PORT};
use crate::netns::Netns;
use crate::testing::{Patience, abort};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const CHUNK: usize = 64 * 1024;
/// A period that no segment size divides.
const PERIOD: usize = 251;

/// A server that sends the pattern to every client until it disconnects, and checks what clients send.
pub(super) struct Source {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    pub(super) fn start(netns: &Netns) -> Self {
        Self::speaking(netns, Protocol::MPTCP)
    }

    /// A server that does not speak MPTCP.
    pub(super) fn plain(netns: &Netns) -> Self {
        Self::speaking(netns, Protocol::TCP)
    }

    fn speaking(netns: &Netns, protocol: Protocol) -> Self {
        let netns = netns.try_clone().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            netns.enter().unwrap();
            let listener = Socket::new(Domain::IPV6, Type::STREAM, Some(protocol)).unwrap();
            listener.set_only_v6(false).unwrap();
            listener.set_reuse_address(true).unwrap();
            listener
                .bind(&SockAddr::from(SocketAddr::from(([0u16; 8], PORT))))
                .unwrap();
            listener.listen(16).unwrap();
            listener.set_nonblocking(true).unwrap();
            ready.send(()).unwrap();
            let mut senders = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                if let Ok((socket, _)) = listener.accept() {
                    let stopped = Arc::clone(&stopped);
                    senders.push(std::thread::spawn(move || send(socket, &stopped)));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
        });
        is_ready.recv().unwrap();
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            assert!(joined.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// Whether nothing could be transferred for now. On a socket with a timeout, a stopped and continued machine
/// also interrupts the call (signal(7)).
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn pattern() -> Vec<u8> {
    (0..CHUNK + PERIOD).map(|i| (i % PERIOD) as u8).collect()
}

fn send(mut socket: Socket, stopped: &AtomicBool) {
    socket.set_nonblocking(false).unwrap();
    socket.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let pattern = pattern();
    let mut sent = 0;
    while !stopped.load(Ordering::Relaxed) {
        let from = sent % PERIOD;
        match socket.write(&pattern[from..from + CHUNK]) {
            Ok(written) => sent += written,
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
    }
}

/// A client that reads the pattern and checks it.
pub(super) struct Download {
    pub(super) bytes: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Download {
    pub(super) fn start(net: &Net) -> Self {
        Self::from(net, net.address())
    }

    pub(super) fn from(net: &Net, address: SocketAddr) -> Self {
        let netns = net.client.try_clone().unwrap();
        let (bytes, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&bytes), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            netns.enter().unwrap();
            let socket =
                Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::MPTCP)).unwrap();
            socket.connect(&SockAddr::from(address)).unwrap();
            receive(socket, &counted, &stopped);
        });
        Self {
            bytes,
            stop,
            thread: Some(thread),
        }
    }

    pub(super) fn read(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits until this many more bytes have arrived.
    pub(super) fn expect_more(&self, bytes: u64, patience: Duration) {
        let goal = self.read() + bytes;
        let mut until = Patience::of(patience);
        while self.read() < goal {
            assert!(until.lasts(), "stalled at {} of {goal} bytes", self.read());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            assert!(joined.is_ok() || std::thread::panicking(), "the client panicked");
        }
    }
}

fn receive(mut socket: Socket, bytes: &AtomicU64, stopped: &AtomicBool) {
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // The connection is ready for joins only after the client has sent a byte.
    socket.write_all(b"!").unwrap();
    let mut buffer = vec![0; CHUNK];
    let pattern = pattern();
    let mut got = 0;
    while !stopped.load(Ordering::Relaxed) {
        match socket.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                let from = got % PERIOD;
                assert!(
                    buffer[..length] == pattern[from..from + length],
                    "wrong bytes after {got}"
                );
                got += length;
                bytes.fetch_add(length as u64, Ordering::Relaxed);
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => panic!("reading after {got} bytes: {error}"),
        }
    }
    abort(&socket);
}

/// A listener at the server's address. Call it on a thread in the server's namespace.
pub(super) fn listen(net: &Net) -> Socket {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
    listener.set_reuse_address(true).unwrap();
    listener.bind(&SockAddr::from(net.address())).unwrap();
    listener.listen(128).unwrap();
    listener
}

/// A connection to the server. Call it on a thread in the client's namespace.
pub(super) fn connect(net: &Net) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)).unwrap();
    socket.connect(&SockAddr::from(net.address())).unwrap();
    socket
}

/// A client that sends the pattern until it is dropped, to a server that discards it.
pub(super) struct Upload {
    /// Accepts joins too.
    _listener: Socket,
    bytes: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Upload {
    pub(super) fn start(net: &Net) -> Self {
        let (bytes, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&bytes), Arc::clone(&stop));
        let listener = net.in_server(|| listen(net));
        let client = net.in_client(|| connect(net));
        let (server, _) = listener.accept().unwrap();
        let sender = std::thread::spawn({
            let stopped = Arc::clone(&stop);
            move || send(client, &stopped)
        });
        let reader = std::thread::spawn(move || count(server, &counted, &stopped));
        Self {
            bytes,
            stop,
            threads: vec![sender, reader],
            _listener: listener,
        }
    }

    /// Bytes that the server has read.
    pub(super) fn read(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let joined = thread.join();
            assert!(joined.is_ok() || std::thread::panicking(), "an end panicked");
        }
    }
}

fn count(mut socket: Socket, bytes: &AtomicU64, stopped: &AtomicBool) {
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // The client knows that the connection is ready for joins only after the server has sent a byte.
    socket.write_all(b"!").unwrap();
    let mut buffer = vec![0; CHUNK];
    while !stopped.load(Ordering::Relaxed) {
        match socket.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                bytes.fetch_add(length as u64, Ordering::Relaxed);
            }
            Err(error) if is_pause(&error) => {}
            // The other end closes with an unread byte of ours, and so resets.
            Err(_) if stopped.load(Ordering::Relaxed) => {}
            Err(error) => panic!("reading: {error}"),
        }
    }
}
