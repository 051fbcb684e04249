//! Helpers shared by the tests: fresh namespaces, connected pairs of them, and the output of other programs.

mod abort;
mod disk;
pub mod foreign;
mod patience;
mod root;

pub use abort::abort;
pub use disk::{PAGE, on_a_full_disk};
pub use patience::Patience;
pub use root::Root;

use crate::netns::{CreateError, Netns};
use crate::rtnl::{Address, AddressFlags, IfName, Prefix, Rtnl, VethPeer};
use socket2::{Domain, Protocol, Socket, Type};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::Command;
use std::time::Duration;

/// Creates a fresh namespace, or prints why the test is skipped.
pub fn fresh() -> Option<Netns> {
    match Netns::new() {
        Ok(netns) => Some(netns),
        Err(CreateError::NotPermitted) => {
            println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs `work` in a fresh namespace.
pub fn inside(work: impl FnOnce() + Send) {
    if let Some(netns) = fresh() {
        netns.run(work).unwrap();
    }
}

/// Output of a command, run in the calling thread's namespace.
pub fn output(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

pub fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

/// Index of the link called `text`.
pub fn index(rtnl: &mut Rtnl, text: &str) -> u32 {
    rtnl.link_named(name(text))
        .unwrap()
        .unwrap_or_else(|| panic!("no link {text}"))
        .ifindex
}

/// Adds a link `text` with carrier. Packets sent on it are lost.
pub fn plug(text: &str) {
    let peer = VethPeer {
        name: name(&format!("{text}-far")),
        netns: None,
    };
    Rtnl::open().unwrap().add_veth(name(text), peer).unwrap();
    furnish(&format!("{text}-far"), &[]);
}

/// Sets a link up and adds addresses that are usable at once.
pub fn furnish(link: &str, addresses: &[&str]) {
    let mut rtnl = Rtnl::open().unwrap();
    let ifindex = index(&mut rtnl, link);
    for text in addresses {
        let address = Address {
            flags: AddressFlags::NO_DAD,
            ..Address::new(ifindex, prefix(text))
        };
        rtnl.add_address(&address).unwrap();
    }
    rtnl.set_up(ifindex, true).unwrap();
}

/// Waits until a link works. The kernel detects the far end asynchronously. Until then it drops packets, and
/// routes are down.
pub fn await_carrier(link: &str) {
    let mut rtnl = Rtnl::open().unwrap();
    let ifindex = index(&mut rtnl, link);
    let mut deadline = Patience::of(Duration::from_secs(20));
    while !rtnl.link(ifindex).unwrap().unwrap().running() {
        assert!(deadline.lasts(), "{link} has no carrier");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Both ends of a connection.
pub struct Ends {
    pub client: TcpStream,
    pub server: TcpStream,
    /// Joins reach the connection through it.
    #[expect(dead_code, reason = "held open")]
    listener: Socket,
}

impl Ends {
    /// Sends a few bytes each way, which the connection needs to be fully established.
    pub fn greet(&mut self) {
        self.client.write_all(b"ping").unwrap();
        self.server.read_exact(&mut [0; 4]).unwrap();
        self.server.write_all(b"pong").unwrap();
        self.client.read_exact(&mut [0; 4]).unwrap();
    }
}

/// A client and a server connected by `links` cables. Link `i` is `w{i}` at both ends. The client has
/// `10.0.{i}.1/24` and `fd00:{i}::1/64`, the server `.2` and `::2`.
pub struct Pair {
    pub client: Netns,
    pub server: Netns,
}

impl Pair {
    pub fn joined(links: u8) -> Option<Self> {
        let pair = Self {
            client: fresh()?,
            server: fresh()?,
        };
        for i in 0..links {
            pair.client.run(|| pair.cable(i)).unwrap();
            pair.server.run(|| furnish_end(i, 2)).unwrap();
        }
        for netns in [&pair.client, &pair.server] {
            netns
                .run(|| (0..links).for_each(|i| await_carrier(&format!("w{i}"))))
                .unwrap();
        }
        Some(pair)
    }

    /// Opens an MPTCP connection from the client to `address` of the server.
    pub fn connect(&self, address: &str) -> Ends {
        let address: SocketAddr = address.parse().unwrap();
        let listener = self.server.run(|| mptcp_listener(address)).unwrap();
        let client = self.client.run(|| {
            let socket = mptcp_socket(address);
            socket.connect(&address.into()).unwrap();
            socket
        });
        let (server, _) = listener.accept().unwrap();
        Ends {
            client: client.unwrap().into(),
            server: server.into(),
            listener,
        }
    }

    fn cable(&self, i: u8) {
        let end = name(&format!("w{i}"));
        let peer = VethPeer {
            name: end,
            netns: Some(&self.server),
        };
        Rtnl::open().unwrap().add_veth(end, peer).unwrap();
        furnish_end(i, 1);
    }
}

fn mptcp_socket(address: SocketAddr) -> Socket {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::MPTCP)).unwrap()
}

/// Listens on all addresses, so that joins can reach the server's other addresses.
fn mptcp_listener(address: SocketAddr) -> Socket {
    let any = if address.is_ipv4() {
        IpAddr::from([0; 4])
    } else {
        IpAddr::from([0; 16])
    };
    let socket = mptcp_socket(address);
    socket.bind(&SocketAddr::new(any, address.port()).into()).unwrap();
    socket.listen(8).unwrap();
    socket
}

/// Waits until `fd` is readable. Returns false after `timeout`.
pub fn wait_readable(fd: BorrowedFd<'_>, timeout: Duration) -> bool {
    let mut poll = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap();
    // SAFETY: one live pollfd is passed, and its count.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) > 0 }
}

fn furnish_end(i: u8, host: u8) {
    furnish(
        &format!("w{i}"),
        &[&format!("10.0.{i}.{host}/24"), &format!("fd00:{i}::{host}/64")],
    );
}

/// Number of allocations by `work` on this thread.
pub fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a counter per thread.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed to the system's allocator, and counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends still allocates and frees after its counter is gone.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
