//! What a monitor interface shows: the frames that a station overhears, as values and as bytes.
//!
//! [`overheard`] has the values. [`frames`] writes headers and radiotap. `bodies` writes the bodies of
//! management frames. [`tim`] has the traffic indication map. `engine` decides which frames a monitor
//! captures.

pub(super) mod bodies;
pub(super) mod frames;
pub(super) mod overheard;
pub(super) mod tim;
