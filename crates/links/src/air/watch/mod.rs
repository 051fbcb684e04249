//! What a monitor interface shows: the frames that a station overhears, as values and as bytes.
//!
//! [`overheard`] has the values, [`frames`] writes headers and radiotap, `bodies` what management frames say, and [`tim`]
//! the traffic indication map. Which frames a monitor captures is decided in `engine`.

mod bodies;
pub(super) mod frames;
pub(super) mod overheard;
pub(super) mod tim;
