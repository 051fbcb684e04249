//! The real world: everything slowhand says to a Linux kernel, and everything the kernel says back.

pub mod bpf;
pub mod daemon;
pub mod netlink;
pub mod netns;
pub mod rtnl;
#[cfg(test)]
mod testing;
