//! A TCP sender and two access points, segment by segment and in virtual time.

pub mod board;
pub mod sender;
pub mod world;
