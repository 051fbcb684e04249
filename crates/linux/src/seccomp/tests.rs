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
        send.send(install(Sockets::Mptcp).unwrap()).unwrap();
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
    serve(calls.as_fd(), Sockets::Mptcp).unwrap();
    program.join().unwrap();
}

#[test]
fn sockets_for_udp_get_a_mark_and_no_others() {
    let (send, receive) = channel();
    let program = std::thread::spawn(move || {
        send.send(install(Sockets::Marked(7)).unwrap()).unwrap();
        drop(send);
        let mark = |domain, kind, protocol| Socket::new(domain, kind, protocol).unwrap().mark().unwrap();
        let (v4, v6) = (Domain::IPV4, Domain::IPV6);
        assert_eq!(mark(v4, Type::DGRAM, None), 7);
        assert_eq!(mark(v6, Type::DGRAM.nonblocking(), Some(Protocol::UDP)), 7);
        assert_eq!(mark(v4, Type::STREAM, None), 0);
        assert_eq!(mark(Domain::UNIX, Type::DGRAM, None), 0);
        let socket = Socket::new_raw(v4, Type::DGRAM.cloexec().nonblocking(), None).unwrap();
        assert_eq!(
            (socket.nonblocking().unwrap(), closes_on_exec(&socket)),
            (true, true)
        );
    });
    let calls = receive.recv().unwrap();
    if check_marks(7).is_err() {
        println!("skipped: needs CAP_NET_ADMIN to mark sockets");
        drop(calls);
        return;
    }
    serve(calls.as_fd(), Sockets::Marked(7)).unwrap();
    program.join().unwrap();
}

/// The link of each socket that a program opens behind the filter.
fn bound_to(link: &str) -> Vec<std::io::Result<Option<Vec<u8>>>> {
    let sockets = Sockets::Bound(link.parse().unwrap());
    let (send, receive) = channel();
    let program = std::thread::spawn(move || {
        send.send(install(sockets).unwrap()).unwrap();
        drop(send);
        let (v4, v6) = (Domain::IPV4, Domain::IPV6);
        let kinds = [
            (v4, Type::STREAM, None),
            (v6, Type::STREAM.nonblocking(), Some(Protocol::TCP)),
            (v4, Type::DGRAM.cloexec(), Some(Protocol::UDP)),
            (v6, Type::DGRAM, None),
            (v4, Type::STREAM, Some(Protocol::MPTCP)),
        ];
        let device = |(domain, kind, protocol)| Socket::new(domain, kind, protocol)?.device();
        kinds.map(device).into_iter().collect()
    });
    let calls = receive.recv().unwrap();
    serve(calls.as_fd(), sockets).unwrap();
    program.join().unwrap()
}

#[test]
fn sockets_use_the_given_link_alone() {
    for device in bound_to("lo") {
        assert_eq!(device.unwrap().as_deref(), Some(&b"lo"[..]));
    }
}

#[test]
fn a_program_gets_no_socket_for_a_link_that_is_gone() {
    for device in bound_to("gone0") {
        assert_eq!(device.unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
