//! Sequential connections, closed in every possible way.

use crate::abort::abort;
use crate::kernel::said_of;
use crate::mptcp_sockets::{connect, listen};
use crate::net::{Hosts, eventually};
use crate::standstill::{self, PATIENCE};
use linux::bpf::cc::ControllerName;
use socket2::Socket;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Bytes per connection, enough for every subflow to join before the end.
const BYTES: usize = 300_000;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All data was sent and read.
    Complete,
    /// The receiver closes halfway.
    Unread,
    /// Both ends abort halfway.
    Aborted,
}

impl Ending {
    /// Alternates between them.
    pub const fn of(number: usize) -> Self {
        match number % 3 {
            0 => Self::Complete,
            1 => Self::Unread,
            _ => Self::Aborted,
        }
    }
}

/// Shared state of the transfers.
pub struct Way<'a> {
    pub ending: Ending,
    pub download: bool,
    /// Read-locked while a socket is closed.
    pub closing: &'a RwLock<()>,
    /// Number of senders that switched to another controller.
    pub switched: &'a AtomicUsize,
    /// Number of connections that the kernel has stalled.
    pub stood: &'a AtomicUsize,
}

impl Way<'_> {
    /// Counts a stalled connection if the kernel caused the stall. Returns how to end it.
    fn give_up(&self, hosts: &Hosts, receiver: &Socket) -> Ending {
        let host = if self.download {
            &hosts.client
        } else {
            &hosts.server
        };
        let state = || said_of(&hosts.client) + &said_of(&hosts.server);
        standstill::is_above_tcp(host, receiver, state);
        self.stood.fetch_add(1, Ordering::Relaxed);
        Ending::Aborted
    }

    fn close(&self, sockets: impl IntoIterator<Item = Socket>) {
        let _nobody_removes = self.closing.read().expect("no thread has failed");
        sockets.into_iter().for_each(drop);
    }
}

/// The listening socket for one worker's connections.
pub struct Listener {
    socket: Socket,
    address: SocketAddr,
}

impl Listener {
    pub fn start(hosts: &Hosts, address: SocketAddr) -> Self {
        let socket = hosts.server.run(|| listen(address)).expect("enter the server");
        socket.set_nonblocking(true).expect("do not wait for ever");
        Self { socket, address }
    }

    /// Accepts the connection that a client has just opened.
    fn accept(&self, hosts: &Hosts) -> Socket {
        let mut accepted = None;
        let try_it = || {
            accepted = self.socket.accept().ok();
            accepted.is_some()
        };
        eventually("accepted", try_it, || said_of(&hosts.server));
        accepted.expect("it is accepted by now").0
    }
}

/// Runs one connection, whose sender switches to `controller()` halfway.
pub fn transfer(hosts: &Hosts, listener: &Listener, way: &Way<'_>, controller: impl Fn() -> String) {
    let connected = hosts.client.run(|| connect(listener.address));
    let client = connected.expect("enter the client");
    let server = listener.accept(hosts);
    let (from, to) = if way.download {
        (server, client)
    } else {
        (client, server)
    };
    to.set_read_timeout(Some(PATIENCE)).expect("bound its patience");
    let (ending, read_to_its_end) = thread::scope(|scope| {
        let sender = &from;
        scope.spawn(move || send(sender));
        let said = listen_to(&to, way.ending, || {
            if switch(&from, &controller()) {
                way.switched.fetch_add(1, Ordering::Relaxed);
            }
        });
        let ending = match said {
            Ok(()) => way.ending,
            Err(Standstill) => way.give_up(hosts, &to),
        };
        // A reset notifies the sender. The other end of the scope waits for it.
        if ending == Ending::Unread {
            way.close([to]);
            return (ending, None);
        }
        if ending == Ending::Aborted {
            for socket in [&from, &to] {
                // The other end may have reset it already.
                let _ = socket.shutdown(Shutdown::Both);
            }
            abort(&to);
        }
        (ending, Some(to))
    });
    if ending == Ending::Aborted {
        abort(&from);
    }
    way.close(read_to_its_end.into_iter().chain([from]));
}

/// Reads half of the data, and the other half if the connection is to complete.
fn listen_to(receiver: &Socket, ending: Ending, in_the_middle: impl FnOnce()) -> Result<(), Standstill> {
    let half = read(receiver, BYTES / 2)?;
    assert_eq!(half, BYTES / 2, "the sender continues until an end closes");
    in_the_middle();
    if ending == Ending::Complete {
        assert_eq!(half + read(receiver, usize::MAX)?, BYTES, "all arrives");
    }
    Ok(())
}

/// Sends until all data is sent or the other end has closed.
fn send(socket: &Socket) {
    let bytes = vec![0; BYTES];
    if (&mut &*socket).write_all(&bytes).is_ok() {
        // The other end may have reset it already.
        let _ = socket.shutdown(Shutdown::Write);
    }
}

/// No data arrived within the patience of a reader.
struct Standstill;

/// Reads up to `most` bytes until the end, and returns how many arrived.
fn read(socket: &Socket, most: usize) -> Result<usize, Standstill> {
    let (mut bytes, mut count) = (vec![0; 1 << 16], 0);
    while count < most {
        let room = bytes.len().min(most - count);
        match (&mut &*socket).read(&mut bytes[..room]) {
            Ok(read @ 1..) => count += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(Standstill),
            Ok(0) | Err(_) => break,
        }
    }
    Ok(count)
}

/// Switches the sender's controller and returns whether it is now this one. The kernel silently ignores a
/// controller that was just unloaded, and a connection that was just reset refuses.
fn switch(socket: &Socket, controller: &str) -> bool {
    let known: Result<ControllerName, _> = controller.parse();
    let name = known.expect("it was chosen by this name");
    let before = used(socket);
    // The result is read back.
    let _ = socket.set_tcp_congestion(name.as_str().as_bytes());
    let now = used(socket);
    now != before && now.as_deref() == Some(name.as_str())
}

/// The controller in use by a socket, or `None` if it was just reset.
fn used(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let name = String::from_utf8(name).ok()?;
    Some(name.trim_end_matches('\0').to_owned())
}
