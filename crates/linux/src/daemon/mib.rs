//! The namespace's MPTCP counters (`MPTcpExt` in `/proc/net/netstat`).

use std::fs;

/// Withdrawals (RM_ADDR) that were never sent, because an earlier word still waited; 0 where the kernel does not count.
pub(super) fn rm_addr_drops() -> u64 {
    read("RmAddrTxDrop")
}

/// One counter; 0 where the kernel does not have it.
pub(super) fn read(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default();
    counter(&text, name).unwrap_or(0)
}

/// The file has two lines for each protocol: names, then values.
fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("MPTcpExt: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|other| other == name)?;
    values.split(' ').nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "TcpExt: A RmAddrTxDrop\nTcpExt: 1 2\nMPTcpExt: A RmAddrTxDrop B\nMPTcpExt: 3 4 5\n";
        assert_eq!(counter(text, "RmAddrTxDrop"), Some(4));
        assert_eq!(counter(text, "C"), None);
        assert_eq!(counter("", "A"), None);
    }
}
