//! Which congestion controllers sockets are really sent with, read back when somebody asks.
//!
//! The namespace's setting says what a socket begins with. A program may choose another controller, a route may, and one that cannot be had is
//! not always refused: only the socket itself can tell.
//!
//! # Sources
//! - `INET_DIAG_CONG`: net/ipv4/inet_diag.c (`inet_sk_diag_fill`), Linux 6.18; docs/kernel.md has when the kernel keeps silent.
//!
//! # Where we differ, and why
//! 1. Sockets are listed for each report, and not with every reading of counters: those that are left alone are not read, and a program may choose
//!    anew on a connection that is idle.
//!
//! # Checked by
//! `daemon::tests::controllers`; `crates/cli/tests/host.rs`.

use crate::daemon::flows::names::{canonical, conn_of};
use crate::diag::{Diag, States, TcpSocket};
use policy::ConnId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

/// Of every connected subflow of the namespace.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    by_conn: BTreeMap<ConnId, BTreeSet<String>>,
    by_ends: HashMap<[SocketAddr; 2], String>,
}

impl Controllers {
    /// A kernel that does not say, says it of nobody.
    pub(crate) fn read() -> Self {
        let mut found = Self::default();
        if let Ok(mut diag) = Diag::open() {
            let _ = diag.each_tcp(States::CONNECTED, |socket| found.take(socket));
        }
        found
    }

    fn take(&mut self, socket: &TcpSocket) {
        let name = socket.congestion.as_str();
        let Some(subflow) = socket.subflow.filter(|_| !name.is_empty()) else {
            return;
        };
        let ends = [socket.local, socket.remote].map(canonical);
        self.by_ends.insert(ends, name.to_owned());
        self.by_conn
            .entry(conn_of(subflow.token))
            .or_default()
            .insert(name.to_owned());
    }

    /// Each once, in the order of the alphabet.
    pub(crate) fn of_conn(&self, conn: ConnId) -> Vec<String> {
        self.by_conn.get(&conn).into_iter().flatten().cloned().collect()
    }

    pub(crate) fn of_socket(&self, local: SocketAddr, remote: SocketAddr) -> Option<String> {
        self.by_ends.get(&[local, remote].map(canonical)).cloned()
    }
}
