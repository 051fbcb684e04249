//! The kernel's counters of a connection, `struct tcp_info` and `struct mptcp_info`, of any length.
//!
//! Both structures grow at their end from kernel to kernel. Fields missing from a shorter structure are
//! parsed as zero, and new fields of a longer one are ignored. [`TcpInfo::LEN`] and [`MptcpInfo::LEN`] are
//! the lengths known here.
//!
//! # Sources
//! - `include/uapi/linux/tcp.h`, `include/uapi/linux/mptcp.h`; `tcp_get_info()` in `net/ipv4/tcp.c` and
//!   `mptcp_diag_fill_info()` in `net/mptcp/sockopt.c` (Linux 6.18): what each field counts.
//!
//! # Checked by
//! `tests`: every prefix of a structure is parsed, and every field lies at the offset that the running
//! kernel's BTF gives.

mod held;
mod mptcp;
mod tcp;
#[cfg(test)]
mod tests;

pub use held::Held;
pub use mptcp::MptcpInfo;
pub use tcp::{CaState, TcpInfo, TcpOptions, TcpState};

/// Reads fields from a structure that may be truncated.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u8(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn u16(self, at: usize) -> u16 {
        crate::netlink::u16_at(self.0, at).unwrap_or(0)
    }

    fn u32(self, at: usize) -> u32 {
        crate::netlink::u32_at(self.0, at).unwrap_or(0)
    }

    fn u64(self, at: usize) -> u64 {
        crate::netlink::u64_at(self.0, at).unwrap_or(0)
    }
}
