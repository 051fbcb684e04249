//! Real-time scheduling of the calling thread.
//!
//! # Sources
//! - `sched(7)`: SCHED_FIFO runs before every ordinary thread; a child does not inherit it with SCHED_RESET_ON_FORK.

/// Priority of a thread that must keep time to the microsecond: an emulated link.
pub const EXACT: i32 = 10;
/// Priority of a thread that must not be starved by ordinary work, but may wait for exact ones: a daemon that judges silences.
pub const PROMPT: i32 = 1;

/// Asks for SCHED_FIFO at this priority for the calling thread. `false`: refused (no privilege, or a cgroup without real-time run
/// time), and the thread goes on as before.
pub fn request(priority: i32) -> bool {
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: 0 is the calling thread, and `param` is valid for the call.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const param) == 0
    }
}
