//! The physical layer of one link: modes and their durations, interframe spaces, fading, and the error rate
//! at an SINR.
//!
//! A new rate, standard or error model starts here. Nothing in this room knows who else transmits.

pub(super) mod decoder;
pub(super) mod fading;
pub(super) mod mode;
pub(super) mod timing;
