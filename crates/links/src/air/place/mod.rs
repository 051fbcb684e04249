//! Where stations stand: distances, path loss, walls.
//!
//! [`geometry`] gives the gain between two places, [`grid`] finds what is near a place, and [`circle`] bounds
//! the places of a set of stations. This room knows nothing of frames or time.

pub(super) mod circle;
pub(super) mod geometry;
pub(super) mod grid;
