//! Detects whether the packets of an interface reach our programs there.
//!
//! Our programs attach at the head of their chains. Another process may later attach one ahead of ours, and
//! if that ends the chain, ours does not run: no window is lowered and nothing is marked. The program's own
//! count shows this: it stops while the interface's count grows. A window lever there then counts as not
//! attached ([`crate::daemon::queues::levers`]), and marks are reported as not made.
//!
//! # Where we differ, and why
//! 1. We compare counts, not the list of programs: most programs ahead of ours pass packets on, and other
//!    consumers of packets (XDP) are in no such list.
//!
//! # Checked by
//! `tests`; `daemon::tests::passage`.

use crate::bpf::{Hook, Program};
use crate::rtnl::IfName;
use std::collections::BTreeMap;
use std::io;

/// If an interface has carried fewer packets than this between two checks, that shows nothing: they may have
/// been queued before our program came.
const LEAST: u64 = 16;
/// After this many checks in a row without a packet for our program, the chain ends before it.
const LOOKS: u8 = 2;

/// Packet counts of one interface.
#[derive(Debug, Clone, Copy)]
struct Counted {
    /// Counted by the interface.
    carried: u64,
    /// Counted by our program.
    ours: u64,
    /// Checks in a row in which only the interface's count grew.
    silent: u8,
}

/// The interfaces of one program.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    counted: BTreeMap<u32, Counted>,
    blocked: BTreeMap<u32, String>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// No packets reach our program any more.
    Blocked,
    /// Packets reach our program again.
    Cleared,
}

impl Passage {
    /// Compares the counts of an interface with those of the last check.
    pub(crate) fn look(&mut self, ifindex: u32, carried: u64, ours: u64) -> Option<Turn> {
        let first = Counted {
            carried,
            ours,
            silent: 0,
        };
        let counted = self.counted.entry(ifindex).or_insert(first);
        if ours != counted.ours {
            *counted = first;
            return self.blocked.remove(&ifindex).map(|_| Turn::Cleared);
        }
        if carried.saturating_sub(counted.carried) < LEAST {
            return None;
        }
        counted.carried = carried;
        counted.silent = counted.silent.saturating_add(1);
        (counted.silent == LOOKS).then_some(Turn::Blocked)
    }

    /// Records why no packets reach the program on this interface.
    pub(crate) fn block(&mut self, ifindex: u32, why: String) {
        self.blocked.insert(ifindex, why);
    }

    /// Why no packets reach the program on this interface, as recorded.
    pub(crate) fn why(&self, ifindex: u32) -> Option<&str> {
        self.blocked.get(&ifindex).map(String::as_str)
    }

    /// Removes an interface that is gone, or that the program is attached to anew.
    pub(crate) fn forget(&mut self, ifindex: u32) {
        self.counted.remove(&ifindex);
        self.blocked.remove(&ifindex);
    }
}

/// Returns the sentence "program X ahead of ours ends the chain", with as much as is known.
pub(crate) fn cause(hook: Hook, interface: IfName, ahead: io::Result<Vec<Program>>) -> String {
    let what = match hook {
        Hook::Ingress => format!("what arrives by {interface} does not reach slowhand's tcx program"),
        Hook::Egress => format!("what leaves by {interface} does not reach slowhand's tcx program"),
    };
    let ahead = ahead.unwrap_or_default();
    let names = Vec::from_iter(ahead.iter().map(ToString::to_string)).join(", ");
    match ahead.len() {
        0 => format!("{what}: something ahead of it, such as an XDP program, takes the packets"),
        1 => format!("{what}: {names}, ahead of it, ends the chain"),
        _ => format!("{what}: one of {names}, ahead of it, ends the chain"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::name;

    #[test]
    fn a_count_that_stops_while_the_interface_carries_is_found_at_the_second_check() {
        let mut passage = Passage::default();
        assert_eq!(passage.look(1, 100, 7), None, "where it begins");
        assert_eq!(passage.look(1, 200, 7), None);
        assert_eq!(passage.look(1, 300, 7), Some(Turn::Blocked));
        passage.block(1, "why".to_owned());
        assert_eq!(passage.look(1, 400, 7), None, "it is told once");
        assert_eq!(passage.why(1), Some("why"));
        assert_eq!(passage.look(1, 401, 8), Some(Turn::Cleared));
        assert_eq!(passage.why(1), None);
        assert_eq!(passage.look(1, 500, 9), None);
    }

    #[test]
    fn few_packets_or_some_that_reach_ours_show_nothing() {
        let mut passage = Passage::default();
        for look in 0..100 {
            assert_eq!(passage.look(1, look / 10, 0), None, "fewer than {LEAST} in all");
            assert_eq!(passage.look(2, look * 1_000, look / 2), None, "every second look");
        }
    }

    #[test]
    fn another_interface_with_the_same_index_starts_from_zero() {
        let mut passage = Passage::default();
        for carried in [0, 100, 200] {
            passage.look(1, carried, 0);
        }
        passage.block(1, "why".to_owned());
        passage.forget(1);
        assert_eq!(passage.why(1), None);
        assert_eq!(passage.look(1, 300, 0), None);
    }

    #[test]
    fn the_cause_is_named_as_far_as_it_is_known() {
        let program = |id, called: Option<&str>| Program {
            id,
            name: called.map(str::to_owned),
        };
        let one = Ok(vec![program(42, Some("cil_to_netdev"))]);
        assert_eq!(
            cause(Hook::Egress, name("eth0"), one),
            "what leaves by eth0 does not reach slowhand's tcx program: `cil_to_netdev` (BPF program 42), ahead of it, ends the chain"
        );
        let two = Ok(vec![program(42, None), program(7, Some("acl"))]);
        assert_eq!(
            cause(Hook::Ingress, name("wlan0"), two),
            "what arrives by wlan0 does not reach slowhand's tcx program: one of BPF program 42, `acl` (BPF program 7), ahead of it, ends the chain"
        );
        assert_eq!(
            cause(
                Hook::Ingress,
                name("wlan0"),
                Err(io::ErrorKind::PermissionDenied.into())
            ),
            "what arrives by wlan0 does not reach slowhand's tcx program: something ahead of it, such as an XDP program, takes the packets"
        );
    }
}
