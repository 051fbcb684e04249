//! Sends a file to one client.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::Context as _;

pub fn run(address: SocketAddr, file: &Path, part: bool) -> anyhow::Result<()> {
    let mut file = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let socket =
        crate::mptcp(address).context("cannot open an MPTCP socket; check `sysctl net.mptcp.enabled`")?;
    socket.set_reuse_address(true)?;
    socket
        .bind(&address.into())
        .with_context(|| format!("cannot bind {address}; is the address on this host?"))?;
    socket.listen(1)?;
    // Joins of the connection come to the listener, too: it must outlive the transfer.
    let listener = TcpListener::from(socket);
    let (mut client, _) = listener.accept().context("no client")?;
    let left = |error: &io::Error| matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
    match io::copy(&mut file, &mut client) {
        Err(error) if part && left(&error) => Ok(()),
        sent => sent.map(drop).context("the client went away"),
    }
}
