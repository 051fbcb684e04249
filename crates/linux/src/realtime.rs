//! Real-time scheduling of the calling thread.
//!
//! # Sources
//! - `sched(7)`: SCHED_FIFO runs before every ordinary thread. With SCHED_RESET_ON_FORK a child does not
//!   inherit it.

/// Priority of a thread with microsecond deadlines: an emulated link.
pub const EXACT: i32 = 10;
/// Priority of a thread that ordinary work must not starve, but which may wait for exact ones: a daemon that
/// detects silent links.
pub const PROMPT: i32 = 1;

/// Requests SCHED_FIFO at this priority for the calling thread. Returns `false` if refused (no privilege, or
/// a cgroup without real-time run time). The thread then keeps its scheduling.
pub fn request(priority: i32) -> bool {
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: 0 is the calling thread, and `param` is valid for the call.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const param) == 0
    }
}
