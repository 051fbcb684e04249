//! Which congestion controllers sockets really use, read when a report is requested.
//!
//! The namespace's setting is only the default of a new socket. A program or a route may choose another
//! controller, and the kernel does not always refuse one that is not available. Only the socket itself tells.
//!
//! # Sources
//! - `INET_DIAG_CONG`: net/ipv4/inet_diag.c (`inet_sk_diag_fill`), Linux 6.18. docs/kernel.md says when the
//!   kernel omits it.
//!
//! # Where we differ, and why
//! 1. Sockets are listed for each report, not with every sample of counters. Connections that are left alone
//!    are not sampled, and a program may change the controller of an idle connection.
//!
//! # Checked by
//! `daemon::tests::controllers`; `crates/cli/tests/host.rs`.

use crate::daemon::flows::names::{canonical, conn_of};
use crate::diag::{Diag, States, TcpSocket};
use policy::ConnId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

/// The controllers of all connected subflows of the namespace.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    by_conn: BTreeMap<ConnId, BTreeSet<String>>,
    by_ends: HashMap<[SocketAddr; 2], String>,
}

impl Controllers {
    /// Reads the controllers. If the kernel does not tell, the result is empty.
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

    /// Each controller of a connection once, in alphabetical order.
    pub(crate) fn of_conn(&self, conn: ConnId) -> Vec<String> {
        self.by_conn.get(&conn).into_iter().flatten().cloned().collect()
    }

    pub(crate) fn of_socket(&self, local: SocketAddr, remote: SocketAddr) -> Option<String> {
        self.by_ends.get(&[local, remote].map(canonical)).cloned()
    }
}
