//! Runs in the guest: sends a file over MPTCP, or receives one and measures how it arrived.

mod fetch;
mod serve;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use socket2::{Domain, Protocol, Socket, Type};

/// Sends a file over MPTCP, or receives one and measures how it arrived.
#[derive(Debug, Parser)]
struct Usage {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Send a file to the first client that connects, then end.
    Serve {
        /// Address and port to listen on.
        address: SocketAddr,
        /// The file.
        file: PathBuf,
    },
    /// Receive until the server closes. Prints one JSON object.
    Fetch(fetch::Args),
}

fn main() -> anyhow::Result<()> {
    match Usage::parse().verb {
        Verb::Serve { address, file } => serve::run(address, &file),
        Verb::Fetch(args) => fetch::run(&args),
    }
}

/// A new MPTCP socket.
fn mptcp(address: SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::MPTCP))
}
