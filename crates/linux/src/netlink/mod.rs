//! A thin, synchronous netlink layer: encodes, sends, receives and decodes messages without protocol
//! knowledge.
//!
//! - [`Builder`] encodes one request into a reusable buffer. [`Messages`] and [`Attrs`] decode answers in
//!   place.
//! - [`Socket`] carries requests and multicast events. After warm-up it allocates only if the kernel refuses
//!   a request.
//! - [`Family`] finds a generic-netlink family and its multicast groups by name.
//!
//! The kernel processes a request within `send`, so its answer is ready at once. Events are read without
//! blocking, and the socket can be registered with `epoll` ([`std::os::fd::AsRawFd`]).
//!
//! # Sources
//! - `include/uapi/linux/netlink.h`, `include/uapi/linux/genetlink.h` (Linux 6.18): layout and flags.
//! - `Documentation/userspace-api/netlink/intro.rst`: extended ACKs, `NLM_F_DUMP_INTR`, strict checking.
//!
//! # Checked by
//! `tests`: every message decodes to what was encoded, no input makes the decoder panic, and a refused
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

/// Rounds up to netlink's alignment of four bytes.
pub(crate) const fn align4(len: usize) -> usize {
    len.div_ceil(4) * 4
}
