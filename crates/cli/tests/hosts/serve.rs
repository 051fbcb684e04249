//! A server whose reply contains the source address that it saw.

use crate::wait::readable;
use linux::netns::Netns;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg, sendmsg, setsockopt, sockopt,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Speaks MPTCP to clients that request it.
pub const MPTCP_PORT: u16 = 5000;
/// Speaks plain TCP.
pub const TCP_PORT: u16 = 5001;
/// Speaks UDP.
pub const UDP_PORT: u16 = 5003;
/// Sends for as long as anyone reads, at a moderate speed.
pub const STREAM_PORT: u16 = 5002;

const LOOK: Duration = Duration::from_millis(200);
const CHUNK: [u8; 8192] = [0; 8192];
const PAUSE: Duration = Duration::from_millis(5);

/// Serves until it is dropped.
pub struct Server(Arc<AtomicBool>);

impl Server {
    /// Listens on every address of the namespace.
    pub fn start(netns: &Netns) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ports = [
            (MPTCP_PORT, Protocol::MPTCP),
            (TCP_PORT, Protocol::TCP),
            (STREAM_PORT, Protocol::MPTCP),
        ];
        for (port, protocol) in ports {
            let listener = netns.run(|| listen(port, protocol)).unwrap();
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    readable([listener.as_raw_fd()], LOOK);
                    let Ok((connection, peer)) = listener.accept() else {
                        continue;
                    };
                    connection.set_nonblocking(false).unwrap();
                    let (peer, over) = (peer.as_socket().unwrap(), Arc::clone(&over));
                    std::thread::spawn(move || match port {
                        STREAM_PORT => stream(connection, &over),
                        _ => answer(connection, peer),
                    });
                }
            });
        }
        let socket = netns.run(datagrams).unwrap();
        let stop = Arc::clone(&over);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                readable([socket.as_raw_fd()], LOOK);
                answer_datagram(&socket);
            }
        });
        Self(over)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn listen(port: u16, protocol: Protocol) -> Socket {
    let listener = Socket::new(Domain::IPV6, Type::STREAM, Some(protocol)).unwrap();
    listener.set_reuse_address(true).unwrap();
    listener.set_only_v6(false).unwrap();
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    listener.bind(&any.into()).unwrap();
    listener.listen(256).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn datagrams() -> Socket {
    let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_only_v6(false).unwrap();
    socket
        .bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, UDP_PORT)).into())
        .unwrap();
    setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// Answers a datagram with a line: who asks. The answer comes from the address that was asked.
fn answer_datagram(socket: &Socket) {
    let mut question = [0; 8];
    let mut slices = [IoSliceMut::new(&mut question)];
    let mut space = nix::cmsg_space!(nix::libc::in6_pktinfo);
    let descriptor = socket.as_raw_fd();
    let asked = recvmsg::<SockaddrIn6>(descriptor, &mut slices, Some(&mut space), MsgFlags::MSG_DONTWAIT);
    let Ok(asked) = asked else { return };
    let Some(peer) = asked.address else { return };
    let own = asked.cmsgs().unwrap().find_map(|message| match message {
        ControlMessageOwned::Ipv6PacketInfo(info) => Some(info),
        _ => None,
    });
    let own = own.map(|info| nix::libc::in6_pktinfo {
        // Only neighbours on the same link need it.
        ipi6_ifindex: 0,
        ..info
    });
    let line = format!("{}\n", peer.ip().to_canonical());
    let from = own.as_ref().map(ControlMessage::Ipv6PacketInfo);
    let slices = [IoSlice::new(line.as_bytes())];
    // Its way back may have gone meanwhile.
    let _ = sendmsg(
        descriptor,
        &slices,
        from.as_slice(),
        MsgFlags::empty(),
        Some(&peer),
    );
}

/// Every byte is answered with a line: who asks.
fn answer(mut connection: Socket, peer: SocketAddr) {
    let line = format!("{}\n", peer.ip().to_canonical());
    while matches!(connection.read(&mut [0]), Ok(1)) {
        if connection.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

fn stream(mut connection: Socket, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) && connection.write_all(&CHUNK).is_ok() {
        std::thread::sleep(PAUSE);
    }
}
