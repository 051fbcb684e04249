//! What one station has to send: its queue, its sessions with receivers, retransmissions, aggregates and
//! rates.
//!
//! [`station`] chooses the next frame and draws the backoff. Queue disciplines are in `queue` and `fq_codel`,
//! windows and block acknowledgement in [`session`], rate control in `rate`. `engine` decides when a frame is
//! sent.

mod fq_codel;
mod queue;
mod rate;
pub(super) mod session;
pub(super) mod station;
mod window;
