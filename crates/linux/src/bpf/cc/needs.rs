//! Kernel features that the controllers need, checked in the kernel's type description (BTF) so that a
//! missing one can be named.
//!
//! Features are checked, never versions. The version in a message is the first mainline release with the
//! feature, for people who choose a kernel.

use libbpf_rs::btf::{Btf, types};
use std::path::Path;
use thiserror::Error;

/// A feature that this kernel lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Missing {
    /// The kernel has no BTF.
    #[error("this kernel has no BTF (/sys/kernel/btf/vmlinux); it needs CONFIG_DEBUG_INFO_BTF=y")]
    Btf,
    /// Congestion controllers cannot be BPF programs.
    #[error(
        "this kernel does not support congestion controllers as BPF programs (struct_ops); it needs CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_INET=y"
    )]
    StructOps,
    /// Without links, a controller would stay in the kernel after this process ends.
    #[error("this kernel has no BPF links for struct_ops; they came with 6.4")]
    StructOpsLink,
    /// A program cannot walk over a connection's subflows.
    #[error(
        "this kernel has no `bpf_rdonly_cast`, without which subflows cannot see each other; it came with 6.2"
    )]
    RdonlyCast,
    /// Programs cannot call TCP's own functions.
    #[error(
        "this kernel does not let BPF call `tcp_slow_start` and `tcp_reno_undo_cwnd`; they came with 5.13"
    )]
    TcpFunctions,
    /// The kernel has no MPTCP.
    #[error("this kernel has no MPTCP; it needs CONFIG_MPTCP=y")]
    Mptcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Struct,
    Function,
}

const NEEDS: [(Kind, &str, Missing); 6] = [
    (
        Kind::Struct,
        "bpf_struct_ops_tcp_congestion_ops",
        Missing::StructOps,
    ),
    (Kind::Struct, "bpf_struct_ops_link", Missing::StructOpsLink),
    (Kind::Function, "bpf_rdonly_cast", Missing::RdonlyCast),
    (Kind::Function, "tcp_slow_start", Missing::TcpFunctions),
    (Kind::Function, "tcp_reno_undo_cwnd", Missing::TcpFunctions),
    (Kind::Struct, "mptcp_subflow_context", Missing::Mptcp),
];

/// Returns the first missing feature, or `None` if the kernel has all that can be checked without privileges.
pub fn missing() -> Option<Missing> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some(Missing::Btf);
    }
    let Ok(btf) = Btf::from_vmlinux() else {
        return Some(Missing::Btf);
    };
    lacking(|kind, name| match kind {
        Kind::Struct => btf.type_by_name::<types::Struct<'_>>(name).is_some(),
        Kind::Function => btf.type_by_name::<types::Func<'_>>(name).is_some(),
    })
}

fn lacking(has: impl Fn(Kind, &str) -> bool) -> Option<Missing> {
    NEEDS
        .iter()
        .find(|(kind, name, _)| !has(*kind, name))
        .map(|&(_, _, missing)| missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_feature_has_its_own_message() {
        assert_eq!(lacking(|_, _| true), None);
        for (kind, name, missing) in NEEDS {
            assert_eq!(lacking(|k, n| (k, n) != (kind, name)), Some(missing));
        }
        assert_eq!(lacking(|_, _| false), Some(Missing::StructOps));
    }
}
