//! CLA around the kernel: what a mobile knows of its signals reaches the windows of whoever sends, be it itself or a server.
//!
//! - [`Advisor`] runs where data is sent: it turns what is said of a path into windows ([`policy::cc::MobileStage`]) and orders them from the
//!   controller ([`crate::bpf::cc::Orders`]).
//! - [`Teller`] runs on the mobile: it says the same to the senders of its downloads, as [`wire::mobility`] has it.
//! - [`Listener`] runs on a server: it hears that, and asks an [`Advisor`] of its own.
//!
//! # Sources
//! - cla §IV.
//!
//! # Where we differ, and why
//! 1. A path's rate is what is under way over the smoothed round trip (Little's law), the mean of the last one. The kernel's own delivery rate
//!    counts every segment as a full one, which are eight times the bytes of a sender that is never behind; and of a path whose sender has
//!    nothing to send it keeps the highest. Its round trip without queue is the kernel's minimum and
//!    RFC 9406's `RttThresh` (an eighth, 4 to 16 ms): on a radio a loaded round trip is never the shortest one, and with that a path that is to keep its
//!    rate lost a fifth of it. A path whose round trip is longer has no room ([`policy::cc`]: what nobody can take is not taken off).
//! 2. Windows count segments, as the kernel does; `w = R·RTT/MSS` divides by the mean size of those under way. A sender that is never behind
//!    writes small ones: divided by the MSS, a fading path kept a fifth of the rate that it was to keep, and the rest overflowed the other path's queue.
//! 3. The windows of the mobile stage are thresholds too: a window that is lowered must not be in slow start, and one that is raised has
//!    been given what it may have.
//! 4. A path that does not fade is lowered to its tuned window where it holds a queue (its round trip is over twice its shortest): there the
//!    rate is the path's, and what goes is the queue, as in the paper. Elsewhere `R` is what the sender happened to send, and its window would be
//!    cut for nothing; but a slow start ends, at no more than twice the tuned window. A path that a never full sender has left in slow
//!    start since the beginning, with a window that was never used, is about to be given all there is: the paper's slow-start overshoot.
//! 5. A hand-off here is a subflow of its own. It begins with `BDP_UB`, and its slow start ends at twice what the path before carried when it
//!    began to fade, counted with its own round trip: without an end it would overflow the access point's queue, in which the paper's own
//!    subflow, no longer in slow start, does not come.
//! 6. A subflow whose path changes under it, as the paper's do, is left alone. The paper begins its estimates anew and sets its window to `BDP_UB`; an
//!    order sets the window only, and what that is worth by itself is in `crates/sim/tests/cla_handoff.rs`: 0.4 Mb/s less, of 13. A threshold would have to
//!    be counted with a round trip that nobody knows yet: that of the kernel is the path's before.
//! 7. The controller's map holds windows and thresholds; MI and Q of each path stay here. What they ask for is reckoned once for each fading, over
//!    all paths of a connection together: a program that runs at the acknowledgements of one subflow may read the others (`bpf_rdonly_cast`) and not
//!    write them, and the rate that one gives up and another takes has to be counted once. So [`policy::cc::MobileStage`], which is tested without
//!    a kernel, decides, and a program carries out, at its next acknowledgement, what is two numbers. Who sends downloads is told MI and Q all the
//!    same ([`wire::mobility`]), and reckons with the rates that it sees.
//!
//! # Checked by
//! `tests/cc/advice.rs`, `tests/cc/handoff.rs`: real connections both ways; `advisor`: windows, segment sizes, what a hand-off begins with;
//! `crates/lab/tests/controllers.rs`: a daemon that walks from one access point to the next.

mod advisor;
mod listener;
mod teller;

pub use advisor::{Advice, AdviceError, Advisor};
pub use listener::{Heard, ListenError, Listener};
pub use teller::{TellError, Teller};

/// The port on which servers listen for mobiles, unless configured otherwise.
pub const DEFAULT_PORT: u16 = 7_391;
