//! Aborts a connection. The crate's own tests and those in `tests/` share this file.

use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd as _;

/// Aborts the connection at this end (MP_FASTCLOSE) and frees what its subflows hold: their controller and
/// the namespace.
///
/// A closed MPTCP socket waits until the peer has read everything, up to `net.mptcp.close_timeout` (60 s).
/// Data that arrives after the peer was closed is never read. So both ends are disconnected
/// (`mptcp_disconnect` in net/mptcp/protocol.c).
pub fn abort(socket: &Socket) {
    // SAFETY: an address of zeros is AF_UNSPEC, which is 0. It outlives the call, and its length is right.
    let code = unsafe {
        let nowhere: libc::sockaddr = std::mem::zeroed();
        let length = libc::socklen_t::try_from(size_of_val(&nowhere)).expect("an address is short");
        libc::connect(socket.as_raw_fd(), &raw const nowhere, length)
    };
    assert_eq!(code, 0, "disconnect: {}", io::Error::last_os_error());
}
