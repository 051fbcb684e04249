//! CLA around the kernel: a mobile's knowledge of its signals sets the windows of the sender, which is the
//! mobile itself or a server.
//!
//! - [`Advisor`] runs on the sender. It turns advice about a path into windows ([`policy::cc::MobileStage`])
//!   and passes them to the controller as orders ([`crate::bpf::cc::Orders`]).
//! - [`Teller`] runs on the mobile. It sends the same advice to the senders of its downloads, in the format
//!   of [`wire::mobility`].
//! - [`Listener`] runs on a server. It receives that advice and follows it with an [`Advisor`] of its own.
//!
//! # Sources
//! - cla §IV.
//!
//! # Where we differ, and why
//! 1. A path's rate is the data in flight divided by the smoothed round trip (Little's law), the mean over
//!    the last round trip. The kernel's delivery rate counts every segment as a full one, which is eight
//!    times the bytes of an application-limited sender. It also keeps the highest rate of an idle sender. The
//!    round trip without a queue is the kernel's minimum plus RFC 9406's `RttThresh` (an eighth, 4 to 16 ms).
//!    On a radio a loaded round trip is never the shortest one. With the bare minimum, a path that should
//!    keep its rate lost a fifth of it. A path with a longer round trip has no room. As [`policy::cc`] says,
//!    a rate is not taken from a path unless another can take it.
//! 2. Windows count segments, as the kernel does. `w = R·RTT/MSS` divides by the mean size of the segments in
//!    flight, because an application-limited sender writes small ones. Divided by the MSS, a fading path kept
//!    a fifth of its intended rate, and the rest overflowed the other path's queue.
//! 3. The windows of the mobile stage are also slow-start thresholds. A lowered window must not be in slow
//!    start, and a raised window already has its full size.
//! 4. A path that does not fade is lowered to its tuned window if it has a queue: a round trip over twice its
//!    shortest. Then the rate is that of the path, and only the queue shrinks, as in the paper. Otherwise `R`
//!    is only what the sender happened to send, and a lower window would have no benefit. Slow start still
//!    ends, at no more than twice the tuned window. An application-limited sender may have left the path in
//!    slow start since it began, with a window that was never used. Such a path is about to get all the data,
//!    which is the paper's slow-start overshoot.
//! 5. A hand-off here creates a new subflow. It begins with `BDP_UB`. Its slow start ends at twice what the
//!    previous path carried when it began to fade, computed with its own round trip. Without an end it would
//!    overflow the access point's queue. The paper's own subflow is past slow start and does not fill that
//!    queue.
//! 6. A subflow whose path changes under it, as in the paper, is left alone. The paper restarts its estimates
//!    and sets its window to `BDP_UB`. An order sets only the window. That alone costs 0.4 Mb/s of 13, as
//!    measured in `crates/sim/tests/cla_handoff.rs`. A threshold would need the new path's round trip, but
//!    the kernel's value is still the previous path's.
//! 7. The controller's map holds windows and thresholds. MI and Q of each path stay here. Their effect is
//!    computed once per fading, over all paths of a connection together. A program that runs on the
//!    acknowledgements of one subflow may read the others (`bpf_rdonly_cast`) but not write them. The rate
//!    that one path gives up and another takes must also be counted once. So [`policy::cc::MobileStage`]
//!    decides, and is tested without a kernel. A program applies the two resulting numbers at its next
//!    acknowledgement. Senders of downloads still receive MI and Q ([`wire::mobility`]), and compute with the
//!    rates that they see.
//!
//! # Checked by
//! `tests/cc/advice.rs`, `tests/cc/handoff.rs`: real connections in both directions; `advisor`: windows,
//! segment sizes, windows after a hand-off; `crates/lab/tests/controllers.rs`: a daemon that walks from one
//! access point to the next.

mod advisor;
mod listener;
mod teller;

pub use advisor::{Advice, AdviceError, Advisor};
pub use listener::{Heard, ListenError, Listener};
pub use teller::{TellError, Teller};

/// Default port on which servers listen for mobiles.
pub const DEFAULT_PORT: u16 = 7_391;
