//! Levers that need a BPF program, because the kernel has no call for them.
//!
//! | lever | program | what it does |
//! |---|---|---|
//! | [`WindowLever`] | `bpf/window.bpf.c`, else `bpf/clamp.bpf.c` | limits the peer's queue (downloads) |
//! | [`FallbackLever`] | `bpf/clamp.bpf.c` | the same after a fallback to plain TCP, if the user enables it |
//! | [`UnsentLever`] | `bpf/clamp.bpf.c` | limits unsent bytes on our own subflows (uploads) |
//! | [`PacingLever`] | `bpf/clamp.bpf.c` | temporarily caps the pacing rate of one subflow (uploads) |
//! | [`Marker`] | `bpf/marker.bpf.c` | marks arriving packets CE, so that the peer slows down on one path |
//! | [`cc::Controller`] | `bpf/cc/*.bpf.c` | couples the congestion windows of a connection's subflows |
//!
//! The objects are compiled at build time and embedded. Loading one needs a kernel with BTF, and CAP_BPF,
//! CAP_PERFMON and CAP_NET_ADMIN. Every value here owns what it loaded: its program, maps and links disappear
//! when the value is dropped or the process ends, even by `kill -9`. Settings *on sockets* stay.
//! [`UnsentLever::release`], [`PacingLever::release`] and [`WindowLever::release`] restore them, and after a
//! crash [`restore_subflows`] does so at the next start. For the settings of a [`FallbackLever`],
//! [`restore_fallbacks`] does both.
//!
//! A process may have any number of values, each with its own programs and maps. A *namespace* is that of the
//! calling thread: `attach` finds an interface index in it, and `apply` walks its sockets. Use one value per
//! namespace.
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
