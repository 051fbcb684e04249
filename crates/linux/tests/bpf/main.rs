//! The BPF levers on real connections between two network namespaces.
//!
//! Needs root, MPTCP and iproute2. Bounds are on bytes and packets; time appears only as a deadline.

#[path = "../../src/testing/abort.rs"]
mod abort;
mod chain;
#[path = "../../src/testing/foreign.rs"]
mod foreign;
mod golden;
mod limits;
mod marker;
mod net;
mod relay;
mod tcp;
mod window;

/// Root is all that these tests need and may not have; without it they say so and end.
fn can_run() -> bool {
    // SAFETY: no arguments, no memory.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: needs root for network namespaces and BPF");
    }
    root
}
