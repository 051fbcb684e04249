//! Runs in the guest: sends a file over MPTCP, or receives one and measures how it arrived. It measures a
//! call over UDP in the same way, and compares what a host knows of its links with what happened on the air.

mod call;
mod fetch;
mod judge;
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
        /// The client may leave before the end.
        #[arg(long)]
        part: bool,
    },
    /// Receive until the server closes. Prints one JSON object.
    Fetch(fetch::Args),
    /// Answer UDP packets with the address they came from, until terminated.
    Echo {
        /// Address and port.
        address: SocketAddr,
    },
    /// Send UDP packets to `echo`, and measure the longest gap between replies. Prints one JSON object.
    Call(call::Args),
    /// Compare with what happened on the air. Prints one JSON object.
    Judge(judge::Args),
}

fn main() -> anyhow::Result<()> {
    match Usage::parse().verb {
        Verb::Serve { address, file, part } => serve::run(address, &file, part),
        Verb::Fetch(args) => fetch::run(&args),
        Verb::Echo { address } => call::echo(address),
        Verb::Call(args) => call::run(&args),
        Verb::Judge(args) => judge::run(&args),
    }
}

/// A new MPTCP socket.
fn mptcp(address: SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::MPTCP))
}
