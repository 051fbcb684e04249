//! What the kernel of a network namespace counts by itself.
//!
//! # Sources
//! - `net/ipv4/proc.c`, `net/mptcp/mib.c`: `/proc/net/netstat` has two lines for each group (`TcpExt`, `IpExt`, `MPTcpExt`), names and then
//!   values. `IpExt: InCEPkts` counts packets that came in with congestion experienced, each of those that one header stands for
//!   (`net/ipv4/ip_input.c`: by `gso_segs`, so a packet of several segments from a TUN, where that is 0, counts once).
//!
//! # Checked by
//! `tests`; the daemon's tests, which read the server's `MPTcpExt`; the lab's `tests/emulator.rs` and `tests/ecn.rs`: marks that were made are
//! the marks that came.

/// One counter of the namespace that the calling thread is in; `None` where its kernel does not have it.
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
