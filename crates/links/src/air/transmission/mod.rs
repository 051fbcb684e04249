//! What is on the air at the same time, and its total power at a place.
//!
//! [`flight`] holds the frames, [`field`] keeps their sources by tile, [`far`] bounds the sum of the distant
//! ones. [`scene`] collects what overlaps with one frame. `rx` decides whether a receiver decodes a frame.

pub(super) mod far;
pub(super) mod field;
pub(super) mod flight;
pub(super) mod four;
mod rough;
pub(super) mod scene;
