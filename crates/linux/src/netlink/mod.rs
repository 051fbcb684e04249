//! A thin, synchronous netlink layer: messages in, messages out, no protocol knowledge.
//!
//! - [`Builder`] writes one request into a buffer it keeps; [`Messages`] and [`Attrs`] read answers in place.
//! - [`Socket`] carries requests and multicast events; after warm-up it allocates nothing unless the kernel refuses.
//! - [`Family`] finds a generic-netlink family and its multicast groups by name.
//!
//! The kernel answers a request while `send` runs, so a request never waits; events are read without blocking and the
//! socket can sit in `epoll` ([`std::os::fd::AsRawFd`]).
//!
//! # Sources
//! - `include/uapi/linux/netlink.h`, `include/uapi/linux/genetlink.h` (Linux 6.18): layout and flags.
//! - `Documentation/userspace-api/netlink/intro.rst`: extended ACKs, `NLM_F_DUMP_INTR`, strict checking.
//!
//! # Checked by
//! `tests`: every message that is written is read back as it was, no bytes make the reader panic, and a refused
//! request carries the kernel's own sentence.

mod builder;
mod error;
mod family;
mod message;
mod socket;
#[cfg(test)]
mod tests;

pub use builder::Builder;
pub use error::{OpenError, ReceiveError, Refusal, RequestError, ResolveError};
pub use family::Family;
pub use message::{Attr, Attrs, Message, Messages};
pub(crate) use message::{u16_at, u32_at, u64_at};
pub use socket::{Protocol, Socket};

/// Netlink aligns everything to four bytes.
pub(crate) const fn align4(len: usize) -> usize {
    len.div_ceil(4) * 4
}
