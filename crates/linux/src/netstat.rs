//! Counters of a network namespace's kernel.
//!
//! # Sources
//! - `net/ipv4/proc.c`, `net/mptcp/mib.c`: `/proc/net/netstat` has two lines for each group (`TcpExt`,
//!   `IpExt`, `MPTcpExt`), first names and then values. `IpExt: InCEPkts` counts packets that arrived with
//!   congestion experienced, including each packet that one header covers. (`net/ipv4/ip_input.c` counts by
//!   `gso_segs`. That is 0 for a packet of several segments from a TUN, which therefore counts once.)
//!
//! # Checked by
//! `tests`; the daemon's tests, which read the server's `MPTcpExt`; the lab's `tests/emulator.rs` and
//! `tests/ecn.rs`: as many marks arrive as were set.

/// Reads a counter of the calling thread's namespace. `None` if its kernel does not have it.
pub fn counted(group: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").ok()?;
    counter(&text, group, name)
}

fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let of_group = |line: &&str| line.split(':').next() == Some(group);
    let mut lines = text.lines().filter(of_group);
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|other| other == name)?;
    values.split(' ').nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_group_and_name() {
        let text = "TcpExt: A InCEPkts\nTcpExt: 1 2\nIpExt: A InCEPkts B\nIpExt: 3 4 5\n";
        assert_eq!(counter(text, "IpExt", "InCEPkts"), Some(4));
        assert_eq!(counter(text, "TcpExt", "InCEPkts"), Some(2));
        assert_eq!(counter(text, "IpExt", "C"), None);
        assert_eq!(counter(text, "Ip", "A"), None);
        assert_eq!(counter("", "IpExt", "A"), None);
    }
}
