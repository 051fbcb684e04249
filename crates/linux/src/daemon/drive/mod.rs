//! The loop, and the world that it drives.
//!
//! In: everything that wakes the loop. Out: nothing but calls of the other rooms, in a fixed order.

pub(crate) mod driver;
pub(crate) mod paths;
pub(crate) mod report;
pub(crate) mod world;
