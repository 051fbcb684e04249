//! The real world: everything slowhand says to a Linux kernel, and everything the kernel says back.

pub mod bpf;
pub mod daemon;
pub mod doctor;
pub mod diag;
pub mod info;
pub mod journal;
pub mod mptcp_pm;
pub mod netlink;
pub mod netns;
pub mod probe;
pub mod routing;
pub mod rtnl;
pub mod sysctl;
#[cfg(test)]
mod testing;
