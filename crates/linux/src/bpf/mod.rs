//! The levers that only a BPF program can pull: what the kernel itself offers no call for.
//!
//! | lever | program | what it does |
//! |---|---|---|
//! | [`WindowLever`] | `bpf/window.bpf.c`, else `bpf/clamp.bpf.c` | bounds how far ahead the peer may queue (downloads) |
//! | [`FallbackLever`] | `bpf/clamp.bpf.c` | the same of a connection that fell back to plain TCP, where the user asks for that |
//! | [`UnsentLever`] | `bpf/clamp.bpf.c` | bounds what waits unsent on our own subflows (uploads) |
//! | [`PacingLever`] | `bpf/clamp.bpf.c` | caps how fast one of our own subflows sends, for a moment (uploads) |
//! | [`Marker`] | `bpf/marker.bpf.c` | marks arriving packets CE, so that the peer slows down on one path |
//! | [`cc::Controller`] | `bpf/cc/*.bpf.c` | couples the congestion windows of a connection's subflows |
//!
//! The objects are compiled at build time and embedded; loading one needs a kernel with BTF, and CAP_BPF, CAP_PERFMON and
//! CAP_NET_ADMIN. Every value here owns what it loaded: a program, its maps and its links go when the value is dropped or the
//! process ends, `kill -9` included. What was set *on sockets* stays, so [`UnsentLever::release`], [`PacingLever::release`] and
//! [`WindowLever::release`] take it back, and [`restore_subflows`] does at the next start what a crash prevented; for what a
//! [`FallbackLever`] has set, [`restore_fallbacks`] does both.
//!
//! Any number of values may live in one process, each with programs and maps of its own. A *namespace* is that of the calling
//! thread: `attach` finds an interface index in it, and `apply` walks its sockets. Use one value per namespace.
//!
//! # Sources
//! - `bpf-helpers(7)`; kernel/bpf/tcx.c, kernel/bpf/bpf_iter.c (Linux 6.18); libbpf 1.7.
//!
//! # Checked by
//! `tests/bpf/`: real connections between two namespaces.

pub mod cc;
mod chain;
mod cost;
mod error;
mod fallback;
mod limits;
mod map;
mod marker;
mod object;
mod pacing;
mod pass;
mod tcx;
mod unsent;
mod window;

pub(crate) use chain::in_words as chains_in_words;
pub use chain::{Program, programs_at};
pub use cost::{CountRunTime, RunTime};
pub use error::{AttachError, LoadError, MapError, PassError};
pub use fallback::{ClampedSocket, FallbackLever, restore_fallbacks};
pub use marker::{MarkCounters, MarkSlot, Marker};
pub use pacing::{PacedSubflow, PacingLever};
pub use pass::{Pass, RestoreError, SubflowLimit, restore_subflows};
pub use tcx::Hook;
pub use unsent::UnsentLever;
pub use window::{WindowCounters, WindowKind, WindowLever};
