//! Carrier sense: who hears whom, and what the beginning and end of a frame do to each radio that hears it.
//!
//! [`hearing`] has the audience of each station, [`radio`] the state of one radio (NAV, countdown), [`ears`]
//! the two loops over an audience. [`clique`] has the stations that hear the same and count down together.

pub(super) mod clique;
pub(super) mod ears;
pub(super) mod hearing;
pub(super) mod radio;
