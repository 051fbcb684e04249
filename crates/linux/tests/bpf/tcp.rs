//! Bulk transfers, and the kernel's counters of their connections.

use crate::abort::abort;
use linux::netns::Netns;
use policy::ConnId;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;

/// The sender of a transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Download,
    Upload,
}

/// A transfer that runs until drop.
pub struct Transfer {
    pub client: Arc<Socket>,
    pub server: Arc<Socket>,
    conn: Option<ConnId>,
    /// The kernel accepts joins only while a socket listens on the port.
    _listener: Socket,
    received: Arc<AtomicU64>,
    pauses: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

/// The protocol of each end.
pub struct Ends {
    pub client: Protocol,
    pub server: Protocol,
}

pub const MPTCP: Ends = Ends {
    client: Protocol::MPTCP,
    server: Protocol::MPTCP,
};

impl Transfer {
    /// Connects from `client` to `address` in `server`, and sends zeros.
    pub fn start(
        client: &Netns,
        server: &Netns,
        address: SocketAddr,
        ends: Ends,
        direction: Direction,
    ) -> Self {
        let listener = server
            .run(|| listen(address, ends.server))
            .expect("enter the server");
        let connect = || connect(address, ends.client);
        let client = Arc::new(client.run(connect).expect("enter the client").expect("connect"));
        let conn = Info::of(&client).ok().map(|info| ConnId(info.token));
        let server = Arc::new(listener.accept().expect("accept").0);
        let (received, pauses) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (from, to) = match direction {
            Direction::Download => (&server, &client),
            Direction::Upload => (&client, &server),
        };
        let (from, to, count) = (from.clone(), to.clone(), received.clone());
        let paused = pauses.clone();
        let workers = vec![
            std::thread::spawn(move || send(&from, &paused)),
            std::thread::spawn(move || drain(&to, &count)),
        ];
        Self {
            client,
            server,
            conn,
            _listener: listener,
            received,
            pauses,
            workers,
        }
    }

    /// Pauses or resumes sending.
    pub fn pause(&self, pauses: bool) {
        self.pauses.store(pauses, Ordering::Relaxed);
    }

    /// Enables keepalives every second on the client's idle subflows.
    pub fn keep_alive(&self) {
        let every = socket2::TcpKeepalive::new()
            .with_time(Duration::from_secs(1))
            .with_interval(Duration::from_secs(1));
        self.client.set_tcp_keepalive(&every).expect("needs Linux 6.10");
    }

    /// Bytes read by the receiving application.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// The connection's token at the client, taken before the first data.
    pub fn conn(&self) -> ConnId {
        self.conn.expect("the server answered with MPTCP")
    }

    /// Bytes that the sender has assigned to subflows and the receiver has not acknowledged at data level.
    pub fn outstanding(&self, direction: Direction) -> u64 {
        let sender = if direction == Direction::Download {
            &self.server
        } else {
            &self.client
        };
        Info::of(sender).expect("the sender uses MPTCP").outstanding
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.pause(false);
        for socket in [&self.client, &self.server] {
            // Either end may be gone already. Both workers must wake up.
            let _ = socket.shutdown(Shutdown::Both);
        }
        for worker in self.workers.drain(..) {
            worker.join().expect("a worker ends when its socket is shut down");
        }
        for socket in [&self.client, &self.server] {
            abort(socket);
        }
    }
}

fn listen(address: SocketAddr, protocol: Protocol) -> Socket {
    let listener = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol)).expect("socket");
    listener.set_reuse_address(true).expect("reuse");
    listener.bind(&SockAddr::from(address)).expect("bind");
    listener.listen(8).expect("listen");
    listener
}

fn connect(address: SocketAddr, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
    socket.connect(&SockAddr::from(address))?;
    Ok(socket)
}

fn send(socket: &Socket, pauses: &AtomicBool) {
    let zeros = vec![0; 64 * 1024];
    while (&mut &*socket).write(&zeros).is_ok_and(|sent| sent > 0) {
        while pauses.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn drain(socket: &Socket, count: &AtomicU64) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = (&mut &*socket).read(&mut bytes) {
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}

/// The fields of `struct mptcp_info` (include/uapi/linux/mptcp.h, Linux 6.18) that the tests use.
pub struct Info {
    pub token: u32,
    pub outstanding: u64,
    /// Whether the peer has acknowledged DATA_FIN, which counts as a byte that was never sent.
    pub end_is_acknowledged: bool,
}

impl Info {
    const BYTES: usize = 96;

    /// Fails with EOPNOTSUPP on a connection that is not MPTCP.
    pub fn of(socket: &Socket) -> io::Result<Self> {
        let info = get_option(socket, SOL_MPTCP, MPTCP_INFO, Self::BYTES)?;
        let u64_at = |at: usize| u64::from_ne_bytes(info[at..at + 8].try_into().expect("eight bytes"));
        let (bytes_sent, bytes_acked) = (u64_at(56), u64_at(72));
        Ok(Self {
            token: u32::from_ne_bytes(info[12..16].try_into().expect("four bytes")),
            outstanding: bytes_sent.saturating_sub(bytes_acked),
            end_is_acknowledged: bytes_acked > bytes_sent,
        })
    }
}

/// The peer's last window for a plain TCP socket (`tcpi_snd_wnd` in include/uapi/linux/tcp.h).
pub fn announced_window(socket: &Socket) -> u32 {
    const TCPI_SND_WND: usize = 228;
    let info = get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, TCPI_SND_WND + 4).expect("TCP_INFO");
    u32::from_ne_bytes(info[TCPI_SND_WND..].try_into().expect("four bytes"))
}

fn get_option(socket: &Socket, level: i32, option: i32, bytes: usize) -> io::Result<Vec<u8>> {
    let mut value = vec![0_u8; bytes];
    let mut length = libc::socklen_t::try_from(bytes).expect("an option is short");
    // SAFETY: `value` is `length` bytes long and outlives the call.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if code < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(value)
    }
}
