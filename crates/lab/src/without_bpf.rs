//! Runs work for which the kernel refuses every bpf(2), as a host does that forbids it. The daemon then has
//! to work without its programs.
//!
//! # Sources
//! - seccomp(2), `Documentation/userspace-api/seccomp_filter.rst` (Linux 6.18): a filter applies to the
//!   thread that sets it and to everything that this thread starts afterwards. It cannot be removed.
//!
//! # Where we differ, and why
//! 1. The filter checks the system call's number without the architecture: it is for our own work, not
//!    against an attacker who would bypass it.
//! 2. libbpf remembers for the whole process what a kernel can do. Here it probes next to nothing: it first
//!    loads a program of two instructions, and gives up where that is refused (libbpf 1.7,
//!    `bpf_object__probe_loading`). What it probes earlier decides only whether it raises the limit of locked
//!    memory.
//!
//! # Checked by
//! `tests`: refused inside and on the threads started there, but not elsewhere; `tests/world.rs`.

use std::io;

/// The kernel did not accept the filter.
#[derive(Debug, thiserror::Error)]
#[error("cannot block bpf(2), which simulates a host without BPF; run as root")]
pub struct NotRefused(#[source] io::Error);

/// Runs `work` on its own thread, which has no bpf(2). Neither has anything that this thread starts.
///
/// # Errors
/// Fails if the thread may not set a filter, which needs `CAP_SYS_ADMIN` (seccomp(2)). Then nothing has been
/// done.
pub fn without_bpf<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NotRefused> {
    let refused = || {
        refuse().map_err(NotRefused)?;
        Ok(work())
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(refused);
        // A panic has been printed; it is this thread's, too.
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Refuses bpf(2) from now on, for this thread and those that it starts.
fn refuse() -> io::Result<()> {
    let step = |code: u32, if_not: u8, value: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: if_not,
        k: value,
    };
    // A filter sees the system call's number first. If it is not bpf(2), the filter skips one step.
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            1,
            libc::SYS_bpf as u32,
        ),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the filter and its description outlive the call, which copies them.
    let code = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
            &raw const program,
        )
    };
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error number of a bpf(2) command that does not exist.
    fn answer() -> Option<i32> {
        const NO_COMMAND: libc::c_long = 9_999;
        // SAFETY: no pointers but null, of which nothing is read.
        let code = unsafe { libc::syscall(libc::SYS_bpf, NO_COMMAND, std::ptr::null::<u8>(), 0) };
        assert_eq!(code, -1);
        io::Error::last_os_error().raw_os_error()
    }

    #[test]
    fn bpf_is_blocked_for_the_thread_and_its_children_only() {
        assert_eq!(answer(), Some(libc::EINVAL));
        let inside = without_bpf(|| {
            let started = std::thread::spawn(answer).join().unwrap();
            [answer(), started]
        });
        assert_eq!(inside.unwrap(), [Some(libc::EPERM); 2]);
        assert_eq!(answer(), Some(libc::EINVAL));
    }
}
