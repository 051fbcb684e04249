//! Ends every connection in a namespace.
//!
//! The kernel keeps an MPTCP connection that nobody closed in order for `net.mptcp.close_timeout` (60 s), and
//! with it the whole namespace. When a run is over, nobody waits for its connections.
//!
//! # Checked by
//! `tests/swept.rs`: namespaces are gone soon after a run.

use linux::diag::{Diag, States};
use linux::netns::Netns;

/// Ends all TCP connections of a namespace, including subflows and with them their MPTCP connections. A
/// connection that cannot be ended (a kernel without `CONFIG_INET_DIAG_DESTROY`) ends by itself later.
pub(crate) fn sweep(netns: &Netns) {
    // A namespace that cannot be entered has nothing left to sweep.
    let _ = netns.run(|| {
        let Ok(mut diag) = Diag::open() else {
            return;
        };
        let mut found = Vec::new();
        if diag.each_tcp(States::ALL, |tcp| found.push(*tcp)).is_err() {
            return;
        }
        for tcp in found {
            // It may have ended by itself in the meantime.
            let _ = diag.end(&tcp);
        }
    });
}
