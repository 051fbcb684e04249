//! The main loop, and the parts that it drives.
//!
//! In: everything that wakes the loop. Out: calls of the other rooms, in a fixed order, and the report.
//! [`driver`] sleeps, reads events and tells the engine. [`world`] owns the parts and calls them when they
//! are due. [`carry_out`] executes the engine's actions, [`steps`] the consequences of link events.

pub(crate) mod carry_out;
pub(crate) mod driver;
pub(crate) mod report;
pub(crate) mod steps;
pub(crate) mod world;
