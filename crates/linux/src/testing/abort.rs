//! Ending a connection for good. The crate's own tests and those in `tests/` share this file.

use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd as _;

/// Gives the connection up at this end (MP_FASTCLOSE), and with it what its subflows hold: their controller and the namespace.
///
/// An MPTCP socket that is only closed waits for the peer to read everything, for `net.mptcp.close_timeout` (60 s) if need be; what
/// arrives after the peer was closed is never read. So both ends are disconnected (`mptcp_disconnect` in net/mptcp/protocol.c).
pub fn abort(socket: &Socket) {
    // SAFETY: an address of zeros is AF_UNSPEC, which is 0; it outlives the call, and its length is right.
    let code = unsafe {
        let nowhere: libc::sockaddr = std::mem::zeroed();
        let length = libc::socklen_t::try_from(size_of_val(&nowhere)).expect("an address is short");
        libc::connect(socket.as_raw_fd(), &raw const nowhere, length)
    };
    assert_eq!(code, 0, "disconnect: {}", io::Error::last_os_error());
}
