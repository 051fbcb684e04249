//! A connection whose sender first sends at full rate, and after a pause single bytes. Windows do not change
//! in between.

use crate::abort::abort;
use crate::mptcp_sockets::{connect, listen};
use crate::net::{Hosts, eventually, run};
use crate::tcp::Direction;
use linux::netns::Netns;
use socket2::Socket;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

pub struct Talk {
    pub client: Arc<Socket>,
    pub server: Arc<Socket>,
    direction: Direction,
    /// The kernel accepts joins only while a socket listens on the port.
    _listener: Socket,
    rests: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    sender: Option<JoinHandle<u64>>,
    reader: Option<JoinHandle<()>>,
    sent: u64,
}

impl Talk {
    pub fn start(hosts: &Hosts, direction: Direction) -> Self {
        for host in [&hosts.client, &hosts.server] {
            // Otherwise the kernel resets the window of an idle path to its initial one.
            run(host, "sysctl -qw net.ipv4.tcp_slow_start_after_idle=0");
        }
        let address = hosts.server_address(7_102);
        let listener = inside(&hosts.server, || listen(address));
        let client = Arc::new(inside(&hosts.client, || connect(address)));
        let server = Arc::new(listener.accept().expect("accept").0);
        let (from, to) = match direction {
            Direction::Download => (&server, &client),
            Direction::Upload => (&client, &server),
        };
        let (rests, read) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (from, to, rest, count) = (from.clone(), to.clone(), rests.clone(), read.clone());
        Self {
            sender: Some(std::thread::spawn(move || send(&from, &rest))),
            reader: Some(std::thread::spawn(move || drain(&to, &count))),
            client,
            server,
            direction,
            _listener: listener,
            rests,
            read,
            sent: 0,
        }
    }

    /// Stops sending and waits until all data has arrived.
    pub fn rest(&mut self) {
        self.rests.store(true, Ordering::Relaxed);
        let sender = self.sender.take().expect("rest is called once");
        self.sent = sender.join().expect("the sender ends");
        self.all_arrives();
    }

    /// Sends one byte and waits until it arrives.
    pub fn say(&mut self) {
        let from = match self.direction {
            Direction::Download => &self.server,
            Direction::Upload => &self.client,
        };
        (&mut &**from).write_all(&[0]).expect("the connection is open");
        self.sent += 1;
        self.all_arrives();
    }

    fn all_arrives(&self) {
        let read = || self.read.load(Ordering::Relaxed);
        let state = || format!("{} of {}", read(), self.sent);
        eventually("arrived", || read() == self.sent, state);
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.rests.store(true, Ordering::Relaxed);
        for socket in [&self.client, &self.server] {
            // Either end may be gone already. Both threads must wake up.
            let _ = socket.shutdown(Shutdown::Both);
        }
        if let Some(sender) = self.sender.take() {
            sender.join().expect("the sender ends");
        }
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends");
        }
        for socket in [&self.client, &self.server] {
            abort(socket);
        }
    }
}

fn inside<T: Send>(host: &Netns, work: impl FnOnce() -> T + Send) -> T {
    host.run(work).expect("enter the host")
}

/// Sends until `rests` or the connection is closed. Returns the number of bytes.
fn send(socket: &Socket, rests: &AtomicBool) -> u64 {
    let (zeros, mut sent) = (vec![0; 64 * 1024], 0);
    while !rests.load(Ordering::Relaxed) {
        match (&mut &*socket).write(&zeros) {
            Ok(written @ 1..) => sent += written as u64,
            Ok(0) | Err(_) => break,
        }
    }
    sent
}

fn drain(socket: &Socket, count: &AtomicU64) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = (&mut &*socket).read(&mut bytes) {
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}
