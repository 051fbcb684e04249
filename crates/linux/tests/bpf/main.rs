//! Tests of the BPF levers on real connections between two network namespaces.
//!
//! They need root, MPTCP and iproute2. Limits are on bytes and packets. Time is used only for deadlines.

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

/// Whether the tests can run. Without root they print that they are skipped.
fn can_run() -> bool {
    // SAFETY: no arguments, no memory.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: needs root for network namespaces and BPF");
    }
    root
}
