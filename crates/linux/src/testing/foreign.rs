//! A tcx program of another owner, as other software attaches them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The program's result for every packet.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    /// TCX_PASS: accepts the packet and ends the chain.
    Pass,
    /// TCX_NEXT: the next program decides.
    #[allow(dead_code, reason = "not every test has a use for it")]
    Next,
}

/// A program called `foreign` at the head of one interface's chain in the calling thread's network namespace,
/// until drop.
pub struct Foreign {
    link: OwnedFd,
}

impl Foreign {
    pub fn attach(ifindex: u32, hook: libbpf_sys::bpf_attach_type, verdict: Verdict) -> Self {
        let verdict: i32 = match verdict {
            Verdict::Pass => 0,
            Verdict::Next => -1,
        };
        let options = libbpf_sys::bpf_link_create_opts {
            sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
            flags: libbpf_sys::BPF_F_BEFORE,
            ..Default::default()
        };
        let program = load(verdict);
        // SAFETY: the descriptor and the options outlive the call.
        let code = unsafe {
            let target = i32::try_from(ifindex).unwrap();
            libbpf_sys::bpf_link_create(program.as_raw_fd(), target, hook, &raw const options)
        };
        Self { link: fd(code) }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: the descriptor is live.
        unsafe { libbpf_sys::bpf_link_detach(self.link.as_raw_fd()) };
    }
}

/// Loads the program `r0 = verdict; exit`.
fn load(verdict: i32) -> OwnedFd {
    let [a, b, c, d] = verdict.to_ne_bytes();
    let instructions: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, a, b, c, d], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    // SAFETY: an instruction is eight bytes, and everything outlives the call.
    let code = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_SCHED_CLS,
            c"foreign".as_ptr(),
            c"GPL".as_ptr(),
            instructions.as_ptr().cast(),
            instructions.len() as libbpf_sys::size_t,
            std::ptr::null_mut(),
        )
    };
    fd(code)
}

fn fd(code: i32) -> OwnedFd {
    assert!(code >= 0, "{}", io::Error::from_raw_os_error(-code));
    // SAFETY: the kernel has just given us this descriptor.
    unsafe { OwnedFd::from_raw_fd(code) }
}
