//! Serves what clients order, in the server's namespace: one thread accepts, and each connection has its own
//! thread.

use super::datagrams;
use super::on_off::Source;
use super::order::{Order, RANGE, parse_range};
use super::received::{Received, lock};
use super::sending::Sending;
use super::socket::{GLANCE, Moved, SocketError, Transport, impatient, is_readable, read};
use super::watch::{End, Watchlist};
use crate::clock::Clock;
use crate::pace::Pace;
use linux::netns::{EnterError, Netns};
use scenario::OnOff;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use thiserror::Error;
use trace::FlowMeter;
use units::{Duration, Instant};

/// Bytes passed to the kernel at once.
const CHUNK: usize = 64 * 1024;
const BACKLOG: i32 = 128;

/// Why the server could not start.
#[derive(Debug, Error)]
pub enum ServeError {
    /// No listening socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}; check that its address is on `lo` of the server's namespace")]
    Listen(SocketAddr, #[source] io::Error),
    /// The namespace cannot be entered.
    #[error("cannot enter the server's namespace")]
    Enter(#[from] EnterError),
    /// No thread.
    #[error("cannot start a thread; check the limit `ulimit -u`")]
    Thread(#[source] io::Error),
}

type Expected = Mutex<BTreeMap<u64, Arc<Mutex<Received>>>>;

#[derive(Debug)]
pub(super) struct Shared {
    clock: Clock,
    stop: AtomicBool,
    expected: Expected,
    watchlist: Watchlist,
    /// Controllers of flows that use another one than the listener's.
    controllers: Mutex<BTreeMap<u64, String>>,
}

impl Shared {
    /// What a client announced under this id.
    fn expected(&self, id: u64) -> io::Result<Arc<Mutex<Received>>> {
        let received = lock(&self.expected).get(&id).cloned();
        received.ok_or_else(|| io::Error::other("no client announced this flow"))
    }
}

/// A running server; stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    netns: Netns,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens for MPTCP and TCP on `address` inside `netns`; senders use the congestion controller `cc`.
    pub fn start(netns: &Netns, address: SocketAddr, cc: &str, clock: Clock) -> Result<Self, ServeError> {
        Self::start_with(Transport::Mptcp, netns, (address, cc), clock)
    }

    /// As [`Server::start`], for TCP alone.
    pub fn start_legacy(
        netns: &Netns,
        address: SocketAddr,
        cc: &str,
        clock: Clock,
    ) -> Result<Self, ServeError> {
        Self::start_with(Transport::Tcp, netns, (address, cc), clock)
    }

    fn start_with(
        transport: Transport,
        netns: &Netns,
        (address, cc): (SocketAddr, &str),
        clock: Clock,
    ) -> Result<Self, ServeError> {
        let listener = netns.run(|| listen(transport, address, cc))??;
        let shared = Arc::new(Shared {
            clock,
            stop: AtomicBool::new(false),
            expected: Mutex::default(),
            watchlist: Watchlist::default(),
            controllers: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("lab-server".into())
            .spawn(move || accept(&listener, &accepting))
            .map_err(ServeError::Thread)?;
        Ok(Self {
            address,
            netns: netns.try_clone().map_err(ServeError::Thread)?,
            shared,
            thread: Some(thread),
        })
    }

    /// The address on which it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A socket for a flow of datagrams, in the server's namespace.
    pub(super) fn datagrams(&self) -> io::Result<UdpSocket> {
        let made = self.netns.run(|| datagrams::at_server(self.address));
        made.map_err(io::Error::other)?
    }

    /// The server's end of every connection.
    pub fn watchlist(&self) -> &Watchlist {
        &self.shared.watchlist
    }

    /// Announces that the flow with this seed is sent with this congestion controller.
    pub fn choose(&self, flow: u64, cc: &str) {
        lock(&self.shared.controllers).insert(flow, cc.to_owned());
    }

    /// Announces an upload, or a flow that the server sends in turns. Sender and receiver share the result.
    pub(super) fn expect(&self, id: u64, meter: FlowMeter, until: Instant) -> Arc<Mutex<Received>> {
        let received = Arc::new(Mutex::new(Received::new(meter, until)));
        lock(&self.shared.expected).insert(id, Arc::clone(&received));
        received
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been printed; there is nothing to add to it here.
            let _ = thread.join();
        }
    }
}

fn listen(transport: Transport, address: SocketAddr, cc: &str) -> Result<socket2::Socket, ServeError> {
    let socket = transport.socket(address, cc)?;
    let refused = |error| ServeError::Listen(address, error);
    socket.set_reuse_address(true).map_err(refused)?;
    if address.is_ipv6() {
        socket.set_only_v6(false).map_err(refused)?;
    }
    socket.bind(&address.into()).map_err(refused)?;
    socket.listen(BACKLOG).map_err(refused)?;
    // A receive timeout does not limit accept() on an MPTCP listener, so it is polled.
    socket.set_nonblocking(true).map_err(refused)?;
    Ok(socket)
}

fn accept(listener: &socket2::Socket, shared: &Arc<Shared>) {
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    while !shared.stop.load(Ordering::Relaxed) {
        workers.retain(|worker| !worker.is_finished());
        if !is_readable(listener, GLANCE) {
            continue;
        }
        let Ok((socket, _)) = listener.accept() else {
            continue;
        };
        let shared = Arc::clone(shared);
        let worker = std::thread::Builder::new()
            .name("lab-serve".into())
            .spawn(move || {
                // A timed run ends with a client that leaves in the middle.
                let _ = serve(socket.into(), &shared);
            });
        workers.extend(worker);
    }
    for worker in workers {
        // As above: a panic has been printed.
        let _ = worker.join();
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10)))?;
    let order = Order::read(&mut stream)?;
    impatient(&stream)?;
    if let Some(cc) = lock(&shared.controllers).get(&order.flow()) {
        linux::sockopt::set_congestion(&stream, cc).map_err(io::Error::other)?;
    }
    let _watching = shared.watchlist.add(order.flow(), End::Server, &stream)?;
    match order {
        Order::Down {
            seed,
            offset,
            end,
            bytes_per_s,
        } => send(&mut stream, shared, seed, offset..end, bytes_per_s),
        Order::Turns { seed, turns } => send_in_turns(&mut stream, shared, seed, turns),
        Order::Up { id, resumes } => receive(&mut stream, shared, id, resumes),
        Order::Answer { seed, request, reply } => answer(&mut stream, shared, seed, request, reply),
        Order::Ranges { seed } => send_parts(&mut stream, shared, seed),
    }
}

fn send(
    stream: &mut TcpStream,
    shared: &Shared,
    seed: u64,
    range: std::ops::Range<u64>,
    bytes_per_s: u64,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut pace = Pace::new(shared.clock.now(), bytes_per_s);
    let mut offset = range.start;
    while offset < range.end {
        if shared.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let end = offset + pace.wait(shared.clock, CHUNK as u64).min(range.end - offset);
        send_part(stream, shared, seed, offset..end, &mut buffer)?;
        offset = end;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    await_close(stream, shared)
}

/// Sends in turns, and tells the receiver of each.
fn send_in_turns(stream: &mut TcpStream, shared: &Shared, seed: u64, turns: OnOff) -> io::Result<()> {
    let received = shared.expected(seed)?;
    let source = Source {
        seed,
        turns,
        clock: shared.clock,
        received: &received,
    };
    source.write(stream, || !shared.stop.load(Ordering::Relaxed))
}

/// Waits for the client to close first: closing here would discard unsent data.
fn await_close(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    let mut nothing = [0; 64];
    while !shared.stop.load(Ordering::Relaxed) {
        match read(stream, &mut nothing) {
            Moved::Bytes(_) | Moved::Nothing => {}
            Moved::End => return Ok(()),
            Moved::Broken(error) => return Err(error),
        }
    }
    Ok(())
}

fn receive(stream: &mut TcpStream, shared: &Shared, id: u64, resumes: bool) -> io::Result<()> {
    let received = shared.expected(id)?;
    let (number, from) = lock(&received).begin();
    if resumes {
        stream.write_all(&from.to_le_bytes())?;
    }
    let mut buffer = vec![0; 4 * CHUNK];
    while !shared.stop.load(Ordering::Relaxed) {
        let moved = read(stream, &mut buffer);
        let mut received = lock(&received);
        if !received.is_newest(number) {
            return Ok(());
        }
        match moved {
            Moved::Bytes(bytes) => received.take(shared.clock.now(), &buffer[..bytes]),
            Moved::Nothing => {}
            Moved::End => {
                received.complete = true;
                return Ok(());
            }
            Moved::Broken(error) => return Err(error),
        }
    }
    Ok(())
}

fn answer(stream: &mut TcpStream, shared: &Shared, seed: u64, request: u64, reply: u64) -> io::Result<()> {
    let (mut buffer, mut content) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut asked, mut offset) = (0, 0);
    while !shared.stop.load(Ordering::Relaxed) {
        match read(stream, &mut buffer) {
            Moved::Bytes(bytes) => asked += bytes as u64,
            Moved::Nothing => continue,
            Moved::End => return Ok(()),
            Moved::Broken(error) => return Err(error),
        }
        while asked >= request {
            asked -= request;
            send_part(stream, shared, seed, offset..offset + reply, &mut content)?;
            offset += reply;
        }
    }
    Ok(())
}

/// Sends this part of the content of `seed`, by way of a buffer of any length.
fn send_part(
    stream: &mut TcpStream,
    shared: &Shared,
    seed: u64,
    range: std::ops::Range<u64>,
    buffer: &mut [u8],
) -> io::Result<()> {
    let mut content = Sending::new(seed, range.start, buffer);
    while content.offset() < range.end && !shared.stop.load(Ordering::Relaxed) {
        let left = range.end - content.offset();
        content.write(stream, || left)?;
    }
    Ok(())
}

/// Sends each part of the content that is requested.
fn send_parts(stream: &mut TcpStream, shared: &Shared, seed: u64) -> io::Result<()> {
    let mut content = vec![0; CHUNK];
    let (mut request, mut read_so_far) = ([0; RANGE], 0);
    while !shared.stop.load(Ordering::Relaxed) {
        match read(stream, &mut request[read_so_far..]) {
            Moved::Bytes(bytes) => read_so_far += bytes,
            Moved::Nothing => continue,
            Moved::End => return Ok(()),
            Moved::Broken(error) => return Err(error),
        }
        if read_so_far == RANGE {
            read_so_far = 0;
            send_part(stream, shared, seed, parse_range(request), &mut content)?;
        }
    }
    Ok(())
}

/// How long an upload may take to arrive after its sender has closed.
pub(super) const DRAIN: Duration = Duration::from_secs(10);
