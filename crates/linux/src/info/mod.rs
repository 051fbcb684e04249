//! What the kernel knows of a connection: `struct tcp_info` and `struct mptcp_info`, whatever their length.
//!
//! Both structures grow at their end from kernel to kernel. A shorter one reads as if the missing fields were zero, and
//! of a longer one the new fields are not looked at; [`TcpInfo::LEN`] and [`MptcpInfo::LEN`] are the lengths known here.
//!
//! # Sources
//! - `include/uapi/linux/tcp.h`, `include/uapi/linux/mptcp.h`; `tcp_get_info()` in `net/ipv4/tcp.c` and
//!   `mptcp_diag_fill_info()` in `net/mptcp/sockopt.c` (Linux 6.18): what each field counts.
//!
//! # Checked by
//! `tests`: every prefix of a structure is read; every field lies where the running kernel's BTF says it does.

mod held;
mod mptcp;
mod tcp;
#[cfg(test)]
mod tests;

pub use held::Held;
pub use mptcp::MptcpInfo;
pub use tcp::{CaState, TcpInfo, TcpOptions, TcpState};

/// Reads a structure that may end early.
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
