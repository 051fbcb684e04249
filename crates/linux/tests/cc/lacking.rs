//! Simulates kernels that lack a feature: mounts a BTF without it, or none at all, over the kernel's own,
//! visible to the test's thread only.

use crate::{can_run, own_name};
use libbpf_sys::{
    btf, btf__add_func, btf__add_func_proto, btf__add_struct, btf__free, btf__new_empty, btf__raw_data,
};
use linux::bpf::LoadError;
use linux::bpf::cc::{self, CcError, Controller, Coupled, Missing};
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

const DESCRIPTION: &str = "/sys/kernel/btf/vmlinux";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Struct(&'static str),
    Function(&'static str),
}

/// The features that a kernel needs, and the message for each missing one.
const PARTS: [(Part, Missing, &str); 6] = [
    (
        Part::Struct("bpf_struct_ops_tcp_congestion_ops"),
        Missing::StructOps,
        "does not support congestion controllers as BPF programs (struct_ops); it needs CONFIG_BPF_SYSCALL=y",
    ),
    (
        Part::Struct("bpf_struct_ops_link"),
        Missing::StructOpsLink,
        "no BPF links for struct_ops; they came with 6.4",
    ),
    (
        Part::Function("bpf_rdonly_cast"),
        Missing::RdonlyCast,
        "no `bpf_rdonly_cast`, without which subflows cannot see each other; it came with 6.2",
    ),
    (
        Part::Function("tcp_slow_start"),
        Missing::TcpFunctions,
        "does not let BPF call `tcp_slow_start`",
    ),
    (
        Part::Function("tcp_reno_undo_cwnd"),
        Missing::TcpFunctions,
        "does not let BPF call `tcp_slow_start` and `tcp_reno_undo_cwnd`",
    ),
    (
        Part::Struct("mptcp_subflow_context"),
        Missing::Mptcp,
        "no MPTCP; it needs CONFIG_MPTCP=y",
    ),
];

/// A BTF with all features but one.
fn description_without(left_out: Part) -> Vec<u8> {
    // SAFETY: libbpf owns what it creates here until it is freed at the end. Names are C strings that outlive
    // each call.
    unsafe {
        let btf = btf__new_empty();
        assert!(!btf.is_null(), "a new BTF");
        for (part, _, _) in PARTS.iter().filter(|(part, _, _)| *part != left_out) {
            add(btf, *part);
        }
        let mut length = 0;
        let bytes = btf__raw_data(btf, &raw mut length);
        assert!(!bytes.is_null(), "a finished BTF");
        let copied = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize).to_vec();
        btf__free(btf);
        copied
    }
}

/// # Safety
/// `btf` was created by libbpf and not freed.
unsafe fn add(btf: *mut btf, part: Part) {
    let (Part::Struct(name) | Part::Function(name)) = part;
    let name = CString::new(name).expect("no zero");
    // SAFETY: the name is a C string that outlives the calls, and the caller guarantees `btf`.
    let id = unsafe {
        match part {
            Part::Struct(_) => btf__add_struct(btf, name.as_ptr(), 0),
            Part::Function(_) => {
                let proto = btf__add_func_proto(btf, 0);
                btf__add_func(btf, name.as_ptr(), 1, proto)
            }
        }
    };
    assert!(id > 0, "{name:?}");
}

fn mount(from: &Path, onto: &str, flags: libc::c_ulong) {
    let from = CString::new(from.to_str().expect("the test's path is text")).expect("no zero");
    let onto = CString::new(onto).expect("no zero");
    // SAFETY: C strings that outlive the call. No type and no data are passed.
    let code = unsafe {
        libc::mount(
            from.as_ptr(),
            onto.as_ptr(),
            std::ptr::null(),
            flags,
            std::ptr::null(),
        )
    };
    assert_eq!(code, 0, "mount on {onto:?}: {}", std::io::Error::last_os_error());
}

/// Runs `work` on a new thread that sees `file` in place of `place`.
fn seeing<T: Send>(file: &Path, place: &str, work: impl FnOnce() -> T + Send) -> T {
    let see = || {
        // SAFETY: no memory; the mounts of this thread only, which ends with the closure.
        let code = unsafe { libc::unshare(libc::CLONE_NEWNS) };
        assert_eq!(code, 0, "mounts of its own: {}", std::io::Error::last_os_error());
        mount(Path::new("none"), "/", libc::MS_REC | libc::MS_PRIVATE);
        mount(file, place, libc::MS_BIND);
        work()
    };
    thread::scope(|scope| scope.spawn(see).join().expect("the thread ends well"))
}

fn scratch(test: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lacking-{test}-{}", std::process::id()))
}

/// The error of loading. Checks that it is about `missing`.
fn refusal(missing: Missing, test: &str) -> String {
    assert_eq!(cc::missing(), Some(missing));
    match Controller::load(Coupled::Olia, &own_name(Coupled::Olia, test)) {
        Err(error @ CcError::Missing(found)) if found == missing => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_missing_feature_is_named() {
    if !can_run() {
        return;
    }
    for (index, (part, missing, words)) in PARTS.into_iter().enumerate() {
        let file = scratch(&format!("part-{index}"));
        fs::write(&file, description_without(part)).expect("write a BTF");
        let said = seeing(&file, DESCRIPTION, || refusal(missing, "lp"));
        assert!(said.contains(words), "{said}");
        fs::remove_file(file).expect("remove it");
    }
}

#[test]
fn a_missing_btf_is_reported_with_the_fix() {
    if !can_run() {
        return;
    }
    let empty = scratch("nothing");
    fs::create_dir(&empty).expect("make a directory");
    let (ours, others) = seeing(&empty, "/sys/kernel/btf", || {
        let others = linux::bpf::Marker::load(linux::bpf::Hook::Ingress).map(drop);
        (refusal(Missing::Btf, "ln"), others)
    });
    fs::remove_dir(empty).expect("remove it");
    assert!(ours.contains("it needs CONFIG_DEBUG_INFO_BTF=y"), "{ours}");
    assert!(matches!(others, Err(LoadError::NoBtf)), "{others:?}");
}
