//! Ensures a single daemon per network namespace, by a mark that only a privileged process can set and that
//! ends with its process.
//!
//! The mark is a raw socket that never receives anything (IPPROTO_RAW), bound to a loopback address reserved
//! by slowhand. Creating it takes CAP_NET_RAW in the namespace, so no unprivileged user can block a daemon.
//! Nothing is stored on disk, so a killed daemon blocks no other. Two containers that share a network see
//! each other's mark.
//!
//! # Sources
//! - raw(7): IPPROTO_RAW only sends. proc_net(5): `/proc/net/raw`. ip(7): IP_FREEBIND, for a namespace whose
//!   `lo` is down.
//!
//! # Where we differ, and why
//! 1. The kernel lets any number of raw sockets bind one address, so a claim first sets its mark and then
//!    looks for others. Of two daemons that start at the same moment, both may give way, but never do both
//!    stay.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/host/start.rs`, with two daemons.

use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use thiserror::Error;

/// Reserved by slowhand in 127.0.0.0/8: the letters S, L, H.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 83, 76, 72);

/// A claim on the calling thread's network namespace, held until drop.
#[derive(Debug)]
pub struct Claim {
    mark: Socket,
}

/// Why a namespace could not be claimed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// Another process holds the claim.
    #[error("slowhand is running already in this network namespace ({})", process(*.0))]
    Taken(Option<u32>),
    /// The mark could not be set.
    #[error("claiming this network namespace needs a raw socket; run as root or with CAP_NET_RAW")]
    Mark(#[source] io::Error),
    /// The list of raw sockets could not be read.
    #[error("/proc/thread-self/net/raw cannot be read; mount /proc")]
    List(#[source] io::Error),
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(
        || "a process that /proc does not show".to_owned(),
        |pid| format!("process {pid}"),
    )
}

impl Claim {
    /// Claims the calling thread's network namespace.
    pub fn take() -> Result<Self, ClaimError> {
        let mark = mark().map_err(ClaimError::Mark)?;
        let claim = Self { mark };
        let own = inode(&claim.mark).map_err(ClaimError::Mark)?;
        let listed = fs::read_to_string("/proc/thread-self/net/raw").map_err(ClaimError::List)?;
        match marks(&listed).find(|inode| *inode != own) {
            Some(other) => Err(ClaimError::Taken(holder(other))),
            None => Ok(claim),
        }
    }
}

impl Drop for Claim {
    /// Unbinds the mark. Closing it does not suffice: a child that is just being started still has a copy.
    fn drop(&mut self) {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        // If it fails, the mark goes with its last copy.
        let _ = self.mark.bind(&nowhere.into());
    }
}

fn mark() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)))?;
    socket.set_freebind_v4(true)?;
    socket.bind(&SocketAddr::from((ADDRESS, 0)).into())?;
    Ok(socket)
}

fn inode(socket: &Socket) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(fs::metadata(format!("/proc/thread-self/fd/{}", socket.as_raw_fd()))?.ino())
}

/// Inodes of all marks in the text of `/proc/net/raw`. Its second field is the local address and protocol,
/// its tenth the inode.
fn marks(listed: &str) -> impl Iterator<Item = u64> {
    // The kernel prints the address in native byte order.
    let ours = format!(
        "{:08X}:{:04X}",
        u32::from_ne_bytes(ADDRESS.octets()),
        libc::IPPROTO_RAW
    );
    listed.lines().filter_map(move |line| {
        let fields = Vec::from_iter(line.split_whitespace());
        let is_ours = fields.get(1).is_some_and(|local| *local == ours);
        fields.get(9).filter(|_| is_ours)?.parse().ok()
    })
}

/// The process that holds this socket, if `/proc` shows it.
fn holder(inode: u64) -> Option<u32> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"));
        open.is_ok_and(|open| {
            open.flatten()
                .any(|fd| fs::read_link(fd.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::inside;

    #[test]
    fn a_namespace_is_claimed_once_until_released() {
        inside(|| {
            let claim = Claim::take().unwrap();
            let Err(ClaimError::Taken(pid)) = Claim::take() else {
                panic!("claimed twice")
            };
            assert_eq!(pid, Some(std::process::id()));
            inside(|| drop(Claim::take().unwrap()));
            drop(claim);
            drop(Claim::take().unwrap());
        });
    }

    #[test]
    fn a_copy_of_the_mark_in_a_child_claims_nothing() {
        inside(|| {
            let claim = Claim::take().unwrap();
            let copy = claim.mark.try_clone().unwrap();
            drop(claim);
            drop(Claim::take().unwrap());
            drop(copy);
        });
    }

    #[test]
    fn the_error_names_the_holder() {
        let said = |pid| ClaimError::Taken(pid).to_string();
        assert_eq!(
            said(Some(7)),
            "slowhand is running already in this network namespace (process 7)"
        );
        assert_eq!(
            said(None),
            "slowhand is running already in this network namespace (a process that /proc does not show)"
        );
    }

    #[test]
    fn only_raw_sockets_at_our_address_are_marks() {
        let address = format!("{:08X}", u32::from_ne_bytes(ADDRESS.octets()));
        let line = |local: &str, inode: u32| {
            format!(
                " 207: {local} 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 {inode} 2 0 0\n"
            )
        };
        let listed = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"
            .to_owned()
            + &line("00000000:0001", 1)
            + &line(&format!("{address}:0001"), 2)
            + &line(&format!("{address}:00FF"), 3);
        assert_eq!(Vec::from_iter(marks(&listed)), [3]);
    }
}
