//! The filter and its supervisor in threads of one process.

use super::*;
use socket2::{Domain, Protocol, Socket, Type};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::mpsc::channel;

fn protocol(domain: Domain, kind: Type, protocol: Option<Protocol>) -> Option<i32> {
    let socket = Socket::new(domain, kind, protocol).unwrap();
    socket.protocol().unwrap().map(i32::from)
}

fn closes_on_exec(socket: &Socket) -> bool {
    // SAFETY: no pointers.
    let flags = unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_GETFD) };
    flags & libc::FD_CLOEXEC != 0
}

#[test]
fn sockets_for_tcp_become_mptcp_ones_and_no_others() {
    const MPTCP: i32 = 262;
    let (send, receive) = channel();
    // The filter stays with its thread.
    let program = std::thread::spawn(move || {
        send.send(install().unwrap()).unwrap();
        drop(send);
        let (v4, v6, stream) = (Domain::IPV4, Domain::IPV6, Type::STREAM);
        assert_eq!(protocol(v4, stream, None), Some(MPTCP));
        assert_eq!(protocol(v6, stream, None), Some(MPTCP));
        assert_eq!(protocol(v4, stream, Some(Protocol::TCP)), Some(MPTCP));
        assert_eq!(
            protocol(v6, stream.nonblocking(), Some(Protocol::TCP)),
            Some(MPTCP)
        );
        assert_eq!(protocol(v4, stream, Some(Protocol::MPTCP)), Some(MPTCP));
        assert_eq!(protocol(v4, Type::DGRAM, None), Some(libc::IPPROTO_UDP));
        assert_eq!(protocol(Domain::UNIX, stream, None), None);
        assert!(Socket::new(v4, stream, Some(Protocol::UDP)).is_err());
        let flags = |kind| {
            let socket = Socket::new_raw(Domain::IPV4, kind, None).unwrap();
            (socket.nonblocking().unwrap(), closes_on_exec(&socket))
        };
        assert_eq!(flags(stream), (false, false));
        assert_eq!(flags(stream.nonblocking().cloexec()), (true, true));
    });
    let calls = receive.recv().unwrap();
    serve(calls.as_fd()).unwrap();
    program.join().unwrap();
}
