//! What the kernel must have for the controllers, looked up in its own description (BTF), so that what is missing can be named.
//!
//! Features, never versions: the numbers in the words are those of the first mainline release, for people who look for a kernel.

use libbpf_rs::btf::{Btf, types};
use std::path::Path;
use thiserror::Error;

/// What this kernel lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Missing {
    /// No description of itself.
    #[error("this kernel has no BTF (/sys/kernel/btf/vmlinux); it needs CONFIG_DEBUG_INFO_BTF=y")]
    Btf,
    /// Congestion controllers cannot be BPF programs.
    #[error(
        "this kernel takes no congestion controllers as BPF (struct_ops); it needs CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_INET=y"
    )]
    StructOps,
    /// A controller would outlive us.
    #[error("this kernel has no BPF links for struct_ops; they came with 6.4")]
    StructOpsLink,
    /// The walk over a connection's subflows is not possible.
    #[error(
        "this kernel has no `bpf_rdonly_cast`, without which subflows cannot see each other; it came with 6.2"
    )]
    RdonlyCast,
    /// TCP's own functions cannot be called.
    #[error(
        "this kernel does not let BPF call `tcp_slow_start` and `tcp_reno_undo_cwnd`; they came with 5.13"
    )]
    TcpFunctions,
    /// There is nothing to couple.
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

/// The first thing that this kernel lacks; `None` if it has all that can be looked up without rights.
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
    fn each_gap_has_its_own_word() {
        assert_eq!(lacking(|_, _| true), None);
        for (kind, name, missing) in NEEDS {
            assert_eq!(lacking(|k, n| (k, n) != (kind, name)), Some(missing));
        }
        assert_eq!(lacking(|_, _| false), Some(Missing::StructOps));
    }
}
