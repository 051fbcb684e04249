//! Whether a receiver decodes a frame: SINR by section, capture, frame errors.
//!
//! [`reception`] has the rule. `foresight` and `arrival` bound its sums, so most outcomes need no exact sum.
//! [`rival`] does the same for a collision of two frames.

pub(super) mod arrival;
pub(super) mod foresight;
pub(super) mod reception;
pub(super) mod rival;
