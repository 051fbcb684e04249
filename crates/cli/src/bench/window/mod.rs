//! `window-…`: what it costs to bound how far ahead the server may queue, and what it gains when a link dies.
//!
//! Stock is the policy `mptcp`, ours is `slowhand`: the same plan, seed and controller, in turn. Every figure is per controller.
//!
//! | file | benchmarks |
//! |---|---|
//! | `cut` | `window-equal`, `-bdp`, `-long`, `-deep`, `-thin`, `-upload`, `-lossy`: goodput, and the stall after a silent cut |

mod cut;
mod figures;
mod rows;

pub use cut::{bdp, deep, equal, long, lossy, thin, upload};
