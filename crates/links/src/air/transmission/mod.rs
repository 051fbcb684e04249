//! What is on the air at the same time, and how much power it adds up to at a place.
//!
//! [`flight`] holds the frames, [`field`] keeps their sources by tile, [`far`] bounds the sum of the distant ones, and
//! [`scene`] collects what overlaps with one frame. Whether a receiver decodes a frame is decided in `rx`.

pub(super) mod far;
pub(super) mod field;
pub(super) mod flight;
pub(super) mod four;
mod rough;
pub(super) mod scene;
