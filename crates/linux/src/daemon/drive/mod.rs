//! The loop, and the world that it drives.
//!
//! In: everything that wakes the loop. Out: calls of the other rooms, in a fixed order, and the report.
//! [`driver`] sleeps, reads and tells the engine; [`world`] owns the parts and ticks them; [`carry_out`] hands out what
//! the engine asks for, [`steps`] what follows from events of links.

pub(crate) mod carry_out;
pub(crate) mod driver;
pub(crate) mod report;
pub(crate) mod steps;
pub(crate) mod world;
