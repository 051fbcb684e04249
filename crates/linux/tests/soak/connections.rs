//! One connection after the other, ended in each way that there is.

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

/// Enough for every subflow to have joined before the end.
const BYTES: usize = 300_000;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All was said and read.
    Complete,
    /// The receiver closes in the middle.
    Unread,
    /// Both ends give up in the middle.
    Aborted,
}

impl Ending {
    /// Each in turn.
    pub const fn of(number: usize) -> Self {
        match number % 3 {
            0 => Self::Complete,
            1 => Self::Unread,
            _ => Self::Aborted,
        }
    }
}

/// What becomes of a connection.
pub struct Way<'a> {
    pub ending: Ending,
    pub download: bool,
    /// Read while a socket is closed.
    pub closing: &'a RwLock<()>,
    /// How many senders use another controller than they began with.
    pub switched: &'a AtomicUsize,
    /// How many connections the kernel has brought to a standstill.
    pub stood: &'a AtomicUsize,
}

impl Way<'_> {
    /// Counts a connection that stands still, if that is the kernel's doing, and says how to end it.
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

/// Where one worker's connections arrive.
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

    /// The connection that a client has just made.
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

/// One connection, whose sender is switched to `controller()` in the middle.
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
        // The sender is told by a reset; the other end of the scope waits for it to be so.
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

/// Half of it, and the other half if it is to be complete.
fn listen_to(receiver: &Socket, ending: Ending, in_the_middle: impl FnOnce()) -> Result<(), Standstill> {
    let half = read(receiver, BYTES / 2)?;
    assert_eq!(half, BYTES / 2, "the sender goes on until somebody ends it");
    in_the_middle();
    if ending == Ending::Complete {
        assert_eq!(half + read(receiver, usize::MAX)?, BYTES, "all arrives");
    }
    Ok(())
}

/// Until all is said or the other end does not listen any more.
fn send(socket: &Socket) {
    let bytes = vec![0; BYTES];
    if (&mut &*socket).write_all(&bytes).is_ok() {
        // The other end may have reset it already.
        let _ = socket.shutdown(Shutdown::Write);
    }
}

/// Nothing has come for as long as anybody waits.
struct Standstill;

/// How many of so many bytes come before the end.
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

/// Whether the sender has another controller now, and it is this one. A controller that has just been unloaded is silently not chosen; a
/// connection that has just been reset refuses.
fn switch(socket: &Socket, controller: &str) -> bool {
    let known: Result<ControllerName, _> = controller.parse();
    let name = known.expect("it was chosen by this name");
    let before = used(socket);
    // What came of it is read back.
    let _ = socket.set_tcp_congestion(name.as_str().as_bytes());
    let now = used(socket);
    now != before && now.as_deref() == Some(name.as_str())
}

/// What the kernel says that a socket uses; nothing of one that has just been reset.
fn used(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let name = String::from_utf8(name).ok()?;
    Some(name.trim_end_matches('\0').to_owned())
}
