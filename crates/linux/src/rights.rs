//! Capabilities of the calling thread that slowhand needs.
//!
//! # Sources
//! - capabilities(7); proc_pid_status(5): `CapEff`; kernel/bpf/token.c (`bpf_ns_capable`, Linux 6.18):
//!   CAP_SYS_ADMIN implies every capability for loading BPF.

/// One capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Right {
    bit: u32,
    name: &'static str,
}

pub(crate) const NET_ADMIN: Right = Right::new(12, "CAP_NET_ADMIN");
pub(crate) const NET_RAW: Right = Right::new(13, "CAP_NET_RAW");
pub(crate) const PERFMON: Right = Right::new(38, "CAP_PERFMON");
pub(crate) const BPF: Right = Right::new(39, "CAP_BPF");
const SYS_ADMIN: Right = Right::new(21, "CAP_SYS_ADMIN");

impl Right {
    const fn new(bit: u32, name: &'static str) -> Self {
        Self { bit, name }
    }

    const fn is_in(self, effective: u64) -> bool {
        effective & (1 << self.bit) != 0
    }
}

/// Names of the wanted capabilities that the calling thread lacks. Capabilities of a user namespace look like
/// the host's.
pub(crate) fn lacking(wanted: &[Right]) -> Vec<&'static str> {
    lacking_of(effective(), wanted)
}

/// Names of the missing capabilities for loading BPF.
pub(crate) fn lacking_for_bpf() -> Vec<&'static str> {
    lacking_for_bpf_of(effective())
}

fn lacking_of(effective: u64, wanted: &[Right]) -> Vec<&'static str> {
    let lacks = wanted.iter().filter(|right| !right.is_in(effective));
    lacks.map(|right| right.name).collect()
}

fn lacking_for_bpf_of(effective: u64) -> Vec<&'static str> {
    if SYS_ADMIN.is_in(effective) {
        return Vec::new();
    }
    lacking_of(effective, &[BPF, PERFMON, NET_ADMIN])
}

/// The effective capabilities, or none if the kernel does not report them.
fn effective() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    field
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_capability_is_named() {
        assert_eq!(lacking_for_bpf_of(0), ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(lacking_for_bpf_of(1 << 12 | 1 << 13), ["CAP_BPF", "CAP_PERFMON"]);
        assert_eq!(lacking_for_bpf_of(1 << 12 | 1 << 38 | 1 << 39), [""; 0]);
        assert_eq!(lacking_of(1 << 13, &[NET_ADMIN, NET_RAW]), ["CAP_NET_ADMIN"]);
    }

    #[test]
    fn cap_sys_admin_may_load_bpf() {
        assert_eq!(lacking_for_bpf_of(1 << 21), [""; 0]);
        assert_eq!(lacking_of(1 << 21, &[NET_RAW]), ["CAP_NET_RAW"]);
    }

    #[test]
    fn the_kernel_reports_this_threads_capabilities() {
        // SAFETY: no arguments, no memory.
        if unsafe { libc::geteuid() } != 0 {
            println!("skipped: needs root");
            return;
        }
        assert_ne!(effective(), 0);
    }
}
