//! A relay on loopback in a namespace of its own, with clients that speak Convert.

use anyhow::Context as _;
use lab::relay::Relay;
use linux::netns::Netns;
use linux::sysctl::{self, Key as Setting};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wire::convert::{HEADER, MOST, Reply, Request, Wanted, header};
use wire::cookie::Cookie;
use wire::mobility::Key;

/// How long a peer may take. Nothing here waits for a network.
pub const PATIENCE: Duration = Duration::from_secs(20);
const BACKLOG: i32 = 4_096;
/// Descriptors for other things than connections.
const OTHERS: usize = 800;
const RELAY: ([u8; 4], u16) = ([127, 0, 0, 1], 4_433);

/// What a connection passes through on its way to the server.
#[derive(Debug, Clone)]
pub enum Through {
    /// The relay: a request comes first.
    Relay {
        /// Where it listens.
        relay: SocketAddr,
        /// The client's key.
        key: Key,
        /// The server.
        server: SocketAddr,
    },
    /// Something that connects to a fixed server by itself.
    Fixed(SocketAddr),
}

/// A relay in its namespace. Its key may reach loopback only.
pub struct Rig {
    /// The namespace.
    pub netns: Netns,
    /// The relay.
    pub relay: Relay,
    /// The client's key.
    pub key: Key,
}

impl Rig {
    /// Starts a relay. `allow`: networks that the key may reach beside the Internet.
    pub fn new(allow: &[&str]) -> anyhow::Result<Self> {
        linux::limits::raise_descriptors();
        let netns = Netns::new()?;
        let wide = || {
            sysctl::write(&Setting::new("net.ipv4.ip_local_port_range"), "10000 65535")?;
            sysctl::write(&Setting::new("net.core.somaxconn"), "8192")
        };
        netns.run(wide)??;
        let more = format!(
            "connections = 100000\nconnections_per_key = 100000\nrequests = 8192\n[key.client]\nallow = {allow:?}\nconnections = 100000"
        );
        let relay = Relay::start(&netns, RELAY.into(), &more)?;
        let text = std::fs::read_to_string(relay.key_file()).context("the relay's key")?;
        let key = Key::from_hex(&text).context("the relay's key is no key; please report this")?;
        Ok(Self { netns, relay, key })
    }

    /// Connections through the relay to `server`.
    pub fn through(&self, server: SocketAddr) -> Through {
        Through::Relay {
            relay: self.relay.address(),
            key: self.key.clone(),
            server,
        }
    }

    /// The relay's process.
    pub fn process(&self) -> anyhow::Result<u32> {
        only_child(self.relay.id())
    }
}

impl Through {
    /// Opens a connection to the server, in the namespace of the calling thread.
    pub fn open(&self) -> io::Result<TcpStream> {
        match self {
            Self::Fixed(address) => connect(*address, Protocol::MPTCP),
            Self::Relay { relay, key, server } => {
                let mut stream = connect(*relay, Protocol::MPTCP)?;
                stream.write_all(&request(key, *server))?;
                match reply(&mut stream)? {
                    Some(Reply::Connected { .. }) => Ok(stream),
                    other => Err(io::Error::other(format!("the relay replied {other:?}"))),
                }
            }
        }
    }
}

/// Connects to an address.
pub fn connect(address: SocketAddr, protocol: Protocol) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.connect(&address.into())?;
    Ok(socket.into())
}

/// A request with a fresh cookie.
pub fn request(key: &Key, server: SocketAddr) -> Vec<u8> {
    static NONCE: AtomicU64 = AtomicU64::new(1);
    let nonce = NONCE.fetch_add(1, Ordering::Relaxed);
    Request::write(Wanted::Connect(server), |wanted| {
        Cookie::seal(key, now_s(), nonce, wanted)
    })
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Reads a reply, and no byte beyond it.
pub fn reply(stream: &mut TcpStream) -> io::Result<Option<Reply>> {
    let mut head = [0; HEADER];
    stream.read_exact(&mut head)?;
    let Ok(length) = header(head) else { return Ok(None) };
    let mut tlvs = [0; MOST];
    stream.read_exact(&mut tlvs[..length])?;
    Ok(Reply::parse(&tlvs[..length]))
}

/// A server on loopback that speaks plain TCP. It ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves each connection with `serve`, on a thread of its own.
    pub fn start(
        netns: &Netns,
        serve: impl Fn(TcpStream) + Send + Sync + Clone + 'static,
    ) -> anyhow::Result<Self> {
        let listener = netns.run(|| listen(([127, 0, 0, 1], 0).into()))??;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let accept = move || {
            while let Ok((stream, _)) = listener.accept() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let serve = serve.clone();
                std::thread::spawn(move || serve(stream));
            }
        };
        let thread = Some(std::thread::spawn(netns_of(netns, accept)?));
        Ok(Self {
            address,
            over,
            thread,
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it: one more connection wakes the listener.
    pub fn stop(mut self, netns: &Netns) -> anyhow::Result<()> {
        self.over.store(true, Ordering::Relaxed);
        let address = self.address;
        let _ = netns.run(|| TcpStream::connect(address))?;
        if let Some(thread) = self.thread.take() {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("the server panicked; please report this"))?;
        }
        Ok(())
    }
}

/// Work in a namespace, for a thread.
pub fn netns_of<T>(
    netns: &Netns,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<impl FnOnce() -> T + Send + 'static> {
    let netns = netns.try_clone()?;
    Ok(move || {
        // A thread of the lab's own that cannot enter fails at its first socket.
        let _ = netns.enter();
        work()
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Connections for which this process, and those that it starts, have descriptors. Each has two ends here,
/// and two in what it passes through.
pub fn most_connections() -> usize {
    linux::limits::raise_descriptors();
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let descriptors = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    descriptors.saturating_sub(OTHERS) / 2
}

/// The only child of a process.
pub fn only_child(id: u32) -> anyhow::Result<u32> {
    let list = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
    let child = list
        .split_whitespace()
        .next()
        .and_then(|child| child.parse().ok());
    child.with_context(|| format!("process {id} has no child; please report this"))
}

/// Resident memory of a process, in bytes.
pub fn resident(id: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.context("/proc/PID/status has no VmRSS")? * 1024)
}
